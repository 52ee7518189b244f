"""Stops a run whose loss stays too high."""

from dataclasses import dataclass
from typing import Annotated

from host_sdk import Answer, Callback, Event, Hook, Manifest, Range, Request, Run, Subscription, on


@dataclass
class Settings:
    """What stands in `[plugin.config]`. The texts are shown to whoever configures a run."""

    ceiling: Annotated[float, "A loss above this is too high."]
    patience: Annotated[int, "The run stops after so many steps in a row.", Range(minimum=1)] = 3


@dataclass
class State:
    """What is learned on the way. It is saved in checkpoints."""

    strikes: int = 0
    """Steps in a row with a loss that was too high."""


class LossCeiling(Callback):
    """Stops a run whose loss stays too high."""

    manifest = Manifest("loss-ceiling", "0.1.0", requests=[Request.STOP])
    settings: Settings
    state: State

    def start(self, run: Run) -> list[Subscription]:
        return [on(Hook.STEP_END, "loss")]

    def step_end(self, event: Event, answer: Answer) -> None:
        ceiling, patience = self.settings.ceiling, self.settings.patience
        loss = event.get("loss")
        if loss is None:
            return
        self.state.strikes = self.state.strikes + 1 if loss > ceiling else 0
        if self.state.strikes == patience:
            answer.stop(f"the loss was above {ceiling:g} {patience} times in a row: now {loss:g}")
