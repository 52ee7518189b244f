"""What a callback is shown at a hook.

Holds only what was subscribed to; a value that is not known now is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from host_sdk.hook import Hook
from host_sdk.names import Names, Places, matches


@dataclass(slots=True)
class Progress:
    """How far the run is, counted from its beginning, resumed parts included."""

    step: int
    """Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`."""
    total_steps: int | None = None
    """Steps that the run will do if nothing stops it, where that is known."""
    epoch: float = 0.0
    """Epochs finished, with the fraction of the running one: finite and not negative."""
    samples: int = 0
    """Training samples seen."""
    tokens: int = 0
    """Tokens seen; 0 where the task has none."""


class Event:
    """What a callback is shown at a hook: numbers by the names of measurements, and how far the run is.

    It has the measurements that are due, in the order of the subscriptions, as far as they are known now. Numbers come
    along with the event and can be NaN or infinite. :meth:`vector`, :meth:`text` and :attr:`detail` call the host, so
    they answer only while the hook runs.
    """

    # The first four are the contract's, in its order: a component makes its events of this class, without a copy. The
    # last two are given by `instance`, before anybody reads.
    __slots__ = ("hook", "progress", "_shape", "_values", "_names", "_places")

    hook: Hook
    """The moment in the loop."""
    progress: Progress
    """How far the run is, in steps, epochs, samples and tokens."""
    _names: Names
    _places: Places

    def __init__(self, hook: Hook, progress: Progress, shape: int, values: list[float]) -> None:
        self.hook = hook
        self.progress = progress
        self._shape = shape
        self._values = values

    @property
    def step(self) -> int:
        """Steps finished: 0 at `step-begin` of the first one, 1 at its `step-end`."""
        return self.progress.step

    @property
    def detail(self) -> str:
        """Why: the stop reason at `train-end`, the error at `failure`, the tag at `save-begin` and `save-end`."""
        return self._names.source.detail()

    def __getitem__(self, name: str) -> float:
        """The measurement of this name.

        Raises:
            Unknown: A KeyError. It is not one number, was not subscribed to, or is not known now.
        """
        return self._values[self._places[name]]

    def get(self, name: str) -> float | None:
        """The measurement of this name, if it is one number, was subscribed to and is known now."""
        return self._values[self._places[name]] if name in self._places else None

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def items(self) -> Iterator[tuple[str, float]]:
        """All numbers with their names."""
        return zip(self._places, self._values)

    def matching(self, pattern: str) -> dict[str, float]:
        """All numbers whose names fit `pattern` (`*` allowed), by name."""
        return {name: value for name, value in self.items() if matches(pattern, name)}

    def vector(self, name: str) -> list[float] | None:
        """The measurement of this name, if it is several numbers. They have the precision of 32-bit floats."""
        key = self._names.key_of(name)
        return None if key is None else self._names.source.vector(key)

    def text(self, name: str) -> str | None:
        """The measurement of this name, if it is words."""
        key = self._names.key_of(name)
        return None if key is None else self._names.source.text(key)

    def vectors(self) -> dict[str, list[float]]:
        """All measurements that are several numbers, by name."""
        names = self._names
        return {names.name_of(key): names.source.vector(key) or [] for key in names.source.vectors()}

    def texts(self) -> dict[str, str]:
        """All measurements that are words, by name."""
        names = self._names
        return {names.name_of(key): names.source.text(key) or "" for key in names.source.texts()}
