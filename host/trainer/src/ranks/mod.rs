//! Several ranks train one model: each has the same weights, and a part of every batch.
//!
//! The first rank has the loop, the callbacks and the files. It gives each other rank its samples, adds up the
//! gradients that come back, and sends everybody the sum, clipped as the knobs say: so all ranks make the same update at
//! the same step, whatever decided it, and nothing else of a run knows how many there are. A batch stays what it is with
//! one rank; only the order in which its terms are summed differs.
//!
//! It does not start processes: whoever embeds the trainer does, and gives each end a [`Link`]. Main types: [`Others`];
//! the first rank's part of a step is in `lead`, that of the others in `follow`.

mod follow;
mod gradients;
mod lead;
mod link;
mod message;

pub use self::link::{Link, StreamLink};
use self::message::Answer;
pub(crate) use self::message::Order;
use crate::TrainError;

/// The other ranks of a run, as the first one sees them.
#[derive(Default)]
pub(crate) struct Others {
    /// Rank 1 is the first one here.
    links: Vec<Box<dyn Link>>,
}

impl Others {
    /// Waits until each of them has its model.
    ///
    /// # Errors
    ///
    /// One is gone, or has another model than `parameters`.
    pub(crate) fn join(links: Vec<Box<dyn Link>>, parameters: &[(String, Vec<usize>)]) -> Result<Self, TrainError> {
        let mut others = Self { links };
        for rank in 1..others.world_size() {
            let message = match others.hear(rank)? {
                Answer::Ready { parameters: theirs } if theirs == parameters => continue,
                Answer::Ready { .. } => "its model is another one; does it have the same configuration?",
                _ => "it did not say that it is ready",
            };
            return Err(TrainError::Rank { rank, message: message.into() });
        }
        Ok(others)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// How many ranks there are, the first one included.
    pub(crate) fn world_size(&self) -> usize {
        1 + self.links.len()
    }

    /// Gives all of them the same order, also where one of them is lost.
    ///
    /// # Errors
    ///
    /// The first one that is lost.
    pub(crate) fn tell(&mut self, order: &Order) -> Result<(), TrainError> {
        if self.is_empty() {
            return Ok(());
        }
        let bytes = message::write(order);
        let sent: Vec<_> = (1..self.world_size()).map(|rank| self.send(rank, &bytes)).collect();
        sent.into_iter().collect()
    }

    /// Gives one of them an order.
    fn order(&mut self, rank: usize, order: &Order) -> Result<(), TrainError> {
        self.send(rank, &message::write(order))
    }

    fn send(&mut self, rank: usize, bytes: &[u8]) -> Result<(), TrainError> {
        self.links[rank - 1].send(bytes).map_err(|error| gone(rank, &error))
    }

    /// Waits for the answer of one of them.
    fn hear(&mut self, rank: usize) -> Result<Answer, TrainError> {
        let bytes = self.links[rank - 1].receive().map_err(|error| gone(rank, &error))?;
        message::read(&bytes).map_err(|message| TrainError::Rank { rank, message })
    }
}

fn gone(rank: usize, error: &std::io::Error) -> TrainError {
    let message = match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::BrokenPipe => "it is gone".to_owned(),
        _ => format!("it cannot be reached: {error}"),
    };
    TrainError::Rank { rank, message }
}

/// The part of a batch that a rank gets: all parts together are the batch, in its order, and differ by one sample at
/// most. The first rank has the largest, so it always has one.
pub(crate) fn part(batch: &[usize], rank: usize, world_size: usize) -> &[usize] {
    let end = |rank: usize| (batch.len() * rank).div_ceil(world_size);
    &batch[end(rank)..end(rank + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_batch_and_differ_by_one() {
        for length in 1..20 {
            let batch: Vec<usize> = (0..length).collect();
            for world_size in 1..7 {
                let parts: Vec<&[usize]> = (0..world_size).map(|rank| part(&batch, rank, world_size)).collect();
                assert_eq!(parts.concat(), batch);
                let lengths = || parts.iter().map(|part| part.len());
                assert!(lengths().max().unwrap() - lengths().min().unwrap() <= 1, "{length} {world_size}");
                assert_eq!(lengths().max(), Some(parts[0].len()));
            }
        }
    }
}
