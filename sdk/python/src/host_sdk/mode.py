"""Which direction of a measurement is better. Has no threshold: rules for when a gain counts differ."""

import math
from enum import StrEnum


class Mode(StrEnum):
    """Whether lower or higher values are better, for the settings of a callback that looks for the best."""

    MIN = "min"
    """Lower is better: a loss."""
    MAX = "max"
    """Higher is better: an accuracy."""

    def is_better(self, value: float, than: float) -> bool:
        """Whether `value` is strictly better than another one. Never with NaN, on either side."""
        return value < than if self is Mode.MIN else value > than

    @property
    def worst(self) -> float:
        """What every number but itself is better than."""
        return math.inf if self is Mode.MIN else -math.inf
