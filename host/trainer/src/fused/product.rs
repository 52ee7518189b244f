//! The product of two matrices by the `gemm` crate, which burn's CPU backend uses too.
//!
//! It holds the unsafe code of a product. Main functions: [`product`], [`new_product`].

use std::mem::MaybeUninit;

use gemm::Parallelism;

use super::{
    host,
    matrix::{Matrix, MatrixMut, Parts},
};

/// What happens to what was in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    /// It is overwritten.
    Nothing,
    /// The product is added to it.
    Sum,
}

/// How many threads a product may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// The one that asks for it: many products are computed side by side.
    One,
    /// Those of the pool, where the product is large enough.
    All,
}

/// Multiplications that are worth handing out, as in burn-flex: 192^3.
const LARGE: usize = 192 * 192 * 192;

/// `result = factor * left * right`, or added to what is there.
///
/// Each element is summed by one thread in an order that depends on the shapes and the layout only.
pub(super) fn product(
    result: MatrixMut<'_>,
    onto: Onto,
    factor: f32,
    left: Matrix<'_>,
    right: Matrix<'_>,
    threads: Threads,
) {
    let ([rows, inner], [_, columns]) = (left.dims(), right.dims());
    let is_large = rows.saturating_mul(columns).saturating_mul(inner) >= LARGE;
    if threads == Threads::One || !is_large {
        return compute(result, onto, factor, left, right, Parallelism::None);
    }
    // Cut by gemm, a product has as many parts as there are threads.
    let tasks =
        cut(left, right).filter(|[rows, columns]| rows.count() * columns.count() >= rayon::current_num_threads());
    let Some([of_rows, of_columns]) = tasks else {
        return compute(result, onto, factor, left, right, Parallelism::Rayon(0));
    };
    host::each(result.blocks(of_rows, of_columns), |(rows, columns, block)| {
        compute(block, onto, factor, left.rows(rows), right.columns(columns), Parallelism::None);
    });
}

/// How the rows and the columns of a large product are cut into tasks of one thread each; `None` where gemm does it better.
///
/// gemm itself cuts it into as many parts as there are threads, and each of them copies the right side into the order in
/// which it reads it. A task copies only what it reads, and a thread that other work on the machine holds up takes fewer of
/// them: on two cores with AVX-512 a step of a transformer of width 384 took as long as before while they were quiet, and
/// up to 11 % less while they were not. A transposed left side, as in `x^T dy`, is dearer to copy than that saves.
fn cut(left: Matrix<'_>, right: Matrix<'_>) -> Option<[Parts; 2]> {
    /// Rows and columns that gemm's widest kernel computes at once.
    const KERNEL: [usize; 2] = [6, 64];
    /// Columns below which tasks would be too narrow for such kernels.
    const NARROW: usize = KERNEL[1];
    let ([rows, _], [_, columns]) = (left.dims(), right.dims());
    let (_, [_, between_columns]) = left.place();
    let is_cut = columns >= NARROW && between_columns == 1;
    is_cut.then(|| [Parts::new(rows, 512, KERNEL[0]), Parts::new(columns, 192, KERNEL[1])])
}

/// A product, by gemm.
#[expect(unsafe_code, reason = "gemm takes pointers")]
fn compute(
    mut result: MatrixMut<'_>,
    onto: Onto,
    factor: f32,
    left: Matrix<'_>,
    right: Matrix<'_>,
    parallelism: Parallelism,
) {
    let ([rows, inner], [_, columns]) = (left.dims(), right.dims());
    assert_eq!([rows, columns, inner], [result.dims()[0], result.dims()[1], right.dims()[0]], "shapes of a product");
    if rows == 0 || columns == 0 {
        return;
    }
    let (first, between_rows) = result.place();
    let (left, [left_row, left_column]) = left.place();
    let (right, [right_row, right_column]) = right.place();
    // SAFETY: with these shapes and strides gemm reads elements of `left` and `right` and writes those of `result`.
    // The first two were found to lie within slices that are borrowed here, when the views were made, and parts of views
    // only became smaller. Those of `result` are borrowed by nobody else (see `MatrixMut`), so they are neither read
    // through the others nor written by another thread.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            first,
            1,
            between_rows,
            onto == Onto::Sum,
            left,
            left_column,
            left_row,
            right,
            right_column,
            right_row,
            1.0,
            factor,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// `left * right`, its rows one behind the other.
#[expect(unsafe_code, reason = "to fill the buffer before gemm does would be a pass over memory")]
pub(super) fn new_product(left: Matrix<'_>, right: Matrix<'_>, threads: Threads) -> Vec<f32> {
    let shape = [left.dims()[0], right.dims()[1]];
    let write = |places: &mut [MaybeUninit<f32>]| {
        product(MatrixMut::unwritten(places, shape), Onto::Nothing, 1.0, left, right, threads);
    };
    // SAFETY: gemm writes each of the places without reading it, also where the sums are empty.
    unsafe { host::written(shape[0] * shape[1], write) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fused::testing::{bits, numbers, with_threads};

    const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    fn multiply(left: Matrix<'_>, right: Matrix<'_>, factor: f32) -> Vec<f32> {
        let shape = [left.dims()[0], right.dims()[1]];
        let mut result = vec![f32::NAN; shape[0] * shape[1]];
        product(MatrixMut::new(&mut result, shape), Onto::Nothing, factor, left, right, Threads::All);
        if factor == 1.0 {
            assert_eq!(new_product(left, right, Threads::One), result);
        }
        result
    }

    #[test]
    fn a_product_is_that_of_the_views() {
        let a = Matrix::new(&A, [2, 3]);
        assert_eq!(multiply(a, a.transposed(), 1.0), [14.0, 32.0, 32.0, 77.0]);
        assert_eq!(multiply(a.columns(1..3), a.columns(0..2).rows(1..2).transposed(), 2.0), [46.0, 100.0]);
        assert!(multiply(a.rows(0..0), a.transposed(), 1.0).is_empty());
        assert_eq!(multiply(a.columns(1..1), a.rows(0..0), 1.0), [0.0; 6], "a sum of nothing");
    }

    #[test]
    fn parts_of_a_result_are_written_side_by_side() {
        let (one, mut sum) = ([1.0_f32; 4], vec![10.0; 8]);
        let ones = Matrix::new(&one, [2, 1]);
        for (at, mut part) in MatrixMut::new(&mut sum, [2, 4]).split_columns(2).enumerate() {
            let scale = [at as f32 + 1.0; 2];
            product(part.rows(0..2), Onto::Sum, 1.0, ones.rows(0..2), Matrix::new(&scale, [1, 2]), Threads::One);
            product(
                part.rows(1..2).first_columns(1),
                Onto::Nothing,
                1.0,
                ones.rows(0..1),
                ones.rows(1..2),
                Threads::One,
            );
        }
        assert_eq!(sum, [11.0, 11.0, 12.0, 12.0, 1.0, 11.0, 1.0, 12.0]);
    }

    #[test]
    fn a_large_product_has_the_same_bits_for_any_number_of_threads() {
        for (rows, terms, columns) in
            [(1030, 700, 200), (513, 900, 193), (3000, 130, 64), (40, 3000, 64), (300, 40, 800)]
        {
            let (x, w) = (numbers(rows * terms, 1, 1.0), numbers(terms * columns, 2, 1.0));
            let left = [Matrix::new(&x, [rows, terms]), Matrix::new(&x, [terms, rows]).transposed()];
            let right = [Matrix::new(&w, [terms, columns]), Matrix::new(&w, [columns, terms]).transposed()];
            for (left, right) in [(left[0], right[0]), (left[0], right[1]), (left[1], right[0])] {
                let all = |threads| with_threads(threads, || bits(&new_product(left, right, Threads::All)));
                let one = bits(&new_product(left, right, Threads::One));
                // With 16 there are more threads than tasks.
                for threads in [1, 2, 3, 16] {
                    assert!(all(threads) == one, "{rows} x {terms} x {columns}, {threads} threads");
                }
            }
        }
    }
}
