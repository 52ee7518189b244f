"""The class that an author extends: how a callback starts, and what it does at each hook.

Knows nothing of the component model; `instance` drives it.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from host_sdk.answer import Answer
from host_sdk.event import Event
from host_sdk.hook import Hook
from host_sdk.manifest import Manifest
from host_sdk.run import Run
from host_sdk.state import Saved
from host_sdk.subscription import Subscription


class Callback:
    """A callback: made when it joins a run, and called at the hooks that it subscribed to.

    A subclass has a :attr:`manifest` and, where it needs them, says which dataclasses its settings and its state are::

        class Patience(Callback):
            manifest = Manifest("patience", "0.1.0", requests=[Request.STOP])
            settings: Settings
            state: State

    A callback does not change after :meth:`start`: assigning to an attribute of it is an error then. Whatever changes
    while a run goes on is in the state, which is in every checkpoint, and so a resumed run decides what an
    uninterrupted one would have.

    Every hook has a method that answers nothing. One that is implemented must also be subscribed to in `start`.

    An exception in a hook drops the decisions of that call. The callback is then made anew with its last good state,
    and its failure policy counts one more.
    """

    manifest: ClassVar[Manifest]
    """What the plugin is and may ask for."""
    settings: Any = None
    """The configuration: a dataclass, named by the hint of the subclass. Without one, every key is refused."""
    state: Any = None
    """What the callback learns on the way: a dataclass whose fields all have defaults, named by the hint of the
    subclass. Saved as JSON, in which NaN and infinities are kept. Without a hint there is none."""

    _is_started = False

    def start(self, run: Run) -> Iterable[Subscription]:
        """Joins a run, and says when to be called: a list of :func:`on`.

        Called again after a resume, a crash or a change of configuration. `settings` are there; the state comes back
        later.

        Raises:
            ValueError: The settings do not make sense together or for this run. The words are shown to whoever wrote
                them. What needs no run is better checked in `__post_init__` of the settings.
        """
        raise NotImplementedError(f"{type(self).__name__} has no `start`")

    def migrate(self, saved: Saved) -> Any:
        """The state of today from what was saved under another version.

        Raises:
            ValueError: The version is not one that this callback knows, which is the default's only answer.
        """
        current = self.manifest.state_version
        raise ValueError(f"state of version {saved.version} was saved, and this version of the plugin reads {current}")

    def handle(self, event: Event, answer: Answer) -> None:
        """Answers an event by calling the method of its hook. A callback that treats all hooks alike overrides it."""
        getattr(self, event.hook.method)(event, answer)

    def train_begin(self, event: Event, answer: Answer) -> None:
        """Once in the life of a run, before its first step. Not sent again after a resume."""

    def epoch_begin(self, event: Event, answer: Answer) -> None:
        """Before the first step of an epoch."""

    def step_begin(self, event: Event, answer: Answer) -> None:
        """Before the batch is fetched. :meth:`Answer.skip` drops it."""

    def gradients(self, event: Event, answer: Answer) -> None:
        """All gradients of this update are there, not yet clipped or applied. :meth:`Answer.skip` drops the update."""

    def step_end(self, event: Event, answer: Answer) -> None:
        """The optimizer has been applied, or the update was dropped."""

    def evaluate_begin(self, event: Event, answer: Answer) -> None:
        """:meth:`Answer.skip` drops this evaluation."""

    def evaluate_end(self, event: Event, answer: Answer) -> None:
        """An evaluation is complete. One that was cut short does not get here."""

    def log(self, event: Event, answer: Answer) -> None:
        """A log record is about to be written. `report` adds to it, :meth:`Answer.mute` leaves a name out."""

    def save_begin(self, event: Event, answer: Answer) -> None:
        """:meth:`Answer.skip` drops this save."""

    def save_end(self, event: Event, answer: Answer) -> None:
        """The checkpoint is durable on disk."""

    def epoch_end(self, event: Event, answer: Answer) -> None:
        """After an epoch's last step, evaluation and save."""

    def failure(self, event: Event, answer: Answer) -> None:
        """The loop failed; `event.detail` says how. A knob written here counts where the step can be tried again."""

    def train_end(self, event: Event, answer: Answer) -> None:
        """The run ends; `event.detail` says why. :meth:`Answer.restore` is still possible."""

    def __setattr__(self, name: str, value: Any) -> None:
        if self._is_started and name != "state":
            kind = type(self).__name__
            raise AttributeError(f"{kind}.{name} is set after `start`: what changes belongs into the state")
        object.__setattr__(self, name, value)


def answers(callback: Callback, hook: Hook) -> bool:
    """Whether a callback does anything at a hook."""
    kind = type(callback)
    return kind.handle is not Callback.handle or getattr(kind, hook.method) is not getattr(Callback, hook.method)
