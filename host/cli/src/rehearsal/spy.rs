//! The callbacks of a rehearsal: a chain whose plugin is looked at in each call, and can be changed for another instance.
//!
//! Main type: [`Spy`].

use std::{
    collections::{BTreeMap, VecDeque},
    time::Instant,
};

use host_callback::{
    Callbacks, Catalog, Chain, Hook, Key, Knobs, Measurements, Moment, Outcome, Saved, Summary, Value,
};

use super::Tape;

/// A chain with one plugin.
pub(super) struct Spy {
    pub(super) chain: Chain,
    pub(super) catalog: Catalog,
    /// Instances that take the plugin's place with its state, each after so many finished steps.
    pub(super) understudies: VecDeque<(u64, Chain)>,
    pub(super) tape: Tape,
}

impl Spy {
    /// As if the run had been interrupted and resumed here.
    fn change_places(&mut self, step: u64) {
        while self.understudies.front().is_some_and(|(at, _)| *at <= step) {
            let Some((_, mut next)) = self.understudies.pop_front() else { return };
            let saved = self.chain.save();
            saved.failures.iter().for_each(|record| self.tape.failed(record.failure.to_string()));
            next.load_reports(&saved.reports);
            next.load_disabled(&saved.disabled);
            for state in &saved.states {
                if let Err(failure) = next.load(state) {
                    self.tape.failed(format!("a new instance does not take its state: {failure}"));
                }
            }
            self.chain = next;
        }
    }

    fn used(&self) -> (u64, u64, f64) {
        let all = self.chain.summaries();
        all.first().map_or((0, 0, 0.0), |summary| (summary.calls, summary.fuel, summary.seconds))
    }
}

impl Callbacks for Spy {
    fn handle(&mut self, moment: &Moment, measurements: &mut dyn Measurements, knobs: &Knobs) -> Outcome {
        if moment.hook == Hook::StepBegin {
            self.change_places(moment.progress.step);
        }
        let keys: Vec<Key> = self.chain.reads(moment.hook, moment.occurrence).to_vec();
        let ((calls, fuel, seconds), began) = (self.used(), Instant::now());
        let outcome = self.chain.handle(moment, measurements, knobs);
        let all = began.elapsed().as_secs_f64();
        let (now, fuel_now, seconds_now) = self.used();
        if now > calls {
            // A plugin with a thread of its own takes its time there.
            let seconds = if seconds_now > seconds { seconds_now - seconds } else { all };
            self.tape.called(moment.hook, seconds, fuel_now - fuel);
        }
        let mut values = BTreeMap::new();
        for key in keys {
            if let (Some(Value::Scalar(value)), Some(name)) = (measurements.read(key), self.catalog.name(key)) {
                values.insert(name, value);
            }
        }
        self.tape.shown(moment.progress.step, moment.hook, values);
        outcome
    }

    fn reads(&mut self, hook: Hook, occurrence: u64) -> &[Key] {
        self.chain.reads(hook, occurrence)
    }

    fn finish(&mut self, knobs: &Knobs) -> Outcome {
        self.chain.finish(knobs)
    }

    fn save(&mut self) -> Saved {
        self.chain.save()
    }

    fn summaries(&self) -> Vec<Summary> {
        self.chain.summaries()
    }
}
