//! How much memory the device and the process have, and how much of it is in use.
//!
//! It does not free any. Main functions: [`device`], [`resident`].

use burn::backend::cuda::CudaDevice;
use cubecl::{Runtime, cuda::CudaRuntime};

use crate::device::DeviceKind;

/// Memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DeviceMemory {
    /// What tensors take.
    pub(crate) allocated: f64,
    /// What the program holds of the device, memory kept for later tensors included.
    pub(crate) reserved: f64,
    /// What the device has.
    pub(crate) total: f64,
}

/// The memory of a device, where it can be told.
///
/// The CPU's is that of the process: what is resident, and what the system or its control group lets it have.
pub(crate) fn device(kind: &DeviceKind) -> Option<DeviceMemory> {
    match kind {
        DeviceKind::Cpu => {
            let (resident, total) = (resident()?, host_total()?);
            Some(DeviceMemory { allocated: resident, reserved: resident, total })
        }
        &DeviceKind::Cuda(number) => {
            let usage = CudaRuntime::client(&CudaDevice::new(number)).memory_usage().ok()?;
            let total = cuda_total(number)?;
            Some(DeviceMemory { allocated: usage.bytes_in_use as f64, reserved: usage.bytes_reserved as f64, total })
        }
        DeviceKind::Other(_) => None,
    }
}

fn cuda_total(number: usize) -> Option<f64> {
    let device = cudarc::driver::result::device::get(i32::try_from(number).ok()?).ok()?;
    total_of(device).map(|bytes| bytes as f64)
}

#[expect(unsafe_code, reason = "cudarc asks for a valid handle of a device")]
fn total_of(device: cudarc::driver::sys::CUdevice) -> Option<usize> {
    // SAFETY: the handle has just been given by the driver for a device that is there.
    unsafe { cudarc::driver::result::device::total_mem(device) }.ok()
}

/// Resident memory of this process in bytes, where the system tells it.
pub(crate) fn resident() -> Option<f64> {
    memory_stats::memory_stats().map(|stats| stats.physical_mem as f64)
}

/// Memory that this process can have: that of the machine, or the limit of its control group.
fn host_total() -> Option<f64> {
    static TOTAL: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    let total = *TOTAL.get_or_init(|| {
        let mut system = sysinfo::System::new();
        system.refresh_memory();
        let limit = system.cgroup_limits().map(|limits| limits.total_memory).filter(|limit| *limit > 0);
        limit.map_or(system.total_memory(), |limit| limit.min(system.total_memory()))
    });
    (total > 0).then_some(total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_has_more_than_the_process_takes() {
        let memory = device(&DeviceKind::Cpu).unwrap();
        assert!(memory.allocated > 1e5 && memory.allocated < memory.total, "{memory:?}");
        assert_eq!(device(&DeviceKind::Other("toaster".into())), None);
    }
}
