//! Gradients on their way between ranks.
//!
//! It does not send them. Main functions: [`taken`], [`mean`], [`given`].

use burn::{
    module::{AutodiffModule, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Tensor, TensorData, backend::AutodiffBackend},
};

use super::message::{Bytes, Gradients};
use crate::parameters::Parameters;

/// Gradients as they are sent.
pub(crate) fn taken<B: AutodiffBackend, M: AutodiffModule<B>>(
    model: &M,
    gradients: &GradientsParams,
    parameters: &Parameters,
) -> Gradients {
    struct Visitor<'a> {
        gradients: &'a GradientsParams,
        parameters: &'a Parameters,
        taken: Gradients,
    }
    impl<B: AutodiffBackend> ModuleVisitor<B> for Visitor<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            let gradient = self.gradients.get::<B::InnerBackend, D>(param.id);
            let Some((at, gradient)) = self.parameters.position(param.id).zip(gradient) else { return };
            let floats: Vec<f32> = gradient.into_data().iter::<f32>().collect();
            self.taken[at] = Some(Bytes::of_floats(&floats));
        }
    }
    let mut visitor = Visitor { gradients, parameters, taken: vec![None; parameters.len()] };
    model.visit(&mut visitor);
    visitor.taken
}

/// The weighted sum of several ranks' gradients, in the order in which they are given: the same bits on every machine.
/// One that a rank does not have counts as zero.
pub(crate) fn mean(parts: &[(Gradients, f64)], parameters: &Parameters) -> Gradients {
    let one = |at: usize, elements: usize| {
        let mut sum: Option<Vec<f32>> = None;
        for (gradients, share) in parts {
            let Some(gradient) = &gradients[at] else { continue };
            let sum = sum.get_or_insert_with(|| vec![0.0; elements]);
            sum.iter_mut().zip(gradient.floats()).for_each(|(sum, float)| *sum += float * *share as f32);
        }
        sum.map(|sum| Bytes::of_floats(&sum))
    };
    parameters.iter().enumerate().map(|(at, parameter)| one(at, parameter.shape.iter().product())).collect()
}

/// Gradients as they were sent, for a model on a device.
///
/// # Errors
///
/// Which parameter has a gradient of another size.
pub(crate) fn given<B: AutodiffBackend, M: AutodiffModule<B>>(
    model: &M,
    gradients: &Gradients,
    parameters: &Parameters,
    device: &B::Device,
) -> Result<GradientsParams, String> {
    struct Visitor<'a, D> {
        gradients: &'a Gradients,
        parameters: &'a Parameters,
        device: &'a D,
        given: GradientsParams,
    }
    impl<B: AutodiffBackend> ModuleVisitor<B> for Visitor<'_, B::Device> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            let Some(at) = self.parameters.position(param.id) else { return };
            let Some(Some(bytes)) = self.gradients.get(at) else { return };
            let data = TensorData::new(bytes.floats().collect::<Vec<f32>>(), self.parameters.at(at).shape.clone());
            self.given.register(param.id, Tensor::<B::InnerBackend, D>::from_data(data, self.device));
        }
    }
    if gradients.len() != parameters.len() {
        return Err(format!("gradients of {} parameters, the model has {}", gradients.len(), parameters.len()));
    }
    for (parameter, bytes) in parameters.iter().zip(gradients) {
        let elements: usize = parameter.shape.iter().product();
        if let Some(Bytes(bytes)) = bytes.as_ref().filter(|bytes| bytes.0.len() != elements * size_of::<f32>()) {
            let (name, bytes) = (&parameter.name, bytes.len());
            return Err(format!("the gradient of `{name}` has {bytes} bytes and not those of {elements} numbers"));
        }
    }
    let mut visitor = Visitor { gradients, parameters, device, given: GradientsParams::new() };
    model.visit(&mut visitor);
    Ok(visitor.given)
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex, flex::FlexDevice};

    use super::*;
    use crate::pair::Pair;

    type B = Autodiff<Flex>;

    #[test]
    fn a_mean_is_weighted_and_a_missing_gradient_is_zero() {
        let (pair, parameters, _) = Pair::new();
        let sent = |gradients| taken::<B, _>(&pair, &pair.gradients(gradients), &parameters);
        let parts = [(sent([&[4.0, 8.0][..], &[]]), 0.25), (sent([&[2.0, f32::NAN], &[]]), 0.5)];
        let mean = mean(&parts, &parameters);
        let [first, second] = pair.values_of(&given::<B, _>(&pair, &mean, &parameters, &FlexDevice).unwrap());
        assert!(first[0] == 2.0 && first[1].is_nan(), "{first:?}");
        assert!(second.is_empty(), "nobody has one");
        assert_eq!(mean[1], None);
    }

    #[test]
    fn gradients_of_another_model_are_refused() {
        let (pair, parameters, _) = Pair::new();
        let refused = |gradients: Gradients| given::<B, _>(&pair, &gradients, &parameters, &FlexDevice).unwrap_err();
        assert!(refused(vec![None]).contains("1 parameters, the model has 2"));
        let words = refused(vec![None, Some(Bytes(vec![0; 8]))]);
        assert_eq!(words, "the gradient of `second` has 8 bytes and not those of 1 numbers");
    }
}
