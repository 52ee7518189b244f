"""The component's exports: calls from the host to the one callback that a component has.

The only module that uses the bindings which `componentize-py` generates; it can be imported nowhere else. It runs when
a component is built: what it makes is part of the component's first memory, and costs nothing when a run starts.
"""

import gc
import logging
import traceback
from collections.abc import Callable
from typing import Any, Self, TypeVar

from componentize_py_types import Err  # type: ignore[import-not-found]
from wit_world.imports import host, types  # type: ignore[import-not-found]

from host_sdk import decision, log
from host_sdk.callback import Callback
from host_sdk.event import Event, Progress
from host_sdk.hook import HOOKS
from host_sdk.instance import Instance
from host_sdk.manifest import Lane, Request
from host_sdk.plugin import Plugin
from host_sdk.run import Run

Result = TypeVar("Result")


class Conversions(dict[type, Callable[[Any], Any]]):
    """How a decision becomes the contract's, by its type."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        raise TypeError(f"the answer has a {kind.__name__}, which is not a decision")


# Records of the contract are read by their fields' names, so our decisions stand for them as they are.
CONVERSIONS = Conversions({
    decision.Stop: lambda stop: types.Decision_Stop(stop.reason),
    decision.EndEpoch: lambda end: types.Decision_EndEpoch(end.reason),
    decision.Evaluate: lambda _: types.Decision_Evaluate(),
    decision.Save: lambda save: types.Decision_Save(save.tag),
    decision.Log: lambda _: types.Decision_Log(),
    decision.Skip: lambda skip: types.Decision_Skip(skip.reason),
    decision.Restore: lambda restore: types.Decision_Restore(restore.tag),
    decision.Set: types.Decision_Set,
    decision.Scale: types.Decision_Scale,
    decision.Report: types.Decision_Report,
    decision.Mute: lambda mute: types.Decision_Mute(mute.name),
    decision.Note: lambda note: types.Decision_Note(note.line),
})

PACKAGE = __file__.rpartition("/")[0]
REQUESTS = {request: types.Requests[request.name] for request in Request}
HOOK_TYPES = {hook: types.Hook[hook.name] for hook in HOOKS}
LANES = {lane: types.Lane[lane.name] for lane in Lane}

# `componentize-py` makes values of what stands under these names once this module has run, and calls it with the
# fields in the contract's order. With our own classes there an event is made once and not twice, and a member of an
# enumeration is looked up and not constructed, which takes a tenth of an event.
types.Hook = HOOKS.__getitem__
types.Progress = Progress
types.Event = Event


class Component:
    """A callback as a component. `componentize-py` calls for one at every call of the host, and always gets this."""

    def __init__(self, kind: type[Callback]) -> None:
        self.plugin = Plugin(kind)
        self.manifest = _manifest(self.plugin)
        self.instance: Any = None
        _use_the_hosts_log()
        # What is there now stays for ever, so that no collection has to look at it again.
        gc.collect()
        gc.freeze()

    def __call__(self) -> Self:
        return self

    def describe(self) -> Any:
        """The manifest in the contract's form."""
        return self.manifest

    def start(self, config: str, run: Any) -> list[Any]:
        """Joins a run, and says when to be called."""
        info = Run(run.run, run.seed, run.rank, run.world_size, run.step, run.description)
        self.instance = _called(Instance, self.plugin, config, info, host)
        return [
            types.Subscription(HOOK_TYPES[subscription.hook], subscription.every, list(subscription.reads))
            for subscription in self.instance.subscriptions
        ]

    def handle(self, event: Event) -> list[Any]:
        """Answers an event."""
        try:
            answer = self.instance.handle(event)
            return [CONVERSIONS[type(item)](item) for item in answer] if answer else answer
        except Exception as error:
            raise Err(_told(error)) from None

    def save(self) -> bytes:
        """The state as bytes; none for a callback without one."""
        return _called(self.instance.save)  # type: ignore[no-any-return]

    def load(self, state: bytes, state_version: int) -> None:
        """Takes state back."""
        _called(self.instance.load, state, state_version)


def _manifest(plugin: Plugin) -> Any:
    manifest = plugin.manifest
    requests = types.Requests(0)
    for request in manifest.requests:
        requests |= REQUESTS[request]
    return types.Manifest(
        name=manifest.name,
        version=manifest.version,
        summary=plugin.summary,
        requests=requests,
        knobs=list(manifest.knobs),
        lane=LANES[manifest.lane],
        order=manifest.order,
        config_schema=plugin.config_schema,
        state_version=manifest.state_version,
    )


def _called(call: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a call. A `ValueError` is meant for people, and any other exception is a mistake in the code."""
    try:
        return call(*arguments)
    except ValueError as error:
        raise Err(str(error)) from None
    except Exception as error:
        raise Err(_told(error)) from None


def _told(error: Exception) -> str:
    """What happened and where, in a line. The way there goes to the log."""
    host.log(host.Level.ERROR, "".join(traceback.format_exception(error)).rstrip())
    places = traceback.extract_tb(error.__traceback__)
    # The last place of the author's own code: what it called of ours is not where the mistake is.
    own = [place for place in places if not place.filename.startswith(PACKAGE)]
    place = (own or places)[-1]
    file = place.filename.rpartition("/")[2]
    return f"{type(error).__name__}: {error} ({file}, line {place.lineno}, in {place.name})"


def _use_the_hosts_log() -> None:
    """Sends the SDK's lines and those of Python's `logging` to the host."""

    def write(level: int, line: str) -> None:
        if level >= logging.ERROR:
            urgency = host.Level.ERROR
        elif level >= logging.WARNING:
            urgency = host.Level.WARN
        elif level >= logging.INFO:
            urgency = host.Level.INFO
        else:
            urgency = host.Level.DEBUG
        host.log(urgency, line)

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            write(record.levelno, self.format(record))

    log.sink = write
    logging.basicConfig(handlers=[Handler()], level=logging.INFO, format="%(message)s", force=True)
