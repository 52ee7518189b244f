//! Clocks whose time is made of steps, so that two equal runs tell guests the same time.
//!
//! A step takes a second, and each look at a clock a microsecond. Nobody ever waits: a guest that sleeps finds that the
//! time has passed. Main type: [`Clocks`].

use wasmtime::component::{ComponentType, Lift, Lower, Resource, ResourceTable, ResourceTableError};

use super::{Ended, World};

const SECOND: u64 = 1_000_000_000;
/// What a look at a clock takes, in nanoseconds, so that a guest that waits for time to pass gets there.
const LOOK: u64 = 1_000;
/// When runs begin, in seconds since 1970: the year 2000. Some libraries take a time near zero for none.
const BEGINNING: u64 = 946_684_800;

/// One instance's time.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Nanoseconds since the beginning of the run. It never goes back.
    now: u64,
    waits: ResourceTable,
}

/// Something that a guest waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pollable {
    /// When it is there, in nanoseconds since the beginning.
    when: u64,
}

/// Seconds since 1970 and what is over.
#[derive(Clone, Copy, Debug, PartialEq, ComponentType, Lift, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

impl Clocks {
    /// An event of this step begins.
    pub(crate) fn set_step(&mut self, step: u64) {
        self.now = self.now.max(step.saturating_mul(SECOND));
    }

    fn look(&mut self) -> u64 {
        self.now = self.now.saturating_add(LOOK);
        self.now
    }

    /// Time that nobody waits for passes at once.
    fn pass_until(&mut self, when: u64) {
        self.now = self.now.max(when);
    }

    /// Something that is there at this time.
    fn wait_until(&mut self, when: u64) -> Result<Resource<Pollable>, ResourceTableError> {
        self.waits.push(Pollable { when })
    }

    /// Something that is there already.
    pub(super) fn ready(&mut self) -> Result<Resource<Pollable>, ResourceTableError> {
        self.wait_until(0)
    }

    /// Which of these are there, after time has passed until one of them is.
    fn poll(&mut self, pollables: &[Resource<Pollable>]) -> wasmtime::Result<Vec<u32>> {
        let times: Result<Vec<u64>, _> = pollables.iter().map(|it| Ok(self.waits.get(it)?.when)).collect();
        let times = times.map_err(|error: ResourceTableError| wasmtime::Error::from(error))?;
        self.pass_until(*times.iter().min().ok_or(Ended::PollsNothing)?);
        Ok((0..).zip(&times).filter(|(_, when)| **when <= self.now).map(|(at, _)| at).collect())
    }
}

pub(super) fn link(world: &mut World) -> wasmtime::Result<()> {
    world
        .wasi("wasi:io/poll")?
        .resource::<Pollable>("pollable", |data, number| {
            // A handle that the guest had is in the table.
            let _ = data.clocks.waits.delete(Resource::<Pollable>::new_own(number));
        })?
        .function("[method]pollable.ready", |data, (pollable,): (Resource<Pollable>,)| {
            let when = data.clocks.waits.get(&pollable)?.when;
            Ok(when <= data.clocks.look())
        })?
        .procedure("[method]pollable.block", |data, (pollable,): (Resource<Pollable>,)| {
            let when = data.clocks.waits.get(&pollable)?.when;
            data.clocks.pass_until(when);
            Ok(())
        })?
        .function("poll", |data, (pollables,): (Vec<Resource<Pollable>>,)| data.clocks.poll(&pollables))?;
    world
        .wasi("wasi:clocks/monotonic-clock")?
        .function("now", |data, ()| Ok(data.clocks.look()))?
        .function("resolution", |_, ()| Ok(LOOK))?
        .function("subscribe-instant", |data, (when,): (u64,)| Ok(data.clocks.wait_until(when)?))?
        .function("subscribe-duration", |data, (duration,): (u64,)| {
            let when = data.clocks.now.saturating_add(duration);
            Ok(data.clocks.wait_until(when)?)
        })?;
    let datetime = |nanoseconds: u64| Datetime {
        seconds: nanoseconds / SECOND,
        nanoseconds: u32::try_from(nanoseconds % SECOND).expect("a second has fewer nanoseconds"),
    };
    world
        .wasi("wasi:clocks/wall-clock")?
        .function("now", move |data, ()| {
            Ok(datetime(BEGINNING.saturating_mul(SECOND).saturating_add(data.clocks.look())))
        })?
        .function("resolution", move |_, ()| Ok(datetime(LOOK)))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_time_passes_at_once_for_whoever_waits() {
        let mut clocks = Clocks::default();
        clocks.set_step(3);
        let hour = 3600 * SECOND;
        let (soon, late) = (clocks.wait_until(5 * SECOND).unwrap(), clocks.wait_until(hour).unwrap());
        assert_eq!(clocks.poll(&[late, soon]).unwrap(), [1]);
        assert_eq!(clocks.now, 5 * SECOND);
        let late = clocks.wait_until(hour).unwrap();
        assert_eq!(clocks.poll(&[late]).unwrap(), [0]);
        assert_eq!(clocks.now, hour);
        assert!(clocks.poll(&[]).is_err());
    }

    #[test]
    fn time_goes_by_steps_and_never_back() {
        let mut clocks = Clocks::default();
        clocks.set_step(7);
        let first = clocks.look();
        assert_eq!(first, 7 * SECOND + LOOK);
        clocks.set_step(7);
        assert_eq!(clocks.look(), first + LOOK);
        clocks.set_step(8);
        assert_eq!(clocks.look(), 8 * SECOND + LOOK);
        clocks.set_step(u64::MAX);
        assert_eq!(clocks.look(), u64::MAX);
    }
}
