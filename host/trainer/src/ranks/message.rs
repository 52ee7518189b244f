//! What ranks say to each other.
//!
//! The first rank gives orders, each of the others answers some of them. Numbers travel in binary, so that every rank has
//! the same bits, and a NaN stays one. Main types: [`Order`], [`Answer`].

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{guarded::Panicked, task::Size};

/// From the first rank to another.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Take these weights and this optimizer state, as checkpoints hold them. Not answered.
    Load { model: Bytes, optimizer: Bytes },
    /// Make the forward and backward passes of a part of a step; answered with [`Answer::Passed`] or
    /// [`Answer::Failed`].
    Pass(Pass),
    /// Update the weights with these gradients, under these values of all knobs. Not answered.
    Update { gradients: Gradients, knobs: Vec<f64> },
    /// The run is over. Not answered.
    End,
}

/// A part of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) step: u64,
    pub(crate) epoch: u64,
    /// The samples of each micro-batch; none of them is empty.
    pub(crate) batches: Vec<Vec<usize>>,
    /// The values of all knobs.
    pub(crate) knobs: Vec<f64>,
    /// Whether somebody will read the task's lists of numbers.
    pub(crate) vectors: bool,
}

/// From another rank to the first.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The first answer of all: the model is there. Parameters by name and shape.
    Ready { parameters: Vec<(String, Vec<usize>)> },
    /// What the passes gave.
    Passed(Box<Passed>),
    /// The passes failed; nothing of them stays.
    Failed(Panicked),
}

/// What a rank's passes gave: means over its own part of the step.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Passed {
    pub(crate) size: Size,
    /// `None` where the rank had no sample.
    pub(crate) loss: Option<f64>,
    pub(crate) measured: Vec<f64>,
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) gradients: Gradients,
    /// Who asked this rank to stop, if somebody did.
    pub(crate) stop: Option<String>,
}

/// The gradients of the parameters, in their order; `None` for one that has none. 32-bit floats, the lowest byte first.
pub(crate) type Gradients = Vec<Option<Bytes>>;

/// Bytes that are written as they are, not one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }
        from.deserialize_byte_buf(Visitor)
    }
}

impl Bytes {
    pub(crate) fn of_floats(floats: &[f32]) -> Self {
        Self(floats.iter().flat_map(|float| float.to_le_bytes()).collect())
    }

    pub(crate) fn floats(&self) -> impl Iterator<Item = f32> {
        self.0.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
    }
}

pub(crate) fn write(message: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec(message).expect("a message holds nothing that MessagePack has no form for")
}

/// # Errors
///
/// The bytes are no such message.
pub(crate) fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    rmp_serde::from_slice(bytes).map_err(|error| format!("it sent something else than was asked for: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_arrive_with_their_bits() {
        let floats = [f32::from_bits(0x7fc0_1234), f32::NEG_INFINITY, -0.0, 1e-45];
        let passed = Passed {
            size: Size { samples: 3, tokens: 4, targets: 5 },
            loss: Some(f64::NAN),
            measured: vec![f64::INFINITY, 0.1],
            vectors: vec![vec![f32::NAN]],
            gradients: vec![None, Some(Bytes::of_floats(&floats))],
            stop: None,
        };
        let bytes = write(&Answer::Passed(Box::new(passed)));
        let Answer::Passed(passed) = read(&bytes).unwrap() else { panic!("it is what the passes gave") };
        assert_eq!(passed.size, Size { samples: 3, tokens: 4, targets: 5 });
        assert!(passed.loss.unwrap().is_nan() && passed.vectors[0][0].is_nan());
        assert_eq!(passed.measured, [f64::INFINITY, 0.1]);
        let arrived: Vec<u32> = passed.gradients[1].as_ref().unwrap().floats().map(f32::to_bits).collect();
        assert_eq!(arrived, floats.map(f32::to_bits));
        assert!(read::<Answer>(&bytes[..9]).unwrap_err().starts_with("it sent something else"));
    }
}
