//! Which device a run uses: what was asked for, what is really there, and why one was taken.
//!
//! Nothing of CUDA is linked: the driver and NVRTC are looked for at run time, before burn touches them,
//! because burn's first CUDA tensor panics on a thread of its own where they are missing, and the caller
//! then waits for ever.

use std::{borrow::Cow, fmt, str::FromStr};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What the configuration asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// A GPU where driver, NVRTC and a device are there, else the CPU.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A CUDA device by its number; an error where it is not there.
    Cuda(usize),
}

/// A text that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no device; write \"auto\", \"cpu\", \"cuda\" or \"cuda:<number>\"")]
pub struct BadDevice(String);

impl FromStr for DeviceChoice {
    type Err = BadDevice;

    fn from_str(text: &str) -> Result<Self, BadDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|number| number.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| BadDevice(text.to_owned())),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = BadDevice;

    fn try_from(text: String) -> Result<Self, BadDevice> {
        text.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        choice.to_string()
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl JsonSchema for DeviceChoice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Device".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(auto|cpu|cuda(:[0-9]+)?)$", "examples": ["auto", "cpu", "cuda", "cuda:1"] })
    }
}

/// The device that a run uses, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Which one.
    pub kind: DeviceKind,
    /// Why it was taken, for people.
    pub reason: String,
}

/// A device that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    /// The CPU, through burn's Flex backend.
    Cpu,
    /// A CUDA device by its number.
    Cuda(usize),
    /// A device of an embedding program's own backend, in words. It is taken to work beside the loop, so that reading
    /// a value waits for it; nothing is known of its memory.
    Other(String),
}

impl DeviceKind {
    /// Whether reading a value from the device costs nothing: it has been computed when the operation returns.
    pub(crate) fn reads_are_free(&self) -> bool {
        *self == Self::Cpu
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu (Flex)"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
            Self::Other(words) => f.write_str(words),
        }
    }
}

/// A device that was asked for by name and is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("device `{asked}` cannot be used: {why}; `device = \"cpu\"` always can")]
pub struct NoDevice {
    asked: String,
    why: String,
}

impl NoDevice {
    /// The program's own tasks run on no other device than those that it finds itself.
    pub(crate) fn foreign(device: &str) -> Self {
        Self { asked: device.to_owned(), why: "it is not one that this program finds by itself".into() }
    }
}

/// Finds the device for a choice.
///
/// # Errors
///
/// When a CUDA device was asked for and cannot be used; the text says what is missing.
pub fn find(choice: DeviceChoice) -> Result<Device, NoDevice> {
    let cpu = |reason: String| Device { kind: DeviceKind::Cpu, reason };
    match choice {
        DeviceChoice::Cpu => Ok(cpu("it was asked for".into())),
        DeviceChoice::Auto => Ok(match probe_cuda() {
            Ok(devices) => Device {
                kind: DeviceKind::Cuda(0),
                reason: format!("{} of {} CUDA devices", devices[0], devices.len()),
            },
            Err(why) => cpu(format!("no CUDA: {why}")),
        }),
        DeviceChoice::Cuda(number) => {
            let no = |why| NoDevice { asked: choice.to_string(), why };
            let devices = probe_cuda().map_err(no)?;
            match devices.get(number) {
                Some(name) => Ok(Device { kind: DeviceKind::Cuda(number), reason: format!("{name} was asked for") }),
                None => Err(no(format!("there are {} CUDA devices, numbered from 0", devices.len()))),
            }
        }
    }
}

/// The names of the CUDA devices that can be used.
///
/// # Errors
///
/// What is missing: the driver library, NVRTC, a driver that starts, or a device.
pub fn probe_cuda() -> Result<Vec<String>, String> {
    use cudarc::driver::result::{self as driver, device};

    // These two only try to open the libraries. Every other function of cudarc panics without them.
    if !library_is_there(cudarc::driver::sys::is_culib_present) {
        return Err("the driver library (libcuda) is not there".into());
    }
    if !library_is_there(cudarc::nvrtc::sys::is_culib_present) {
        return Err("NVRTC (libnvrtc), which compiles kernels, is not there".into());
    }
    driver::init().map_err(|error| format!("the driver does not start: {error:?}"))?;
    let count = device::get_count().map_err(|error| format!("devices cannot be counted: {error:?}"))?;
    if count < 1 {
        return Err("the driver has no device".into());
    }
    (0..count)
        .map(|number| {
            let name = device::get(number).and_then(device::get_name);
            name.map_err(|error| format!("device {number} does not answer: {error:?}"))
        })
        .collect()
}

#[expect(unsafe_code, reason = "cudarc marks its look-up as unsafe; no other way tells a missing driver from a panic")]
fn library_is_there(look: unsafe fn() -> bool) -> bool {
    // SAFETY: the function opens a shared library by its well-known names and closes it again. What can go
    // wrong is an initialiser of that library, and a library under these names is the one that CUDA programs
    // load anyway.
    unsafe { look() }
}
