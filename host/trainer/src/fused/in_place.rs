//! Updates of weights, and of what an optimizer keeps for them, where they lie in memory.
//!
//! It does not know the rule: `adamw` and `sgd` do. Main function: [`in_place`].

use burn::{
    backend::Flex,
    tensor::{DType, backend::Backend, ops::FloatTensor},
};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{is, same},
};

/// What an update changes: the weights, and behind them what is kept for them, all of one shape.
pub(crate) type Moved<B, const N: usize> = [FloatTensor<B>; N];

/// The numbers of one task's part of what is changed.
pub(super) type Part<'a, const N: usize> = [&'a mut [f32]; N];

/// Updates in place, or gives everything back where it is not in the host's memory or of other numbers.
///
/// A tensor that somebody else holds too is copied first. The tasks that the rule is called with have a fixed size.
pub(super) fn in_place<B: Backend, const N: usize>(
    gradient: FloatTensor<B>,
    moved: Moved<B, N>,
    rule: impl Fn(&[f32], Part<'_, N>) + Sync,
) -> Result<Moved<B, N>, (FloatTensor<B>, Moved<B, N>)> {
    if !is::<B, Flex>() {
        return Err((gradient, moved));
    }
    let gradient: FlexTensor = same(gradient);
    let moved: [FlexTensor; N] = same(moved);
    if moved.iter().chain([&gradient]).any(|tensor| tensor.dtype() != DType::F32) {
        return Err((same(gradient), same(moved)));
    }
    let gradient = host::dense(&gradient);
    let mut moved = moved.map(host::own);
    let mut chunks = moved.each_mut().map(|tensor| host::numbers_mut(tensor).chunks_mut(host::ELEMENTS));
    let mut next = || chunks.each_mut().map(|chunks| chunks.next().expect("all have the gradient's shape"));
    let tasks = host::numbers(&gradient).chunks(host::ELEMENTS).map(|gradient| (gradient, next()));
    host::each(tasks, |(gradient, part)| rule(gradient, part));
    Ok(same(moved))
}

/// What is kept of a decaying number: 0 in place of one below the smallest normal number, 1.2e-38.
///
/// What is kept for a weight whose gradient stays 0, that of a dead unit say, gets smaller with each update. Below the
/// normal numbers it would never become 0, since rounding brings it back to the smallest number of all, and a CPU takes
/// many times as long for a sum or a product of such numbers. With a decay of 0.9 that begins after 800 updates.
#[inline(always)]
pub(super) fn kept(number: f32) -> f32 {
    // NaN is not smaller.
    if number.abs() < f32::MIN_POSITIVE { 0.0 } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_are_not_normal_become_zero() {
        for number in [0.0, 1.0, -1.0, f32::MIN_POSITIVE, -f32::MIN_POSITIVE, f32::MAX, f32::NEG_INFINITY] {
            assert_eq!(kept(number), number);
        }
        let subnormal = [f32::from_bits(1), -f32::from_bits(1), f32::MIN_POSITIVE / 2.0];
        assert_eq!(subnormal.map(kept), [0.0; 3]);
        assert!(kept(f32::NAN).is_nan());
    }
}
