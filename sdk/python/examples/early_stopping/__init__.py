"""Early stopping: ends a run whose evaluation no longer gets better, and puts the best weights back.

Does not compare by itself; `rule` does, and this file turns verdicts into decisions.
"""

import math
from dataclasses import dataclass, field

from host_sdk import Answer, Callback, Event, Hook, Manifest, Request, Run, Subscription, log, on

from .rule import Cause, Memory, judge
from .settings import Settings, epoch_index


@dataclass
class Watch:
    """What has been seen so far."""

    memory: Memory = field(default_factory=Memory)
    best_step: int | None = None
    """The step of the weights that the tag points to."""
    told_missing: bool = False
    """Somebody has been told that the monitored value is missing."""


class EarlyStopping(Callback):
    """Ends a run whose evaluation no longer gets better, and puts the best weights back."""

    manifest = Manifest("early-stopping", "0.1.0", requests=[Request.STOP, Request.SAVE, Request.RESTORE])
    settings: Settings
    state: Watch

    def start(self, run: Run) -> list[Subscription]:
        settings = self.settings
        return [on(settings.check_at, settings.monitor, every=settings.check_every), on(Hook.TRAIN_END)]

    def handle(self, event: Event, answer: Answer) -> None:
        # The hook of a check is a setting, so it has no method of its own.
        if event.hook is Hook.TRAIN_END:
            self.put_back(event, answer)
        elif not self.settings.is_warming_up(event.progress):
            self.check(event, answer)

    def check(self, event: Event, answer: Answer) -> None:
        """Judges the monitored value."""
        settings, watch = self.settings, self.state
        value = event.get(settings.monitor)
        if value is None:
            self.tell_missing(answer)
            return
        verdict = judge(settings.rule, settings.terms, watch.memory, value, epoch_index(event.progress))
        if verdict.improved:
            watch.best_step = event.step
            if settings.restore_best:
                answer.save(settings.tag)
        if watch.memory.best is not None:
            answer.report("best", watch.memory.best)
        answer.report("wait", watch.memory.wait)
        if verdict.stop is not None:
            answer.stop(self.reason(verdict.stop, value))

    def put_back(self, event: Event, answer: Answer) -> None:
        """Restores the best weights, unless those of this very step are the best ones already."""
        best_step = self.state.best_step
        if self.settings.restore_best and best_step is not None and best_step != event.step:
            answer.restore(self.settings.tag)

    def tell_missing(self, answer: Answer) -> None:
        """Says once that nothing is checked: a callback that silently does nothing looks like one that works."""
        if not self.state.told_missing:
            self.state.told_missing = True
            line = f"{self.settings.monitor} is not known here, so nothing was checked"
            log.warn(line)
            answer.note(line)

    def reason(self, cause: Cause, value: float) -> str:
        """Why the run stops, for people."""
        monitor, memory, step = self.settings.monitor, self.state.memory, self.state.best_step
        now = shown(value)
        best = "never a best"
        if memory.best is not None and step is not None:
            best = f"best {shown(memory.best)} at step {step}"
        match cause:
            case Cause.PATIENCE:
                return f"{monitor} has not improved for {memory.wait} checks: now {now}, {best}"
            case Cause.NOT_FINITE:
                return f"{monitor} is {now}, which is not finite; {best}"
            case Cause.REACHED:
                return f"{monitor} is {now} and has passed its stopping threshold; {best}"
            case Cause.DIVERGED:
                return f"{monitor} is {now} and has passed its divergence threshold; {best}"


def shown(value: float) -> str:
    """A number as the contract writes it: `NaN`, and no `.0` that says nothing."""
    if math.isnan(value):
        return "NaN"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)
