"""Names of measurements against their numbers, each asked of the host once.

Does not know which measurements a run has: the host's catalog does.
"""

from typing import Protocol

MAX_SHAPES = 64
"""So many shapes of events are remembered at one time. A callback has one or two for each of its hooks, as a rule."""


class Source(Protocol):
    """Where names, and what is not in an event itself, come from: the host, or a test."""

    def key_of(self, name: str) -> int | None: ...

    def name_of(self, key: int) -> str | None: ...

    def keys(self) -> list[int]: ...

    def detail(self) -> str: ...

    def vectors(self) -> list[int]: ...

    def vector(self, key: int) -> list[float] | None: ...

    def texts(self) -> list[int]: ...

    def text(self, key: int) -> str | None: ...


class Unknown(KeyError):
    """A measurement that was asked for with `event[name]` is not known at this hook, or was not subscribed to."""

    def __str__(self) -> str:
        # A plain KeyError shows its text in quotes, as if it were a key.
        return str(self.args[0])


class Places(dict[str, int]):
    """Where the number of each name stands in events of one shape, in their order."""

    def __missing__(self, name: str) -> int:
        raise Unknown(f"{name} is not known here; this event has {', '.join(self) or 'no numbers'}")


class Names:
    """What the catalog answered so far, and what the numbers in events of each shape are called.

    Only found names are kept: one that does not exist yet may be reported by another callback later.
    """

    __slots__ = ("source", "shapes", "_keys", "_names")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.shapes: dict[int, Places] = {}
        self._keys: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def key_of(self, name: str) -> int | None:
        """The number of a name, if the run has it."""
        key = self._keys.get(name)
        if key is None:
            key = self.source.key_of(name)
            if key is not None:
                self._learn(name, key)
        return key

    def name_of(self, key: int) -> str:
        """The name of a number; one that the catalog does not have is called `#` and the number."""
        name = self._names.get(key)
        if name is None:
            name = self.source.name_of(key)
            if name is None:
                return f"#{key}"
            self._learn(name, key)
        return name

    def shape(self, number: int) -> "Places":
        """Where each number of the current event stands, whose shape this is. Asks the host for a new one."""
        places = self.shapes.get(number)
        if places is None:
            if len(self.shapes) == MAX_SHAPES:
                self.shapes.clear()
            places = Places((self.name_of(key), place) for place, key in enumerate(self.source.keys()))
            self.shapes[number] = places
        return places

    def _learn(self, name: str, key: int) -> None:
        self._keys[name] = key
        self._names[key] = name


def matches(pattern: str, name: str) -> bool:
    """Whether `name` fits `pattern`, in which `*` stands for any characters, also none.

    >>> matches("gradient-norm/*", "gradient-norm/lora")
    True
    >>> matches("gradient-norm/*", "gradient-norm")
    False
    """
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == name
    if not name.startswith(first):
        return False
    left = name[len(first) :]
    # Each part between two stars is taken where it comes first, which leaves the most for those behind it.
    for part in rest[:-1]:
        _, found, left = left.partition(part) if part else ("", "*", left)
        if not found:
            return False
    return left.endswith(rest[-1])
