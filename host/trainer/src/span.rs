//! Stretches of a run as people say them: `100st`, `2ep`, `5000sp`, `10min`.
//!
//! It does not watch a clock: the loop says how far it is.

use std::{borrow::Cow, fmt, str::FromStr, time::Duration};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A length of training, or the distance between two things that happen again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Span {
    /// Optimizer steps: `100st`.
    Steps(u64),
    /// Passes over the training data: `2ep`.
    Epochs(u64),
    /// Training samples: `5000sp`.
    Samples(u64),
    /// Time spent training, resumed parts included: `90s`, `10min`, `2h`.
    Time(Duration),
}

/// How far a run is, in every unit that a [`Span`] has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Travelled {
    /// Steps finished.
    pub steps: u64,
    /// Epochs finished, whole ones.
    pub epochs: u64,
    /// Samples seen.
    pub samples: u64,
    /// Time spent.
    pub time: Duration,
}

impl Span {
    /// How many times the whole span fits into what was travelled: an empty one more often than can be counted.
    pub fn passed(&self, travelled: &Travelled) -> u64 {
        let fits = match self {
            Self::Steps(n) => travelled.steps.checked_div(*n),
            Self::Epochs(n) => travelled.epochs.checked_div(*n),
            Self::Samples(n) => travelled.samples.checked_div(*n),
            Self::Time(time) => travelled.time.as_nanos().checked_div(time.as_nanos()).map(|times| times as u64),
        };
        fits.unwrap_or(u64::MAX)
    }

    /// Whether a multiple of the span lies between two points, the later one included.
    pub fn crossed(&self, before: &Travelled, after: &Travelled) -> bool {
        self.passed(after) > self.passed(before)
    }
}

/// Why a text is no span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no length of training; write a whole number above 0 and st, ep, sp, s, min or h, such as \"100st\"")]
pub struct BadSpan(String);

impl FromStr for Span {
    type Err = BadSpan;

    fn from_str(text: &str) -> Result<Self, BadSpan> {
        let bad = || BadSpan(text.to_owned());
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let n: u64 = text[..digits].parse().map_err(|_| bad())?;
        if n == 0 {
            return Err(bad());
        }
        let seconds = |factor: u64| n.checked_mul(factor).map(Duration::from_secs).map(Self::Time).ok_or_else(bad);
        match text[digits..].trim_start() {
            "st" => Ok(Self::Steps(n)),
            "ep" => Ok(Self::Epochs(n)),
            "sp" => Ok(Self::Samples(n)),
            "s" => seconds(1),
            "min" => seconds(60),
            "h" => seconds(3600),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for Span {
    type Error = BadSpan;

    fn try_from(text: String) -> Result<Self, BadSpan> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(n) => write!(f, "{n}st"),
            Self::Epochs(n) => write!(f, "{n}ep"),
            Self::Samples(n) => write!(f, "{n}sp"),
            Self::Time(time) => match time.as_secs() {
                s if s % 3600 == 0 => write!(f, "{}h", s / 3600),
                s if s % 60 == 0 => write!(f, "{}min", s / 60),
                s => write!(f, "{s}s"),
            },
        }
    }
}

impl JsonSchema for Span {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^0*[1-9][0-9]* *(st|ep|sp|s|min|h)$", "examples": ["100st", "2ep", "5000sp", "10min"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, span) in [
            ("100st", Span::Steps(100)),
            ("2ep", Span::Epochs(2)),
            ("5000sp", Span::Samples(5000)),
            ("90s", Span::Time(Duration::from_secs(90))),
            ("10min", Span::Time(Duration::from_secs(600))),
            ("2h", Span::Time(Duration::from_secs(7200))),
        ] {
            assert_eq!(text.parse::<Span>().unwrap(), span);
            assert_eq!(span.to_string(), text);
        }
        assert_eq!("10 min".parse::<Span>().unwrap(), Span::Time(Duration::from_secs(600)));
        for bad in
            ["", "100", "st", "0st", "-1st", "1.5ep", "3 days", "99999999999999999999st", "18446744073709551615h"]
        {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_span_is_crossed_once_for_each_multiple() {
        let at = |samples| Travelled { samples, ..Travelled::default() };
        let span = Span::Samples(100);
        assert!(!span.crossed(&at(0), &at(99)));
        assert!(span.crossed(&at(99), &at(100)));
        assert!(!span.crossed(&at(100), &at(160)));
        assert!(span.crossed(&at(160), &at(230)));
    }
}
