"""A callback that has joined a run, with its state and the names that it has looked up.

Knows nothing of how calls come in; `component` and `testing` do.
"""

from host_sdk.answer import Answer
from host_sdk.callback import Callback, answers
from host_sdk.decision import Decision
from host_sdk.event import Event
from host_sdk.hook import HOOKS
from host_sdk.names import Names, Source
from host_sdk.plugin import Plugin
from host_sdk.run import Run
from host_sdk.state import Saved, from_json, to_json
from host_sdk.subscription import Subscription


class Instance:
    """A callback that has joined a run.

    Raises:
        ValueError: The configuration does not fit, or the callback refuses it.
    """

    def __init__(self, plugin: Plugin, config: str, run: Run, source: Source) -> None:
        self.plugin = plugin
        self.callback = callback = plugin.kind()
        try:
            callback.settings = plugin.settings.read(from_json(config or "{}"), "", strict=True)
        except ValueError as error:
            raise ValueError(f"configuration: {error}") from None
        callback.state = plugin.state_type() if plugin.state_type else None
        self.subscriptions = _checked(callback, callback.start(run))
        callback._is_started = True
        self._names = Names(source)
        # Looked up here and not by `Callback.handle`, whose way from a hook to its method takes as long as a callback.
        overrides = plugin.kind.handle is not Callback.handle
        self._methods = {hook: callback.handle if overrides else getattr(callback, hook.method) for hook in HOOKS}

    def handle(self, event: Event) -> list[Decision]:
        """Answers an event."""
        answer = Answer()
        names = event._names = self._names
        event._places = names.shapes.get(event._shape) or names.shape(event._shape)
        self._methods[event.hook](event, answer)
        return answer

    def save(self) -> bytes:
        """The state; the contract's word for none is no bytes.

        Raises:
            ValueError: It is not of the types that its hints say.
        """
        if self.plugin.state is None:
            return b""
        try:
            return to_json(self.plugin.state, self.callback.state)
        except ValueError as error:
            raise ValueError(f"state: {error}") from None

    def load(self, data: bytes, version: int) -> None:
        """Takes back what `save` of this or another version gave.

        Raises:
            ValueError: It is not a state of this callback.
        """
        saved, plugin = Saved(version, data), self.plugin
        if not data or not plugin.state_type:
            self.callback.state = plugin.state_type() if plugin.state_type else None
        elif version == plugin.manifest.state_version:
            self.callback.state = saved.read(plugin.state_type)
        else:
            self.callback.state = self.callback.migrate(saved)


def _checked(callback: Callback, subscriptions: object) -> list[Subscription]:
    kind = type(callback).__name__
    given = list(subscriptions) if hasattr(subscriptions, "__iter__") else None
    if given is None or not all(isinstance(item, Subscription) for item in given):
        raise TypeError(f"{kind}.start returned {subscriptions!r}: it has to be a list of `on(...)`")
    for subscription in given:
        if not answers(callback, subscription.hook):
            raise TypeError(f"{kind} subscribes to {subscription.hook} and has no method {subscription.hook.method}")
    return given
