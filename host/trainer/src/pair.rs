//! Two parameters, each in a group of its own, for unit tests of what walks over parameters.
//!
//! It holds no tests. Main type: [`Pair`].

use burn::{
    backend::{Autodiff, Flex, flex::FlexDevice},
    module::{Module, Param},
    optim::GradientsParams,
    tensor::{Tensor, backend::Backend},
};

use crate::{GroupSettings, parameters::Parameters};

/// `first` has two elements and is in group `of-first`; `second` has one and is in `of-second`.
#[derive(Module, Debug)]
pub(crate) struct Pair<B: Backend> {
    pub(crate) first: Param<Tensor<B, 1>>,
    pub(crate) second: Param<Tensor<B, 1>>,
}

impl Pair<Autodiff<Flex>> {
    /// All zeros.
    pub(crate) fn new() -> (Self, Parameters, [GroupSettings; 2]) {
        let zeros = |size| Param::from_tensor(Tensor::zeros([size], &FlexDevice));
        let pair = Self { first: zeros(2), second: zeros(1) };
        let groups = ["first", "second"].map(|name| GroupSettings {
            name: format!("of-{name}"),
            parameters: vec![name.into()],
            learning_rate: 0.5,
            weight_decay: 0.1,
        });
        let parameters = Parameters::of(&pair, &groups).expect("each group has a parameter");
        (pair, parameters, groups)
    }

    /// Gives both parameters values.
    pub(crate) fn set(&mut self, [first, second]: [&[f32]; 2]) {
        let with = |param: &Param<Tensor<Autodiff<Flex>, 1>>, values: &[f32]| {
            param.clone().map(|_| Tensor::from_data(values, &FlexDevice).require_grad())
        };
        (self.first, self.second) = (with(&self.first, first), with(&self.second, second));
    }

    /// Gradients with these values; none for a parameter without values.
    pub(crate) fn gradients(&self, [first, second]: [&[f32]; 2]) -> GradientsParams {
        let mut gradients = GradientsParams::new();
        for (id, values) in [(self.first.id, first), (self.second.id, second)] {
            if !values.is_empty() {
                gradients.register::<Flex, 1>(id, Tensor::from_data(values, &FlexDevice));
            }
        }
        gradients
    }

    /// The values of both parameters.
    pub(crate) fn values(&self) -> [Vec<f32>; 2] {
        [&self.first, &self.second].map(|param| param.val().into_data().iter::<f32>().collect())
    }

    /// The values of gradients; none for a parameter without a gradient.
    pub(crate) fn values_of(&self, gradients: &GradientsParams) -> [Vec<f32>; 2] {
        [self.first.id, self.second.id].map(|id| {
            let gradient = gradients.get::<Flex, 1>(id).map(Tensor::into_data);
            gradient.map(|data| data.iter::<f32>().collect()).unwrap_or_default()
        })
    }
}
