//! The first rank's part of a step: samples are handed out, and what all ranks made of them is put together.
//!
//! Main function: [`Session::all_passes`].

use burn::{optim::GradientsParams, tensor::backend::AutodiffBackend};

use super::{
    gradients,
    message::{Answer, Bytes, Gradients, Order, Pass, Passed},
    part,
};
use crate::{
    Run, TrainError,
    checkpoint::{model_bytes, optimizer_bytes},
    guarded::{Panicked, guarded},
    session::Session,
    task::{Size, Task},
};

/// What passes come to: the gradients, and how much they count; or how they failed.
pub(crate) type Done = Result<(GradientsParams, Size), Panicked>;

impl<B: AutodiffBackend, T: Task<B>> Session<'_, B, T> {
    /// The forward and backward passes of a step's micro-batches, each rank's part of them by that rank.
    ///
    /// # Errors
    ///
    /// A rank is lost, and with it the run; what else failed can be tried again.
    pub(crate) fn all_passes(&mut self, batches: &[Vec<usize>], vectors: bool) -> Result<Done, TrainError> {
        let world_size = self.run.others.world_size();
        if world_size == 1 {
            // What is known of the next step; nothing where a new epoch begins with it.
            let next = (self.run.ahead.is_some() && !self.run.state.epoch_over).then(|| self.samples_ahead());
            return Ok(guarded(|| self.own_passes(batches, next, vectors)));
        }
        let parts = |rank: usize| -> Vec<Vec<usize>> {
            let parts = batches.iter().map(|batch| part(batch, rank, world_size).to_vec());
            parts.filter(|part| !part.is_empty()).collect()
        };
        let (step, epoch, knobs) = (self.run.state.step, self.run.state.epoch, self.run.knob_values());
        for rank in 1..world_size {
            let pass = Pass { step, epoch, batches: parts(rank), knobs: knobs.clone(), vectors };
            self.run.others.order(rank, &Order::Pass(pass))?;
        }
        let own = guarded(|| self.own_passes(&parts(0), None, vectors));
        // Each rank answers, also where one failed: all of them wait for the same order then.
        let answers: Vec<Answer> = (1..world_size).map(|rank| self.run.others.hear(rank)).collect::<Result<_, _>>()?;
        let mut passed = Vec::new();
        let mut failed = None;
        for (rank, answer) in (1..).zip(answers) {
            match answer {
                Answer::Passed(part) => passed.push((rank, *part)),
                Answer::Failed(why) => drop(failed.get_or_insert(why.of_rank(rank))),
                Answer::Ready { .. } => {
                    let message = "it answered something else than was asked for".into();
                    return Err(TrainError::Rank { rank, message });
                }
            }
        }
        for (rank, by) in passed.iter().filter_map(|(rank, part)| Some((rank, part.stop.as_ref()?))) {
            self.stop.request(&format!("{by} on rank {rank}"));
        }
        match (own, failed) {
            (Err(own), _) => Ok(Err(own)),
            (Ok(_), Some(failed)) => Ok(Err(failed)),
            (Ok((gradients, size)), None) => {
                let parts = passed.into_iter().map(|(_, part)| part).collect();
                self.put_together(gradients, size, parts).map(Ok)
            }
        }
    }

    fn own_passes(
        &mut self,
        batches: &[Vec<usize>],
        next: Option<Vec<Vec<usize>>>,
        vectors: bool,
    ) -> (GradientsParams, Size) {
        self.run.passes(batches, next, vectors, &mut self.current, &mut self.running)
    }

    fn put_together(
        &mut self,
        own: GradientsParams,
        own_size: Size,
        parts: Vec<Passed>,
    ) -> Result<(GradientsParams, Size), TrainError> {
        let size = parts.iter().fold(own_size, |sum, part| sum + part.size);
        let share = |part: Size| part.targets as f64 / size.targets as f64;
        self.current.scale(share(own_size));
        let run = &*self.run;
        let own = gradients::taken::<B, _>(run.model(), &own, &run.parameters);
        let mut all: Vec<(Gradients, f64)> = vec![(own, share(own_size))];
        for (rank, part) in (1..).zip(parts) {
            if part.gradients.len() != run.parameters.len() {
                return Err(TrainError::Rank { rank, message: "its gradients are of another model".into() });
            }
            let share = share(part.size);
            if let Some(loss) = part.loss {
                self.current.add_others(loss, part.measured, part.vectors, share);
            }
            all.push((part.gradients, share));
        }
        let sum = gradients::mean(&all, &run.parameters);
        let sum = gradients::given::<B, _>(run.model(), &sum, &run.parameters, &run.device)
            .map_err(|message| TrainError::Rank { rank: 0, message })?;
        Ok((sum, size))
    }
}

impl<B: AutodiffBackend, T: Task<B>> Run<B, T> {
    /// The values of all knobs, in their order.
    fn knob_values(&self) -> Vec<f64> {
        self.knobs.iter().map(|(_, knob)| knob.value).collect()
    }

    /// Gives all other ranks the weights and the optimizer state that stand here.
    pub(crate) fn share_weights(&mut self) -> Result<(), TrainError> {
        if self.others.is_empty() {
            return Ok(());
        }
        let model = Bytes(model_bytes::<B, _>(self.model(), &self.parameters));
        let optimizer = Bytes(optimizer_bytes(self.model(), &self.optimizer, &self.parameters));
        self.others.tell(&Order::Load { model, optimizer })
    }

    /// Gives all other ranks the gradients of the update that is made here.
    pub(crate) fn share_update(&mut self, gradients: &GradientsParams) -> Result<(), TrainError> {
        if self.others.is_empty() {
            return Ok(());
        }
        let gradients = gradients::taken::<B, _>(self.model(), gradients, &self.parameters);
        let knobs = self.knob_values();
        self.others.tell(&Order::Update { gradients, knobs })
    }
}
