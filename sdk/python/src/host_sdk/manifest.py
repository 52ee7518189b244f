"""What a plugin is and the most that it can ever ask for.

Does not grant anything: the host gives what stands both here and in the run's configuration.
"""

from collections.abc import Sequence
from enum import StrEnum


class Request(StrEnum):
    """A kind of decision that a plugin has to announce before it may take it.

    Reports and notes are free. Writes to knobs are announced by `knobs`.
    """

    STOP = "stop"
    END_EPOCH = "end-epoch"
    EVALUATE = "evaluate"
    SAVE = "save"
    LOG = "log"
    SKIP = "skip"
    RESTORE = "restore"
    MUTE = "mute"


class Lane(StrEnum):
    """Whether the loop waits for a callback."""

    INLINE = "inline"
    """The loop waits for the answer, within the deadline."""
    BACKGROUND = "background"
    """Events are handled on another thread, and the loop never waits; only reports and notes are taken. When events
    come faster than they are handled, older ones are left out."""


class Manifest:
    """What a plugin is, whatever its configuration.

    Args:
        name: Lower-case letters, digits and `-`.
        version: Semantic version of the plugin.
        summary: One sentence; without it, the first line of the callback's docstring.
        requests: What the plugin may want to ask for.
        knobs: Knobs that it may want to write, `*` allowed.
        lane: Whether the loop waits for it.
        order: Its place among the callbacks of a hook: lower runs earlier. The configuration can override it.
        state_version: Version of the state. Raise it when older state no longer reads, and add `migrate`.

    Raises:
        ValueError: There is no such request or lane.
    """

    def __init__(
        self,
        name: str,
        version: str,
        summary: str = "",
        *,
        requests: Sequence[Request | str] = (),
        knobs: Sequence[str] = (),
        lane: Lane | str = Lane.INLINE,
        order: int = 0,
        state_version: int = 1,
    ) -> None:
        for given, words in (("requests", requests), ("knobs", knobs)):
            if isinstance(words, str):
                raise ValueError(f"{given} is {words!r}: it has to be a list")
        self.name = name
        self.version = version
        self.summary = summary
        self.requests = tuple(Request(request) for request in requests)
        self.knobs = tuple(knobs)
        self.lane = Lane(lane)
        self.order = order
        self.state_version = state_version
