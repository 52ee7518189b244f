//! What can be turned while a run goes on: names, ranges, and the values that stand.
//!
//! It does not carry a write out: the loop does, and then tells the new value with [`Knobs::set`].

use serde::{Deserialize, Serialize};

use crate::{Hook, Pattern, name::did_you_mean};

/// A knob's position in [`Knobs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KnobId(usize);

/// What a knob is.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct KnobSpec {
    /// The name, such as `learning-rate/encoder`.
    pub name: String,
    /// The unit; `1` for a plain number.
    pub unit: String,
    /// The smallest value that is taken.
    pub min: f64,
    /// The largest value that is taken; may be infinite.
    pub max: f64,
    /// Whether only whole numbers mean something. A `scale` is rounded to the nearest one, a `set` to a
    /// fraction is refused.
    pub whole: bool,
    /// The hook at which a write still counts for the step that is running; after it, for the next.
    pub effective: Hook,
    /// What it does, in one sentence.
    pub meaning: String,
}

/// A knob and the value that stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knob {
    /// What it is.
    #[serde(flatten)]
    pub spec: KnobSpec,
    /// Its value now.
    pub value: f64,
}

/// All knobs of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Knobs {
    knobs: Vec<Knob>,
}

impl Knobs {
    /// No knobs.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a knob. Names are unique: one that exists already gets the new range and value.
    pub fn offer(&mut self, spec: KnobSpec, value: f64) -> KnobId {
        let knob = Knob { spec, value };
        match self.id(&knob.spec.name) {
            Some(id) => {
                self.knobs[id.0] = knob;
                id
            }
            None => {
                self.knobs.push(knob);
                KnobId(self.knobs.len() - 1)
            }
        }
    }

    /// The knob with exactly this name.
    pub fn id(&self, name: &str) -> Option<KnobId> {
        self.knobs.iter().position(|knob| knob.spec.name == name).map(KnobId)
    }

    /// The knobs that a written name addresses: the one with this name, all `<name>/...`, or where the name has `*`
    /// in it all that it matches.
    ///
    /// Empty when there is none.
    pub fn addressed(&self, written: &str) -> Vec<KnobId> {
        if let Some(id) = self.id(written) {
            return vec![id];
        }
        let pattern = Pattern::from(written);
        (0..self.knobs.len()).filter(|&at| pattern.covers(&self.knobs[at].spec.name)).map(KnobId).collect()
    }

    /// A knob by its position.
    pub fn get(&self, id: KnobId) -> &Knob {
        &self.knobs[id.0]
    }

    /// The value that stands.
    pub fn value(&self, id: KnobId) -> f64 {
        self.knobs[id.0].value
    }

    /// Tells that a write was carried out.
    pub fn set(&mut self, id: KnobId, value: f64) {
        self.knobs[id.0].value = value;
    }

    /// All knobs, in the order in which they were offered.
    pub fn iter(&self) -> impl Iterator<Item = (KnobId, &Knob)> {
        self.knobs.iter().enumerate().map(|(at, knob)| (KnobId(at), knob))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.knobs.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.knobs.is_empty()
    }

    /// ", did you mean ...?" for a name that addresses nothing.
    pub fn did_you_mean(&self, written: &str) -> String {
        did_you_mean(written, self.knobs.iter().map(|knob| knob.spec.name.as_str()))
    }
}
