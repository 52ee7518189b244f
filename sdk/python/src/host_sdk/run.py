"""The run that a callback joins. Does not change afterwards: what moves is in the events."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from host_sdk.names import matches
from host_sdk.state import from_json
from host_sdk.values import SETTINGS, kind_of


@dataclass(frozen=True)
class Group:
    """One of the optimizer's parameter groups, as configured: a resumed run shows the same values."""

    name: str
    """Its name, which ends `learning-rate/<name>` and `weight-decay/<name>`."""
    learning_rate: float
    """The base learning rate."""
    weight_decay: float = 0.0
    """The weight decay."""
    parameters: list[str] = field(default_factory=list)
    """The names of the parameters in it."""


@dataclass(frozen=True)
class Knob:
    """A value that callbacks may write, and its range. A bound that is `None` does not exist."""

    min: float | None = None
    """The lowest value that the host accepts."""
    max: float | None = None
    """The highest value that the host accepts."""
    unit: str = ""
    """The unit; `1` for a plain number."""
    value: float | None = None
    """The value at the start of the run."""


@dataclass(frozen=True)
class Description:
    """What is known about a run before its first step. What the host left out is empty."""

    model: str = ""
    """The model, in words."""
    task: str = ""
    """The task's name."""
    parameters: int = 0
    """How many numbers the model learns."""
    groups: list[Group] = field(default_factory=list)
    """The optimizer's parameter groups, in its order."""
    knobs: dict[str, Knob] = field(default_factory=dict)
    """The knobs by name."""

    def groups_matching(self, patterns: Iterable[str]) -> list[Group]:
        """The groups whose names fit one of the patterns (`*` allowed), in the optimizer's order.

        Raises:
            ValueError: No group does. The words name those that there are.
        """
        patterns = list(patterns)
        found = [group for group in self.groups if any(matches(pattern, group.name) for pattern in patterns)]
        if not found:
            names = ", ".join(group.name for group in self.groups)
            raise ValueError(f"no parameter group fits {', '.join(patterns)}; this run has {names}")
        return found


@dataclass(frozen=True)
class Run:
    """The run that a callback joins, as :meth:`Callback.start` sees it."""

    name: str
    """The run's name."""
    seed: int
    """What everything random in the run comes from."""
    rank: int
    """This process among `world_size`, from 0."""
    world_size: int
    """How many processes train together; at least 1."""
    step: int
    """The step at which the callback joins: 0 at the beginning, more after a resume."""
    description_json: str
    """The host's description as it came, for what :attr:`description` leaves out."""

    @cached_property
    def description(self) -> Description:
        """The model, its parameter groups and the knobs.

        Raises:
            ValueError: The host's text is not what this version of the SDK reads.
        """
        try:
            # A later host may say more.
            return DESCRIPTION.read(from_json(self.description_json), "", strict=False)  # type: ignore[no-any-return]
        except ValueError as error:
            raise ValueError(f"the run's description: {error}") from None


DESCRIPTION = kind_of(Description, SETTINGS)
