"""What a callback may decide, as plain values: made by :class:`Answer`, compared in tests.

Does not check them: the host does, and names each one that it refuses in the run's timeline.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(slots=True)
class Stop:
    """End the run after this event, cleanly."""

    reason: str


@dataclass(slots=True)
class EndEpoch:
    """Go on with the next epoch."""

    reason: str


@dataclass(slots=True)
class Evaluate:
    """Evaluate at the next safe point."""


@dataclass(slots=True)
class Save:
    """Save a checkpoint at the next safe point, and point the tag to it; empty for none."""

    tag: str


@dataclass(slots=True)
class Log:
    """Write a log record at the next safe point."""


@dataclass(slots=True)
class Skip:
    """Drop what this hook announces."""

    reason: str


@dataclass(slots=True)
class Restore:
    """Put weights and optimizer state back to the checkpoint that the tag points to."""

    tag: str


@dataclass(slots=True)
class Set:
    """Give a knob a value."""

    knob: str
    value: float


@dataclass(slots=True)
class Scale:
    """Multiply a knob by a factor, which is `value`."""

    knob: str
    value: float


@dataclass(slots=True)
class Report:
    """Publish a measurement of the callback's own."""

    name: str
    value: float


@dataclass(slots=True)
class Mute:
    """At `log`: leave a name (`*` allowed) out of the record."""

    name: str


@dataclass(slots=True)
class Note:
    """Leave a line in the run's timeline."""

    line: str


Decision: TypeAlias = (
    Stop | EndEpoch | Evaluate | Save | Log | Skip | Restore | Set | Scale | Report | Mute | Note
)
"""Any of them."""
