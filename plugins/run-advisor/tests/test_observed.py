"""What is kept of the measurements, and what is not."""

import math
import unittest

from host_sdk.testing import Moment
from run_advisor.observed import Best, Mean, Observed

from .runs import Run


class Kept(unittest.TestCase):
    def test_a_series_has_the_latest_finite_values(self) -> None:
        observed = Observed()
        taken = [observed.take("loss", value, 10, 3) for value in (1.0, math.nan, 2.0, math.inf, 3.0, 4.0)]
        self.assertEqual(taken, [True, False, True, False, True, True])
        self.assertEqual((observed.values("loss"), observed.broken["loss"].count), ([2.0, 3.0, 4.0], 2))
        self.assertEqual((observed.values("other"), observed.median("other")), ([], None))

    def test_a_mean_is_of_what_was_added(self) -> None:
        mean = Mean()
        for value in (1.0, 2.0, 6.0):
            mean.add(value)
        self.assertEqual((mean.value, mean.count), (3.0, 3))

    def test_a_mean_of_a_length_forgets(self) -> None:
        mean = Mean()
        for value in (1.0, 3.0, 4.0, 5.0):
            mean.add(value, 2)
        self.assertEqual(mean.value, 4.0)

    def test_evaluations_are_those_behind_the_best_with_the_losses_between_them(self) -> None:
        observed = Observed()
        for losses, evaluated in [
            ((9.0,), 6.0),
            ((8.0,), 7.0),
            ((7.0,), 4.0),
            ((1.0, 2.0), 5.0),
            ((math.nan, 4.0), 6.0),
            ((), 7.0),
            ((3.0,), math.nan),
            ((2.0,), 4.0),
        ]:
            for loss in losses:
                observed.take_loss(loss, 10, 64)
            observed.take_evaluation(evaluated, 10, 8)
        self.assertEqual(observed.values("evaluated"), [5.0, 6.0, 7.0, 4.0])
        self.assertEqual(observed.values("trained"), [1.5, 4.0, 3.0, 2.0])
        self.assertEqual(observed.broken["evaluated"].count, 1)

    def test_the_beginning_is_eight_looks(self) -> None:
        norm = {"parameter-norm": lambda step: 4.0 + (step if step != 3 else math.inf)}
        run = Run({"every": 1}, {"loss": lambda step: 10.0 - step, **norm}, noise=0.0)
        run.hear(Moment("train-begin", 0, {"parameter-norm": 2.0}))
        self.assertIsNone(run.go(7).harness.state.observed.first_loss)
        observed = run.go(9).harness.state.observed
        self.assertEqual((observed.first_loss, observed.early_norm, observed.early_growth), (3.0, 11.0, 5.5))

    def test_without_the_beginning_there_is_no_growth(self) -> None:
        self.assertEqual(Run({"every": 1}).go(10).harness.state.observed.early_growth, 0.0)

    def test_the_best_evaluation_is_the_lowest(self) -> None:
        run = Run()
        for loss in (2.0, 1.0, math.nan, -math.inf, 1.5):
            run.go(10).evaluate(loss)
        self.assertEqual(run.harness.state.observed.best, Best(1.0, 20))

    def test_the_highest_of_several_rates_counts(self) -> None:
        head = {"learning-rate/head": lambda step: 1e-2 if step < 24 else 1e-4}
        run = Run({"every": 1, "window": 30, "judge-every": 8}, head).go(48)
        self.assertEqual(run.harness.state.observed.values("learning-rate"), [1e-2, 1e-3, 1e-3, 1e-3])
        self.assertEqual(run.harness.state.observed.peak_rate, 1e-2)

    def test_what_was_broken_before_is_not_judged_at_each_look(self) -> None:
        run = Run(
            {"every": 1},
            {
                "gradient-norm": lambda step: math.nan if step == 2 else 1.0,
                "loss": lambda step: math.nan if step == 4 else 1.0,
            },
        ).go(6)
        course = run.harness.state.courses["non-finite"]
        self.assertEqual((course.since, course.last, len(run.notes)), (3, 5, 1))

    def test_times_that_are_not_told_are_left_out(self) -> None:
        run = Run({"every": 1}, {"time/step": lambda step: 0.0 if step < 3 else 0.1, "time/data": lambda step: 0.5}).go(
            5
        )
        self.assertEqual(run.harness.state.observed.shares["time/data"], Mean(1.0, 2))
        self.assertEqual(run.harness.state.observed.shares["time/callbacks"].count, 2)
