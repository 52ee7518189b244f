//! The rows with which a transformer begins: the embedding of each token and that of its position, added.
//!
//! A row's gradient is added to the token's row of the one table and to the position's row of the other, in the order of the
//! rows. Main function: [`embedding`].

use std::{mem::MaybeUninit, sync::Arc};

use burn::tensor::{Int, Tensor, backend::Backend, module};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, Operation, apply, is_on_host, primitive},
    simd::add,
};

/// `[batch * context, width]` of tokens `[batch, context]`, a table `[vocabulary, width]` with a row for each token, and
/// one `[positions, width]` with a row for each position of a context.
///
/// # Panics
///
/// When a token has no row, or there are fewer positions than the context has.
pub fn embedding<B: Backend>(tokens: Tensor<B, 2, Int>, table: Tensor<B, 2>, positions: Tensor<B, 2>) -> Tensor<B, 2> {
    let ([batch, context], [vocabulary, width], [places, _]) = (tokens.dims(), table.dims(), positions.dims());
    assert!(context <= places, "a context of {context} tokens has {places} positions");
    assert_eq!(positions.dims()[1], width, "both tables have rows of one width");
    let (mut table, mut positions) = (primitive(table), primitive(positions));
    if is_on_host::<B>() {
        let tokens: Vec<usize> = tokens.to_data().iter::<i64>().map(|token| token as usize).collect();
        assert!(tokens.iter().all(|token| *token < vocabulary), "each token is below {vocabulary}");
        let rows = Rows { tokens: tokens.into(), context };
        match apply::<B, _, 2>(&rows, [table, positions]) {
            Ok(rows) => return operation::tensor(rows),
            Err(inputs) => [table, positions] = inputs,
        }
    }
    let embedded = module::embedding(operation::tensor(table), tokens);
    let positions = operation::tensor::<B, 2>(positions).narrow(0, 0, context).unsqueeze::<3>();
    (embedded + positions).reshape([batch * context, width])
}

/// The token of each row, and how many rows go through the positions once.
#[derive(Clone, Debug)]
struct Rows {
    tokens: Arc<[usize]>,
    context: usize,
}

impl Operation<2> for Rows {
    /// The rows of each table.
    type Kept = [usize; 2];

    #[expect(unsafe_code, reason = "to fill the buffer before the rows are written would be a pass over memory")]
    fn forward(&self, inputs: [FlexTensor; 2], _: bool) -> (FlexTensor, [usize; 2]) {
        let [table, positions] = inputs.map(|input| host::dense(&input));
        let ([vocabulary, width], [places, _]) = (host::dims(&table), host::dims(&positions));
        let (table, positions) = (host::numbers(&table), host::numbers(&positions));
        let row_of = |at: usize| at * width..(at + 1) * width;
        let write = |rows: &mut [MaybeUninit<f32>]| {
            let tasks = rows.chunks_mut(host::task_of_rows(width)).zip(self.tokens.chunks(host::ROWS)).enumerate();
            host::each(tasks, |(task, (rows, tokens))| {
                let first = task * host::ROWS;
                for (at, (row, &token)) in rows.chunks_mut(width.max(1)).zip(tokens).enumerate() {
                    let position = (first + at) % self.context;
                    let parts = table[row_of(token)].iter().zip(&positions[row_of(position)]);
                    for (place, (token, position)) in row.iter_mut().zip(parts) {
                        place.write(token + position);
                    }
                }
            });
        };
        // SAFETY: the chunks of the rows and of the tokens are as many, and each row is as long as those of the tables.
        let rows = unsafe { host::written(self.tokens.len() * width, write) };
        (host::tensor(rows, [self.tokens.len(), width]), [vocabulary, places])
    }

    fn backward(
        &self,
        [vocabulary, places]: [usize; 2],
        gradient: FlexTensor,
        wanted: [bool; 2],
    ) -> [Option<FlexTensor>; 2] {
        let width = host::dims(&gradient)[1];
        let rows = || host::numbers(&gradient).chunks(width.max(1)).zip(self.tokens.iter()).enumerate();
        let sums = |count: usize, row_of: &dyn Fn(usize, usize) -> usize| {
            let mut table = vec![0.0; count * width];
            for (at, (row, &token)) in rows() {
                let first = row_of(at, token) * width;
                add(&mut table[first..first + width], row);
            }
            host::tensor(table, [count, width])
        };
        let (of_tokens, of_positions) = rayon::join(
            || wanted[0].then(|| sums(vocabulary, &|_, token| token)),
            || wanted[1].then(|| sums(places, &|at, _| at % self.context)),
        );
        [of_tokens, of_positions]
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, backend::AutodiffBackend};

    use super::*;
    use crate::fused::testing::{Case, Given, check, shapes};

    /// Rows for tokens `[batch, context]` that come again and again.
    struct Tokens([usize; 2]);

    impl Case for Tokens {
        fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            self.run_plain(inputs)
        }

        fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2> {
            let vocabulary = inputs[0].dims()[0];
            let tokens: Vec<i64> = (0..self.0[0] * self.0[1]).map(|at| (at * at % vocabulary) as i64).collect();
            let tokens = Tensor::from_data(TensorData::new(tokens, self.0), &inputs[0].device());
            embedding(tokens, inputs[0].clone(), inputs[1].clone())
        }
    }

    #[test]
    fn it_is_what_burns_operations_come_to() {
        let all = [[1, 1, 1, 1, 0], [0, 4, 3, 5, 0], [12, 64, 76, 128, 3], [3, 70, 5, 33, 1]];
        for [batch, context, vocabulary, width, more] in all.into_iter().chain(shapes([9, 40, 30, 50, 4])) {
            let (table, positions) =
                (Given::random([vocabulary, width], 1.0), Given::random([context + more, width], 2.0));
            check(&Tokens([batch, context]), &[table.clone(), positions.clone()], 1e-5);
            check(&Tokens([batch, context]), &[table.transposed(), positions.transposed()], 1e-5);
        }
        check(&Tokens([2, 3]), &[Given::special([4, 9]), Given::special([3, 9])], 1e-6);
    }

    #[test]
    #[should_panic(expected = "each token is below 2")]
    fn a_token_without_a_row_is_refused() {
        let matrix = || Tensor::<burn::backend::Flex, 2>::zeros([2, 3], &Default::default());
        embedding(Tensor::from_data([[0, 2]], &Default::default()), matrix(), matrix());
    }
}
