//! State and settings as JSON, in which every number survives.
//! Does not say when: `instance` saves and loads.

mod reader;
mod writer;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// State as it was saved, for [`Callback::migrate`](crate::Callback::migrate) to read.
#[derive(Clone, Debug)]
pub struct Saved {
    bytes: Vec<u8>,
    version: u32,
}

impl Saved {
    pub(crate) fn new(bytes: Vec<u8>, version: u32) -> Self {
        Self { bytes, version }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The version that the plugin gave its state when it saved it.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The state as a type that had this version.
    ///
    /// # Errors
    ///
    /// The bytes are not a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        from_json(&self.bytes).map_err(|error| format!("state of version {}: {error}", self.version))
    }
}

/// JSON of `value`. NaN and the infinities, for which JSON has no number, become the words that `from_json` reads
/// back: a training run is where they are met, and a plain `null` would read as an error after the resume.
pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    let mut json = Vec::new();
    value
        .serialize(writer::Writer(&mut serde_json::Serializer::new(&mut json)))
        .map_err(|error| format!("state: {error}"))?;
    Ok(json)
}

/// A value from JSON as `to_json` writes it. The text becomes a tree first: an error then names what was wrong, and not
/// a column of a text that nobody has seen.
pub(crate) fn from_json<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let tree: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
    T::deserialize(reader::Reader(tree)).map_err(|error| error.to_string())
}

/// The words for numbers that JSON does not have.
const NOT_FINITE: [(&str, f64); 3] = [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Everything {
        double: f64,
        single: f32,
        maybe: Option<f64>,
        missing: Option<f64>,
        list: Vec<f64>,
        pair: (f64, u8),
        named: BTreeMap<String, f64>,
        numbered: BTreeMap<u32, f64>,
        signed: BTreeMap<i64, bool>,
        kind: Kind,
        kinds: Vec<Kind>,
        wrapped: Wrapped,
        words: String,
        letter: char,
        large: u64,
        unit: (),
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    enum Kind {
        #[default]
        Plain,
        One(f64),
        Two(f64, f64),
        Named {
            value: f64,
        },
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Wrapped(f64);

    fn round_trip(value: &Everything) -> Everything {
        from_json(&to_json(value).unwrap()).unwrap()
    }

    #[test]
    fn every_kind_of_value_comes_back() {
        let inf = f64::INFINITY;
        let value = Everything {
            double: 0.1 + 0.2,
            single: 0.1,
            maybe: Some(inf),
            missing: None,
            list: vec![1.0, -inf, -0.0, 5e-324, f64::MAX],
            pair: (inf, 3),
            named: [("a".into(), inf), ("b".into(), 1.0)].into(),
            numbered: [(7, -inf)].into(),
            signed: [(-7, true)].into(),
            kind: Kind::One(inf),
            kinds: vec![Kind::Plain, Kind::Two(1.0, -inf), Kind::Named { value: inf }],
            wrapped: Wrapped(inf),
            words: "NaN".into(),
            letter: '"',
            large: u64::MAX,
            unit: (),
        };
        assert_eq!(round_trip(&value), value);
    }

    #[test]
    fn nan_comes_back_as_nan() {
        let value = Everything { double: f64::NAN, single: f32::NAN, maybe: Some(f64::NAN), ..Everything::default() };
        let back = round_trip(&value);
        assert!(back.double.is_nan() && back.single.is_nan() && back.maybe.is_some_and(f64::is_nan));
    }

    #[test]
    fn every_double_comes_back_to_the_bit() {
        // A linear congruence over the whole range of bits; those that are NaN have no one pattern to come back to.
        let mut bits = 1_u64;
        for _ in 0..10_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits);
            if !value.is_nan() {
                let back: f64 = from_json(&to_json(&value).unwrap()).unwrap();
                assert_eq!(back.to_bits(), bits, "{value}");
            }
        }
    }

    #[test]
    fn an_error_names_the_field_and_no_column() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Settings {
            #[expect(dead_code, reason = "only the error matters here")]
            ceiling: f64,
        }
        let error = from_json::<Settings>(br#"{"ceilin": 1}"#).unwrap_err();
        assert_eq!(error, "unknown field `ceilin`, expected `ceiling`");
        let error = from_json::<Settings>(br#"{"ceiling": "high"}"#).unwrap_err();
        assert_eq!(error, "invalid type: string \"high\", expected f64");
    }
}
