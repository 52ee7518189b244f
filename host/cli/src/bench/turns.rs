//! Loops that take turns: ours, which is watched, and the others, which are called from within it.
//!
//! Main type: [`Turns`].

use std::time::{Duration, Instant};

use host_trainer::{AnyBare, Observer, RunEvent, StopFlag};

use super::{
    peer::Peer,
    spread::{larger, median},
};
use crate::telemetry::Telemetry;

/// Steps of the first turn of each loop, which is not measured.
pub(super) const STEPS: usize = 9;
/// How long a turn is, as far as it has enough steps: short, so that what the machine does meanwhile disturbs all loops
/// alike, and long enough for PyTorch's threads, which wait awake for more to do, to fall asleep in its first part.
const TURN: Duration = Duration::from_millis(250);
/// Steps of a turn, at most.
const MOST: usize = 999;
/// Turns into which the steps that are measured are cut, at least.
const TURNS: usize = 10;

/// Steps whose losses are compared: later on, what rounding makes of equal weights has grown.
pub(super) const COMPARED: usize = 99;
/// Batches that PyTorch is given, at most.
pub(super) const BATCHES: usize = 999;

/// The observer of our loop.
pub(super) struct Turns<'a> {
    telemetry: Telemetry,
    bare: &'a mut dyn AnyBare,
    peer: Option<Peer>,
    stop: StopFlag,
    /// Steps of each loop that are measured, at least.
    most: usize,
    time: Duration,
    began: Instant,
    /// When our loop began its step.
    since: Instant,
    turn: Vec<f64>,
    /// Steps of a turn.
    steps: usize,
    /// Whether the loops have warmed up: the first turn of each is not measured.
    warm: bool,
    done: Done,
    failed: Option<String>,
}

/// Medians of turns, in seconds a step.
#[derive(Default)]
pub(super) struct Done {
    pub(super) first_step: Option<Duration>,
    pub(super) ours: Vec<f64>,
    pub(super) bare: Vec<f64>,
    /// PyTorch's; empty without it.
    pub(super) peer: Vec<f64>,
    pub(super) peer_name: Option<String>,
    /// The largest difference of its losses from the bare loop's, and of how many steps that is.
    pub(super) difference: f64,
    pub(super) losses: usize,
}

impl<'a> Turns<'a> {
    pub(super) fn new(
        telemetry: Telemetry,
        bare: &'a mut dyn AnyBare,
        peer: Option<Peer>,
        stop: StopFlag,
        most: usize,
        time: Duration,
    ) -> Self {
        let now = Instant::now();
        Self {
            telemetry,
            bare,
            peer,
            stop,
            most,
            time,
            began: now,
            since: now,
            turn: Vec::new(),
            steps: STEPS,
            warm: false,
            done: Done::default(),
            failed: None,
        }
    }

    /// What came out.
    ///
    /// # Errors
    ///
    /// Why PyTorch did not go on.
    pub(super) fn finish(self) -> Result<Done, String> {
        let peer_name = self.peer.as_ref().map(|peer| peer.name.clone());
        self.failed.map_or(Ok(Done { peer_name, ..self.done }), Err)
    }

    /// The turns of the others.
    fn others(&mut self) -> Result<(), String> {
        let steps = self.steps;
        let (mut seconds, mut losses) = (Vec::new(), Vec::new());
        for _ in 0..steps {
            let began = Instant::now();
            self.bare.step();
            seconds.push(began.elapsed().as_secs_f64());
            losses.push(self.bare.loss());
        }
        let theirs = self.peer.as_mut().map(|peer| peer.steps(steps, None)).transpose()?;
        let done = &mut self.done;
        if let Some(theirs) = &theirs {
            for (ours, theirs) in losses.iter().zip(&theirs.losses).take(COMPARED - done.losses) {
                done.difference = larger(done.difference, (ours - theirs.unwrap_or(f64::NAN)).abs());
                done.losses += 1;
            }
        }
        if self.warm {
            let measured = |seconds: &[f64]| median(&seconds[cold(steps)..]);
            done.ours.push(measured(&self.turn));
            done.bare.push(measured(&seconds));
            done.peer.extend(theirs.map(|theirs| measured(&theirs.seconds)));
        } else {
            self.steps = steps_of_turn(median(&seconds), self.most);
            self.warm = true;
        }
        Ok(())
    }
}

/// How many steps that take so many seconds make a turn, where so many are to be measured in all.
fn steps_of_turn(seconds: f64, most: usize) -> usize {
    // A float beyond a count, or none, becomes the nearest count.
    ((TURN.as_secs_f64() / seconds) as usize).clamp(3, (most / TURNS).clamp(STEPS, MOST))
}

/// How many of a turn's steps are not measured: they find the caches as another loop left them, and threads asleep or busy
/// with waiting.
fn cold(steps: usize) -> usize {
    (steps / 5).max(2)
}

impl Observer for Turns<'_> {
    fn observe(&mut self, event: &RunEvent<'_>) {
        self.telemetry.observe(event);
        if !matches!(event, RunEvent::Stepped { .. }) {
            return;
        }
        let took = self.since.elapsed();
        self.done.first_step.get_or_insert(took);
        self.turn.push(took.as_secs_f64());
        if self.turn.len() == self.steps {
            if let Err(why) = self.others() {
                self.failed = Some(why);
                self.stop.request("the comparison broke off");
            }
            self.turn.clear();
            if self.done.ours.len() * (self.steps - cold(self.steps)) >= self.most || self.began.elapsed() > self.time {
                self.stop.request("enough was measured");
            }
        }
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_a_quarter_of_a_second_or_some_steps() {
        let turns = [(0.0, 999), (0.001, 250), (0.025, 10), (0.1, 3), (60.0, 3)];
        for (seconds, steps) in turns {
            assert_eq!(steps_of_turn(seconds, 20_000), steps, "{seconds} s a step");
        }
        assert_eq!((steps_of_turn(0.001, 210), steps_of_turn(0.001, 14)), (21, 9));
        assert_eq!([3, 9, 250].map(cold), [2, 2, 50]);
    }
}
