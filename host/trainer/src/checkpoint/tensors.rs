//! Weights and optimizer state as safetensors, by the parameters' names.
//!
//! It does not touch files. Everything is stored as 32-bit floats, whole, so that what is loaded is what was saved.

use std::{borrow::Cow, collections::HashMap};

use burn::{
    module::{AutodiffModule, Module, ModuleMapper, ModuleVisitor, Param},
    tensor::{
        Tensor, TensorData, TensorPrimitive,
        backend::{AutodiffBackend, Backend},
    },
};
use safetensors::{Dtype, SafeTensors, View, tensor::TensorView};

use crate::{
    optimizer::{Optimizer, Slots},
    parameters::Parameters,
};

/// A tensor on its way to a file.
struct Saved {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Saved {
    fn floats<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Self {
        let shape = tensor.dims().to_vec();
        let bytes = tensor.into_data().convert::<f32>().as_bytes().to_vec();
        Self { dtype: Dtype::F32, shape, bytes }
    }
}

impl View for Saved {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn serialize(tensors: Vec<(String, Saved)>) -> Vec<u8> {
    safetensors::serialize(tensors, None).expect("every tensor has as many bytes as its shape asks for")
}

/// The weights of a model.
pub(crate) fn model_bytes<B: Backend, M: Module<B>>(model: &M, parameters: &Parameters) -> Vec<u8> {
    struct Visitor<'a> {
        parameters: &'a Parameters,
        tensors: Vec<(String, Saved)>,
    }
    impl<B: Backend> ModuleVisitor<B> for Visitor<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            if let Some(parameter) = self.parameters.get(param.id) {
                self.tensors.push((parameter.name.clone(), Saved::floats(param.val())));
            }
        }
    }
    let mut visitor = Visitor { parameters, tensors: Vec::new() };
    model.visit(&mut visitor);
    serialize(visitor.tensors)
}

/// Tensors that are no part of a model: 32-bit floats, and integers as 64-bit ones.
pub(crate) fn data_bytes(tensors: Vec<(String, TensorData)>) -> Vec<u8> {
    let saved = |data: TensorData| {
        let shape = data.shape.to_vec();
        let (dtype, data) = if data.dtype.is_float() {
            (Dtype::F32, data.convert::<f32>())
        } else {
            (Dtype::I64, data.convert::<i64>())
        };
        Saved { dtype, shape, bytes: data.as_bytes().to_vec() }
    };
    serialize(tensors.into_iter().map(|(name, data)| (name, saved(data))).collect())
}

/// Puts saved weights into a model.
///
/// # Errors
///
/// Which tensor is missing, left over, or of another shape.
pub(crate) fn load_model<B: AutodiffBackend, M: AutodiffModule<B>>(
    model: M,
    parameters: &Parameters,
    bytes: &[u8],
) -> Result<M, String> {
    struct Mapper<'a> {
        parameters: &'a Parameters,
        tensors: SafeTensors<'a>,
    }
    impl<B: AutodiffBackend> ModuleMapper<B> for Mapper<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
            let (id, tensor, mapper) = param.consume();
            let name = &self.parameters.get(id).expect("parameters were listed from this model").name;
            let view = self.tensors.tensor(name).expect("names were compared before");
            let loaded = Tensor::<B::InnerBackend, D>::from_data(data(&view), &tensor.device());
            let loaded = Tensor::from_inner(loaded).set_require_grad(tensor.is_require_grad());
            Param::from_mapped_value(id, loaded, mapper)
        }
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| format!("model.safetensors: {error}"))?;
    let wanted = parameters.iter().map(|parameter| (parameter.name.clone(), parameter.shape.clone()));
    compare(&tensors, wanted.collect()).map_err(|error| format!("model.safetensors: {error}"))?;
    Ok(model.map(&mut Mapper { parameters, tensors }))
}

/// What the optimizer keeps.
pub(crate) fn optimizer_bytes<B: AutodiffBackend, M: Module<B>>(
    model: &M,
    optimizer: &Optimizer<B>,
    parameters: &Parameters,
) -> Vec<u8> {
    struct Visitor<'a, B: AutodiffBackend> {
        optimizer: &'a Optimizer<B>,
        parameters: &'a Parameters,
        tensors: Vec<(String, Saved)>,
    }
    impl<B: AutodiffBackend> ModuleVisitor<B> for Visitor<'_, B> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            let found = self.parameters.get(param.id).zip(self.optimizer.slots(param.id));
            let Some((parameter, slots)) = found else { return };
            let name = &parameter.name;
            let time = (slots.time as u64).to_le_bytes().to_vec();
            self.tensors.push((format!("{name}/time"), Saved { dtype: Dtype::U64, shape: vec![1], bytes: time }));
            for (primitive, slot) in slots.tensors.iter().zip(self.optimizer.slot_names()) {
                let tensor = Tensor::<B::InnerBackend, D>::from_primitive(TensorPrimitive::Float(primitive.clone()));
                self.tensors.push((format!("{name}/{slot}"), Saved::floats(tensor)));
            }
        }
    }
    let mut visitor = Visitor { optimizer, parameters, tensors: Vec::new() };
    model.visit(&mut visitor);
    serialize(visitor.tensors)
}

/// Puts saved optimizer state back.
///
/// # Errors
///
/// Which tensor does not fit the parameters or the rule.
pub(crate) fn load_optimizer<B: AutodiffBackend, M: Module<B>>(
    model: &M,
    optimizer: &mut Optimizer<B>,
    parameters: &Parameters,
    bytes: &[u8],
) -> Result<(), String> {
    struct Visitor<'a, B: AutodiffBackend> {
        names: &'static [&'static str],
        parameters: &'a Parameters,
        tensors: SafeTensors<'a>,
        slots: HashMap<burn::module::ParamId, Slots<B::InnerBackend>>,
        error: Option<String>,
    }
    impl<B: AutodiffBackend> Visitor<'_, B> {
        fn one<const D: usize>(&self, param: &Param<Tensor<B, D>>) -> Result<Option<Slots<B::InnerBackend>>, String> {
            let Some(parameter) = self.parameters.get(param.id) else { return Ok(None) };
            // A parameter that was never updated has no state.
            let Ok(time) = self.tensors.tensor(&format!("{}/time", parameter.name)) else { return Ok(None) };
            let time = <[u8; 8]>::try_from(time.data()).map_err(|_| format!("{}/time is no number", parameter.name))?;
            let mut tensors = Vec::new();
            for slot in self.names {
                let name = format!("{}/{slot}", parameter.name);
                let view = self.tensors.tensor(&name);
                let view = view.map_err(|_| format!("it has no `{name}`; was it saved by another optimizer?"))?;
                if view.shape() != parameter.shape || view.dtype() != Dtype::F32 {
                    return Err(format!("{name} is {:?} {:?}", view.dtype(), view.shape()));
                }
                let tensor = Tensor::<B::InnerBackend, D>::from_data(data(&view), &param.val().device());
                tensors.push(tensor.into_primitive().tensor());
            }
            Ok(Some(Slots { time: u64::from_le_bytes(time) as usize, tensors }))
        }
    }
    impl<B: AutodiffBackend> ModuleVisitor<B> for Visitor<'_, B> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            match self.one(param) {
                Ok(Some(slots)) => drop(self.slots.insert(param.id, slots)),
                Ok(None) => {}
                Err(error) => self.error = Some(error),
            }
        }
    }
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| format!("optimizer.safetensors: {error}"))?;
    let names = optimizer.slot_names();
    let mut visitor = Visitor::<B> { names, parameters, tensors, slots: HashMap::new(), error: None };
    model.visit(&mut visitor);
    match visitor.error {
        Some(error) => Err(format!("optimizer.safetensors: {error}")),
        None => {
            optimizer.load(visitor.slots);
            Ok(())
        }
    }
}

fn data(view: &TensorView<'_>) -> TensorData {
    let floats = view.data().chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    TensorData::new(floats.collect::<Vec<f32>>(), view.shape().to_vec())
}

/// Whether a file has exactly the wanted tensors, all of 32-bit floats.
fn compare(tensors: &SafeTensors<'_>, wanted: Vec<(String, Vec<usize>)>) -> Result<(), String> {
    for (name, shape) in &wanted {
        let view = tensors.tensor(name).map_err(|_| format!("it has no `{name}`, which the model has"))?;
        if view.shape() != shape {
            return Err(format!("`{name}` is {:?} there and {shape:?} in the model", view.shape()));
        }
        if view.dtype() != Dtype::F32 {
            return Err(format!("`{name}` is {:?}; 32-bit floats are read", view.dtype()));
        }
    }
    match tensors.names().into_iter().find(|name| wanted.iter().all(|(wanted, _)| wanted != name)) {
        Some(extra) => Err(format!("it has `{extra}`, which the model has not")),
        None => Ok(()),
    }
}
