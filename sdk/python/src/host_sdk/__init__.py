"""Write a callback that steers a training run: a class, and the hooks that it wants.

A **callback** is made when it joins a run, from its **settings**, and does not change afterwards. What it learns on
the way is its **state**, saved in checkpoints. At a **hook** it is shown an :class:`Event` with the **measurements**
that it subscribed to, and fills in an :class:`Answer` with **decisions**. The host checks every one of them.

`python -m host_sdk.build FILE.py` makes a component of it; :mod:`host_sdk.testing` plays the host in tests.
"""

from host_sdk import log
from host_sdk.answer import Answer
from host_sdk.callback import Callback
from host_sdk.event import Event, Progress
from host_sdk.hook import Hook
from host_sdk.kinds import Range
from host_sdk.manifest import Lane, Manifest, Request
from host_sdk.mode import Mode
from host_sdk.names import Unknown, matches
from host_sdk.run import Description, Group, Knob, Run
from host_sdk.state import Saved
from host_sdk.subscription import Subscription, on

__all__ = [
    "Answer",
    "Callback",
    "Description",
    "Event",
    "Group",
    "Hook",
    "Knob",
    "Lane",
    "Manifest",
    "Mode",
    "Progress",
    "Range",
    "Request",
    "Run",
    "Saved",
    "Subscription",
    "Unknown",
    "log",
    "matches",
    "on",
]
