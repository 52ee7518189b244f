"""Robust statistics of a short series: how it lies, how it scatters, whether it rises or falls.

Plain arithmetic over finite numbers in the order in which they were measured, equally far apart. Knows nothing of
training.

- Median absolute deviation, times 1.4826, which makes it the standard deviation of normal noise: Hampel, *The influence
  curve and its role in robust estimation*, JASA 69 (1974).
- Mann-Kendall test for a trend: Mann, *Nonparametric tests against trend*, Econometrica 13 (1945); Kendall, *Rank
  Correlation Methods* (1975), from which the variance with ties and the continuity correction are.
- Theil-Sen line: Theil (1950); Sen, *Estimates of the regression coefficient based on Kendall's tau*, JASA 63 (1968).
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NORMAL_CONSISTENCY = 1.4826
"""1 over the third quartile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Where a series goes. Its line runs from `start` to `end`, both in the unit of the values."""

    z: float
    """The Mann-Kendall statistic in standard deviations of a series without a trend; below 0 where values fall."""
    start: float
    """The Theil-Sen line at the first value."""
    end: float
    """The Theil-Sen line at the last value."""
    noise: float
    """Standard deviation around the line, estimated by the median absolute deviation. Not negative."""
    level: float
    """The median."""

    @property
    def change(self) -> float:
        """What the line gains from its start to its end, as a part of the level; 0 where the level is 0."""
        return (self.end - self.start) / abs(self.level) if self.level else 0.0

    @property
    def scatter(self) -> float:
        """The noise as a part of the level, not negative; 0 where the level is 0."""
        return self.noise / abs(self.level) if self.level else 0.0


def median(values: Iterable[float]) -> float:
    """The middle of one or more values; between the two in the middle where their number is even."""
    return middle(sorted(values))


def middle(ordered: Sequence[float]) -> float:
    """The median of values that are in order."""
    half = len(ordered) // 2
    # Halved first: the sum of two large values may not be finite.
    return ordered[half] if len(ordered) % 2 else ordered[half - 1] / 2 + ordered[half] / 2


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of one or more values, estimated by their median absolute deviation."""
    center = median(values)
    return NORMAL_CONSISTENCY * median(abs(value - center) for value in values)


def trend(values: Sequence[float]) -> Trend:
    """The trend of two or more values."""
    slopes = sorted(
        [
            (later - earlier) / distance
            for distance in range(1, len(values))
            for earlier, later in zip(values, values[distance:])
        ]
    )
    rises = len(slopes) - bisect_right(slopes, 0.0) - bisect_left(slopes, 0.0)
    slope = middle(slopes)
    rest = [value - slope * at for at, value in enumerate(values)]
    start = median(rest)
    end = start + slope * (len(values) - 1)
    return Trend(_standardized(rises, values), start, end, deviation(rest), median(values))


def _standardized(rises: int, values: Sequence[float]) -> float:
    """The Mann-Kendall statistic of so many more rising than falling pairs."""
    if rises == 0:
        return 0.0
    variance = _weight(len(values)) - sum(_weight(ties) for ties in Counter(values).values())
    return (rises - math.copysign(1, rises)) / math.sqrt(variance / 18)


def _weight(count: int) -> int:
    """What so many values, or so many equal ones, count for in 18 times the variance."""
    return count * (count - 1) * (2 * count + 5)
