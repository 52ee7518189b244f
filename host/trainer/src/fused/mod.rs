//! Operations of a network in one pass each over the host's memory, with burn's own operations for everything else.
//!
//! On the CPU most of a training step is lost outside matrix products: burn's autodiff composes GELU, attention, norms
//! and losses of many small operations, each with a pass over memory and a new tensor. The functions here compute each
//! of them, and its gradient, at once. They take and return burn's tensors of any backend: where that is
//! `Autodiff<Flex>` or `Flex` and the numbers are 32-bit floats, the tensor is opened and the fused form runs;
//! everywhere else burn's operations compute the same formula. A model is written once and knows nothing of this.
//!
//! Activations have two dimensions, `[rows, width]`, with all samples and positions as rows. The fused forms give the
//! same bits for any number of threads: work is cut into tasks of a fixed size, and what they sum is added in their
//! order. They differ from burn's in the last bits only. NaN and infinities come out where burn's come out, except that
//! what attention's mask hides stays out of it, and that a NaN gets through a rectifier and a maximum.
//!
//! Each operation is a file, with the source of its formula. `operation` is the way from burn's tensors to them and
//! back, `simd` compiles their loops for several instruction sets, `matrix` is numbers as rows and columns, and
//! `product` multiplies them.

mod adamw;
mod attention;
mod convolution;
mod cross_entropy;
mod embedding;
mod gelu;
mod host;
mod in_place;
mod layer_norm;
mod linear;
mod matrix;
mod max_pool;
mod operation;
mod product;
mod relu;
mod rms_norm;
mod scale;
mod sgd;
mod simd;
mod swiglu;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use adamw::{AdamW, adamw};
pub use attention::{Heads, causal_attention};
pub use convolution::{convolution, convolution_with};
pub use cross_entropy::cross_entropy;
pub use embedding::embedding;
pub use gelu::gelu;
pub(crate) use host::{each, is_dense};
pub(crate) use in_place::Moved;
pub use layer_norm::layer_norm;
pub use linear::{linear, linear_with};
pub use max_pool::max_pool;
pub(crate) use operation::{is_on_host, primitive, tensor};
pub use relu::relu;
pub use rms_norm::rms_norm;
pub(crate) use scale::scale;
pub(crate) use sgd::{Sgd, sgd, sgd_with_momentum};
pub(crate) use simd::sum_of_squares;
pub use swiglu::swiglu;
