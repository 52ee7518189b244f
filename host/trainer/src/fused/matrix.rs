//! Views of numbers as matrices, to be read and to be written.
//!
//! A view can't reach beyond its numbers, and a part of a view to be written can't overlap another: what is computed by
//! pointers in [`product`](super::product) relies on that. Main types: [`Matrix`], [`MatrixMut`].

use std::{marker::PhantomData, mem::MaybeUninit, ops::Range};

use burn_flex::FlexTensor;

/// Rows or columns in parts that are about equal, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    all: usize,
    count: usize,
    step: usize,
}

impl Parts {
    /// As few parts as there can be of at most `most` each, or up to `step` more. They begin at multiples of `step`.
    pub(super) fn new(all: usize, most: usize, step: usize) -> Self {
        Self { all, count: all.div_ceil(most), step }
    }

    /// How many there are.
    pub(super) fn count(self) -> usize {
        self.count
    }

    /// Where they are.
    pub(super) fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let steps = self.all.div_ceil(self.step);
        let start = move |part: usize| self.all.min(steps * part / self.count * self.step);
        (0..self.count).map(move |part| start(part)..start(part + 1))
    }
}

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

    /// Where the first element is, and the row stride and the column stride. All elements of the view may be read as
    /// long as `'a` lives.
    pub(super) fn place(&self) -> (*const f32, [isize; 2]) {
        // No stride exceeds an allocation, so none exceeds an `isize`.
        (self.numbers.as_ptr(), [self.row_stride as isize, self.column_stride as isize])
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

    /// Rows and columns.
    pub(super) fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// Where the first element is, and the row stride; the column stride is 1. All elements of the view may be written as
    /// long as it lives, and by nobody else.
    pub(super) fn place(&mut self) -> (*mut f32, isize) {
        (self.first, self.row_stride as isize)
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

    /// Blocks, and where they are. No element is in two of them.
    pub(super) fn blocks(
        self,
        rows: Parts,
        columns: Parts,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>, Self)> {
        assert_eq!([rows.all, columns.all], [self.rows, self.columns], "parts of a matrix");
        columns.ranges().flat_map(move |columns| {
            rows.ranges().map(move |rows| {
                let first = self.first.wrapping_add(rows.start * self.row_stride + columns.start);
                let block = MatrixMut { first, rows: rows.len(), columns: columns.len(), ..self };
                (rows, columns.clone(), block)
            })
        })
    }

    /// Parts of so many columns each; each part has columns of its own.
    pub(super) fn split_columns(self, width: usize) -> impl Iterator<Item = Self> {
        assert!(width > 0 && self.columns.is_multiple_of(width), "parts of {width} columns of {}", self.columns);
        let part = move |at: usize| MatrixMut { first: self.first.wrapping_add(at * width), columns: width, ..self };
        (0..self.columns / width).map(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_one_behind_the_other_and_about_equal() {
        for (all, most, step) in
            [(1, 5, 2), (1024, 512, 6), (385, 384, 16), (48_385, 384, 16), (76, 384, 16), (7, 3, 1)]
        {
            let parts: Vec<_> = Parts::new(all, most, step).ranges().collect();
            let sizes = || parts.iter().map(Range::len);
            assert_eq!(parts.len(), all.div_ceil(most));
            assert_eq!([parts[0].start, parts[parts.len() - 1].end], [0, all]);
            assert!(parts.windows(2).all(|two| two[0].end == two[1].start), "{parts:?}");
            assert!(sizes().max() < Some(most + step) && sizes().max() <= sizes().min().map(|least| least + 2 * step));
        }
        assert_eq!(Parts::new(0, 5, 2).ranges().count(), 0);
    }

    #[test]
    fn blocks_are_all_of_a_matrix_and_each_is_where_it_says() {
        let mut numbers: Vec<f32> = (0_u8..35).map(f32::from).collect();
        let begin = numbers.as_ptr();
        let blocks = MatrixMut::new(&mut numbers, [5, 7]).blocks(Parts::new(5, 2, 1), Parts::new(7, 3, 1));
        let found: Vec<_> = blocks
            .map(|(rows, columns, mut block)| {
                assert_eq!(block.dims(), [rows.len(), columns.len()]);
                assert_eq!(block.place(), (begin.wrapping_add(rows.start * 7 + columns.start).cast_mut(), 7));
                (rows, columns)
            })
            .collect();
        let expected = [0..2, 2..4, 4..7]
            .into_iter()
            .flat_map(|columns| [0..1, 1..3, 3..5].into_iter().map(move |rows| (rows, columns.clone())));
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    #[should_panic(expected = "a view of 2 x 4 reaches beyond 6 numbers")]
    fn a_view_does_not_reach_beyond_its_numbers() {
        Matrix::new(&[0.0; 6], [2, 4]);
    }
}
