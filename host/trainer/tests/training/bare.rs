//! The bare loop that runs are compared with: it trains what a run trains that nobody steers.

use burn::backend::flex::FlexDevice;
use host_trainer::{AnyBare as _, Bare};

use crate::{
    rig::{Rig, numbers},
    script::Script,
};

#[test]
fn it_has_the_batches_and_the_weights_of_a_run_that_nobody_steers() {
    for (batch_size, drop_last) in [(2, false), (3, false), (3, true), (8, true), (20, false), (20, true)] {
        let mut rig = Rig::new(3);
        (rig.settings.batch_size, rig.settings.accumulation, rig.settings.drop_last) = (batch_size, 1, drop_last);
        let part = rig.run([Script::silent("seer")]).completed();
        let trained = part.probe.batches.borrow().clone();

        let (task, what) = (rig.task.clone(), format!("batches of {batch_size}, the last one dropped: {drop_last}"));
        let probe = task.probe.clone();
        let mut bare =
            Bare::<burn::backend::Autodiff<burn::backend::Flex>, _>::new(task, rig.settings, FlexDevice).unwrap();
        trained.iter().for_each(|_| bare.step());
        assert_eq!(*probe.batches.borrow(), trained, "{what}");
        assert_eq!(numbers(&bare.weights()), numbers(&part.weights), "{what}");
        // A task that shows no tensors has none to compare.
        assert_eq!((bare.batches(0..2), bare.validation()), (None, None));
    }
}
