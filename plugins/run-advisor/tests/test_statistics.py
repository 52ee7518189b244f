"""The statistics against textbook values, and against what they have to withstand."""

import math
import unittest

from run_advisor.statistics import deviation, median, trend


class Statistics(unittest.TestCase):
    def test_the_median_is_in_the_middle(self) -> None:
        self.assertEqual(median([3.0, 1.0, 2.0]), 2.0)
        self.assertEqual(median([4.0, 1.0, 2.0, 3.0]), 2.5)
        self.assertEqual(median([1.5e308, 1.7e308]), 1.6e308)

    def test_the_deviation_is_that_of_normal_noise_and_does_not_see_an_outlier(self) -> None:
        self.assertAlmostEqual(deviation([1.0, 2.0, 3.0, 4.0, 5.0]), 1.4826)
        self.assertAlmostEqual(deviation([1.0, 2.0, 3.0, 4.0, 1e9]), 1.4826)
        self.assertEqual(deviation([2.0]), 0.0)

    def test_mann_kendall_without_ties(self) -> None:
        # S = 10, variance 5 * 4 * 15 / 18, less 1 for continuity.
        self.assertAlmostEqual(trend([1.0, 2.0, 3.0, 4.0, 5.0]).z, 9 / math.sqrt(50 / 3))
        self.assertAlmostEqual(trend([5.0, 4.0, 3.0, 2.0, 1.0]).z, -9 / math.sqrt(50 / 3))

    def test_mann_kendall_with_ties(self) -> None:
        # Groups of 2, 2 and 3 equal values, each of which takes its part of the variance away.
        values = [10.0, 22.0, 21.0, 30.0, 22.0, 30.0, 40.0, 40.0, 40.0]
        pairs = [(a, b) for at, a in enumerate(values) for b in values[at + 1 :]]
        rises = sum((b > a) - (b < a) for a, b in pairs)
        variance = (9 * 8 * 23 - 2 * 1 * 9 - 2 * 1 * 9 - 3 * 2 * 11) / 18
        self.assertAlmostEqual(trend(values).z, (rises - 1) / math.sqrt(variance))

    def test_nothing_that_moves_has_no_trend(self) -> None:
        flat = trend([2.0] * 20)
        self.assertEqual((flat.z, flat.change, flat.noise, flat.scatter), (0.0, 0.0, 0.0, 0.0))

    def test_the_line_does_not_see_an_outlier(self) -> None:
        values = [10.0 - 0.5 * at for at in range(11)]
        line = trend([*values[:5], 1e6, *values[6:]])
        self.assertAlmostEqual(line.start, 10.0)
        self.assertAlmostEqual(line.end, 5.0)
        self.assertAlmostEqual(line.change, -5.0 / 8.0)
        self.assertAlmostEqual(line.noise, 0.0)

    def test_a_series_around_zero_has_no_relative_change(self) -> None:
        around = trend([-1.0, 0.0, 1.0])
        self.assertEqual((around.change, around.scatter), (0.0, 0.0))
        self.assertGreater(around.end, around.start)

    def test_a_negative_series_that_rises_changes_upwards(self) -> None:
        self.assertGreater(trend([-4.0, -3.0, -2.0]).change, 0.0)
