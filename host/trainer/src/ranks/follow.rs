//! What a rank does that is not the first: passes and updates, as it is told.
//!
//! It has no callbacks, writes no file and decides nothing. Main function: [`Run::serve`].

use burn::tensor::backend::AutodiffBackend;

use super::{
    Link, gone, gradients,
    message::{self, Answer, Gradients, Order, Pass, Passed},
};
use crate::{
    Run, StopFlag, TrainError,
    current::Current,
    guarded::guarded,
    measure::StepClock,
    task::{Size, Task},
};

impl<B: AutodiffBackend, T: Task<B>> Run<B, T> {
    /// Serves the first rank until the run is over.
    pub(crate) fn serve(&mut self, rank: usize, first: &mut dyn Link, stop: &StopFlag) -> Result<(), TrainError> {
        self.rank = rank;
        let ready = Answer::Ready { parameters: self.shapes() };
        first.send(&message::write(&ready)).map_err(|error| gone(0, &error))?;
        loop {
            let order = first.receive().map_err(|error| gone(0, &error))?;
            let answer = match message::read(&order).map_err(|message| TrainError::Rank { rank: 0, message })? {
                Order::Pass(pass) => self.pass(pass, stop),
                Order::Update { gradients, knobs } => {
                    self.follow_update(&gradients, &knobs)?;
                    continue;
                }
                Order::Load { model, optimizer } => {
                    self.take(&model.0, &optimizer.0).map_err(|message| TrainError::Rank { rank: 0, message })?;
                    continue;
                }
                Order::End => return Ok(()),
            };
            first.send(&message::write(&answer)).map_err(|error| gone(0, &error))?;
        }
    }

    /// Parameters by name and shape.
    pub(crate) fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.shape.clone())).collect()
    }

    fn turn(&mut self, knobs: &[f64]) {
        let ids: Vec<_> = self.knobs.iter().map(|(id, _)| id).collect();
        ids.into_iter().zip(knobs).for_each(|(id, &value)| self.knobs.set(id, value));
    }

    fn pass(&mut self, Pass { step, epoch, batches, knobs, vectors }: Pass, stop: &StopFlag) -> Answer {
        self.turn(&knobs);
        (self.state.step, self.state.epoch) = (step, epoch);
        let passed = guarded(|| {
            self.freeze();
            let mut current = Current::new(&self.description);
            if batches.is_empty() {
                return (current, vec![None; self.parameters.len()], Size::default());
            }
            let (sum, size) = self.passes(&batches, None, vectors, &mut current, &mut StepClock::default());
            let sum = gradients::taken::<B, _>(self.model(), &sum, &self.parameters);
            (current, sum, size)
        });
        let told = passed.and_then(|(mut current, gradients, size)| {
            guarded(|| Passed {
                size,
                loss: current.loss(),
                measured: (0..self.description.measured.len()).filter_map(|at| current.measured(at)).collect(),
                vectors: if vectors { current.all_vectors() } else { Vec::new() },
                gradients,
                stop: stop.requested().map(str::to_owned),
            })
        });
        told.map_or_else(
            |panicked| {
                B::memory_cleanup(&self.device);
                Answer::Failed(panicked)
            },
            |passed| Answer::Passed(Box::new(passed)),
        )
    }

    fn follow_update(&mut self, sent: &Gradients, knobs: &[f64]) -> Result<(), TrainError> {
        self.turn(knobs);
        let gradients = gradients::given::<B, _>(self.model(), sent, &self.parameters, &self.device)
            .map_err(|message| TrainError::Rank { rank: 0, message })?;
        let step = self.state.step;
        guarded(|| self.apply(gradients)).map_err(|panicked| panicked.in_place(step, || format!("in step {step}")))
    }
}
