//! What the tests of all fused operations do: against burn's own operations, with any number of threads, on inputs of
//! every kind.
//!
//! It holds no tests. Main function: [`check`].

use burn::{
    backend::{Autodiff, Flex, autodiff::checkpoint::strategy::BalancedCheckpointing, flex::FlexDevice},
    tensor::{
        Tensor, TensorData,
        backend::{AutodiffBackend, Backend},
    },
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The backend whose operations are fused.
pub(crate) type Fused = Autodiff<Flex>;
/// One of the same numbers whose operations are burn's: it is another type, because it recomputes activations.
pub(crate) type Plain = Autodiff<Flex, BalancedCheckpointing>;

/// An operation under test, on matrices.
pub(super) trait Case: Sync {
    /// With gradients.
    fn run<B: AutodiffBackend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2>;
    /// Without.
    fn run_plain<B: Backend>(&self, inputs: Vec<Tensor<B, 2>>) -> Tensor<B, 2>;
}

/// An input of a case.
#[derive(Clone)]
pub(super) struct Given {
    numbers: Vec<f32>,
    shape: [usize; 2],
    /// The input is a transposed view of a tensor of the other shape.
    is_transposed: bool,
}

/// Numbers between -scale and scale, the same ones for the same seed.
pub(crate) fn numbers(count: usize, seed: u64, scale: f32) -> Vec<f32> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| scale * (2.0 * random.random::<f32>() - 1.0)).collect()
}

/// Ten shapes, each side from 1 to its most.
pub(super) fn shapes<const N: usize>(most: [usize; N]) -> impl Iterator<Item = [usize; N]> {
    let mut random = ChaCha8Rng::seed_from_u64(N as u64);
    (0..10).map(move |_| most.map(|most| random.random_range(1..=most)))
}

impl Given {
    pub(super) fn random(shape: [usize; 2], scale: f32) -> Self {
        let numbers = numbers(shape[0] * shape[1], (shape[0] * 1009 + shape[1]) as u64 + scale.to_bits() as u64, scale);
        Self { numbers, shape, is_transposed: false }
    }

    /// Some numbers are NaN, infinite, or at the ends of what is finite.
    pub(super) fn special(shape: [usize; 2]) -> Self {
        let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 3e38, -3e38, 1e-40, 0.0, -0.0];
        let mut given = Self::random(shape, 2.0);
        given.numbers.iter_mut().step_by(7).zip(special.iter().cycle()).for_each(|(number, &it)| *number = it);
        given
    }

    /// One number is another.
    pub(super) fn with(mut self, at: usize, number: f32) -> Self {
        self.numbers[at] = number;
        self
    }

    /// The same shape, as a view whose rows are not side by side.
    pub(super) fn transposed(mut self) -> Self {
        self.is_transposed = true;
        self
    }

    pub(super) fn transposed_if(self, is_transposed: bool) -> Self {
        Self { is_transposed, ..self }
    }

    fn tensor<B: Backend>(&self, device: &B::Device) -> Tensor<B, 2> {
        let [rows, columns] = self.shape;
        let shape = if self.is_transposed { [columns, rows] } else { [rows, columns] };
        let tensor = Tensor::from_data(TensorData::new(self.numbers.clone(), shape), device);
        if self.is_transposed { tensor.transpose() } else { tensor }
    }
}

fn read<B: Backend>(tensor: Tensor<B, 2>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// The result and the gradient of each input, where every element of the result has a weight of its own.
pub(super) fn results<B: AutodiffBackend<Device = FlexDevice>>(case: &impl Case, given: &[Given]) -> Vec<Vec<f32>> {
    let inputs: Vec<Tensor<B, 2>> = given.iter().map(|input| input.tensor(&FlexDevice).require_grad()).collect();
    let result = case.run(inputs.clone());
    let shape = result.dims();
    let weights = Tensor::from_data(TensorData::new(numbers(shape[0] * shape[1], 7, 1.0), shape), &FlexDevice);
    let gradients = (result.clone() * weights).sum().backward();
    let gradient = |input: &Tensor<B, 2>| {
        input.grad(&gradients).map_or_else(Vec::new, |gradient| gradient.into_data().iter::<f32>().collect())
    };
    [vec![read(result.inner())], inputs.iter().map(gradient).collect()].concat()
}

pub(crate) fn bits(numbers: &[f32]) -> Vec<u32> {
    // One NaN is as good as another.
    numbers.iter().map(|number| if number.is_nan() { f32::NAN.to_bits() } else { number.to_bits() }).collect()
}

/// Equal to a part of 1 or of the number's own size; NaN and infinities are equal to themselves.
pub(super) fn near(what: &str, ours: &[f32], theirs: &[f32], tolerance: f32) {
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let equal = ours == theirs || ours.is_nan() && theirs.is_nan();
        let close = (ours - theirs).abs() <= tolerance * theirs.abs().max(1.0);
        assert!(equal || close && theirs.is_finite(), "{what}, number {at}: {ours} and not {theirs}");
    }
}

/// What a function gives in a pool of so many threads.
pub(super) fn with_threads<R: Send>(threads: usize, run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// The fused form is burn's within a tolerance, result and gradients; it has the same bits with 1, 2 and 3 threads,
/// and without gradients.
pub(super) fn check(case: &impl Case, given: &[Given], tolerance: f32) {
    let shapes: Vec<[usize; 2]> = given.iter().map(|input| input.shape).collect();
    let fused = results::<Fused>(case, given);
    let plain = results::<Plain>(case, given);
    for (part, (ours, theirs)) in fused.iter().zip(&plain).enumerate() {
        let name = if part == 0 { "result".into() } else { format!("gradient of input {part}") };
        near(&format!("{shapes:?}: {name}"), ours, theirs, tolerance);
    }
    for threads in 1..=3 {
        let again = with_threads(threads, || results::<Fused>(case, given));
        let same = again.iter().zip(&fused).all(|(again, once)| bits(again) == bits(once));
        assert!(same, "{shapes:?}: {threads} threads");
    }
    let inputs = given.iter().map(|input| input.tensor::<Flex>(&FlexDevice)).collect();
    assert!(bits(&read(case.run_plain(inputs))) == bits(&fused[0]), "{shapes:?}: without gradients");
}
