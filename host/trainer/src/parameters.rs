//! The parameters of a model: their names, sizes and groups.
//!
//! It does not hold their values; the model does. Main type: [`Parameters`].

use std::collections::HashMap;

use burn::{
    module::{AutodiffModule, Module, ModuleMapper, ModuleVisitor, Param, ParamId},
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
    },
};

use crate::{GroupSettings, TrainError};

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameter {
    /// Where it sits in the model, such as `layers.0.weight`.
    pub(crate) name: String,
    /// burn's identity of it, new in every process.
    pub(crate) id: ParamId,
    /// Its shape.
    pub(crate) shape: Vec<usize>,
    /// Index of its group in the settings.
    pub(crate) group: usize,
}

/// All parameters of a model, in the model's own order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    list: Vec<Parameter>,
    positions: HashMap<ParamId, usize>,
}

impl Parameters {
    /// Lists a model's parameters and puts each into the first group that has a pattern for its name.
    ///
    /// # Errors
    ///
    /// When a parameter fits no group, or a group gets no parameter.
    pub(crate) fn of<B: Backend, M: Module<B>>(model: &M, groups: &[GroupSettings]) -> Result<Self, TrainError> {
        let mut names = Names::default();
        model.visit(&mut names);
        let mut parameters = Self::default();
        for (name, id, shape) in names.found {
            let fits = |group: &GroupSettings| group.parameters.iter().any(|pattern| pattern.matches(&name));
            let group = groups.iter().position(fits).ok_or_else(|| {
                TrainError::Groups(format!("parameter `{name}` is in none; give the last group the pattern \"*\""))
            })?;
            parameters.positions.insert(id, parameters.list.len());
            parameters.list.push(Parameter { name, id, shape, group });
        }
        parameters.every_group_is_used(groups)?;
        Ok(parameters)
    }

    fn every_group_is_used(&self, groups: &[GroupSettings]) -> Result<(), TrainError> {
        for (at, group) in groups.iter().enumerate() {
            if self.list.iter().all(|parameter| parameter.group != at) {
                let names: Vec<&str> = self.list.iter().map(|parameter| parameter.name.as_str()).collect();
                return Err(TrainError::Groups(format!(
                    "group `{}` gets no parameter; this model has {}",
                    group.name,
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }

    /// The parameters, in the model's order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Parameter> {
        self.list.iter()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// A parameter by its position.
    pub(crate) fn at(&self, position: usize) -> &Parameter {
        &self.list[position]
    }

    /// The position of a parameter by its identity.
    pub(crate) fn position(&self, id: ParamId) -> Option<usize> {
        self.positions.get(&id).copied()
    }

    /// A parameter by its identity.
    pub(crate) fn get(&self, id: ParamId) -> Option<&Parameter> {
        self.positions.get(&id).map(|&at| &self.list[at])
    }

    /// The model with gradients for those parameters that are wanted, and for no others. Nothing is touched that
    /// stays as it is.
    pub(crate) fn freeze<B: AutodiffBackend, M: AutodiffModule<B>>(&self, model: M, wanted: &[bool]) -> M {
        struct Freezer<'a> {
            parameters: &'a Parameters,
            wanted: &'a [bool],
            differs: bool,
        }
        impl Freezer<'_> {
            fn change<B: AutodiffBackend, const D: usize>(&self, id: ParamId, tensor: &Tensor<B, D>) -> Option<bool> {
                let wanted = self.wanted[self.parameters.position(id)?];
                (tensor.is_require_grad() != wanted).then_some(wanted)
            }
        }
        impl<B: AutodiffBackend> ModuleVisitor<B> for Freezer<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
                self.differs |= self.change(param.id, &param.val()).is_some();
            }
        }
        impl<B: AutodiffBackend> ModuleMapper<B> for Freezer<'_> {
            fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
                let (id, tensor, mapper) = param.consume();
                let tensor = match self.change(id, &tensor) {
                    Some(wanted) => Tensor::from_inner(tensor.inner()).set_require_grad(wanted),
                    None => tensor,
                };
                Param::from_mapped_value(id, tensor, mapper)
            }
        }
        let mut freezer = Freezer { parameters: self, wanted, differs: false };
        model.visit(&mut freezer);
        if freezer.differs { model.map(&mut freezer) } else { model }
    }

    /// How many numbers all parameters have together.
    pub(crate) fn elements(&self) -> usize {
        self.list.iter().map(|parameter| parameter.shape.iter().product::<usize>()).sum()
    }
}

#[derive(Default)]
struct Names {
    path: Vec<String>,
    found: Vec<(String, ParamId, Vec<usize>)>,
}

impl<B: Backend> ModuleVisitor<B> for Names {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        self.found.push((self.path.join("."), param.id, param.val().dims().to_vec()));
    }
}
