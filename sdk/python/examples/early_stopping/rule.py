"""When a value is better and when to stop: our own rule, and those of three libraries to the letter.

Plain arithmetic on what has been seen; knows nothing of hooks and decisions.
"""

import math
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from host_sdk import Mode


class Rule(StrEnum):
    """Whose rule decides."""

    SOUND = "sound"
    """Ours: only a finite value can be the best, and every check without improvement counts."""
    HUGGINGFACE = "huggingface"
    """`EarlyStoppingCallback` of transformers, with its patience counter kept on resume."""
    LIGHTNING = "lightning"
    """`EarlyStopping` of lightning."""
    KERAS = "keras"
    """`EarlyStopping` of keras, with its state kept on resume."""

    @property
    def knows(self) -> tuple[str, ...]:
        """The settings that the rule has beside monitor, mode, patience and min-delta."""
        match self:
            case Rule.SOUND:
                return ("stopping_threshold", "divergence_threshold", "check_finite", "baseline")
            case Rule.HUGGINGFACE:
                return ()
            case Rule.LIGHTNING:
                return ("stopping_threshold", "divergence_threshold", "check_finite")
            case Rule.KERAS:
                return ("baseline",)


@dataclass(frozen=True)
class Terms:
    """What a value is compared with."""

    mode: Mode
    patience: int
    min_delta: float
    stopping_threshold: float | None
    divergence_threshold: float | None
    check_finite: bool
    baseline: float | None

    def beats(self, value: float, reference: float | None) -> bool:
        """Better by more than the least gain; never with NaN. Anything beats a reference that does not exist."""
        if reference is None:
            return True
        if self.mode is Mode.MIN:
            return value + self.min_delta < reference
        return value - self.min_delta > reference

    def reached(self, value: float) -> bool:
        """Whether a value has passed the stopping threshold."""
        limit = self.stopping_threshold
        return limit is not None and self.mode.is_better(value, limit)

    def diverged(self, value: float) -> bool:
        """Whether a value has passed the divergence threshold."""
        limit = self.divergence_threshold
        return limit is not None and self.mode.is_better(limit, value)


@dataclass
class Memory:
    """What a rule remembers from check to check."""

    best: float | None = None
    """The best value so far, as the rule sees it."""
    wait: int = 0
    """Checks since the last improvement that counted."""


class Cause(Enum):
    """Why a run should end."""

    PATIENCE = auto()
    NOT_FINITE = auto()
    REACHED = auto()
    DIVERGED = auto()


@dataclass(frozen=True)
class Verdict:
    """What a check comes to."""

    improved: bool
    """The weights are the best so far."""
    stop: Cause | None = None
    """The run should end."""


def judge(rule: Rule, terms: Terms, memory: Memory, value: float, epoch: int) -> Verdict:
    """Takes one value. `epoch` is the running epoch, counted from 0."""
    match rule:
        case Rule.SOUND:
            return _sound(terms, memory, value)
        case Rule.HUGGINGFACE:
            return _huggingface(terms, memory, value)
        case Rule.LIGHTNING:
            return _lightning(terms, memory, value)
        case Rule.KERAS:
            return _keras(terms, memory, value, epoch)


def _sound(terms: Terms, memory: Memory, value: float) -> Verdict:
    is_finite = math.isfinite(value)
    # An infinity on the good side comes from a broken computation as surely as one on the bad side, and nothing would
    # ever be better than it.
    improved = is_finite and terms.beats(value, memory.best)
    if improved:
        memory.best = value
    gives_patience_back = improved and terms.beats(value, terms.baseline)
    memory.wait = 0 if gives_patience_back else memory.wait + 1
    stop = None
    if terms.check_finite and not is_finite:
        stop = Cause.NOT_FINITE
    elif is_finite and terms.reached(value):
        stop = Cause.REACHED
    elif terms.diverged(value):
        stop = Cause.DIVERGED
    elif not improved and memory.wait >= terms.patience:
        stop = Cause.PATIENCE
    return Verdict(improved, stop)


def _huggingface(terms: Terms, memory: Memory, value: float) -> Verdict:
    best = memory.best
    good = best is None or terms.mode.is_better(value, best) and abs(value - best) > terms.min_delta
    memory.wait = 0 if good else memory.wait + 1
    # The best takes any gain, also one below the threshold: a slow steady gain stops the run.
    best = terms.mode.worst if best is None else best
    improved = terms.mode.is_better(value, best)
    memory.best = value if improved else best
    return Verdict(improved, Cause.PATIENCE if memory.wait >= terms.patience else None)


def _lightning(terms: Terms, memory: Memory, value: float) -> Verdict:
    if memory.best is None:
        memory.best = terms.mode.worst
    improved = terms.beats(value, memory.best)
    if terms.check_finite and not math.isfinite(value):
        return Verdict(False, Cause.NOT_FINITE)
    # Neither threshold touches the library's memory; the weights that reach the goal are worth keeping all the same.
    if terms.reached(value):
        return Verdict(improved, Cause.REACHED)
    if terms.diverged(value):
        return Verdict(False, Cause.DIVERGED)
    if improved:
        memory.best, memory.wait = value, 0
        return Verdict(True)
    memory.wait += 1
    return Verdict(False, Cause.PATIENCE if memory.wait >= terms.patience else None)


def _keras(terms: Terms, memory: Memory, value: float, epoch: int) -> Verdict:
    memory.wait += 1
    # The first value is always the best, NaN included, and then nothing is ever better.
    if terms.beats(value, memory.best):
        memory.best = value
        if terms.beats(value, terms.baseline):
            memory.wait = 0
        return Verdict(True)
    stop = memory.wait >= terms.patience and epoch > 0
    return Verdict(False, Cause.PATIENCE if stop else None)
