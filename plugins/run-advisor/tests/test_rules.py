"""Each threshold at its very edge: a rule sees a series without noise, just on one side and just on the other."""

import unittest
from typing import Any

from run_advisor.observed import Broken, Mean, Observed
from run_advisor.rules import RULES, View
from run_advisor.settings import Diagnosis, Settings

LOOKS = 64
FLAT = [1.0, 1.1] * (LOOKS // 2)
"""A series without a trend around 1.05."""


def line(start: float, end: float) -> list[float]:
    """A straight line without noise."""
    return [start + (end - start) * at / (LOOKS - 1) for at in range(LOOKS)]


def found(diagnosis: Diagnosis, series: dict[str, list[float]], *, settings: Any = None, **observed: Any) -> list[str]:
    """The evidence that a rule finds."""
    rates = {"learning-rate": [1e-3] * LOOKS}
    seen = Observed(looks=LOOKS, series={**rates, **series}, **{"peak_rate": 1e-3, "first_loss": 4.0, **observed})
    return [finding.evidence for finding in RULES[diagnosis](View(Settings(**settings or {}), seen))]


class Edges(unittest.TestCase):
    def edge(self, diagnosis: Diagnosis, inside: Any, outside: Any, **rest: Any) -> None:
        self.assertEqual(len(found(diagnosis, inside, **rest)), 1, inside)
        self.assertEqual(found(diagnosis, outside, **rest), [], outside)

    def test_large_updates(self) -> None:
        rising = {"loss": line(1.0, 1.5)}
        inside, outside = ({**rising, "update-ratio": [ratio] * LOOKS} for ratio in (0.01, 0.0099))
        self.edge(Diagnosis.RATE_TOO_HIGH, inside, outside)

    def test_growing_gradients(self) -> None:
        rising = {"loss": line(1.0, 1.5)}
        inside, outside = ({**rising, "gradient-norm": line(1.0, end)} for end in (1.67, 1.66))
        self.edge(Diagnosis.RATE_TOO_HIGH, inside, outside)

    def test_parameters_that_blew_up_and_a_loss_that_has_hardly_fallen(self) -> None:
        flat = {"loss": FLAT}
        blown = {"first_loss": 1.16, "first_norm": 2.0}
        self.assertEqual(len(found(Diagnosis.RATE_TOO_HIGH, flat, **blown, early_norm=10.0)), 1)
        self.assertEqual(found(Diagnosis.RATE_TOO_HIGH, flat, **blown, early_norm=9.9), [])
        self.assertEqual(found(Diagnosis.RATE_TOO_HIGH, flat, **{**blown, "first_loss": 1.17}, early_norm=10.0), [])
        self.assertEqual(found(Diagnosis.RATE_TOO_HIGH, flat, **{**blown, "first_norm": 0.0}, early_norm=10.0), [])

    def test_an_oscillating_loss(self) -> None:
        large = {"update-ratio": [0.02] * LOOKS}
        # Half of the values are 10 above the others: 1.4826 times half of that is the noise.
        inside, outside = ({**large, "loss": [level, level + 10.0] * (LOOKS // 2)} for level in (9.8, 9.9))
        self.edge(Diagnosis.RATE_TOO_HIGH, inside, outside, first_loss=40.0)

    def test_small_updates(self) -> None:
        slow = {"loss": line(1.0, 0.97)}
        inside, outside = ({**slow, "update-ratio": [ratio] * LOOKS} for ratio in (0.99e-4, 1e-4))
        self.edge(Diagnosis.RATE_TOO_LOW, inside, outside)

    def test_a_slow_fall(self) -> None:
        small = {"update-ratio": [1e-5] * LOOKS}
        inside, outside = ({**small, "loss": line(1.0, end)} for end in (0.82, 0.81))
        self.edge(Diagnosis.RATE_TOO_LOW, inside, outside)

    def test_a_loss_that_has_hardly_fallen(self) -> None:
        still = {"loss": FLAT, "update-ratio": [1e-5] * LOOKS}
        self.assertEqual(len(found(Diagnosis.RATE_TOO_LOW, still, first_loss=1.16)), 1)
        self.assertEqual(found(Diagnosis.RATE_TOO_LOW, still, first_loss=1.17), [])
        self.assertEqual(found(Diagnosis.RATE_TOO_LOW, still, first_loss=None), [])

    def test_a_rate_at_its_height(self) -> None:
        slow = {"loss": line(1.0, 0.97), "update-ratio": [1e-5] * LOOKS}
        rates = ({**slow, "learning-rate": [lowest, *[1e-3] * (LOOKS - 1)]} for lowest in (5e-4, 4.9e-4))
        self.edge(Diagnosis.RATE_TOO_LOW, *rates)

    def test_significance(self) -> None:
        # Sixteen values that only fall: S is -120, its variance 16 * 15 * 37 / 18, and so z -5.36.
        falls = {"loss": [1.0 - at / 100.0 for at in range(16)]}
        for significance, count in [(5.3, 0), (5.5, 1)]:
            plateaus = found(
                Diagnosis.PLATEAU, falls, settings={"window": 16, "judge_every": 8, "significance": significance}
            )
            self.assertEqual(len(plateaus), count)

    def test_a_full_window(self) -> None:
        self.edge(Diagnosis.PLATEAU, {"loss": FLAT}, {"loss": FLAT[:-1]})

    def test_evaluations(self) -> None:
        rising, falling = [1.0, 1.1, 1.2, 1.3, 1.4], [1.0, 0.9, 0.8, 0.7, 0.6]
        series = ({"evaluated": rising[:count], "trained": falling[:count]} for count in (5, 4))
        self.edge(Diagnosis.OVERFITTING, *series, settings={"significance": 1.0})
        still, risen = ({"evaluated": rising, "trained": trained} for trained in ([1.0] * 5, rising))
        self.edge(Diagnosis.OVERFITTING, still, risen)

    def test_branches(self) -> None:
        settings = {"branches": ["a", "b"]}
        dead, alive = ({"gradient-norm": [2.0], "gradient-norm/a": [norm]} for norm in (2e-6, 2.1e-6))
        self.edge(Diagnosis.DEAD_BRANCH, dead, alive, settings=settings)
        high, low = ({"gradient-norm/a": [norm], "gradient-norm/b": [2.0]} for norm in (200.0, 199.0))
        self.edge(Diagnosis.EXPLODING_BRANCH, high, low, settings=settings)
        self.assertEqual(found(Diagnosis.EXPLODING_BRANCH, {"gradient-norm/a": [1e9]}, settings=settings), [])
        nothing = {"gradient-norm": [0.0], "gradient-norm/a": [0.0]}
        self.assertEqual(found(Diagnosis.DEAD_BRANCH, nothing, settings=settings), [])

    def test_shares_of_a_step(self) -> None:
        for diagnosis, name, limit in [
            (Diagnosis.DATA_STARVATION, "time/data", 0.3),
            (Diagnosis.SLOW_CALLBACKS, "time/callbacks", 0.1),
        ]:
            for share, looks, count in [(limit, 16, 1), (limit, 15, 0), (limit - 0.01, 16, 0)]:
                evidence = found(diagnosis, {}, shares={name: Mean(share, looks)})
                self.assertEqual(len(evidence), count, f"{name}, {share}, {looks}")

    def test_what_was_not_finite_in_the_window(self) -> None:
        for name, diagnosis in [("loss", Diagnosis.NON_FINITE), ("gradient-norm/a", Diagnosis.EXPLODING_BRANCH)]:
            for look, count in [(1, 1), (0, 0)]:
                broken = {name: Broken(3, look, 10)}
                evidence = found(diagnosis, {}, settings={"branches": ["a"]}, broken=broken)
                self.assertEqual(len(evidence), count, f"{name}, {look}")
        both = {"loss": Broken(1, 60, 600), "evaluated": Broken(2, 40, 400)}
        self.assertIn("loss 1 x, evaluated 2 x, last at step 600", found(Diagnosis.NON_FINITE, {}, broken=both)[0])

    def test_a_rising_loss_is_no_plateau(self) -> None:
        self.assertEqual(found(Diagnosis.PLATEAU, {"loss": line(1.0, 1.5)}), [])

    def test_words(self) -> None:
        self.assertIn("over 640 steps", found(Diagnosis.PLATEAU, {"loss": FLAT})[0])
        self.assertIn("loss 1.05 ± 0.074 without a trend", found(Diagnosis.PLATEAU, {"loss": FLAT})[0])
