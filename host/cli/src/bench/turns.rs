//! Loops that take turns: ours, which is watched, and the others, which are called from within it.
//!
//! Main type: [`Turns`].

use std::time::{Duration, Instant};

use host_trainer::{AnyBare, Observer, RunEvent, StopFlag};

use super::{peer::Peer, spread::median};
use crate::telemetry::Telemetry;

/// Steps of one loop before the next one has its turn, at most.
pub(super) const STEPS: usize = 9;
/// How many of a turn's steps are not measured: they find the caches as another loop left them, and threads asleep.
const COLD: usize = 2;
/// Where steps are long, turns have fewer of them, so that what the machine does meanwhile disturbs all loops alike.
const TURN: Duration = Duration::from_millis(500);

/// Steps whose losses are compared: later on, what rounding makes of equal weights has grown.
pub(super) const COMPARED: usize = 99;

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
        if let Some(theirs) = theirs.as_ref().filter(|_| done.losses + steps <= COMPARED) {
            for (ours, theirs) in losses.iter().zip(&theirs.losses) {
                let difference = (ours - theirs.unwrap_or(f64::NAN)).abs();
                // Not `max`, which would drop a NaN.
                if difference > done.difference || difference.is_nan() {
                    done.difference = difference;
                }
                done.losses += 1;
            }
        }
        if self.warm {
            let measured = |seconds: &[f64]| median(&seconds[COLD..]);
            done.ours.push(measured(&self.turn));
            done.bare.push(measured(&seconds));
            done.peer.extend(theirs.map(|theirs| measured(&theirs.seconds)));
        } else {
            self.steps = steps_of_turn(median(&seconds));
            self.warm = true;
        }
        Ok(())
    }
}

/// How many steps that take so many seconds make a turn: at least one of them is measured.
fn steps_of_turn(seconds: f64) -> usize {
    // A float beyond a count, or none, becomes the nearest count.
    ((TURN.as_secs_f64() / seconds) as usize).clamp(COLD + 1, STEPS)
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
            if self.done.ours.len() * (self.steps - COLD) >= self.most || self.began.elapsed() > self.time {
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
    fn a_turn_is_half_a_second_or_some_steps() {
        for (seconds, steps) in [(0.0, 9), (0.001, 9), (0.1, 5), (0.4, 3), (60.0, 3)] {
            assert_eq!(steps_of_turn(seconds), steps, "{seconds} s a step");
        }
    }
}
