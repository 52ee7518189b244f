//! When a callback is called and what it is shown then.
//! Does not check names: the host refuses one that the run does not offer, with the nearest that it does.

use crate::Hook;
use crate::bindings::train_host::callback::types::Subscription;

/// The hooks that a callback listens to, and the measurements that it reads at each.
///
/// ```
/// use host_sdk::{Hook, Subscriptions};
/// let subscriptions = Subscriptions::new()
///     .on(Hook::StepEnd, &["loss"])
///     .every(50, Hook::Gradients, &["gradient-norm/*"])
///     .on(Hook::TrainEnd, &[]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Subscriptions(Vec<Subscription>);

impl Subscriptions {
    /// Nothing: the callback is never called.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Call at each occurrence of `hook` with the measurements of these names, `*` allowed.
    #[must_use]
    pub fn on(self, hook: Hook, reads: &[&str]) -> Self {
        self.every(1, hook, reads)
    }

    /// Call at every `n`-th occurrence of `hook`, counted from the beginning of the run. The host refuses 0.
    ///
    /// Subscriptions to one hook that are due together are one call, with everything that they read.
    #[must_use]
    pub fn every(mut self, n: u32, hook: Hook, reads: &[&str]) -> Self {
        let reads = reads.iter().map(|name| (*name).into()).collect();
        self.0.push(Subscription { hook, every: n, reads });
        self
    }

    pub(crate) fn into_list(self) -> Vec<Subscription> {
        self.0
    }
}
