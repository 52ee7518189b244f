"""Lines in the host's log. Does not decide what is shown: the host cuts long lines, and drops what is too much.

In a component Python's own `logging` goes to the same place, from its level `INFO` up. Outside of one it is the other
way round: lines go to the logger `host_sdk`, where `assertLogs` finds them.
"""

import logging
from collections.abc import Callable


def _to_logging(level: int, line: str) -> None:
    logging.getLogger("host_sdk").log(level, line)


sink: Callable[[int, str], None] = _to_logging
"""Where lines go, with a level of `logging`. The component puts the host here."""


def debug(line: str) -> None:
    """A line of use while the callback is being written."""
    sink(logging.DEBUG, line)


def info(line: str) -> None:
    """A line of use to whoever watches the run."""
    sink(logging.INFO, line)


def warn(line: str) -> None:
    """The run goes on, perhaps not as wanted."""
    sink(logging.WARNING, line)


def error(line: str) -> None:
    """Something failed."""
    sink(logging.ERROR, line)
