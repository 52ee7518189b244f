//! What a callback may ask for, as plain values.
//!
//! It does not check them: [`resolve`](crate::resolve) does, against hook, grants and ranges.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One answer of a callback. The contract's text on each is in `wit/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// End the run cleanly, with a reason.
    Stop(String),
    /// Go on with the next epoch, with a reason.
    EndEpoch(String),
    /// Evaluate at the next safe point.
    Evaluate,
    /// Save at the next safe point, under a tag (may be empty).
    Save(String),
    /// Write a log record at the next safe point.
    Log,
    /// Drop what the hook announces, with a reason.
    Skip(String),
    /// Put weights and optimizer state back to a checkpoint, by tag.
    Restore(String),
    /// Give a knob a value.
    Set {
        /// The knob, or the part of its name before `/` for all below it.
        knob: String,
        /// The new value.
        #[serde(with = "crate::number")]
        value: f64,
    },
    /// Multiply a knob by a factor.
    Scale {
        /// The knob, or the part of its name before `/` for all below it.
        knob: String,
        /// What to multiply by.
        #[serde(with = "crate::number")]
        factor: f64,
    },
    /// Publish a measurement of the callback's own.
    Report {
        /// The name, without the instance.
        name: String,
        /// The value; NaN and infinities are allowed.
        #[serde(with = "crate::number")]
        value: f64,
    },
    /// Leave a name out of the log record.
    Mute(String),
    /// A line in the timeline.
    Note(String),
}

impl Decision {
    /// The request that a grant must hold for this decision; `None` for knob writes, which are granted
    /// by knob, and for `report` and `note`, which everybody may do.
    pub fn request(&self) -> Option<Request> {
        match self {
            Self::Stop(_) => Some(Request::Stop),
            Self::EndEpoch(_) => Some(Request::EndEpoch),
            Self::Evaluate => Some(Request::Evaluate),
            Self::Save(_) => Some(Request::Save),
            Self::Log => Some(Request::Log),
            Self::Skip(_) => Some(Request::Skip),
            Self::Restore(_) => Some(Request::Restore),
            Self::Mute(_) => Some(Request::Mute),
            Self::Set { .. } | Self::Scale { .. } | Self::Report { .. } | Self::Note(_) => None,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop(why) => write!(f, "stop ({why})"),
            Self::EndEpoch(why) => write!(f, "end-epoch ({why})"),
            Self::Evaluate => f.write_str("evaluate"),
            Self::Save(tag) if tag.is_empty() => f.write_str("save"),
            Self::Save(tag) => write!(f, "save `{tag}`"),
            Self::Log => f.write_str("log"),
            Self::Skip(why) => write!(f, "skip ({why})"),
            Self::Restore(tag) => write!(f, "restore `{tag}`"),
            Self::Set { knob, value } => write!(f, "set {knob} to {value}"),
            Self::Scale { knob, factor } => write!(f, "scale {knob} by {factor}"),
            Self::Report { name, value } => write!(f, "report {name} = {value}"),
            Self::Mute(name) => write!(f, "mute {name}"),
            Self::Note(text) => write!(f, "note: {text}"),
        }
    }
}

/// What can be granted besides knobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// [`Decision::Stop`].
    Stop,
    /// [`Decision::EndEpoch`].
    EndEpoch,
    /// [`Decision::Evaluate`].
    Evaluate,
    /// [`Decision::Save`].
    Save,
    /// [`Decision::Log`].
    Log,
    /// [`Decision::Skip`].
    Skip,
    /// [`Decision::Restore`].
    Restore,
    /// [`Decision::Mute`].
    Mute,
}

impl Request {
    /// Every request, in the order of the contract.
    pub const ALL: [Self; 8] =
        [Self::Stop, Self::EndEpoch, Self::Evaluate, Self::Save, Self::Log, Self::Skip, Self::Restore, Self::Mute];

    /// The name in the contract and in `grant = { requests = [...] }`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::EndEpoch => "end-epoch",
            Self::Evaluate => "evaluate",
            Self::Save => "save",
            Self::Log => "log",
            Self::Skip => "skip",
            Self::Restore => "restore",
            Self::Mute => "mute",
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
