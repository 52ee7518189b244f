//! Random numbers that come from the run's seed, so that two equal runs draw the same ones.
//!
//! Each event has a stream of its own, whatever was drawn before it: a callback draws after a resume, a crash or a swap
//! what it would have drawn without. Main type: [`Random`].

use host_callback::{InstanceName, Moment};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng as _, SeedableRng as _},
};
use sha2::{Digest, Sha256};

use super::World;

/// One instance's random numbers.
#[derive(Debug, Default)]
pub(crate) struct Random {
    /// Of the run and the instance.
    seed: [u8; 32],
    /// Which event it is; zeros while a guest is made, described and started.
    event: (u64, u64),
    /// Made when something is drawn, which few callbacks do.
    stream: Option<Box<ChaCha8Rng>>,
}

impl Random {
    /// Numbers for an instance of this name in a run with this seed.
    pub(crate) fn new(seed: u64, instance: &InstanceName) -> Self {
        let hash = Sha256::new().chain_update(seed.to_le_bytes()).chain_update(instance.as_str());
        Self { seed: hash.finalize().into(), ..Self::default() }
    }

    /// An event begins.
    pub(crate) fn set_event(&mut self, moment: &Moment) {
        self.event = (1 + moment.hook as u64, moment.occurrence);
        self.stream = None;
    }

    fn stream(&mut self) -> &mut ChaCha8Rng {
        self.stream.get_or_insert_with(|| {
            let (hook, occurrence) = self.event;
            let hash = Sha256::new().chain_update(self.seed).chain_update(hook.to_le_bytes());
            let seed = hash.chain_update(occurrence.to_le_bytes()).finalize();
            Box::new(ChaCha8Rng::from_seed(seed.into()))
        })
    }

    fn number(&mut self) -> u64 {
        self.stream().next_u64()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.stream().fill_bytes(&mut bytes);
        bytes
    }
}

pub(super) fn link(world: &mut World) -> wasmtime::Result<()> {
    // They are called secure and insecure for what one may do with them; both are equally good here, and equally known
    // to whoever knows the seed.
    for (interface, bytes, number) in [
        ("wasi:random/random", "get-random-bytes", "get-random-u64"),
        ("wasi:random/insecure", "get-insecure-random-bytes", "get-insecure-random-u64"),
    ] {
        world
            .wasi(interface)?
            .function(bytes, |data, (length,): (u64,)| {
                // Whoever can't pay for so much does not get it reserved.
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                data.pay(length)?;
                Ok(data.random.bytes(length))
            })?
            .function(number, |data, ()| Ok(data.random.number()))?;
    }
    world
        .wasi("wasi:random/insecure-seed")?
        .function("insecure-seed", |data, ()| Ok((data.random.number(), data.random.number())))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use host_callback::{Hook, Progress};

    use super::*;

    fn draw(seed: u64, instance: &str, event: Option<(Hook, u64)>) -> u64 {
        let mut random = Random::new(seed, &instance.parse().unwrap());
        if let Some((hook, occurrence)) = event {
            random.bytes(7);
            let progress = Progress::default();
            random.set_event(&Moment { hook, occurrence, progress, detail: String::new() });
        }
        random.number()
    }

    #[test]
    fn a20_numbers_go_by_seed_instance_and_event() {
        let of = [
            (1, "a", None),
            (2, "a", None),
            (1, "b", None),
            (1, "a", Some((Hook::StepEnd, 1))),
            (1, "a", Some((Hook::StepEnd, 2))),
            (1, "a", Some((Hook::StepBegin, 1))),
        ];
        for (at, (seed, instance, event)) in of.into_iter().enumerate() {
            for (other, (other_seed, other_instance, other_event)) in of.into_iter().enumerate() {
                let is_same = draw(seed, instance, event) == draw(other_seed, other_instance, other_event);
                assert_eq!(is_same, at == other, "{at} and {other}");
            }
        }
    }
}
