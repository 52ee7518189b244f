"""Runs that exist only in a test: what a run measures, step by step, and what the plugin says to it."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from host_sdk.testing import Decision, Harness, Moment, Note, Report
from run_advisor import RunAdvisor

Measured = Callable[[int], float]

HEALTHY: Mapping[str, Measured] = {
    "loss": lambda step: 2.0 / (1.0 + step / 100.0),
    "gradient-norm": lambda step: 1.0 / (1.0 + step / 500.0),
    "parameter-norm": lambda step: 10.0,
    "update-ratio": lambda step: 2e-3,
    "learning-rate/all": lambda step: 1e-3,
    "time/step": lambda step: 0.1,
    "time/data": lambda step: 0.01,
    "time/callbacks": lambda step: 0.001,
}
"""A run with nothing wrong about it."""
NOISY = ("loss", "gradient-norm")
"""What differs from batch to batch."""


@dataclass
class Run:
    """A run of the plugin, with other measurements than those of a healthy one where they are given."""

    config: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)
    noise: float = 0.05
    """Standard deviation of the noise, as a part of the value."""

    def __post_init__(self) -> None:
        self.harness = Harness(RunAdvisor, self.config)
        self.chance = random.Random(7)
        self.step = 0
        self.notes: list[str] = []
        self.reports: dict[str, float] = {}

    def go(self, steps: int) -> "Run":
        """Goes on by so many steps."""
        for _ in range(steps):
            values = {name: self.value(name, at) for name, at in {**HEALTHY, **self.measured}.items()}
            self.hear(Moment("gradients", self.step, values))
            self.step += 1
            self.hear(Moment("step-end", self.step, values))
        return self

    def value(self, name: str, at: Measured) -> float:
        """A measurement of the running step, with its noise."""
        noise = self.chance.gauss(0.0, self.noise) if name in NOISY or name.startswith("gradient-norm/") else 0.0
        return at(self.step) * (1.0 + noise)

    def evaluate(self, loss: float, name: str = "eval/loss") -> "Run":
        """An evaluation comes to this."""
        self.hear(Moment("evaluate-end", self.step, {name: loss}))
        return self

    def end(self) -> list[str]:
        """The run ends; gives the notes of its end."""
        before = len(self.notes)
        self.hear(Moment("train-end", self.step))
        return self.notes[before:]

    def hear(self, moment: Moment) -> list[Decision]:
        """Lets a moment happen."""
        decisions = self.harness.send(moment)
        self.notes += [decision.line for decision in decisions if isinstance(decision, Note)]
        self.reports |= {decision.name: decision.value for decision in decisions if isinstance(decision, Report)}
        return decisions

    @property
    def diagnoses(self) -> list[str]:
        """The findings that have held, in the order in which they were found."""
        return [name for name, course in self.harness.state.courses.items() if course.held]


def told(run: Run, steps: int, resumed_every: int = 0) -> Iterator[tuple[list[str], dict[str, float]]]:
    """The notes of each of so many steps and the reports until then; resumed again and again where asked for."""
    for step in range(1, steps + 1):
        before = len(run.notes)
        run.go(1)
        if step % 50 == 0:
            run.evaluate(1.0 + step / 1000.0)
        yield run.notes[before:], dict(run.reports)
        if resumed_every and step % resumed_every == 0:
            run.harness.resume(run.step)
