//! A tensor times a number.
//!
//! Main function: [`scale`].

use burn::{
    backend::Flex,
    tensor::{DType, Tensor, backend::Backend},
};
use burn_flex::FlexTensor;

use super::{
    host,
    operation::{self, is, primitive, same},
    simd::kernels,
};

/// `factor * tensor`, in place and on all threads where the tensor lies in the host's memory.
pub(crate) fn scale<B: Backend, const D: usize>(tensor: Tensor<B, D>, factor: f64) -> Tensor<B, D> {
    if !is::<B, Flex>() {
        return tensor.mul_scalar(factor);
    }
    let mut numbers: FlexTensor = same(primitive(tensor));
    if numbers.dtype() != DType::F32 || !host::is_dense(&numbers) {
        return operation::tensor::<B, D>(same(numbers)).mul_scalar(factor);
    }
    let factor = factor as f32;
    host::each(host::numbers_mut(&mut numbers).chunks_mut(host::ELEMENTS), |chunk| multiply(chunk, factor));
    operation::tensor(same(numbers))
}

kernels! {
    fn multiply(numbers: &mut [f32], factor: f32) {
        for number in numbers {
            *number *= factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::fused::testing::{bits, numbers};

    #[test]
    fn it_is_burns_product_to_the_bit_whatever_the_layout() {
        let mut all = numbers(201 * 187, 1, 3.0);
        let special = [f32::NAN, f32::INFINITY, 3e38, 1e-38, -0.0];
        all.iter_mut().step_by(101).zip(special).for_each(|(number, it)| *number = it);
        let matrix = || Tensor::<Flex, 2>::from_data(TensorData::new(all.clone(), [201, 187]), &Default::default());
        let read = |tensor: Tensor<Flex, 2>| bits(&tensor.into_data().iter::<f32>().collect::<Vec<_>>());
        for tensor in
            [matrix(), matrix().transpose(), matrix().narrow(1, 3, 9), matrix().narrow(0, 0, 1).expand([4, 187])]
        {
            let held = tensor.clone();
            let once = read(held.clone());
            assert!(read(scale(tensor, 0.3)) == read(held.clone().mul_scalar(0.3)));
            assert!(read(held) == once, "somebody else's tensor stays as it is");
        }
    }
}
