//! The next step's batches, fetched on another thread while this step is computed.
//!
//! A batch is a function of its epoch and samples, so who fetches it changes nothing. Where a step takes other samples than
//! were expected (a callback changed the batch size, say), they are fetched anew. No more than the next step's are fetched
//! ahead. Main type: [`Ahead`].

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::mpsc::{Receiver, Sender, channel},
    thread,
};

use crate::task::{Fetcher, Size};

/// The micro-batches of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) epoch: u64,
    pub(crate) batches: Vec<Vec<usize>>,
}

/// The micro-batches with their sizes.
pub(crate) type Fetched<Batch> = Vec<(Batch, Size)>;

/// A thread that fetches. It ends with this.
pub(crate) struct Ahead<Batch> {
    to: Sender<Wanted>,
    from: Receiver<thread::Result<Fetched<Batch>>>,
    /// What it was asked for and has not handed over.
    asked: Option<Wanted>,
}

impl<Batch: Send + 'static> Ahead<Batch> {
    /// Starts a thread that fetches for a device; none where the system gives no thread, and each step fetches for itself.
    pub(crate) fn start<Device: Send + 'static>(fetcher: Fetcher<Batch, Device>, device: Device) -> Option<Self> {
        let (to, wanted) = channel::<Wanted>();
        let (fetched, from) = channel();
        let work = move || {
            for Wanted { epoch, batches } in wanted {
                let fetch = || batches.iter().map(|samples| fetcher(epoch, samples, &device)).collect();
                // Nobody listens any more when the run is over.
                if fetched.send(catch_unwind(AssertUnwindSafe(fetch))).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name("fetch".into()).spawn(work).ok()?;
        Some(Self { to, from, asked: None })
    }

    /// Asks for what the next step will take, once this step's has been taken.
    pub(crate) fn expect(&mut self, wanted: Wanted) {
        if self.asked.is_none() && self.to.send(wanted.clone()).is_ok() {
            self.asked = Some(wanted);
        }
    }

    /// What was asked for, if it is this; it is forgotten if it is not.
    ///
    /// # Panics
    ///
    /// When fetching it panicked, with the same words.
    pub(crate) fn take(&mut self, wanted: &Wanted) -> Option<Fetched<Batch>> {
        let asked = self.asked.take()?;
        let fetched = self.from.recv().ok()?;
        (asked == *wanted).then(|| fetched.unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

#[cfg(test)]
mod tests {
    use std::thread::ThreadId;

    use super::*;

    /// Whose batches are their samples, and the thread that fetched them.
    fn ahead() -> Ahead<(u64, Vec<usize>, ThreadId)> {
        let fetch = |epoch: u64, samples: &[usize], (): &()| {
            assert!(samples != [13], "sample 13 is broken");
            ((epoch, samples.to_vec(), thread::current().id()), Size::of_samples(samples.len()))
        };
        Ahead::start(Box::new(fetch), ()).unwrap()
    }

    fn wanted(epoch: u64, batches: &[&[usize]]) -> Wanted {
        Wanted { epoch, batches: batches.iter().map(|samples| samples.to_vec()).collect() }
    }

    #[test]
    fn what_was_expected_comes_from_the_other_thread_in_order() {
        let mut ahead = ahead();
        let steps = [wanted(0, &[&[3, 1], &[2]]), wanted(0, &[&[0]]), wanted(1, &[&[0]])];
        for step in &steps {
            ahead.expect(step.clone());
            let fetched = ahead.take(step).unwrap();
            let own = thread::current().id();
            for ((epoch, samples, by), size) in &fetched {
                assert_eq!((*epoch, size.samples), (step.epoch, samples.len() as u64));
                assert_ne!(*by, own);
            }
            assert_eq!(fetched.into_iter().map(|((_, samples, _), _)| samples).collect::<Vec<_>>(), step.batches);
        }
        assert!(ahead.take(&steps[0]).is_none(), "nothing is left");
    }

    #[test]
    fn what_was_not_expected_is_not_there() {
        let mut ahead = ahead();
        assert!(ahead.take(&wanted(0, &[&[3]])).is_none(), "nothing was");
        ahead.expect(wanted(0, &[&[3]]));
        assert!(ahead.take(&wanted(1, &[&[3]])).is_none(), "of another epoch");
        assert!(ahead.take(&wanted(0, &[&[3]])).is_none(), "it was forgotten");
        ahead.expect(wanted(0, &[&[4]]));
        assert!(ahead.take(&wanted(0, &[&[4]])).is_some(), "and it goes on");
    }

    #[test]
    fn a_panic_is_that_of_whoever_takes() {
        let mut ahead = ahead();
        ahead.expect(wanted(0, &[&[13]]));
        let panic = catch_unwind(AssertUnwindSafe(|| ahead.take(&wanted(0, &[&[13]])))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"sample 13 is broken"));
        ahead.expect(wanted(0, &[&[1]]));
        assert!(ahead.take(&wanted(0, &[&[1]])).is_some(), "the thread is still there");
    }
}
