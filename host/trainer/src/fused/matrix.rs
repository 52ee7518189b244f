//! Views of numbers as matrices, and their product by the `gemm` crate, which burn's CPU backend uses too.
//!
//! It holds the unsafe code of a product: a view can't reach beyond its numbers, and a part of a view to be written
//! can't overlap another. Main types: [`Matrix`], [`MatrixMut`]; main functions: [`product`],
//! [`new_product`].

use std::{marker::PhantomData, mem::MaybeUninit, ops::Range};

use burn_flex::FlexTensor;
use gemm::Parallelism;

use super::host;

/// A matrix in memory that somebody else has too: the element at (row, column) is at
/// `row * row_stride + column * column_stride`.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    numbers: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows that lie one behind the other, of so many columns each.
    pub(super) fn new(numbers: &'a [f32], [rows, columns]: [usize; 2]) -> Self {
        Self::strided(numbers, [rows, columns], [columns, 1])
    }

    /// A tensor with two dimensions, which does not count backwards through its memory.
    pub(super) fn of(tensor: &'a FlexTensor) -> Self {
        let layout = tensor.layout();
        let stride = |dimension: usize| usize::try_from(layout.strides()[dimension]).expect("it counts forwards");
        let numbers = tensor.storage::<f32>().get(layout.start_offset()..).unwrap_or_default();
        Self::strided(numbers, layout.shape().dims(), [stride(0), stride(1)])
    }

    /// Rows and columns.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    fn strided(numbers: &'a [f32], [rows, columns]: [usize; 2], [row_stride, column_stride]: [usize; 2]) -> Self {
        if rows > 0 && columns > 0 {
            let last = (rows - 1) * row_stride + (columns - 1) * column_stride;
            assert!(last < numbers.len(), "a view of {rows} x {columns} reaches beyond {} numbers", numbers.len());
        }
        Self { numbers, rows, columns, row_stride, column_stride }
    }

    /// Some of the rows.
    pub(super) fn rows(self, rows: Range<usize>) -> Self {
        assert!(rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        let numbers = self.numbers.get(rows.start * self.row_stride..).unwrap_or_default();
        Self { numbers, rows: rows.len(), ..self }
    }

    /// Some of the columns.
    pub(super) fn columns(self, columns: Range<usize>) -> Self {
        self.transposed().rows(columns).transposed()
    }

    /// Rows as columns.
    pub(super) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// A matrix to be written: rows of numbers, or a part of their columns that nobody else has.
pub(super) struct MatrixMut<'a> {
    /// The first element. It and all others of the view may be written as long as `'a` lives, and by nobody else.
    first: *mut f32,
    rows: usize,
    columns: usize,
    row_stride: usize,
    lent: PhantomData<&'a mut [f32]>,
}

// SAFETY: it is the only way to its elements, as a `&mut [f32]` is, which may go to another thread.
#[expect(unsafe_code, reason = "the columns of a matrix go to several threads, and no slice has the columns' form")]
unsafe impl Send for MatrixMut<'_> {}

impl<'a> MatrixMut<'a> {
    /// Rows that lie one behind the other, of so many columns each.
    pub(super) fn new(numbers: &'a mut [f32], [rows, columns]: [usize; 2]) -> Self {
        assert_eq!(numbers.len(), rows * columns, "{rows} x {columns} numbers");
        Self { first: numbers.as_mut_ptr(), rows, columns, row_stride: columns, lent: PhantomData }
    }

    /// The same of places that nothing was written to yet: the first product in each must not add to what is there.
    pub(super) fn unwritten(places: &'a mut [MaybeUninit<f32>], [rows, columns]: [usize; 2]) -> Self {
        assert_eq!(places.len(), rows * columns, "{rows} x {columns} numbers");
        Self { first: places.as_mut_ptr().cast(), rows, columns, row_stride: columns, lent: PhantomData }
    }

    /// Some of the rows; the others are out of reach as long as these are.
    pub(super) fn rows(&mut self, rows: Range<usize>) -> MatrixMut<'_> {
        assert!(rows.start <= rows.end && rows.end <= self.rows, "rows {rows:?} of {}", self.rows);
        // Within the view or one row behind it, where nothing is written.
        let first = self.first.wrapping_add(rows.start * self.row_stride);
        MatrixMut { first, rows: rows.len(), ..*self }
    }

    /// The first columns; the others are out of reach as long as these are.
    pub(super) fn first_columns(&mut self, columns: usize) -> MatrixMut<'_> {
        assert!(columns <= self.columns, "{columns} columns of {}", self.columns);
        MatrixMut { columns, ..*self }
    }

    /// Parts of so many columns each; each part has columns of its own.
    pub(super) fn split_columns(self, width: usize) -> impl Iterator<Item = MatrixMut<'a>> {
        assert!(width > 0 && self.columns.is_multiple_of(width), "parts of {width} columns of {}", self.columns);
        let part = move |at: usize| MatrixMut { first: self.first.wrapping_add(at * width), columns: width, ..self };
        (0..self.columns / width).map(part)
    }
}

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
/// Each element is summed by one thread in an order that depends on the shapes only.
#[expect(unsafe_code, reason = "gemm takes pointers")]
pub(super) fn product(
    result: MatrixMut<'_>,
    onto: Onto,
    factor: f32,
    left: Matrix<'_>,
    right: Matrix<'_>,
    threads: Threads,
) {
    let (rows, columns, inner) = (left.rows, right.columns, left.columns);
    assert_eq!((rows, columns, inner), (result.rows, result.columns, right.rows), "shapes of a product");
    if rows == 0 || columns == 0 {
        return;
    }
    let is_large = rows.saturating_mul(columns).saturating_mul(inner) >= LARGE;
    let parallelism = match threads {
        Threads::All if is_large => Parallelism::Rayon(0),
        _ => Parallelism::None,
    };
    // SAFETY: with these shapes and strides gemm reads elements of `left` and `right` and writes those of `result`.
    // The first two were found to lie within slices that are borrowed here, when the views were made, and parts of views
    // only became smaller. Those of `result` are borrowed by nobody else (see `MatrixMut`), so they are neither read
    // through the others nor written by another thread. No stride exceeds an allocation, so none exceeds an `isize`.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            result.first,
            1,
            result.row_stride as isize,
            onto == Onto::Sum,
            left.numbers.as_ptr(),
            left.column_stride as isize,
            left.row_stride as isize,
            right.numbers.as_ptr(),
            right.column_stride as isize,
            right.row_stride as isize,
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
    let shape = [left.rows, right.columns];
    let write = |places: &mut [MaybeUninit<f32>]| {
        product(MatrixMut::unwritten(places, shape), Onto::Nothing, 1.0, left, right, threads);
    };
    // SAFETY: gemm writes each of the places without reading it, also where the sums are empty.
    unsafe { host::written(shape[0] * shape[1], write) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    fn multiply(left: Matrix<'_>, right: Matrix<'_>, factor: f32) -> Vec<f32> {
        let shape = [left.rows, right.columns];
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
    #[should_panic(expected = "a view of 2 x 4 reaches beyond 6 numbers")]
    fn a_view_does_not_reach_beyond_its_numbers() {
        Matrix::new(&A, [2, 4]);
    }
}
