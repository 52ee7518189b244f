"""Plays the host for a callback in plain Python, so that ordinary tests can check its logic.

Needs neither WebAssembly nor a host. Does not check answers against grants and ranges, as a real host does.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host_sdk.callback import Callback
from host_sdk.decision import (
    Decision,
    EndEpoch,
    Evaluate,
    Log,
    Mute,
    Note,
    Report,
    Restore,
    Save,
    Scale,
    Set,
    Skip,
    Stop,
)
from host_sdk.event import Event, Progress
from host_sdk.hook import HOOKS, Hook
from host_sdk.instance import Instance
from host_sdk.names import matches
from host_sdk.plugin import Plugin
from host_sdk.run import Run
from host_sdk.state import to_json
from host_sdk.values import STATE, kind_of

__all__ = [
    "Decision",
    "EndEpoch",
    "Evaluate",
    "Harness",
    "Log",
    "Moment",
    "Mute",
    "Note",
    "Report",
    "Restore",
    "Save",
    "Scale",
    "Set",
    "Skip",
    "Stop",
]


@dataclass(slots=True)
class Moment:
    """A moment of a run, with everything that could be observed then.

    >>> Moment("step-end", 1, {"loss": 6.5}).scalars["loss"]
    6.5
    """

    hook: Hook | str
    """The moment in the loop."""
    step: int = 0
    """Steps finished."""
    scalars: Mapping[str, float] = field(default_factory=dict)
    """Measurements that are one number, by name."""
    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Measurements that are several numbers, by name."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Measurements that are words, by name."""
    detail: str = ""
    """Why: a stop reason, an error, a tag."""
    epoch: float = 0.0
    """Epochs finished, with the fraction of the running one."""
    total_steps: int | None = None
    """Steps that the run will do, where that is known."""
    samples: int = 0
    """Training samples seen."""
    tokens: int = 0
    """Tokens seen."""


class Harness:
    """A callback in a run that exists only in a test.

    Events reach the callback as a host would send them: only at hooks that it subscribed to, when they are due, and
    with nothing but the measurements that it reads::

        harness = Harness(LossCeiling, {"ceiling": 5.0})
        assert harness.send(Moment("step-end", 1, {"loss": 6.5})) == [Stop("the loss is 6.5")]

    Args:
        callback: The class to test.
        config: Its configuration: what stands in `[plugin.config]`. Keys are in kebab-case.
        description: What the run is, as the host says it: `model`, `groups`, `knobs` ...
        seed: What everything random in the run comes from.

    Raises:
        ValueError: The configuration is refused, with the words that people would see.
        TypeError: The class is not a callback that a component can be built from.
    """

    def __init__(
        self,
        callback: type[Callback],
        config: Mapping[str, Any] | None = None,
        *,
        description: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> None:
        self._plugin = Plugin(callback)
        self._config = json.dumps(dict(config or {}))
        self._description = json.dumps(dict(description or {}))
        self._seed = seed
        self._occurrences = dict.fromkeys(HOOKS, 0)
        self._moments = _Moments()
        self._instance = self._start(0)

    @property
    def callback(self) -> Any:
        """The callback; another one after :meth:`resume`."""
        return self._instance.callback

    @property
    def state(self) -> Any:
        """What the callback has learned so far."""
        return self._instance.callback.state

    def send(self, moment: Moment) -> list[Decision]:
        """Lets a moment of the run happen, and gives the decisions. None where the callback is not called for it.

        An exception in a hook comes out as it is.
        """
        hook = Hook(moment.hook)
        self._occurrences[hook] += 1
        due = [
            subscription
            for subscription in self._instance.subscriptions
            if subscription.hook is hook and self._occurrences[hook] % subscription.every == 0
        ]
        if not due:
            return []
        reads = [pattern for subscription in due for pattern in subscription.reads]
        event = self._moments.show(moment, lambda name: any(matches(pattern, name) for pattern in reads))
        return self._instance.handle(event)

    def save(self) -> bytes:
        """The state as a checkpoint would have it.

        Raises:
            ValueError: A value is not of the type that its hint says.
        """
        return self._instance.save()

    def resume(self, step: int) -> None:
        """What a resume after `step` steps does: save, start anew with the same configuration, give the state back.

        Raises:
            ValueError: Saving, starting or loading failed.
        """
        state = self.save()
        self._instance = self._start(step)
        self._instance.load(state, self._plugin.manifest.state_version)

    def load(self, state: Any, version: int) -> None:
        """Gives the callback state of a version: a dataclass of that time, what parsed JSON would be, or what `save` gave.

        Raises:
            ValueError: The callback does not take it.
        """
        if isinstance(state, bytes):
            data = state
        elif hasattr(type(state), "__dataclass_fields__"):
            data = to_json(kind_of(type(state), STATE), state)
        else:
            data = json.dumps(state).encode()
        self._instance.load(data, version)

    def _start(self, step: int) -> Instance:
        run = Run("test", self._seed, 0, 1, step, self._description)
        return Instance(self._plugin, self._config, run, self._moments)


class _Moments:
    """The catalog of a test's run, and the rest of its current event. A name gets its number when it is first sent."""

    def __init__(self) -> None:
        self._catalog: list[str] = []
        self._shapes: list[list[int]] = []
        self._moment = Moment(Hook.TRAIN_BEGIN)
        self._keys: list[int] = []
        self._vectors: dict[int, list[float]] = {}
        self._texts: dict[int, str] = {}

    def show(self, moment: Moment, is_read: Callable[[str], bool]) -> Event:
        """The event of a moment, in which only some names are read."""
        scalars = {self._number(name): float(value) for name, value in moment.scalars.items() if is_read(name)}
        self._moment = moment
        self._keys = list(scalars)
        self._vectors = {self._number(name): list(it) for name, it in moment.vectors.items() if is_read(name)}
        self._texts = {self._number(name): text for name, text in moment.texts.items() if is_read(name)}
        if self._keys not in self._shapes:
            self._shapes.append(self._keys)
        progress = Progress(moment.step, moment.total_steps, moment.epoch, moment.samples, moment.tokens)
        return Event(Hook(moment.hook), progress, self._shapes.index(self._keys), list(scalars.values()))

    def _number(self, name: str) -> int:
        if name not in self._catalog:
            self._catalog.append(name)
        return self._catalog.index(name)

    def key_of(self, name: str) -> int | None:
        return self._catalog.index(name) if name in self._catalog else None

    def name_of(self, key: int) -> str | None:
        return self._catalog[key] if key < len(self._catalog) else None

    def keys(self) -> list[int]:
        return self._keys

    def detail(self) -> str:
        return self._moment.detail

    def vectors(self) -> list[int]:
        return list(self._vectors)

    def vector(self, key: int) -> list[float] | None:
        return self._vectors.get(key)

    def texts(self) -> list[int]:
        return list(self._texts)

    def text(self, key: int) -> str | None:
        return self._texts.get(key)
