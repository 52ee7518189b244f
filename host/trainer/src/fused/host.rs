//! Tensors in the host's memory: their numbers, and work on them in tasks of a fixed size.
//!
//! It does not compute. Main functions: [`each`], [`changed`].

use std::mem::MaybeUninit;

use burn::tensor::{Bytes, DType, Shape};
use burn_flex::{FlexTensor, Layout};
use rayon::prelude::*;

/// Rows of one task. Fixed, so that what tasks sum does not depend on the number of threads.
pub(super) const ROWS: usize = 64;
/// Numbers of one task of an operation without rows: 64 KiB, which stay in the second cache.
pub(super) const ELEMENTS: usize = 16_384;

/// The numbers of a tensor that [`dense`] gave.
pub(super) fn numbers(tensor: &FlexTensor) -> &[f32] {
    tensor.storage()
}

/// Whether a tensor's elements are those of its storage, each once, in whatever order: a transposed gradient is, and
/// need not be copied to be summed or multiplied.
pub(crate) fn is_dense(tensor: &FlexTensor) -> bool {
    covers(tensor.layout(), tensor.bytes().len() / size_of::<f32>())
}

fn covers(layout: &Layout, stored: usize) -> bool {
    let mut dims: Vec<(isize, usize)> = layout.strides().iter().copied().zip(layout.shape().iter().copied()).collect();
    dims.retain(|(_, size)| *size != 1);
    dims.sort_unstable();
    let elements = dims
        .iter()
        .try_fold(1, |inner: usize, (stride, size)| (usize::try_from(*stride) == Ok(inner)).then(|| inner * size));
    layout.start_offset() == 0 && elements == Some(stored)
}

/// The numbers of a tensor that [`dense`] gave, to be changed; they are copied first if somebody shares them.
pub(super) fn numbers_mut(tensor: &mut FlexTensor) -> &mut [f32] {
    tensor.storage_mut()
}

/// The tensor with its numbers side by side and nothing else in its memory; itself where it is so already.
pub(super) fn dense(tensor: &FlexTensor) -> FlexTensor {
    tensor.to_contiguous()
}

/// The same, to be changed in place: where somebody shares the numbers, a copy.
pub(super) fn own(tensor: FlexTensor) -> FlexTensor {
    let mut own = dense(&tensor);
    drop(tensor);
    if own.try_storage_mut::<f32>().is_none() {
        own = self::tensor(copy(numbers(&own)), own.layout().shape().clone());
    }
    own
}

/// A tensor of these numbers.
pub(super) fn tensor(numbers: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(numbers), Layout::contiguous(shape.into()), DType::F32)
}

/// The rows and columns of a tensor with two dimensions.
pub(super) fn dims(tensor: &FlexTensor) -> [usize; 2] {
    tensor.layout().shape().dims()
}

/// How many numbers the rows of one task have.
pub(super) fn task_of_rows(width: usize) -> usize {
    // Rows without numbers make no task, but a chunk's size is never 0.
    (ROWS * width).max(1)
}

/// Does the work of each task, on all threads of the pool, and gives the results in the tasks' order.
pub(crate) fn each<T: Send, R: Send>(tasks: impl Iterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let tasks: Vec<T> = tasks.collect();
    // To hand a single task over costs more than a small one takes.
    if tasks.len() < 2 {
        return tasks.into_iter().map(work).collect();
    }
    // Threads are seldom equally fast: each takes one task after the other.
    tasks.into_par_iter().with_max_len(1).map(&work).collect()
}

/// A copy of numbers that tasks change, each its chunk together with its part of something else.
///
/// A task copies its chunk itself: to fill the whole buffer first would cost a pass over memory by one thread.
///
/// # Panics
///
/// When there are fewer parts than chunks.
#[expect(unsafe_code, reason = "to fill the buffer before the tasks do would be a pass over memory")]
pub(super) fn changed<T: Send>(
    numbers: &[f32],
    chunk: usize,
    parts: impl Iterator<Item = T>,
    change: impl Fn(&mut [f32], T) + Sync,
) -> Vec<f32> {
    let write = |places: &mut [MaybeUninit<f32>]| {
        let tasks = places.chunks_mut(chunk).zip(numbers.chunks(chunk)).zip(parts);
        let filled = each(tasks, |((place, numbers), part)| {
            change(place.write_copy_of_slice(numbers), part);
            numbers.len()
        });
        assert_eq!(filled.iter().sum::<usize>(), numbers.len(), "a part for each chunk");
    };
    // SAFETY: the chunks of the places are as many and as long as those of the numbers, and one behind the other; as
    // many places as there are numbers were written.
    unsafe { written(numbers.len(), write) }
}

/// The same numbers in another place.
pub(super) fn copy(numbers: &[f32]) -> Vec<f32> {
    changed(numbers, ELEMENTS, std::iter::repeat(()), |_, ()| ())
}

/// A buffer of numbers that whoever writes it need not fill first: that would cost a pass over memory by one thread.
///
/// # Safety
///
/// `write` writes each of the places.
#[expect(unsafe_code, reason = "a buffer has no length before it is written")]
pub(super) unsafe fn written(length: usize, write: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<f32> {
    let mut buffer = Vec::with_capacity(length);
    write(&mut buffer.spare_capacity_mut()[..length]);
    // SAFETY: the capacity holds so many numbers, and each of them was written.
    unsafe { buffer.set_len(length) };
    buffer
}

/// The sum of rows of equal length that tasks have summed, added in the tasks' order.
pub(super) fn sum_of(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    parts.into_iter().fold(vec![0.0; width], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_permutation_of_the_whole_storage_is_dense() {
        let layout =
            |shape: &[usize], strides: &[isize], start| Layout::new(shape.to_vec().into(), strides.to_vec(), start);
        for (shape, strides, start, stored, dense) in [
            (&[2, 3][..], &[3, 1][..], 0, 6, true),
            (&[3, 2], &[1, 3], 0, 6, true),
            (&[4, 1, 2, 3], &[6, 99, 3, 1], 0, 24, true),
            (&[], &[], 0, 1, true),
            (&[2, 3], &[3, 1], 0, 7, false),
            (&[2, 2], &[3, 1], 0, 6, false),
            (&[2, 3], &[0, 1], 0, 6, false),
            (&[2, 2], &[1, 1], 0, 4, false),
            (&[2, 3], &[3, -1], 2, 6, false),
            (&[1, 3], &[3, 1], 3, 6, false),
        ] {
            assert_eq!(covers(&layout(shape, strides, start), stored), dense, "{shape:?} {strides:?}");
        }
    }
}
