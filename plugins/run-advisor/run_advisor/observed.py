"""What has been measured so far: the state behind every judgement. Bounded, and all of it is saved.

Does not judge; `rules` does. Values that are not finite are counted and never enter a series, so that no statistic is
lost to them.
"""

import math
from dataclasses import dataclass, field

from .statistics import median

FIRST = 8
"""So many looks are the beginning of a run."""


@dataclass
class Broken:
    """Values of one measurement that were NaN or infinite."""

    count: int = 0
    """How many there were in the run."""
    look: int = 0
    """The look at which there was one last."""
    step: int = 0
    """The step of that look."""


@dataclass
class Best:
    """The lowest evaluation of the run."""

    value: float = math.inf
    step: int = 0


@dataclass
class Mean:
    """A mean in the making."""

    value: float = 0.0
    count: int = 0

    def add(self, value: float, length: float = math.inf) -> None:
        """Takes a value. Once there are `length` values each new one has the weight of one among so many, and older
        ones are forgotten by and by."""
        self.count += 1
        self.value += (value - self.value) / min(self.count, length)


@dataclass
class Observed:
    """What has been measured."""

    looks: int = 0
    """Steps that were looked at."""
    series: dict[str, list[float]] = field(default_factory=dict)
    """The latest finite values by name, oldest first."""
    broken: dict[str, Broken] = field(default_factory=dict)
    """What was not finite, by name."""
    first_loss: float | None = None
    """The lowest loss of the first looks: where the run began, even if it blew up at once."""
    first_norm: float | None = None
    """The norm of the parameters before the first step."""
    early_norm: float = 0.0
    """The highest norm of the parameters in the first looks."""
    peak_rate: float = 0.0
    """The highest learning rate."""
    best: Best = field(default_factory=Best)
    """The lowest evaluation."""
    trained: Mean = field(default_factory=Mean)
    """The loss since the last evaluation."""
    shares: dict[str, Mean] = field(default_factory=dict)
    """What part of a step's time something takes, 0 to 1, by the name of its time."""

    def take(self, name: str, value: float, step: int, limit: int) -> bool:
        """Takes a value, and says whether it is finite. A series keeps `limit` values."""
        if not math.isfinite(value):
            broken = self.broken.setdefault(name, Broken())
            broken.count, broken.look, broken.step = broken.count + 1, self.looks, step
            return False
        series = self.series.setdefault(name, [])
        series.append(value)
        del series[:-limit]
        return True

    def take_loss(self, loss: float, step: int, limit: int) -> None:
        """Takes the loss of a step, which also counts towards the next evaluation."""
        if self.take("loss", loss, step, limit):
            self.trained.add(loss)

    def take_norm(self, norm: float) -> None:
        """Takes the parameters' norm of a step. Whether they are finite is told by other values."""
        if self.looks < FIRST and math.isfinite(norm):
            self.early_norm = max(self.early_norm, norm)

    def take_rate(self, rate: float, step: int, limit: int) -> None:
        """Takes the learning rate of a step."""
        if self.take("learning-rate", rate, step, limit):
            self.peak_rate = max(self.peak_rate, rate)

    def take_share(self, name: str, share: float, limit: int) -> None:
        """Takes a part of a step's time, as a mean of about `limit` looks."""
        # A mean of shares and not a share of sums: one step that hung for seconds counts no more than any other.
        self.shares.setdefault(name, Mean()).add(min(share, 1.0), limit)

    def take_evaluation(self, evaluated: float, step: int, limit: int) -> None:
        """Takes an evaluation, with the mean loss since the one before it. Both series begin anew behind the best."""
        trained, self.trained = self.trained, Mean()
        if math.isfinite(evaluated) and evaluated < self.best.value:
            self.best = Best(evaluated, step)
            self.series["evaluated"], self.series["trained"] = [], []
            return
        self.take("evaluated", evaluated, step, limit)
        if trained.count:
            self.take("trained", trained.value, step, limit)

    def end_look(self) -> None:
        """All measurements of a step were taken."""
        self.looks += 1
        if self.looks == FIRST:
            self.first_loss = min(self.values("loss"), default=None)

    @property
    def early_growth(self) -> float:
        """How many times their first norm the parameters had in the first looks; 0 where that is not known."""
        return self.early_norm / self.first_norm if self.first_norm else 0.0

    @property
    def has_broken(self) -> bool:
        """Whether something was not finite at the look that has just ended."""
        return any(broken.look == self.looks - 1 for broken in self.broken.values())

    def values(self, name: str) -> list[float]:
        """The latest finite values of a name, oldest first; none where it was never known."""
        return self.series.get(name, [])

    def median(self, name: str) -> float | None:
        """The median of the latest values, if there are any."""
        values = self.values(name)
        return median(values) if values else None
