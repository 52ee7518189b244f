//! Loops that take turns: ours, which is watched, and the others, which are called from within it.
//!
//! Main type: [`Turns`].

use std::time::{Duration, Instant};

use host_trainer::{AnyBare, Observer, RunEvent, StopFlag};

use super::{peer::Peer, spread::median};
use crate::telemetry::Telemetry;

/// Steps of one loop before the next one has its turn.
pub(super) const STEPS: usize = 9;
/// How many of them are measured: the first ones find the caches as another loop left them, and threads asleep.
pub(super) const MEASURED: usize = STEPS - 2;

/// Steps whose losses are compared: later on, what rounding makes of equal weights has grown.
const COMPARED: usize = 99;

/// The observer of our loop.
pub(super) struct Turns<'a> {
    telemetry: Telemetry,
    bare: &'a mut dyn AnyBare,
    peer: Option<Peer>,
    stop: StopFlag,
    /// Turns that are measured.
    most: usize,
    time: Duration,
    began: Instant,
    /// When our loop began its step.
    since: Instant,
    first_step: Option<Duration>,
    turn: Vec<f64>,
    /// Whether the loops have warmed up: the first turn of each is not measured.
    warm: bool,
    ours: Vec<f64>,
    bares: Vec<f64>,
    peers: Vec<f64>,
    difference: f64,
    losses: usize,
    failed: Option<String>,
}

/// Medians of turns, in seconds a step.
pub(super) struct Done {
    pub(super) first_step: Duration,
    pub(super) ours: Vec<f64>,
    pub(super) bare: Vec<f64>,
    /// Its name, its medians, the largest difference of losses, and of how many steps that is.
    pub(super) peer: Option<(String, Vec<f64>, f64, usize)>,
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
            first_step: None,
            turn: Vec::new(),
            warm: false,
            ours: Vec::new(),
            bares: Vec::new(),
            peers: Vec::new(),
            difference: 0.0,
            losses: 0,
            failed: None,
        }
    }

    /// What came out.
    ///
    /// # Errors
    ///
    /// Why PyTorch did not go on.
    pub(super) fn finish(self) -> Result<Done, String> {
        match self.failed {
            Some(why) => Err(why),
            None => Ok(Done {
                first_step: self.first_step.unwrap_or_default(),
                ours: self.ours,
                bare: self.bares,
                peer: self.peer.map(|peer| (peer.name.clone(), self.peers, self.difference, self.losses)),
            }),
        }
    }

    /// The turns of the others.
    fn others(&mut self) -> Result<(), String> {
        let (mut seconds, mut losses) = (Vec::new(), Vec::new());
        for _ in 0..STEPS {
            let began = Instant::now();
            self.bare.step();
            seconds.push(began.elapsed().as_secs_f64());
            losses.push(self.bare.loss());
        }
        let theirs = self.peer.as_mut().map(|peer| peer.steps(STEPS)).transpose()?;
        if let Some(theirs) = theirs.as_ref().filter(|_| self.losses + STEPS <= COMPARED) {
            for (ours, theirs) in losses.iter().zip(&theirs.losses) {
                let difference = (ours - theirs.unwrap_or(f64::NAN)).abs();
                // Not `max`, which would drop a NaN.
                self.difference =
                    if difference > self.difference || difference.is_nan() { difference } else { self.difference };
                self.losses += 1;
            }
        }
        if self.warm {
            let measured = |seconds: &[f64]| median(&seconds[STEPS - MEASURED..]);
            self.ours.push(measured(&self.turn));
            self.bares.push(measured(&seconds));
            self.peers.extend(theirs.map(|theirs| measured(&theirs.seconds)));
        }
        self.warm = true;
        Ok(())
    }
}

impl Observer for Turns<'_> {
    fn observe(&mut self, event: &RunEvent<'_>) {
        self.telemetry.observe(event);
        if !matches!(event, RunEvent::Stepped { .. }) {
            return;
        }
        let took = self.since.elapsed();
        self.first_step.get_or_insert(took);
        self.turn.push(took.as_secs_f64());
        if self.turn.len() == STEPS {
            if let Err(why) = self.others() {
                self.failed = Some(why);
                self.stop.request("the comparison broke off");
            }
            self.turn.clear();
            if self.ours.len() == self.most || self.began.elapsed() > self.time {
                self.stop.request("enough was measured");
            }
        }
        self.since = Instant::now();
    }
}
