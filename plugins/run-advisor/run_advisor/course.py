"""The course of a diagnosis through a run: when it begins, goes on and is over.

Does not judge, and does not know what a diagnosis is about.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

MAX_SPANS = 4
"""So many of the latest spans are remembered one by one."""


class Turn(Enum):
    """What a judgement means to whoever reads along."""

    BEGINS = auto()
    GOES_ON = auto()
    """It has gone on for a cooldown since it was told last."""
    ENDS = auto()


@dataclass
class Course:
    """One diagnosis from judgement to judgement."""

    row: int = 0
    """Judgements in a row that contradict what stands."""
    since: int | None = None
    """The step of the judgement that it holds from, where it holds."""
    first: int = 0
    """The step of the first judgement in the row."""
    last: int = 0
    """The step of the last judgement that found it."""
    told: int = 0
    """The step at which it was told last."""
    evidence: str = ""
    """The numbers of the last judgement that found it."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """First and last step of each time that is over: the latest :data:`MAX_SPANS`."""
    earlier: int = 0
    """Times that were over before those."""

    @property
    def holds(self) -> bool:
        """Whether it holds now."""
        return self.since is not None

    @property
    def held(self) -> bool:
        """Whether it holds now or did so before."""
        return self.holds or bool(self.spans)

    def take(self, evidence: str | None, step: int, patience: int, cooldown: int) -> Turn | None:
        """Takes a judgement: its evidence, or `None` where it was not found.

        `patience` is how many judgements in a row begin or end it, `cooldown` after how many steps it is told anew, 0
        for never.
        """
        if evidence is not None:
            self.evidence, self.last = evidence, step
        if (evidence is not None) == self.holds:
            self.row = 0
            if self.holds and cooldown and step - self.told >= cooldown:
                self.told = step
                return Turn.GOES_ON
            return None
        if self.row == 0:
            self.first = step
        self.row += 1
        if self.row < patience:
            return None
        self.row, self.told = 0, step
        if self.since is None:
            self.since = self.first
            return Turn.BEGINS
        self._close(self.since)
        return Turn.ENDS

    def all_spans(self) -> list[tuple[int, int]]:
        """First and last step of each time that is remembered, the one that goes on included."""
        return self.spans if self.since is None else [*self.spans, (self.since, self.last)]

    def _close(self, since: int) -> None:
        self.spans.append((since, self.last))
        self.earlier += len(self.spans) > MAX_SPANS
        del self.spans[:-MAX_SPANS]
        self.since = None
