"""The settings of early stopping, their defaults, and which of them go together.

Does not judge values; `rule` does.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from host_sdk import Hook, Mode, Progress, Range

from .rule import Rule, Terms


class CheckAt(StrEnum):
    """A moment at which a measurement can be checked."""

    EVALUATE_END = Hook.EVALUATE_END
    EPOCH_END = Hook.EPOCH_END
    STEP_END = Hook.STEP_END


@dataclass
class Settings:
    """Ends a run whose evaluation no longer gets better."""

    monitor: Annotated[str, "The measurement to watch."] = "eval/loss"
    mode: Annotated[Mode, "Whether lower or higher is better."] = Mode.MIN
    patience: Annotated[
        int, "Stop after this many checks in a row without improvement. 0 is as 1.", Range(minimum=0)
    ] = 3
    min_delta: Annotated[
        float, "A value has to be better than the best by more than this to count.", Range(minimum=0)
    ] = 0.0
    check_at: Annotated[CheckAt, "When the measurement is checked."] = CheckAt.EVALUATE_END
    check_every: Annotated[int, "Check at every n-th occurrence of that moment.", Range(minimum=1)] = 1
    warm_up: Annotated[int, "Checks before this many steps are finished are left out.", Range(minimum=0)] = 0
    start_from_epoch: Annotated[
        int, "Checks before this epoch, counted from 0, are left out.", Range(minimum=0)
    ] = 0
    restore_best: Annotated[bool, "Save each new best, and put it back when the run ends."] = True
    tag: Annotated[str, "The tag of the best checkpoint."] = "best"
    rule: Annotated[Rule, "Whose rule decides what is better and when to stop."] = Rule.SOUND
    stopping_threshold: Annotated[float | None, "Stop at a value better than this."] = None
    divergence_threshold: Annotated[float | None, "Stop at a value worse than this."] = None
    check_finite: Annotated[
        bool | None,
        "Stop at a value that is not finite. The default is the rule's: `true` for `lightning`, `false` for `sound`.",
    ] = None
    baseline: Annotated[float | None, "An improvement that does not beat this does not give the patience back."] = None

    def __post_init__(self) -> None:
        """Refuses what the schema can't."""
        if not math.isfinite(self.min_delta):
            raise ValueError(f"min-delta is {self.min_delta}: it has to be 0 or more")
        for name in ("stopping_threshold", "divergence_threshold", "check_finite", "baseline"):
            if getattr(self, name) is not None and name not in self.rule.knows:
                key = name.replace("_", "-")
                raise ValueError(f"{key} is not part of the {self.rule} rule; leave it out, or the rule")

    @cached_property
    def terms(self) -> Terms:
        """What values are compared with."""
        check_finite = self.rule is Rule.LIGHTNING if self.check_finite is None else self.check_finite
        return Terms(
            self.mode,
            self.patience,
            self.min_delta,
            self.stopping_threshold,
            self.divergence_threshold,
            check_finite,
            self.baseline,
        )

    def is_warming_up(self, progress: Progress) -> bool:
        """Whether checks are still left out."""
        return progress.step < self.warm_up or epoch_index(progress) < self.start_from_epoch


def epoch_index(progress: Progress) -> int:
    """The epoch, counted from 0, that the last step belonged to: a check at the end of an epoch is still about it."""
    # Counting up is exact here: an epoch that has ended is a whole number.
    return max(math.ceil(progress.epoch) - 1, 0)
