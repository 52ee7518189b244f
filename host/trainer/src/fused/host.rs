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

/// The numbers of a tensor that [`dense`] gave, to be changed; they are copied first if somebody shares them.
pub(super) fn numbers_mut(tensor: &mut FlexTensor) -> &mut [f32] {
    tensor.storage_mut()
}

/// The tensor with its numbers side by side and nothing else in its memory; itself where it is so already.
pub(super) fn dense(tensor: &FlexTensor) -> FlexTensor {
    tensor.to_contiguous()
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
    tasks.into_par_iter().map(&work).collect()
}

/// A copy of numbers that tasks change, each its chunk together with its part of something else.
///
/// A task copies its chunk itself: to fill the whole buffer first would cost a pass over memory by one thread.
///
/// # Panics
///
/// When there are fewer parts than chunks.
#[expect(unsafe_code, reason = "a buffer that tasks fill has no length before they have filled it")]
pub(super) fn changed<T: Send>(
    numbers: &[f32],
    chunk: usize,
    parts: impl Iterator<Item = T>,
    change: impl Fn(&mut [f32], T) + Sync,
) -> Vec<f32> {
    let mut copy = Vec::with_capacity(numbers.len());
    let places: &mut [MaybeUninit<f32>] = &mut copy.spare_capacity_mut()[..numbers.len()];
    let tasks = places.chunks_mut(chunk).zip(numbers.chunks(chunk)).zip(parts);
    let filled = each(tasks, |((place, numbers), part)| {
        change(place.write_copy_of_slice(numbers), part);
        numbers.len()
    });
    assert_eq!(filled.iter().sum::<usize>(), numbers.len(), "a part for each chunk");
    // SAFETY: the chunks of the places are as many and as long as those of the numbers, and one behind the other; as
    // many places as there are numbers were written, which the capacity holds.
    unsafe { copy.set_len(numbers.len()) };
    copy
}

/// The sum of rows of equal length that tasks have summed, added in the tasks' order.
pub(super) fn sum_of(parts: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    parts.into_iter().fold(vec![0.0; width], |mut sum, part| {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        sum
    })
}
