"""The hooks of the contract by name. Says nothing of what happens at them beyond their order."""

from enum import StrEnum


class Hook(StrEnum):
    """A moment in the training loop at which a callback runs, in the order in which a step meets them.

    A member is also its name in the contract: ``Hook.STEP_END == "step-end"``.
    """

    TRAIN_BEGIN = "train-begin"
    """Once in the life of a run, before its first step. Not sent again after a resume."""
    EPOCH_BEGIN = "epoch-begin"
    """Before the first step of an epoch."""
    STEP_BEGIN = "step-begin"
    """Before the batch is fetched. ``skip`` drops it."""
    GRADIENTS = "gradients"
    """All gradients of this update are there, not yet clipped or applied. ``skip`` drops the update."""
    STEP_END = "step-end"
    """The optimizer has been applied, or the update was dropped."""
    EVALUATE_BEGIN = "evaluate-begin"
    """``skip`` drops this evaluation."""
    EVALUATE_END = "evaluate-end"
    """An evaluation is complete. One that was cut short does not get here."""
    LOG = "log"
    """A log record is about to be written."""
    SAVE_BEGIN = "save-begin"
    """``skip`` drops this save."""
    SAVE_END = "save-end"
    """The checkpoint is durable on disk."""
    EPOCH_END = "epoch-end"
    """After an epoch's last step, evaluation and save."""
    FAILURE = "failure"
    """The loop failed; ``event.detail`` says how."""
    TRAIN_END = "train-end"
    """The run ends; ``event.detail`` says why. ``restore`` is still possible."""

    @property
    def method(self) -> str:
        """The name of the method of :class:`Callback` that answers it: ``step_end`` for ``step-end``."""
        return self.value.replace("-", "_")


HOOKS = tuple(Hook)
"""All hooks, each at its number in the contract."""
