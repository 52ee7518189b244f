//! Causal self-attention of several heads: each position takes the values of itself and the positions before it, by
//! weights `softmax(q k^T / sqrt(size))`.
//!
//! Vaswani et al., "Attention Is All You Need" (2017), section 3.2, with the mask of its decoder. With the weights `P`
//! and the result `O = P V`, the gradients are `dV = P^T dO`, `dP = dO V^T`, `dS = P (dP - sum(P dP))` row by row,
//! `dQ = dS K / sqrt(size)` and `dK = dS^T Q / sqrt(size)`.
//!
//! Queries of a head are taken in blocks of rows, against the keys up to the block's last row: what the mask hides is
//! not computed, except within a block. Main function: [`causal_attention`].

use std::{mem::MaybeUninit, ops::Range, sync::Arc};

use burn::tensor::{Bool, Tensor, activation::softmax, backend::Backend};
use burn_flex::FlexTensor;

use super::{
    host::{self, ROWS},
    matrix::{Matrix, MatrixMut},
    operation::{self, Operation, apply},
    product::{Onto, Threads, product},
    simd::{exp, kernels, max, sum, sum_of_pairs},
};

/// How the rows and columns of queries, keys and values are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heads {
    /// Sequences that know nothing of each other.
    pub batch: usize,
    /// Positions of each.
    pub context: usize,
    /// Heads, which divide the width.
    pub heads: usize,
}

/// Causal attention over queries, keys and values `[batch * context, 3 * width]`, which lie side by side in each row;
/// in each of them, head after head. The result is `[batch * context, width]`.
///
/// # Panics
///
/// When the shape is another one.
pub fn causal_attention<B: Backend>(queries_keys_values: Tensor<B, 2>, heads: Heads) -> Tensor<B, 2> {
    let [rows, columns] = queries_keys_values.dims();
    assert_eq!(rows, heads.batch * heads.context, "a row for each position");
    assert!(heads.heads > 0 && columns.is_multiple_of(3 * heads.heads), "{} heads of 3 in {columns}", heads.heads);
    match apply::<B, _, 1>(&heads, [operation::primitive(queries_keys_values)]) {
        Ok(mixed) => operation::tensor(mixed),
        Err([input]) => composed(operation::tensor(input), heads),
    }
}

/// The same with burn's operations.
fn composed<B: Backend>(input: Tensor<B, 2>, Heads { batch, context, heads }: Heads) -> Tensor<B, 2> {
    let width = input.dims()[1] / 3;
    let size = width / heads;
    let mask = Tensor::<B, 2, Bool>::tril_mask([context, context], 0, &input.device());
    let split = |part: Tensor<B, 2>| part.reshape([batch, context, heads, size]).swap_dims(1, 2);
    let mut parts = input.chunk(3, 1).into_iter().map(split);
    let mut next = || parts.next().expect("three parts were cut");
    let (queries, keys, values) = (next(), next(), next());
    let scores = queries.matmul(keys.transpose()).div_scalar((size as f64).sqrt());
    let scores = scores.mask_fill(mask.unsqueeze::<4>().expand([batch, heads, context, context]), f32::NEG_INFINITY);
    softmax(scores, 3).matmul(values).swap_dims(1, 2).reshape([batch * context, width])
}

/// A head's weights are kept for the backward pass while a context is at most so many times a head's size; then they
/// take no more memory than the activations of a transformer's block do. Those of a longer context are computed again,
/// for a fifth more of attention's time, and memory stays linear in the context.
const KEPT_CONTEXTS_A_SIZE: usize = 8;

/// The input, and the weights of each head of each sample, `[context, context]`, where they are kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    input: FlexTensor,
    weights: Option<Arc<Vec<Vec<f32>>>>,
}

impl Operation<1> for Heads {
    type Kept = Kept;

    #[expect(unsafe_code, reason = "to fill the buffer before the heads do would be a pass over memory")]
    fn forward(&self, [input]: [FlexTensor; 1], keep: bool) -> (FlexTensor, Kept) {
        let &Self { batch, context, heads } = self;
        let input = host::dense(&input);
        let width = self.width(&input);
        let size = width / heads;
        let is_kept = keep && context <= KEPT_CONTEXTS_A_SIZE * size;
        let mut weights = Vec::new();
        let write = |places: &mut [MaybeUninit<f32>]| {
            let tasks = places
                .chunks_mut((context * width).max(1))
                .flat_map(|rows| MatrixMut::unwritten(rows, [context, width]).split_columns(size));
            weights = host::each(tasks.enumerate(), |(at, mixed)| {
                let mut weights = vec![0.0; if is_kept { context * context } else { 0 }];
                self.head(&input, at).forward(mixed, is_kept.then_some(&mut weights));
                weights
            });
        };
        // SAFETY: there is a task for each head's columns of each sample, and a head writes all rows, without reading them.
        let mixed = unsafe { host::written(batch * context * width, write) };
        let weights = is_kept.then(|| Arc::new(weights));
        (host::tensor(mixed, [batch * context, width]), Kept { input, weights })
    }

    #[expect(unsafe_code, reason = "to fill the buffer before the heads do would be a pass over memory")]
    fn backward(&self, kept: Kept, gradient: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let &Self { batch, context, heads } = self;
        let Kept { input, weights } = kept;
        let width = self.width(&input);
        let size = width / heads;
        let write = |places: &mut [MaybeUninit<f32>]| {
            let tasks = places.chunks_mut((context * 3 * width).max(1)).flat_map(|rows| {
                let rows = MatrixMut::unwritten(rows, [context, 3 * width]);
                let mut queries: Vec<_> = rows.split_columns(size).collect();
                let values = queries.split_off(2 * heads);
                let keys = queries.split_off(heads);
                queries.into_iter().zip(keys).zip(values).map(|((query, key), value)| [query, key, value])
            });
            host::each(tasks.enumerate(), |(at, gradients)| {
                let weights = weights.as_ref().map(|all| all[at].as_slice());
                let (sample, columns) = (at / heads, at % heads * size..(at % heads + 1) * size);
                let mixed = Matrix::new(host::numbers(&gradient), [batch * context, width]);
                let mixed = mixed.rows(sample * context..(sample + 1) * context).columns(columns);
                self.head(&input, at).backward(mixed, gradients, weights);
            });
        };
        // SAFETY: there is a task for each head's columns of each sample. A head writes all rows, those of keys and values
        // with its first block, and adds only to what it has written.
        let gradients = unsafe { host::written(batch * context * 3 * width, write) };
        [Some(host::tensor(gradients, [batch * context, 3 * width]))]
    }
}

impl Heads {
    fn width(&self, input: &FlexTensor) -> usize {
        host::dims(input)[1] / 3
    }

    /// Queries, keys and values of a head, by its number among those of all samples.
    fn head<'a>(&self, input: &'a FlexTensor, at: usize) -> Head<'a> {
        let width = self.width(input);
        let size = width / self.heads;
        let sample = at / self.heads * self.context;
        let rows = Matrix::new(host::numbers(input), host::dims(input)).rows(sample..sample + self.context);
        let part = |part: usize| {
            let first = part * width + at % self.heads * size;
            rows.columns(first..first + size)
        };
        Head {
            queries: part(0),
            keys: part(1),
            values: part(2),
            context: self.context,
            scale: 1.0 / (size as f32).sqrt(),
        }
    }
}

/// One head of one sample; each matrix is `[context, size]`.
struct Head<'a> {
    queries: Matrix<'a>,
    keys: Matrix<'a>,
    values: Matrix<'a>,
    context: usize,
    scale: f32,
}

impl Head<'_> {
    fn blocks(&self) -> impl DoubleEndedIterator<Item = Range<usize>> {
        let context = self.context;
        (0..context).step_by(ROWS).map(move |first| first..(first + ROWS).min(context))
    }

    /// Numbers of the largest block's weights.
    fn block_size(&self) -> usize {
        ROWS.min(self.context) * self.context
    }

    fn forward(&self, mut mixed: MatrixMut<'_>, mut kept: Option<&mut Vec<f32>>) {
        let mut scratch = vec![0.0; if kept.is_none() { self.block_size() } else { 0 }];
        for block in self.blocks() {
            let weights = match &mut kept {
                Some(kept) => &mut kept[block.start * self.context..block.end * self.context],
                None => &mut scratch[..block.len() * self.context],
            };
            self.weigh(&block, weights);
            let weights = Matrix::new(weights, [block.len(), self.context]).columns(0..block.end);
            let values = self.values.rows(0..block.end);
            product(mixed.rows(block), Onto::Nothing, 1.0, weights, values, Threads::One);
        }
    }

    /// The weights of a block's rows over the positions up to the block's end.
    fn weigh(&self, block: &Range<usize>, weights: &mut [f32]) {
        let mut scores = MatrixMut::new(weights, [block.len(), self.context]);
        let (queries, keys) = (self.queries.rows(block.clone()), self.keys.rows(0..block.end).transposed());
        product(scores.first_columns(block.end), Onto::Nothing, self.scale, queries, keys, Threads::One);
        softmax_of_seen(weights, self.context, block.start, block.end);
    }

    fn backward(
        &self,
        mixed: Matrix<'_>,
        [mut queries, mut keys, mut values]: [MatrixMut<'_>; 3],
        kept: Option<&[f32]>,
    ) {
        let mut again = vec![0.0; if kept.is_none() { self.block_size() } else { 0 }];
        let mut scores = vec![0.0; self.block_size()];
        // From the last block, which is the only one that reaches all keys and values.
        for block in self.blocks().rev() {
            let (seen, shape) = (0..block.end, [block.len(), self.context]);
            let onto = if block.end == self.context { Onto::Nothing } else { Onto::Sum };
            let weights = match kept {
                Some(kept) => &kept[block.start * self.context..block.end * self.context],
                None => {
                    let weights = &mut again[..block.len() * self.context];
                    self.weigh(&block, weights);
                    weights
                }
            };
            let scores = &mut scores[..block.len() * self.context];
            let mixed = mixed.rows(block.clone());
            let by_position = self.values.rows(seen.clone()).transposed();
            let mut by_weight = MatrixMut::new(scores, shape);
            product(by_weight.first_columns(block.end), Onto::Nothing, 1.0, mixed, by_position, Threads::One);
            gradient_of_scores(weights, scores, self.context, block.start, block.end, self.scale);

            let weights = Matrix::new(weights, shape).columns(seen.clone()).transposed();
            product(values.rows(seen.clone()), onto, 1.0, weights, mixed, Threads::One);
            let scores = Matrix::new(scores, shape).columns(seen.clone());
            let of_block = self.queries.rows(block.clone());
            product(keys.rows(seen.clone()), onto, 1.0, scores.transposed(), of_block, Threads::One);
            product(queries.rows(block), Onto::Nothing, 1.0, scores, self.keys.rows(seen), Threads::One);
        }
    }
}

kernels! {
    /// Softmax over what each row sees, in place: up to itself. The rest up to `end` becomes 0.
    fn softmax_of_seen(scores: &mut [f32], context: usize, first: usize, end: usize) {
        for (at, row) in scores.chunks_exact_mut(context).enumerate() {
            let (seen, hidden) = row[..end].split_at_mut(first + at + 1);
            let top = max(seen);
            for score in seen.iter_mut() {
                *score = exp(*score - top);
            }
            let part = 1.0 / sum(seen, |score| score);
            for score in seen.iter_mut() {
                *score *= part;
            }
            hidden.fill(0.0);
        }
    }

    /// The gradient of scaled scores from that of their weights, in place; 0 where a row does not see.
    fn gradient_of_scores(weights: &[f32], gradient: &mut [f32], context: usize, first: usize, end: usize, scale: f32) {
        let rows = gradient.chunks_exact_mut(context).zip(weights.chunks_exact(context));
        for (at, (gradient, weights)) in rows.enumerate() {
            let (seen, hidden) = gradient[..end].split_at_mut(first + at + 1);
            let weights = &weights[..seen.len()];
            let mean = sum_of_pairs(seen, weights, |gradient, weight| gradient * weight);
            for (gradient, weight) in seen.iter_mut().zip(weights) {
                *gradient = scale * (weight * (*gradient - mean));
            }
            hidden.fill(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::backend::AutodiffBackend;

    use super::*;
    use crate::fused::{
        simd::chosen::at_each_level,
        testing::{Case, Fused, Given, Plain, bits, check, near, numbers, results, shapes},
    };

    impl Case for Heads {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            causal_attention(inputs[0].clone(), *self)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            causal_attention(inputs[0].clone(), *self)
        }
    }

    /// Batch, context, heads and the size of a head.
    fn given([batch, context, heads, size]: [usize; 4]) -> (Heads, [usize; 2]) {
        (Heads { batch, context, heads }, [batch * context, 3 * heads * size])
    }

    #[test]
    fn it_is_burns_attention() {
        // The first two contexts have several blocks; the second one's weights are computed again.
        let fixed = [[2, 150, 2, 20], [2, 131, 3, 5], [2, 64, 4, 8], [1, 1, 1, 1]];
        for shape in fixed.into_iter().chain(shapes([3, 80, 3, 9])) {
            let (heads, shape) = given(shape);
            check(&heads, &[Given::random(shape, 1.5)], 1e-5);
            check(&heads, &[Given::random(shape, 1.5).transposed()], 1e-5);
        }
    }

    #[test]
    fn what_is_not_finite_is_passed_on_to_what_sees_it() {
        let (heads, shape) = given([2, 5, 1, 3]);
        for special in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            // In a query and a key of the first sample's third position.
            for at in [2 * 9, 2 * 9 + 3] {
                let given = [Given::random(shape, 1.0).with(at, special)];
                let (fused, plain) = (results::<Fused>(&heads, &given), results::<Plain>(&heads, &given));
                near("result", &fused[0], &plain[0], 1e-5);
                assert!(fused[0][..6].iter().chain(&fused[0][15..]).all(|number| number.is_finite()), "{special}");
                // In burn's gradient a broken weight also breaks what its row does not see.
                let theirs =
                    plain[1].iter().zip(&fused[1]).map(|(theirs, ours)| if theirs.is_nan() { ours } else { theirs });
                near("gradient", &fused[1], &theirs.copied().collect::<Vec<_>>(), 1e-5);
                assert!(fused[1][at].is_nan(), "{special}");
            }
        }
    }

    #[test]
    fn no_samples_give_no_rows() {
        let (heads, shape) = given([0, 4, 2, 3]);
        let (mixed, kept) = heads.forward([host::tensor(Vec::new(), shape)], true);
        assert_eq!(host::dims(&mixed), [0, 6]);
        let [gradient] = heads.backward(kept, mixed, [true]);
        assert_eq!(host::dims(&gradient.unwrap()), shape);
    }

    #[test]
    fn weights_computed_again_are_those_that_were_kept() {
        let (heads, shape) = given([1, 150, 2, 20]);
        let input = host::tensor(numbers(shape[0] * shape[1], 1, 1.0), shape);
        let (mixed, kept) = heads.forward([input], true);
        let again = Kept { weights: None, ..kept.clone() };
        assert!(kept.weights.is_some(), "the context is short");
        let gradient =
            |kept| heads.backward(kept, mixed.clone(), [true]).map(|part| bits(host::numbers(&part.unwrap())));
        assert!(gradient(kept) == gradient(again));
    }

    #[test]
    fn every_level_gives_the_same_bits() {
        let (scores, context) = (numbers(40 * 90, 3, 5.0), 90);
        let results = at_each_level(|| {
            let (mut weights, mut gradient) = (scores.clone(), numbers(scores.len(), 4, 1.0));
            softmax_of_seen(&mut weights, context, 37, 80);
            gradient_of_scores(&weights, &mut gradient, context, 37, 80, 0.3);
            [bits(&weights), bits(&gradient)]
        });
        for (level, result) in &results {
            assert!(*result == results[0].1, "{level:?}");
        }
    }
}
