//! A whole run beside the same one in PyTorch, from the same weights with the same batches and rates.
//!
//! PyTorch takes its turn after every second or so of ours, and evaluates where ours does. Main function: [`whole`].

use std::time::{Duration, Instant};

use host_callback::{Change, Decision, Hook, Record, Value, Verdict};
use host_trainer::{AnyBare, Observer, RunEvent, Span, StopFlag};

use super::{
    Stage, Subject, broke_off,
    peer::{Peer, Rates, Wanted, shown},
    spread::larger,
};
use crate::{
    config::Plan,
    exit::Exit,
    problem::{Problem, Problems},
    telemetry::Telemetry,
};

/// How long ours goes on before PyTorch has its turn.
const TURN: Duration = Duration::from_secs(1);
/// Steps whose batches PyTorch is given at once.
const CHUNK: usize = 500;

/// Both runs.
#[derive(Debug)]
pub(crate) struct Whole {
    /// What was trained.
    pub(crate) subject: Subject,
    /// Steps of each.
    pub(crate) steps: u64,
    /// How ours ended, in words.
    pub(crate) ending: String,
    /// What ours took, with its start, log records, checkpoints and callbacks.
    pub(crate) ours: Duration,
    /// What PyTorch is.
    pub(crate) peer_name: String,
    /// What its steps and evaluations took.
    pub(crate) peer: Duration,
    /// Every evaluation.
    pub(crate) evaluations: Vec<Evaluation>,
}

impl Whole {
    /// The largest difference of two validation losses: NaN where one of them is no number, `None` without evaluations.
    pub(crate) fn loss_difference(&self) -> Option<f64> {
        let differences = self.evaluations.iter().map(|one| (one.ours - one.peer).abs());
        differences.reduce(larger)
    }
}

/// The mean validation losses after some steps; NaN where one is no number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Evaluation {
    pub(crate) step: u64,
    pub(crate) ours: f64,
    pub(crate) peer: f64,
}

/// Trains both.
///
/// # Errors
///
/// What keeps the run or PyTorch from beginning or going on, and callbacks that decide what PyTorch does not do: it
/// follows learning rates and weight decay.
pub(crate) fn whole(plan: &Plan, wanted: Wanted<'_>) -> Result<Whole, Problems> {
    if let Span::Time(_) = plan.settings.length {
        let problem =
            Problem::new("how long a run takes in seconds is what is to be measured, and cannot be its length");
        return Err((Exit::Usage, problem.help("give its length in steps: --set train.steps=1000")).into());
    }
    let stage = Stage::of(plan)?;
    let validation = shown(plan, stage.bare.validation())?;
    let peer = stage.peer(wanted, plan)?;
    peer.keep(&validation).map_err(|why| broke_off(&why))?;
    let subject = stage.subject(plan);
    let Stage { mut run, mut chain, mut bare, telemetry, mut store, prepared, _folder, .. } = stage;
    let stop = StopFlag::new();
    let groups = plan.settings.groups.iter();
    let mut both = Both {
        telemetry,
        bare: bare.as_mut(),
        peer,
        stop: stop.clone(),
        rates: Following {
            names: groups.clone().map(|group| group.name.clone()).collect(),
            now: groups.map(|group| [group.learning_rate, group.weight_decay]).collect(),
            later: Vec::new(),
        },
        waiting: Vec::new(),
        done: 0,
        since: Instant::now(),
        ours: prepared,
        theirs: Duration::ZERO,
        evaluations: Vec::new(),
        failed: None,
    };
    let report = run.train(&mut store, &mut chain, &mut both, &stop);
    both.pause(Both::steps);
    match both.failed {
        Some(why) => Err(broke_off(&why)),
        None if report.ending.is_final() => Ok(Whole {
            subject,
            steps: report.progress.step,
            ending: report.ending.words(),
            ours: both.ours,
            peer_name: both.peer.name.clone(),
            peer: both.theirs,
            evaluations: both.evaluations,
        }),
        None => Err(broke_off(&report.ending.words())),
    }
}

/// The observer of our run.
struct Both<'a> {
    telemetry: Telemetry,
    /// Knows the batches.
    bare: &'a mut dyn AnyBare,
    peer: Peer,
    stop: StopFlag,
    rates: Following,
    /// The rates of our steps that PyTorch has not done.
    waiting: Vec<Rates>,
    /// Steps that it has done.
    done: usize,
    /// When our turn began.
    since: Instant,
    ours: Duration,
    theirs: Duration,
    evaluations: Vec<Evaluation>,
    failed: Option<String>,
}

impl Both<'_> {
    /// The clock of ours stands still while PyTorch does something.
    fn pause(&mut self, work: impl FnOnce(&mut Self) -> Result<(), String>) {
        self.ours += self.since.elapsed();
        if self.failed.is_none()
            && let Err(why) = work(self)
        {
            self.stop.request("the comparison broke off");
            self.failed = Some(why);
        }
        self.since = Instant::now();
    }

    /// PyTorch catches up with our steps.
    fn steps(&mut self) -> Result<(), String> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut rest = &waiting[..];
        while !rest.is_empty() {
            let place = self.done % CHUNK;
            if place == 0 {
                let batches = self.bare.batches(self.done..self.done + CHUNK);
                self.peer.take(&batches.ok_or("the task shows its batches no more")?)?;
            }
            let now;
            (now, rest) = rest.split_at(rest.len().min(CHUNK - place));
            let done = self.peer.steps(now.len(), Some(now))?;
            self.theirs += Duration::from_secs_f64(done.seconds.iter().sum());
            self.done += now.len();
        }
        Ok(())
    }

    fn evaluate(&mut self, step: u64, ours: f64) -> Result<(), String> {
        self.steps()?;
        let evaluated = self.peer.evaluate()?;
        self.theirs += Duration::from_secs_f64(evaluated.seconds);
        self.evaluations.push(Evaluation { step, ours, peer: evaluated.loss.unwrap_or(f64::NAN) });
        Ok(())
    }
}

impl Observer for Both<'_> {
    fn observe(&mut self, event: &RunEvent<'_>) {
        self.telemetry.observe(event);
        match event {
            RunEvent::Decided { progress, hook, record } => {
                if let Err(what) = self.rates.follow(*hook, record) {
                    let by = &record.by.instance;
                    let why = format!(
                        "after {} steps `{by}` {what}, which PyTorch does not do here; it can follow learning rates \
                         and weight decay",
                        progress.step
                    );
                    self.pause(|_| Err(why));
                }
            }
            RunEvent::Stepped { .. } => {
                self.waiting.push(self.rates.step());
                if self.since.elapsed() > TURN {
                    self.pause(Self::steps);
                }
            }
            RunEvent::Evaluated { progress, values, .. } => {
                let loss = values.iter().find(|(name, _)| name == "eval/loss");
                if let Some((_, Value::Scalar(loss))) = loss {
                    self.pause(|both| both.evaluate(progress.step, *loss));
                }
            }
            _ => {}
        }
    }
}

/// The rates, as callbacks change them.
struct Following {
    /// Of the groups.
    names: Vec<String>,
    now: Rates,
    /// What was decided at the end of a step, and holds from the next one on.
    later: Vec<Change>,
}

impl Following {
    /// Notes what a decision changes.
    ///
    /// # Errors
    ///
    /// What it is that cannot be followed, in words.
    fn follow(&mut self, hook: Hook, record: &Record) -> Result<(), String> {
        if !matches!(record.verdict, Verdict::Applied | Verdict::Merged) {
            return Ok(());
        }
        match record.decision {
            Decision::Skip(_) if matches!(hook, Hook::StepBegin | Hook::Gradients) => {
                return Err("dropped a batch or an update".into());
            }
            Decision::Restore(_) => return Err("put weights back".into()),
            Decision::EndEpoch(_) => return Err("ended the epoch".into()),
            _ => {}
        }
        for change in &record.changes {
            if self.place(&change.knob).is_none() {
                return Err(format!("changed {}", change.knob));
            }
            if hook == Hook::StepEnd {
                self.later.push(change.clone());
            } else {
                self.change(change);
            }
        }
        Ok(())
    }

    /// The rates of the step that has ended.
    fn step(&mut self) -> Rates {
        let rates = self.now.clone();
        std::mem::take(&mut self.later).iter().for_each(|change| self.change(change));
        rates
    }

    fn change(&mut self, change: &Change) {
        if let Some((group, rate)) = self.place(&change.knob) {
            self.now[group][rate] = change.after;
        }
    }

    /// Group and rate of a knob.
    fn place(&self, knob: &str) -> Option<(usize, usize)> {
        let (rate, group) = knob.split_once('/')?;
        let rate = ["learning-rate", "weight-decay"].iter().position(|name| *name == rate)?;
        Some((self.names.iter().position(|name| name == group)?, rate))
    }
}

#[cfg(test)]
mod tests {
    use host_callback::Identity;

    use super::*;

    fn following() -> Following {
        Following {
            names: vec!["no-decay".into(), "rest".into()],
            now: vec![[0.5, 0.0], [0.5, 0.25]],
            later: Vec::new(),
        }
    }

    fn record(decision: Decision, changes: &[(&str, f64)]) -> Record {
        let by =
            Identity { instance: "one".parse().unwrap(), plugin: "p".into(), version: "1.0.0".into(), sha256: None };
        let change = |&(knob, after): &(&str, f64)| Change { knob: knob.into(), before: 0.0, after };
        let changes = changes.iter().map(change).collect();
        Record { by: by.into(), decision, verdict: Verdict::Applied, changes }
    }

    fn set(changes: &[(&str, f64)]) -> Record {
        record(Decision::Set { knob: "some".into(), value: 0.0 }, changes)
    }

    #[test]
    fn rates_hold_from_the_step_on_that_they_were_decided_for() {
        let mut rates = following();
        rates.follow(Hook::StepBegin, &set(&[("learning-rate/no-decay", 0.125), ("learning-rate/rest", 1.0)])).unwrap();
        rates.follow(Hook::StepEnd, &set(&[("weight-decay/rest", 0.75)])).unwrap();
        assert_eq!(rates.step(), [[0.125, 0.0], [1.0, 0.25]]);
        assert_eq!(rates.step(), [[0.125, 0.0], [1.0, 0.75]]);
        let refused = Record { verdict: Verdict::Refused("no grant".into()), ..set(&[("learning-rate/rest", 9.0)]) };
        rates.follow(Hook::StepBegin, &refused).unwrap();
        assert_eq!(rates.step(), [[0.125, 0.0], [1.0, 0.75]]);
    }

    #[test]
    fn what_changes_more_than_rates_is_not_followed() {
        let mut rates = following();
        for quiet in [Decision::Stop("done".into()), Decision::Save("best".into()), Decision::Note("a word".into())] {
            rates.follow(Hook::EvaluateEnd, &record(quiet, &[])).unwrap();
        }
        for (loud, words) in [
            (record(Decision::Skip("bad".into()), &[]), "dropped a batch or an update"),
            (record(Decision::Restore("best".into()), &[]), "put weights back"),
            (record(Decision::EndEpoch("short".into()), &[]), "ended the epoch"),
            (set(&[("batch-size", 4.0)]), "changed batch-size"),
            (set(&[("learning-rate/other", 4.0)]), "changed learning-rate/other"),
        ] {
            assert_eq!(rates.follow(Hook::StepBegin, &loud).unwrap_err(), words);
        }
    }

    #[test]
    fn losses_are_as_far_apart_as_the_farthest_of_them() {
        let of = |pairs: &[(f64, f64)]| {
            let evaluations = pairs.iter().map(|&(ours, peer)| Evaluation { step: 1, ours, peer }).collect();
            let whole = Whole {
                subject: Subject { model: String::new(), device: String::new(), threads: 1, batch: 1 },
                steps: 1,
                ending: String::new(),
                ours: Duration::ZERO,
                peer_name: String::new(),
                peer: Duration::ZERO,
                evaluations,
            };
            whole.loss_difference()
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1.0, 1.5), (2.0, 1.0), (3.0, 3.0)]), Some(1.0));
        assert!(of(&[(1.0, f64::NAN), (2.0, 1.0)]).unwrap().is_nan());
    }
}
