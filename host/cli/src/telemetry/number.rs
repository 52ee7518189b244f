//! Values by name as objects of JSON, in their order; what JSON has no number for is spelled as
//! [`host_callback::number`] does.
//!
//! It does not round: a number read back has the same bits. Main types: [`Number`], [`Named`].

use host_callback::Value;
use serde::{Deserialize, Serialize, Serializer};

/// A number that may be NaN or infinite.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Number(#[serde(with = "host_callback::number")] pub(crate) f64);

/// Values by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a>(pub(super) &'a [(String, Value)]);

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// The scalars among values by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalars<'a>(pub(super) &'a [(String, Value)]);

impl Serialize for Scalars<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(super::lines::scalars(self.0).map(|(name, value)| (name, Number(value))))
    }
}

/// Numbers by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct NamedNumbers<'a>(pub(super) &'a [(String, f64)]);

impl Serialize for NamedNumbers<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, Number(*value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_every_number_is_written() {
        let values = [
            ("z".to_owned(), Value::Scalar(f64::NAN)),
            ("a".to_owned(), Value::Vector(vec![0.5, f32::NEG_INFINITY])),
            ("m".to_owned(), Value::Text("x\"y".into())),
        ];
        let text = serde_json::to_string(&Named(&values)).unwrap();
        assert_eq!(text, r#"{"z":"NaN","a":[0.5,"-Infinity"],"m":"x\"y"}"#);
        let text = serde_json::to_string(&NamedNumbers(&[("a/x".into(), f64::INFINITY), ("a/b".into(), 1.0)])).unwrap();
        assert_eq!(text, r#"{"a/x":"Infinity","a/b":1.0}"#);
    }
}
