//! How the samples of an update are split into batches.
//! Plain arithmetic; knows nothing of memory and hooks.

/// Samples of one forward pass, and forward passes of one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) batch: u64,
    pub(crate) accumulation: u64,
}

impl Split {
    /// Samples of one update.
    pub(crate) fn samples(self) -> u64 {
        self.batch.saturating_mul(self.accumulation)
    }

    /// The same samples in batches of at most half the size: the largest that divides them, so that none is left
    /// over. `None` where it would be smaller than `min_batch`.
    pub(crate) fn smaller(self, min_batch: u64) -> Option<Self> {
        let samples = self.samples();
        let batch = (min_batch.max(1)..=self.batch / 2).rev().find(|batch| samples.is_multiple_of(*batch))?;
        Some(Self { batch, accumulation: samples / batch })
    }
}
