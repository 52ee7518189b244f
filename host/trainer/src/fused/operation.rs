//! The way from burn's tensors to a fused operation and back, with its place in the graph of gradients.
//!
//! It knows no operation. Main type: [`Operation`]; main function: [`apply`].

use std::{
    any::{Any, TypeId},
    fmt::Debug,
};

use burn::{
    backend::{
        Autodiff, Flex,
        autodiff::{
            checkpoint::{base::Checkpointer, strategy::NoCheckpointing},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind},
        },
    },
    tensor::{DType, Tensor, TensorMetadata, TensorPrimitive, backend::Backend, ops::FloatTensor},
};
use burn_flex::FlexTensor;

use super::host;

/// The backend that is trained with.
type Trained = Autodiff<Flex>;

/// An operation on `N` tensors of 32-bit floats in the host's memory, and its gradient.
pub(super) trait Operation<const N: usize>: Clone + Debug + Send + 'static {
    /// What the backward pass needs of the forward pass.
    type Kept: Clone + Debug + Send + 'static;

    /// The result, and what to keep. Inputs have any layout. Without `keep` no backward pass follows.
    fn forward(&self, inputs: [FlexTensor; N], keep: bool) -> (FlexTensor, Self::Kept);

    /// The gradients of those inputs that are wanted, from the result's gradient, whose numbers lie side by side.
    fn backward(&self, kept: Self::Kept, gradient: FlexTensor, wanted: [bool; N]) -> [Option<FlexTensor>; N];
}

/// Computes an operation, or gives the inputs back where they are of another backend or of other numbers.
pub(super) fn apply<B: Backend, O: Operation<N>, const N: usize>(
    operation: &O,
    inputs: [FloatTensor<B>; N],
) -> Result<FloatTensor<B>, [FloatTensor<B>; N]> {
    if inputs.iter().any(|input| input.dtype() != DType::F32) {
        return Err(inputs);
    }
    // A trained backend that recomputes activations is another type, and computes with burn's operations.
    if is::<B, Trained>() {
        Ok(same(tracked(operation, same(inputs))))
    } else if is::<B, Flex>() {
        Ok(same(operation.forward(same(inputs), false).0))
    } else {
        Err(inputs)
    }
}

/// Whether two types are the same one, which is known only where the generic code is compiled for one of them.
pub(super) fn is<A: 'static, B: 'static>() -> bool {
    TypeId::of::<A>() == TypeId::of::<B>()
}

/// Whether a backend's tensors are in the host's memory, where fused operations work.
pub(crate) fn is_on_host<B: Backend>() -> bool {
    is::<B, Trained>() || is::<B, Flex>()
}

/// A value under another name of its type.
pub(super) fn same<A: 'static, B: 'static>(value: A) -> B {
    let mut value = Some(value);
    let value = (&mut value as &mut dyn Any).downcast_mut::<Option<B>>().and_then(Option::take);
    value.expect("the types have been found to be the same")
}

/// What burn's tensor is a handle of.
pub(crate) fn primitive<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> FloatTensor<B> {
    tensor.into_primitive().tensor()
}

/// burn's tensor of a handle.
pub(crate) fn tensor<B: Backend, const D: usize>(primitive: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(primitive))
}

fn tracked<O: Operation<N>, const N: usize>(operation: &O, inputs: [FloatTensor<Trained>; N]) -> FloatTensor<Trained> {
    let keep = inputs.iter().any(|input| input.is_tracked());
    let nodes = inputs.each_ref().map(|input| input.node.clone());
    // These live until the operation is in the graph: without them, what led to the inputs could be forgotten.
    let _counted = inputs.each_ref().map(|input| input.rc.clone());
    // The tensors are handed over: an operation may write its result where an input was that nobody else has.
    let (result, kept) = operation.forward(inputs.map(|input| input.primitive), keep);
    match Recorded(operation.clone()).prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(step) => step.finish(kept, result),
        OpsKind::UnTracked(step) => step.finish(result),
    }
}

/// An operation in the graph of gradients.
#[derive(Clone, Debug)]
struct Recorded<O>(O);

impl<O: Operation<N>, const N: usize> Backward<Flex, N> for Recorded<O> {
    type State = O::Kept;

    fn backward(self, ops: Ops<O::Kept, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let gradient = host::dense(&gradients.consume::<Flex>(&ops.node));
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let parts = self.0.backward(ops.state, gradient, wanted);
        for (parent, part) in ops.parents.into_iter().zip(parts) {
            if let (Some(parent), Some(part)) = (parent, part) {
                gradients.register::<Flex>(parent.id, part);
            }
        }
    }
}
