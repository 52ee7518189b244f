//! Numbers in JSON: what is not finite becomes the words `NaN`, `Infinity` and `-Infinity`, and comes back.
//!
//! For `#[serde(with = "host_callback::number")]`. It does not touch finite numbers: those are written so that
//! they are read back to the same bits.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Other(Word),
}

#[derive(Serialize, Deserialize)]
enum Word {
    NaN,
    Infinity,
    #[serde(rename = "-Infinity")]
    MinusInfinity,
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Finite(value)
        } else if value.is_nan() {
            Self::Other(Word::NaN)
        } else if value > 0.0 {
            Self::Other(Word::Infinity)
        } else {
            Self::Other(Word::MinusInfinity)
        }
    }
}

impl From<Number> for f64 {
    fn from(number: Number) -> Self {
        match number {
            Number::Finite(value) => value,
            Number::Other(Word::NaN) => f64::NAN,
            Number::Other(Word::Infinity) => f64::INFINITY,
            Number::Other(Word::MinusInfinity) => f64::NEG_INFINITY,
        }
    }
}

/// Writes a number.
///
/// # Errors
///
/// Only the serialiser's own.
pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    Number::from(*value).serialize(to)
}

/// Reads a number, or one of the three words.
///
/// # Errors
///
/// When it is neither.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Number::deserialize(from).map(f64::from)
}

/// Numbers of single precision in a list, for `#[serde(with = "host_callback::number::list")]`.
pub mod list {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Number;

    /// Writes the numbers.
    ///
    /// # Errors
    ///
    /// Only the serialiser's own.
    pub fn serialize<S: Serializer>(values: &[f32], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(|&value| Number::from(f64::from(value))))
    }

    /// Reads numbers or words.
    ///
    /// # Errors
    ///
    /// When an element is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f32>, D::Error> {
        let numbers = Vec::<Number>::deserialize(from)?;
        Ok(numbers.into_iter().map(|number| f64::from(number) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Decision, Value};

    #[test]
    fn what_is_not_finite_comes_back() {
        for value in [0.1, -0.0, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for value in [Value::Scalar(value), Value::Vector(vec![value as f32, 1.0])] {
                let json = serde_json::to_string(&value).unwrap();
                let back: Value = serde_json::from_str(&json).unwrap();
                assert_eq!(format!("{back:?}"), format!("{value:?}"), "{json}");
            }
        }
        let decision = Decision::Set { knob: "clip-norm".into(), value: f64::NAN };
        assert_eq!(serde_json::to_string(&decision).unwrap(), r#"{"set":{"knob":"clip-norm","value":"NaN"}}"#);
    }
}
