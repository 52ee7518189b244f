//! A small training whose loss depends on what callbacks do to its learning rate, so that anything that they do shows in
//! what is measured. It calls no callbacks. Main type: [`Training`].

use std::collections::BTreeSet;

use host_callback::{Catalog, Hook, Key, KnobId, KnobSpec, Knobs, MeasurementSpec, Measurements, Outcome, Value};

/// Names that an instance may have.
pub(crate) const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The measurement that makes an instance of this name crash.
pub(crate) fn crash(name: &str) -> String {
    format!("crash/{name}")
}

pub(crate) struct Training {
    pub(crate) knobs: Knobs,
    rate: KnobId,
    weight: f64,
    steps: u64,
    /// Loss and learning rate after the last step, to the bit.
    pub(crate) measured: [u64; 2],
    loss_key: Key,
    crash_keys: Vec<Key>,
    /// Who crashes at this step.
    pub(crate) crashing: BTreeSet<&'static str>,
}

impl Training {
    /// Offers its measurements.
    pub(crate) fn new(catalog: &Catalog) -> Self {
        let offer = |name: &str| catalog.offer(MeasurementSpec::new(name, "1", "a test"));
        let (name, unit, meaning) = ("learning-rate/all".into(), "1".into(), String::new());
        let spec = KnobSpec { name, unit, min: 1e-3, max: 0.5, whole: false, effective: Hook::Gradients, meaning };
        let mut knobs = Knobs::new();
        let rate = knobs.offer(spec, 0.1);
        Self {
            knobs,
            rate,
            weight: 3.0,
            steps: 0,
            measured: [0; 2],
            loss_key: offer("loss"),
            crash_keys: NAMES.map(|name| offer(&crash(name))).to_vec(),
            crashing: BTreeSet::new(),
        }
    }

    pub(crate) fn steps(&self) -> u64 {
        self.steps
    }

    fn loss(&self) -> f64 {
        self.weight * self.weight
    }

    /// A step of gradient descent, with noise that depends on the step alone.
    pub(crate) fn update(&mut self) {
        let noise = (self.steps().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
        self.weight -= self.knobs.value(self.rate) * (2.0 * self.weight + noise);
    }

    /// Carries out what was decided, and ends the step.
    pub(crate) fn apply(&mut self, outcome: &Outcome) {
        for (id, value) in &outcome.controls.writes {
            self.knobs.set(*id, *value);
        }
        self.steps += 1;
        self.measured = [self.loss().to_bits(), self.knobs.value(self.rate).to_bits()];
    }

    /// What can be read now.
    pub(crate) fn readings(&self) -> Readings {
        let crash = |(key, name): (&Key, &'static str)| (*key, f64::from(self.crashing.contains(name)));
        let crashes = self.crash_keys.iter().zip(NAMES).map(crash);
        Readings(crashes.chain([(self.loss_key, self.loss())]).collect())
    }
}

pub(crate) struct Readings(Vec<(Key, f64)>);

impl Measurements for Readings {
    fn read(&mut self, key: Key) -> Option<Value> {
        self.0.iter().find(|(known, _)| *known == key).map(|(_, value)| Value::Scalar(*value))
    }
}
