//! Plain loops, compiled for several instruction sets, and the functions that they share.
//!
//! Every level gives the same bits: Rust does not contract a product and a sum into one rounding, and what a loop sums
//! it sums in [`LANES`] fixed lanes. Main macro: `kernels`.

use std::{
    f32::consts::{FRAC_1_SQRT_2, LOG2_E},
    hint::black_box,
};

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(any(target_arch = "x86_64", test)), expect(dead_code, reason = "the wider ones are those of x86-64"))]
pub(super) enum Level {
    /// AVX-512F: 16 floats an instruction.
    Avx512,
    /// AVX2: 8.
    Avx2,
    /// What the target always has.
    Portable,
}

/// The widest level that the machine has.
pub(super) fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = chosen::get() {
        return level;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        return Level::Avx512;
    } else if is_x86_feature_detected!("avx2") {
        return Level::Avx2;
    }
    Level::Portable
}

/// Functions whose loops are compiled for each [`Level`]; a call takes the widest that the machine has.
///
/// What they call must be `#[inline(always)]`: it is compiled for a level only where it is part of the function.
macro_rules! kernels {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $output:ty)? $body:block)*) => {$(
        $(#[$attribute])*
        #[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "calls what is compiled for a level"))]
        $visibility fn $name($($argument: $type),*) $(-> $output)? {
            #[inline(always)]
            fn portable($($argument: $type),*) $(-> $output)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn avx512($($argument: $type),*) $(-> $output)? {
                portable($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($argument: $type),*) $(-> $output)? {
                portable($($argument),*)
            }

            match $crate::fused::simd::level() {
                #[cfg(target_arch = "x86_64")]
                $crate::fused::simd::Level::Avx512 => {
                    // SAFETY: the level is only returned where the machine has been found to have AVX-512F.
                    unsafe { avx512($($argument),*) }
                }
                #[cfg(target_arch = "x86_64")]
                $crate::fused::simd::Level::Avx2 => {
                    // SAFETY: the level is only returned where the machine has been found to have AVX2.
                    unsafe { avx2($($argument),*) }
                }
                _ => portable($($argument),*),
            }
        }
    )*};
}
pub(super) use kernels;

kernels! {
    /// Adds numbers to as many sums.
    pub(super) fn add(sums: &mut [f32], numbers: &[f32]) {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number;
        }
    }

    pub(crate) fn sum_of_squares(numbers: &[f32]) -> f32 {
        sum(numbers, |number| number * number)
    }
}

/// Running sums of a loop: as many as the widest registers have floats.
pub(super) const LANES: usize = 16;

/// The sum of a term of each element.
#[inline(always)]
pub(super) fn sum(xs: &[f32], term: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = xs.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane += term(x);
        }
    }
    let mut last = [0.0; LANES];
    for (place, &x) in last.iter_mut().zip(rest) {
        *place = term(x);
    }
    total(lanes, last)
}

/// The sum of a term of each pair of elements.
#[inline(always)]
pub(super) fn sum_of_pairs(xs: &[f32], ys: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let ((x_chunks, x_rest), (y_chunks, y_rest)) = (xs.as_chunks::<LANES>(), ys.as_chunks::<LANES>());
    let mut lanes = [0.0; LANES];
    for (x_chunk, y_chunk) in x_chunks.iter().zip(y_chunks) {
        for (lane, (&x, &y)) in lanes.iter_mut().zip(x_chunk.iter().zip(y_chunk)) {
            *lane += term(x, y);
        }
    }
    let mut last = [0.0; LANES];
    for (place, (&x, &y)) in last.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *place = term(x, y);
    }
    total(lanes, last)
}

/// The sum of a loop's lanes and of the terms that did not fill them once more: halves are added until one is left.
///
/// The loop is over when they are put together. If it were seen what becomes of its lanes, they would be kept in pairs, for
/// the last addition, and not in one register: up to five times slower.
#[inline(always)]
fn total(lanes: [f32; LANES], last: [f32; LANES]) -> f32 {
    let mut lanes = black_box(lanes);
    for (lane, last) in lanes.iter_mut().zip(last) {
        *lane += last;
    }
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            lanes[at] += lanes[at + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The largest element that is a number; minus infinity where there is none.
#[inline(always)]
pub(super) fn max(xs: &[f32]) -> f32 {
    // Not `f32::max`, which takes twice the instructions.
    let larger = |a: f32, b: f32| if b > a { b } else { a };
    let (chunks, rest) = xs.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = larger(*lane, x);
        }
    }
    let lanes = lanes.into_iter().fold(f32::NEG_INFINITY, larger);
    rest.iter().fold(lanes, |max, &x| larger(max, x))
}

/// `e^x` to two units in the last place; 0 below -86.6, where the result is near the smallest normal number.
///
/// `x = n ln 2 + r` with an integer `n`, and `e^r` by the polynomial of `expf` in Moshier's Cephes library.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Added to a number below 2^22, it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first of which has so few bits that its product with `n` is exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const LOWEST: f32 = -86.6;
    const HIGHEST: f32 = 88.8;
    let rounded = x * LOG2_E + ROUND;
    let n = rounded - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let polynomial = 1.987_569_1e-4;
    let polynomial = polynomial * r + 1.398_199_9e-3;
    let polynomial = polynomial * r + 8.333_452e-3;
    let polynomial = polynomial * r + 4.166_579_6e-2;
    let polynomial = polynomial * r + 1.666_666_6e-1;
    let polynomial = polynomial * r + 0.5;
    let power = polynomial * r * r + r + 1.0;
    // 2^(n - 1) from its exponent's bits: 2^n itself would not fit for the largest numbers.
    let scale = f32::from_bits(rounded.to_bits().wrapping_add(126) << 23);
    let result = power * scale * 2.0;
    // A NaN is neither, and stays.
    if x < LOWEST {
        0.0
    } else if x > HIGHEST {
        f32::INFINITY
    } else {
        result
    }
}

/// The normal distribution's cumulative function at `x`, to 1e-7, and `e^(-x^2 / 2)`.
///
/// `erfc` is formula 7.1.26 of Abramowitz and Stegun, Handbook of Mathematical Functions (1964). It is taken of |x|,
/// so that nothing cancels in the lower tail.
#[inline(always)]
pub(super) fn normal(x: f32) -> (f32, f32) {
    let z = x.abs() * FRAC_1_SQRT_2;
    let bell = exp(-0.5 * x * x);
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let polynomial = 1.061_405_4 * t - 1.453_152_1;
    let polynomial = polynomial * t + 1.421_413_8;
    let polynomial = polynomial * t - 0.284_496_72;
    let polynomial = polynomial * t + 0.254_829_6;
    let tail = 0.5 * polynomial * t * bell;
    (if x < 0.0 { tail } else { 1.0 - tail }, bell)
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The level that a test's thread runs kernels at.
#[cfg(test)]
pub(super) mod chosen {
    use std::cell::Cell;

    use super::Level;

    thread_local! {
        static LEVEL: Cell<Option<Level>> = const { Cell::new(None) };
    }

    pub(super) fn get() -> Option<Level> {
        LEVEL.get()
    }

    /// What a function gives at each level that the machine has.
    pub(in super::super) fn at_each_level<R>(run: impl Fn() -> R) -> Vec<(Level, R)> {
        let best = super::level();
        let levels = [Level::Portable, Level::Avx2, Level::Avx512];
        let known = levels.iter().position(|level| *level == best).unwrap();
        let results = levels[..=known].iter().map(|&level| {
            LEVEL.set(Some(level));
            (level, run())
        });
        let results = results.collect();
        LEVEL.set(None);
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_64_bits() {
        let mut x = -86.5_f32;
        while x < 88.7 {
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 2.5e-7, "{x}: {} and {exact}", exp(x));
            x += 0.0137;
        }
        assert_eq!((exp(0.0), exp(f32::NEG_INFINITY), exp(-1e30), exp(-90.0)), (1.0, 0.0, 0.0, 0.0));
        assert_eq!((exp(f32::INFINITY), exp(1e30), exp(88.75)), (f32::INFINITY, f32::INFINITY, f32::INFINITY));
        assert!(exp(f32::NAN).is_nan() && exp(88.7) < f32::INFINITY);
    }

    #[test]
    fn the_normal_distribution_is_right_to_single_precision() {
        // From tables of the normal distribution.
        for (x, below) in
            [(0.0, 0.5), (1.0, 0.841_344_8), (-1.0, 0.158_655_25), (2.0, 0.977_249_87), (-3.0, 1.349_898e-3)]
        {
            assert!((normal(x).0 - below).abs() < 2e-7, "{x}: {}", normal(x).0);
        }
        assert!((normal(-6.0).0 / 9.865_876e-10 - 1.0).abs() < 1e-2, "{}", normal(-6.0).0);
        assert_eq!((normal(f32::INFINITY).0, normal(f32::NEG_INFINITY).0), (1.0, 0.0));
        assert!(normal(f32::NAN).0.is_nan());
    }

    #[test]
    fn squares_have_the_same_sum_at_every_level() {
        let numbers: Vec<f32> = (0..1037).map(|at| ((at * 37 % 1009) as f32 - 504.0) / 64.0).collect();
        let exact: f64 = numbers.iter().map(|&number| f64::from(number).powi(2)).sum();
        let sums = chosen::at_each_level(|| sum_of_squares(&numbers));
        assert!((f64::from(sums[0].1) / exact - 1.0).abs() < 1e-6, "{sums:?} and {exact}");
        assert!(sums.iter().all(|(_, sum)| sum.to_bits() == sums[0].1.to_bits()), "{sums:?}");
    }

    #[test]
    fn sums_have_every_element_once() {
        for length in [0, 1, 15, 16, 17, 31, 100] {
            let xs: Vec<f32> = (1..=length).map(|x| x as f32).collect();
            assert_eq!(sum(&xs, |x| x), (length * (length + 1) / 2) as f32, "{length}");
            assert_eq!(sum_of_pairs(&xs, &xs, |x, y| x - y + 1.0), length as f32, "{length}");
            assert_eq!(max(&xs), if length == 0 { f32::NEG_INFINITY } else { length as f32 }, "{length}");
        }
        assert_eq!(max(&[f32::NAN, 1.0]), 1.0);
    }
}
