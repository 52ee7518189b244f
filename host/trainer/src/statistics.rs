//! Numbers over parameters, their gradients and their updates: norms, largest elements, and how many are not finite.
//!
//! It does not decide when to measure: `measure` does, when somebody reads a number. Main types: [`Statistic`],
//! [`Statistics`].

use std::sync::Arc;

use burn::{
    module::{AutodiffModule, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Tensor, backend::AutodiffBackend, ops::FloatTensor},
};
use host_callback::Pattern;

use crate::{
    GroupSettings,
    fused::{primitive, tensor},
    host_sums::{self, Open, Sums},
    parameters::Parameters,
};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Gradients of the update, summed over micro-batches, before clipping.
    Gradients,
    /// The parameters themselves.
    Parameters,
    /// What the update changed.
    Updates,
}

/// What is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The L2 norm.
    Norm,
    /// The largest absolute value of an element; NaN where one is NaN.
    Max,
    /// How many elements are NaN or infinite.
    Nonfinite,
    /// The norm over that of the parameters.
    Ratio,
}

/// A family of measurements.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    subject: Subject,
    figure: Figure,
}

/// Every family: of all parameters under its own name, and of some under `<name>/<pattern>`.
pub(crate) const FAMILIES: &[Family] = {
    use {Figure as F, Subject as S};
    const fn family(name: &'static str, subject: S, figure: F, meaning: &'static str) -> Family {
        Family { name, meaning, subject, figure }
    }
    &[
        family("gradient-norm", S::Gradients, F::Norm, "L2 norm of the gradients before clipping"),
        family("gradient-max", S::Gradients, F::Max, "largest absolute value of a gradient's element before clipping"),
        family("gradient-nonfinite", S::Gradients, F::Nonfinite, "elements of the gradients that are NaN or infinite"),
        family("parameter-norm", S::Parameters, F::Norm, "L2 norm of the parameters"),
        family("parameter-max", S::Parameters, F::Max, "largest absolute value of a parameter's element"),
        family("parameter-nonfinite", S::Parameters, F::Nonfinite, "elements of parameters that are NaN or infinite"),
        family("update-norm", S::Updates, F::Norm, "L2 norm of what the step's update changed; known at `step-end`"),
        family("update-max", S::Updates, F::Max, "largest change of an element by the update; known at `step-end`"),
        family("update-ratio", S::Updates, F::Ratio, "update-norm over parameter-norm; known at `step-end`"),
    ]
};

/// One number of a family.
#[derive(Clone, Debug)]
pub(crate) struct Statistic {
    pub(crate) subject: Subject,
    figure: Figure,
    /// Positions of the parameters that it is about.
    members: Arc<[usize]>,
}

impl Statistic {
    /// The statistic of a measurement's name, if it has the name of one.
    ///
    /// What follows the family's name is that of a group, for its parameters, or a pattern over the names of
    /// parameters.
    pub(crate) fn named(name: &str, parameters: &Parameters, groups: &[GroupSettings]) -> Option<Self> {
        let (family, rest) = name.split_once('/').map_or((name, None), |(family, rest)| (family, Some(rest)));
        let &Family { subject, figure, .. } = FAMILIES.iter().find(|one| one.name == family)?;
        let group = rest.and_then(|rest| groups.iter().position(|group| group.name == rest));
        let pattern = Pattern::from(rest.unwrap_or("*"));
        let is_member = |at: usize| match group {
            Some(group) => parameters.at(at).group == group,
            None => pattern.matches(&parameters.at(at).name),
        };
        let members = (0..parameters.len()).filter(|&at| is_member(at)).collect();
        Some(Self { subject, figure, members })
    }

    /// What has to be known before it can be read.
    fn needs(&self) -> impl Iterator<Item = (Subject, bool)> {
        let also = (self.figure == Figure::Ratio).then_some((Subject::Parameters, false));
        [(self.subject, self.figure == Figure::Max)].into_iter().chain(also)
    }

    /// The positions of the parameters that it is about.
    fn members(&self) -> &[usize] {
        &self.members
    }

    /// The number, if everything that it needs has been measured.
    pub(crate) fn of(&self, own: &Statistics, parameters: &Statistics) -> Option<f64> {
        match self.figure {
            Figure::Norm => own.norm(&self.members),
            Figure::Max => own.max(&self.members),
            Figure::Nonfinite => own.nonfinite(&self.members),
            Figure::Ratio => {
                let (update, all) = (own.norm(&self.members)?, parameters.norm(&self.members)?);
                // Parameters that are all zero and stay so have not changed.
                Some(if update == 0.0 { 0.0 } else { update / all })
            }
        }
    }
}

/// Where the tensors of a subject are.
#[derive(Clone, Copy)]
pub(crate) enum Tensors<'a> {
    Gradients(&'a GradientsParams),
    /// The model's own.
    Parameters,
    /// The model's own against these, from before the update.
    Updates(&'a GradientsParams),
}

/// What is known of one parameter's tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    square: f64,
    nonfinite: f64,
    max: Option<f64>,
}

/// What was measured of one subject, by parameter. It holds as long as the subject does not change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Statistics {
    known: Vec<Option<Known>>,
}

/// Parameters whose tensors are to be measured.
pub(crate) struct Wanted {
    parameters: Vec<bool>,
    /// Whether the largest element is asked for too.
    max: bool,
}

impl Wanted {
    /// None of so many parameters.
    fn none(parameters: usize) -> Self {
        Self { parameters: vec![false; parameters], max: false }
    }

    /// All of so many parameters.
    pub(crate) fn all(parameters: usize) -> Self {
        Self { parameters: vec![true; parameters], max: false }
    }

    /// What some statistics need of a subject.
    pub(crate) fn by(statistics: &[Statistic], subject: Subject, parameters: usize) -> Self {
        let mut wanted = Self::none(parameters);
        for statistic in statistics {
            for (_, max) in statistic.needs().filter(|(needed, _)| *needed == subject) {
                wanted.add(statistic.members(), max);
            }
        }
        wanted
    }

    /// Adds parameters by their positions.
    fn add(&mut self, members: &[usize], max: bool) {
        members.iter().for_each(|&at| self.parameters[at] = true);
        self.max |= max;
    }
}

impl Statistics {
    /// Measures what is wanted and not known yet: all in one pass with one read-back while everything is finite.
    ///
    /// A parameter without a tensor, one without a gradient say, counts as zero.
    pub(crate) fn measure<B: AutodiffBackend, M: AutodiffModule<B>>(
        &mut self,
        model: &M,
        tensors: Tensors<'_>,
        parameters: &Parameters,
        wanted: &Wanted,
    ) {
        self.known.resize(parameters.len(), None);
        let is_missing = |at: &usize| {
            let is_known = self.known[*at].is_some_and(|known| known.max.is_some() || !wanted.max);
            wanted.parameters[*at] && !is_known
        };
        let missing: Vec<usize> = (0..parameters.len()).filter(is_missing).collect();
        if missing.is_empty() {
            return;
        }
        for &at in &missing {
            self.known[at] = Some(Known { square: 0.0, nonfinite: 0.0, max: wanted.max.then_some(0.0) });
        }
        for (at, known) in Pass::<B>::run(model, tensors, parameters, missing, wanted.max) {
            self.known[at] = Some(known);
        }
    }

    fn sum(&self, members: &[usize], part: impl Fn(Known) -> f64) -> Option<f64> {
        members.iter().map(|&at| self.known.get(at).copied().flatten().map(&part)).sum()
    }

    /// The L2 norm over some parameters, if all of them were measured.
    pub(crate) fn norm(&self, members: &[usize]) -> Option<f64> {
        self.sum(members, |known| known.square).map(f64::sqrt)
    }

    /// The L2 norm of all gradients; those that were not measured before are now.
    pub(crate) fn gradient_norm<B: AutodiffBackend, M: AutodiffModule<B>>(
        &mut self,
        model: &M,
        gradients: &GradientsParams,
        parameters: &Parameters,
    ) -> f64 {
        let all = Wanted::all(parameters.len());
        self.measure::<B, _>(model, Tensors::Gradients(gradients), parameters, &all);
        self.whole_norm()
    }

    /// The L2 norm over everything that was measured.
    pub(crate) fn whole_norm(&self) -> f64 {
        self.known.iter().flatten().map(|known| known.square).sum::<f64>().sqrt()
    }

    fn nonfinite(&self, members: &[usize]) -> Option<f64> {
        self.sum(members, |known| known.nonfinite)
    }

    fn max(&self, members: &[usize]) -> Option<f64> {
        let max_of = |at: usize| self.known.get(at).copied().flatten()?.max;
        members.iter().try_fold(0.0, |max, &at| Some(host_sums::larger(max, max_of(at)?)))
    }
}

/// One walk over the tensors of some parameters.
struct Pass<'a, B: AutodiffBackend> {
    tensors: Tensors<'a>,
    parameters: &'a Parameters,
    /// Positions of the parameters that are asked for, ascending.
    asked: Vec<usize>,
    with_max: bool,
    /// What lies in the host's memory is summed there.
    on_host: bool,
    /// Those of the parameters that had a tensor there.
    here: Vec<(usize, Open)>,
    /// Those that had one elsewhere, and numbers of it to be read back: sums of squares, or with the largest element
    /// behind each.
    elsewhere: Vec<usize>,
    numbers: Vec<Tensor<B::InnerBackend, 1>>,
    /// Count what is not finite, and nothing else.
    counts: bool,
}

impl<'a, B: AutodiffBackend> Pass<'a, B> {
    fn new(tensors: Tensors<'a>, parameters: &'a Parameters, asked: Vec<usize>, with_max: bool) -> Self {
        Self {
            tensors,
            parameters,
            asked,
            with_max,
            on_host: true,
            here: Vec::new(),
            elsewhere: Vec::new(),
            numbers: Vec::new(),
            counts: false,
        }
    }

    /// What is known then of each parameter that is asked for and has a tensor.
    fn run<M: AutodiffModule<B>>(
        model: &M,
        tensors: Tensors<'a>,
        parameters: &'a Parameters,
        asked: Vec<usize>,
        with_max: bool,
    ) -> Vec<(usize, Known)> {
        let mut pass = Self::new(tensors, parameters, asked, with_max);
        pass.walk(model);
        pass.finish(model)
    }

    fn walk<M: AutodiffModule<B>>(&mut self, model: &M) {
        match self.tensors {
            // They are looked at in each step, and need no walk through the model.
            Tensors::Gradients(gradients) => {
                for at in std::mem::take(&mut self.asked) {
                    // The handle inside has the gradient's own rank, whatever is said here.
                    if let Some(gradient) = gradients.get::<B::InnerBackend, 1>(self.parameters.at(at).id) {
                        self.take(at, primitive(gradient));
                    }
                }
            }
            Tensors::Parameters => model.visit(&mut Walk { pass: self, before: None }),
            Tensors::Updates(before) => model.visit(&mut Walk { pass: self, before: Some(before) }),
        }
    }

    fn take(&mut self, at: usize, found: FloatTensor<B::InnerBackend>) {
        if let Some(here) = self.on_host.then(|| host_sums::open::<B::InnerBackend>(&found)).flatten() {
            self.here.push((at, here));
            return;
        }
        let found = tensor::<B::InnerBackend, 1>(found);
        self.elsewhere.push(at);
        if self.counts {
            self.numbers.push(found.is_finite().bool_not().int().sum().float());
            return;
        }
        self.numbers.push(found.clone().square().sum());
        if self.with_max {
            self.numbers.push(found.abs().max());
        }
    }

    fn finish<M: AutodiffModule<B>>(mut self, model: &M) -> Vec<(usize, Known)> {
        let sums = host_sums::of_all(self.here.iter().map(|(_, tensor)| tensor), self.with_max);
        let known = |((at, _), sums): (&(usize, Open), Sums)| {
            let max = self.with_max.then_some(sums.max);
            (*at, Known { square: sums.square, nonfinite: sums.nonfinite, max })
        };
        let mut all: Vec<(usize, Known)> = self.here.iter().zip(sums).map(known).collect();
        let each = if self.with_max { 2 } else { 1 };
        let numbers = self.read_back();
        for (&at, numbers) in self.elsewhere.iter().zip(numbers.chunks(each)) {
            // What a backend makes of the largest of elements with a NaN among them differs; the sum is NaN.
            let max = numbers.get(1).map(|&max| if numbers[0].is_nan() { f64::NAN } else { max });
            all.push((at, Known { square: numbers[0], nonfinite: 0.0, max }));
        }
        // A sum of squares is finite only if each element is. Counting takes many times as long as the sum.
        let is_suspect = |at: &usize| all.iter().any(|(known, of)| known == at && !of.square.is_finite());
        let suspects: Vec<usize> = self.elsewhere.iter().copied().filter(is_suspect).collect();
        if !suspects.is_empty() {
            let mut count =
                Self { counts: true, on_host: false, ..Self::new(self.tensors, self.parameters, suspects, false) };
            count.walk(model);
            let counts = count.read_back();
            for (at, count) in count.elsewhere.iter().zip(counts) {
                let known = all.iter_mut().filter(|(known, _)| known == at);
                known.for_each(|(_, known)| known.nonfinite = count);
            }
        }
        all
    }

    /// All numbers in one piece.
    fn read_back(&mut self) -> Vec<f64> {
        let numbers = std::mem::take(&mut self.numbers);
        if numbers.is_empty() { Vec::new() } else { Tensor::cat(numbers, 0).into_data().iter::<f64>().collect() }
    }
}

/// A pass on its way through the model, whose parameters are taken as they are or against those from before the update.
struct Walk<'p, 'a, B: AutodiffBackend> {
    pass: &'p mut Pass<'a, B>,
    before: Option<&'a GradientsParams>,
}

impl<B: AutodiffBackend> ModuleVisitor<B> for Walk<'_, '_, B> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        let asked = |at: &usize| self.pass.asked.binary_search(at).is_ok();
        let Some(at) = self.pass.parameters.position(param.id).filter(asked) else { return };
        let now = param.val().inner();
        let found = match self.before {
            None => now,
            Some(before) => match before.get(param.id) {
                Some(before) => now - before,
                None => return,
            },
        };
        self.pass.take(at, primitive(found));
    }
}

/// Copies of the weights as they stand, by parameter: what [`Tensors::Updates`] compares with. Nothing is copied
/// until an update writes new ones.
pub(crate) fn weights<B: AutodiffBackend, M: AutodiffModule<B>>(model: &M) -> GradientsParams {
    struct Keeper(GradientsParams);
    impl<B: AutodiffBackend> ModuleVisitor<B> for Keeper {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
            self.0.register::<B::InnerBackend, D>(param.id, param.val().inner());
        }
    }
    let mut keeper = Keeper(GradientsParams::new());
    model.visit(&mut keeper);
    keeper.0
}

#[cfg(test)]
mod tests {
    use burn::backend::{Autodiff, Flex, flex::FlexDevice};

    use super::*;
    use crate::pair::Pair;

    type B = Autodiff<Flex>;

    fn measured(gradients: [&[f32]; 2]) -> impl Fn(&str) -> Option<f64> {
        let (pair, parameters, groups) = Pair::new();
        let gradients = pair.gradients(gradients);
        move |name| {
            let statistic = Statistic::named(name, &parameters, &groups)?;
            let wanted = Wanted::by(std::slice::from_ref(&statistic), statistic.subject, parameters.len());
            let mut own = Statistics::default();
            own.measure::<B, _>(&pair, Tensors::Gradients(&gradients), &parameters, &wanted);
            statistic.of(&own, &Statistics::default())
        }
    }

    #[test]
    fn members_are_a_group_or_a_pattern() {
        let value = measured([&[3.0, -4.0], &[-12.0]]);
        for (name, expected) in [
            ("gradient-norm", Some(13.0)),
            ("gradient-norm/*", Some(13.0)),
            ("gradient-norm/first", Some(5.0)),
            ("gradient-norm/sec*", Some(12.0)),
            ("gradient-norm/of-first", Some(5.0)),
            ("gradient-max", Some(12.0)),
            ("gradient-max/first", Some(4.0)),
            ("gradient-nonfinite", Some(0.0)),
            ("loss", None),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_not_finite_is_counted_and_passed_on() {
        let value = measured([&[f32::NAN, f32::NEG_INFINITY], &[1.0]]);
        assert!(value("gradient-norm").unwrap().is_nan() && value("gradient-max").unwrap().is_nan());
        assert_eq!((value("gradient-nonfinite"), value("gradient-nonfinite/second")), (Some(2.0), Some(0.0)));
        assert_eq!((value("gradient-norm/second"), value("gradient-max/second")), (Some(1.0), Some(1.0)));
        let value = measured([&[f32::INFINITY, 0.0], &[1.0]]);
        assert_eq!((value("gradient-norm"), value("gradient-max")), (Some(f64::INFINITY), Some(f64::INFINITY)));
    }

    /// As on a GPU, whose tensors are summed by burn's operations.
    #[test]
    fn what_lies_elsewhere_comes_to_the_same() {
        let (pair, parameters, _) = Pair::new();
        for (case, is_finite) in [
            ([&[3.0, -4.0][..], &[-12.0]], true),
            ([&[f32::NAN, f32::NEG_INFINITY], &[1.0]], false),
            ([&[f32::INFINITY, 0.0], &[1.0]], false),
            ([&[], &[-2.0]], true),
        ] {
            let gradients = pair.gradients(case);
            let walk = |on_host| {
                let tensors = Tensors::Gradients(&gradients);
                let mut pass = Pass::<B> { on_host, ..Pass::new(tensors, &parameters, vec![0, 1], true) };
                pass.walk(&pair);
                assert_eq!(pass.elsewhere.is_empty(), on_host);
                let known = pass.finish(&pair);
                // NaN is not equal to itself, its text is.
                format!("{known:?}")
            };
            assert_eq!(walk(true), walk(false));
            assert_eq!(walk(true).contains("inf") || walk(true).contains("NaN"), !is_finite);
        }
    }

    #[test]
    fn a_gradient_of_any_rank_is_measured_whole_here_and_elsewhere() {
        let (pair, parameters, _) = Pair::new();
        for (last, square, nonfinite, max) in [(-4.0, 30.0, 0.0, 4.0), (f32::NAN, f64::NAN, 1.0, f64::NAN)] {
            let gradient = Tensor::<Flex, 3>::from_data([[[1.0, -2.0], [3.0, last]]], &FlexDevice);
            let mut gradients = GradientsParams::new();
            gradients.register::<Flex, 3>(pair.second.id, gradient);
            for on_host in [true, false] {
                let tensors = Tensors::Gradients(&gradients);
                let mut pass = Pass::<B> { on_host, ..Pass::new(tensors, &parameters, vec![0, 1], true) };
                pass.walk(&pair);
                // NaN is not equal to itself, its text is.
                let known = [(1, Known { square, nonfinite, max: Some(max) })];
                assert_eq!(format!("{:?}", pass.finish(&pair)), format!("{known:?}"));
            }
        }
    }

    #[test]
    fn a_parameter_without_a_gradient_counts_as_zero() {
        let value = measured([&[], &[-2.0]]);
        assert_eq!((value("gradient-norm"), value("gradient-norm/first")), (Some(2.0), Some(0.0)));
        assert_eq!((value("gradient-max"), value("gradient-max/first")), (Some(2.0), Some(0.0)));
        let value = measured([&[], &[]]);
        assert_eq!((value("gradient-norm"), value("gradient-nonfinite")), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn an_update_is_told_against_the_parameters() {
        let (mut pair, parameters, groups) = Pair::new();
        pair.set([&[3.0, 4.0], &[0.0]]);
        let before = weights::<B, _>(&pair);
        pair.set([&[3.5, 4.0], &[0.0]]);
        let wanted = Wanted::all(parameters.len());
        let (mut updates, mut values) = (Statistics::default(), Statistics::default());
        updates.measure::<B, _>(&pair, Tensors::Updates(&before), &parameters, &wanted);
        values.measure::<B, _>(&pair, Tensors::Parameters, &parameters, &wanted);
        let value = |name| Statistic::named(name, &parameters, &groups).unwrap().of(&updates, &values);
        assert_eq!(value("update-norm"), Some(0.5));
        assert_eq!(value("update-ratio/first"), Some(0.5 / 3.5_f64.hypot(4.0)));
        assert_eq!(value("update-ratio/second"), Some(0.0), "0 of 0 has not changed");
        assert_eq!(value("update-max"), None, "nobody asked for it when it was measured");
    }
}
