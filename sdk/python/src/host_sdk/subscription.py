"""When a callback is called and what it is shown then.

Does not check names: the host refuses one that the run does not offer, with the nearest that it does.
"""

from dataclasses import dataclass

from host_sdk.hook import Hook


@dataclass(frozen=True, slots=True)
class Subscription:
    """A hook that a callback listens to, and the measurements that it reads there. Made with :func:`on`."""

    hook: Hook
    every: int
    reads: tuple[str, ...]


def on(hook: Hook | str, *reads: str, every: int = 1) -> Subscription:
    """Call at `hook`, and show the measurements of these names, `*` allowed.

    `every` is counted from the beginning of the run: 10 is each tenth occurrence of the hook. Several subscriptions to
    one hook that are due together are one call, with everything that they read.

    >>> on(Hook.GRADIENTS, "gradient-norm/*", every=50).reads
    ('gradient-norm/*',)

    Raises:
        ValueError: There is no such hook, or `every` is not 1 to 4294967295.
    """
    if not 1 <= every < 1 << 32:
        raise ValueError(f"every is {every}: it has to be 1 to {(1 << 32) - 1}")
    return Subscription(Hook(hook), every, reads)
