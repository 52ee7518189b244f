"""The diagnoses that there are, and the settings: what is measured how often, and where each diagnosis begins.

Does not judge; `rules` does.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from host_sdk import Range


class Diagnosis(StrEnum):
    """What can be wrong with a run, the gravest first."""

    NON_FINITE = "non-finite"
    RATE_TOO_HIGH = "learning-rate-too-high"
    EXPLODING_BRANCH = "exploding-branch"
    DEAD_BRANCH = "dead-branch"
    OVERFITTING = "overfitting"
    RATE_TOO_LOW = "learning-rate-too-low"
    PLATEAU = "plateau"
    DATA_STARVATION = "data-starvation"
    SLOW_CALLBACKS = "slow-callbacks"


SHORTEST = 16
"""Looks from which a trend or a mean is told, and of which a median is."""
FEWEST = 5
"""Evaluations from which a trend is told: fewer can have none of two standard deviations."""


@dataclass
class Settings:
    """Says in words what is wrong with a training run, and what to try."""

    every: Annotated[int, "Look at every n-th step; larger is cheaper on a GPU.", Range(minimum=1)] = 10
    window: Annotated[int, "So many looks are remembered.", Range(minimum=SHORTEST, maximum=256)] = 64
    evaluations: Annotated[
        int, "So many evaluations since the best one are remembered.", Range(minimum=FEWEST, maximum=64)
    ] = 16
    judge_every: Annotated[int, "Judge at every n-th look.", Range(minimum=1)] = 8
    patience: Annotated[
        int, "A diagnosis begins, or is over, when so many judgements in a row say so.", Range(minimum=1)
    ] = 2
    cooldown: Annotated[
        int, "Tell a diagnosis that goes on anew after so many steps; 0 for never.", Range(minimum=0)
    ] = 1000
    significance: Annotated[
        float, "A trend counts from so many standard deviations of the Mann-Kendall test.", Range(above=0)
    ] = 2.0
    evaluated: Annotated[str, "What an evaluation measures; lower is better."] = "eval/loss"
    high_update_ratio: Annotated[float, "Updates are large from this part of the parameters' norm.", Range(above=0)] = (
        1e-2
    )
    low_update_ratio: Annotated[float, "Updates are small below this part of the parameters' norm.", Range(above=0)] = (
        1e-4
    )
    slow_fall: Annotated[float, "A loss falls slowly below this part of itself a window.", Range(above=0, below=1)] = (
        0.2
    )
    oscillation: Annotated[float, "A loss oscillates that scatters by this part of its level.", Range(above=0)] = 0.5
    growth: Annotated[float, "Gradients grow that gain this part of their norm in a window.", Range(above=0)] = 0.5
    blow_up: Annotated[
        float, "Parameters blow up whose norm is so many times the first one in the first looks.", Range(above=1)
    ] = 5.0
    branches: Annotated[
        list[str], "Patterns over parameters' names, `*` allowed, or names of groups: parts of the model to watch."
    ] = field(default_factory=list)
    dead_ratio: Annotated[
        float, "A branch is dead at this part of the whole gradient norm.", Range(minimum=0, below=1)
    ] = 1e-6
    exploding_ratio: Annotated[
        float, "A branch explodes from so many times the gradient norm of the other branches.", Range(above=1)
    ] = 100.0
    data_share: Annotated[float, "Data is slow from this part of a step's time.", Range(above=0, maximum=1)] = 0.3
    callbacks_share: Annotated[
        float, "Callbacks are slow from this part of a step's time.", Range(above=0, maximum=1)
    ] = 0.1
    leave_out: Annotated[list[Diagnosis], "Diagnoses that are not made."] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuses what the schema can't."""
        if not self.low_update_ratio < self.high_update_ratio:
            low, high = self.low_update_ratio, self.high_update_ratio
            raise ValueError(f"low-update-ratio is {low}: it has to be less than high-update-ratio, {high}")
        if self.judge_every > self.window:
            raise ValueError(f"judge-every is {self.judge_every}: it has to be at most window, {self.window}")
        for branch in self.branches:
            if not branch:
                raise ValueError("branches has an empty pattern: `*` stands for all parameters")
            if self.branches.count(branch) > 1:
                raise ValueError(f"branches has {branch} more than once")

    @property
    def judgements(self) -> int:
        """Judgements in a window, at least."""
        return -(-self.window // self.judge_every)

    def makes(self, diagnosis: Diagnosis) -> bool:
        """Whether a diagnosis is wanted."""
        return diagnosis not in self.leave_out

    def norms(self) -> dict[str, str]:
        """The measurement of each branch's gradient norm, by the branch."""
        return {branch: f"gradient-norm/{branch}" for branch in self.branches}
