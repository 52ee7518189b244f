"""Each diagnosis in a run that has it, and in one that has not; what is told when."""

import math
import unittest
from collections.abc import Callable

from host_sdk.testing import Moment
from run_advisor.settings import Diagnosis

from .runs import Run


def constant(value: float) -> Callable[[int], float]:
    return lambda step: value


class Healthy(unittest.TestCase):
    def test_a_healthy_run_has_no_diagnosis(self) -> None:
        run = Run()
        for epoch in range(20):
            run.go(50).evaluate(2.1 / (1.0 + epoch / 2.0))
        self.assertEqual(run.notes, [])
        self.assertEqual(run.end(), ["diagnoses in this run: none"])
        self.assertEqual(run.reports["findings"], 0)
        self.assertLess(run.reports["loss-trend"], -2.0)
        self.assertLess(run.reports["loss-change"], -0.2)

    def test_a_warm_up_and_a_cool_down_are_no_low_rate(self) -> None:
        def rate(step: int) -> float:
            return 1e-3 * min(step / 1000.0, 1.0, (3000.0 - step) / 1000.0)

        ratio = {"learning-rate/all": rate, "update-ratio": lambda step: 0.01 * rate(step)}
        run = Run(
            {"leave-out": ["plateau"], "cooldown": 0}, {**ratio, "loss": lambda step: 2.0 - step / 1e4}, noise=0.005
        )
        self.assertEqual(run.go(400).diagnoses, [])
        run.go(2000)
        self.assertEqual(run.diagnoses, ["learning-rate-too-low"], "at its height the rate is low")
        self.assertEqual(run.go(590).notes[1:], ["learning-rate-too-low is over: it held in steps 1120 to 2480"])


class RateTooHigh(unittest.TestCase):
    LARGE = {"update-ratio": constant(0.02)}
    RISING = {"loss": lambda step: 1.0 + step / 500.0}
    GROWING = {"gradient-norm": lambda step: 1.0 + step / 200.0}

    def test_each_pair_of_signs_is_enough(self) -> None:
        flat = {"loss": constant(1.0)}
        for measured, noise in [
            ({**self.LARGE, **self.RISING}, 0.05),
            ({**self.RISING, **self.GROWING}, 0.05),
            ({**flat, **self.LARGE, **self.GROWING}, 0.05),
            ({**flat, **self.LARGE}, 0.8),
        ]:
            with self.subTest(measured=list(measured), noise=noise):
                run = Run({}, measured, noise).go(400)
                self.assertEqual(run.diagnoses[:1], ["learning-rate-too-high"])

    def test_one_sign_alone_is_not(self) -> None:
        fallen = {"loss": lambda step: 2.0 if step < 100 else 1.0}
        for measured in [self.RISING, {**fallen, **self.LARGE}, {**fallen, **self.GROWING}, {"loss": constant(1.0)}]:
            with self.subTest(measured=list(measured)):
                self.assertNotIn("learning-rate-too-high", Run({}, measured).go(800).diagnoses)

    def test_a_network_that_was_ruined_at_the_beginning(self) -> None:
        ruined = {"loss": constant(2.3), "update-ratio": constant(1e-3), "parameter-norm": constant(20.0)}
        for norm, diagnoses in [(4.0, ["learning-rate-too-high"]), (5.0, ["plateau"])]:
            run = Run({}, ruined)
            run.hear(Moment("train-begin", 0, {"parameter-norm": norm}))
            self.assertEqual(run.go(800).diagnoses, diagnoses)

    def test_a_loss_that_falls_fast_is_not(self) -> None:
        self.assertEqual(Run({}, {**self.LARGE, **self.GROWING}).go(800).diagnoses, [])

    def test_a_loss_that_falls_slowly_is_no_sign_and_no_excuse(self) -> None:
        slow = {"loss": lambda step: 2.0 - step / 1e4}
        both, one = (Run({}, {**slow, **self.LARGE, **more}, 0.005) for more in (self.GROWING, {}))
        self.assertEqual(both.go(600).diagnoses, ["learning-rate-too-high"])
        self.assertEqual(one.go(600).diagnoses, [])

    def test_the_note_has_the_numbers_and_what_to_try(self) -> None:
        note = Run({}, {**self.LARGE, **self.RISING}).go(400).notes[0]
        numbers = r"update-ratio 0\.02, loss [\d.]+ to [\d.]+ \(z \+[\d.]+\)"
        self.assertRegex(note, rf"^learning-rate-too-high: {numbers}\. Try: a learning rate")


class RateTooLow(unittest.TestCase):
    SMALL = {"update-ratio": constant(5e-5)}
    SLOW = {"loss": lambda step: 2.0 - step / 1e4}

    def test_small_updates_and_a_slow_fall(self) -> None:
        self.assertEqual(Run({}, {**self.SMALL, **self.SLOW}, 0.005).go(600).diagnoses, ["learning-rate-too-low"])

    def test_small_updates_and_a_loss_where_it_began(self) -> None:
        self.assertEqual(Run({}, {**self.SMALL, "loss": constant(2.3)}).go(800).diagnoses, ["learning-rate-too-low"])

    def test_a_fast_fall_or_larger_updates_are_not(self) -> None:
        self.assertEqual(Run({}, self.SMALL).go(400).diagnoses, [], "the loss falls fast")
        larger = {"update-ratio": constant(2e-4)}
        self.assertEqual(Run({}, {**self.SLOW, **larger}, 0.005).go(600).diagnoses, [])

    def test_a_loss_that_had_fallen_before_is_at_a_plateau(self) -> None:
        fallen = {"loss": lambda step: 2.0 if step < 100 else 0.5}
        self.assertEqual(Run({}, {**self.SMALL, **fallen}).go(1200).diagnoses[-1:], ["plateau"])


class Plateau(unittest.TestCase):
    def test_a_window_without_a_trend(self) -> None:
        run = Run({}, {"loss": constant(1.0)})
        self.assertEqual(run.go(639).diagnoses, [], "the window is not full")
        self.assertEqual(run.go(200).diagnoses, ["plateau"])

    def test_it_is_over_when_the_loss_falls_again(self) -> None:
        run = Run({}, {"loss": lambda step: 1.0 if step < 1000 else 1.0 / (1.0 + (step - 1000) / 200.0)})
        run.go(1000)
        self.assertIn("plateau is over: it held in steps 640 to", run.go(600).notes[-1])

    def test_a_slow_fall_is_none(self) -> None:
        self.assertEqual(Run({}, {"loss": lambda step: 2.0 - step / 2e3}, 0.05).go(1600).diagnoses, [])


class Overfitting(unittest.TestCase):
    def play(self, evaluated: Callable[[int], float], loss: Callable[[int], float], count: int = 10) -> Run:
        run = Run({"leave-out": ["plateau"]}, {"loss": loss})
        for epoch in range(count):
            run.go(50).evaluate(evaluated(epoch))
        return run

    def test_evaluations_that_rise_while_the_loss_falls(self) -> None:
        run = self.play(lambda epoch: 1.0 + 0.02 * epoch, lambda step: 1.0 - step / 1e3)
        self.assertEqual(run.diagnoses, ["overfitting"])
        self.assertIn("over 6 evaluations eval/loss 1.02 to 1.12 (z +2.6), best 1 at step 50; loss ", run.notes[0])

    def test_evaluations_that_rise_with_the_loss_are_not(self) -> None:
        run = self.play(lambda epoch: 1.0 + 0.02 * epoch, lambda step: 1.0 + step / 1e3)
        self.assertEqual(run.diagnoses, [])

    def test_evaluations_that_waver_or_fall_are_not(self) -> None:
        self.assertEqual(self.play(lambda epoch: 1.0 + 0.02 * (epoch % 3), lambda step: 1.0 - step / 1e3).diagnoses, [])
        self.assertEqual(self.play(lambda epoch: 1.0 - 0.02 * epoch, lambda step: 1.0 - step / 1e3).diagnoses, [])

    def test_what_an_evaluation_measures_can_be_missing(self) -> None:
        run = Run().go(10)
        with self.assertLogs("host_sdk", "WARNING"):
            run.evaluate(1.0, "eval/other")
        run.evaluate(1.0, "eval/other")
        self.assertEqual(run.notes, ["eval/loss is not known here, so overfitting is not looked for"])


class Branches(unittest.TestCase):
    CONFIG = {"branches": ["image.*", "text.*", "head"]}

    def play(self, image: float, text: float = 1.0, head: float = 1.0) -> Run:
        norms = {"image.*": image, "text.*": text, "head": head}
        return Run(self.CONFIG, {f"gradient-norm/{name}": constant(norm) for name, norm in norms.items()}).go(200)

    def test_a_branch_without_gradients_is_dead(self) -> None:
        for norm in (0.0, 1e-7):
            self.assertEqual(self.play(norm).diagnoses, ["dead-branch image.*"])
        self.assertEqual(self.play(1e-5).diagnoses, [])

    def test_a_branch_far_above_the_others_explodes(self) -> None:
        self.assertEqual(self.play(200.0).diagnoses, ["exploding-branch image.*"])
        self.assertEqual(self.play(50.0).diagnoses, [])

    def test_a_branch_that_is_not_finite_explodes(self) -> None:
        run = self.play(math.nan)
        self.assertEqual(run.diagnoses, ["exploding-branch image.*"])
        self.assertIn("NaN or infinite: gradient-norm/image.* ", run.notes[0])

    def test_without_branches_nothing_is_read_of_them(self) -> None:
        self.assertEqual(Run({}, {"gradient-norm/image.*": constant(0.0)}).go(200).diagnoses, [])


class Times(unittest.TestCase):
    def test_data_that_takes_long(self) -> None:
        self.assertEqual(Run({}, {"time/data": constant(0.035)}).go(300).diagnoses, ["data-starvation"])
        self.assertEqual(Run({}, {"time/data": constant(0.025)}).go(300).diagnoses, [])

    def test_callbacks_that_take_long(self) -> None:
        self.assertEqual(Run({}, {"time/callbacks": constant(0.012)}).go(300).diagnoses, ["slow-callbacks"])
        self.assertEqual(Run({}, {"time/callbacks": constant(0.009)}).go(300).diagnoses, [])

    def test_one_step_that_hangs_is_not_enough(self) -> None:
        hangs = {
            "time/step": lambda step: 100.0 if step == 199 else 0.1,
            "time/data": lambda step: 99.0 if step == 199 else 0.01,
        }
        self.assertEqual(Run({}, hangs).go(400).diagnoses, [])


class NonFinite(unittest.TestCase):
    def test_it_is_told_at_once_and_over_after_a_window(self) -> None:
        run = Run({}, {"loss": lambda step: math.nan if step == 29 else 1.0 / (1.0 + step / 100.0)})
        run.go(30)
        self.assertEqual(len(run.notes), 1)
        self.assertIn("non-finite: NaN or infinite: loss 1 x, last at step 30", run.notes[0])
        self.assertEqual(run.go(760).notes[1:], ["non-finite is over: it held in steps 30 to 640"])

    def test_it_is_told_of_gradients_and_evaluations_too(self) -> None:
        run = Run({}, {"gradient-norm": lambda step: math.inf if step == 9 else 1.0}).go(10)
        self.assertIn("gradient-norm 1 x", run.notes[0])
        self.assertIn("evaluated 1 x", Run().go(10).evaluate(math.nan).notes[0])

    def test_it_does_not_poison_anything(self) -> None:
        ratio = {"update-ratio": lambda step: math.nan if step % 70 == 9 else 2e-3}
        run = Run({}, {**ratio, "loss": lambda step: math.inf if step % 50 == 9 else 1.0 / (1.0 + step / 100.0)})
        run.go(800)
        self.assertEqual(run.diagnoses, ["non-finite"])
        self.assertTrue(all(math.isfinite(value) for value in run.reports.values()))
        series = run.harness.state.observed.series
        self.assertTrue(all(math.isfinite(value) for values in series.values() for value in values))

    def test_a_run_that_fails_for_it_has_it_in_its_summary(self) -> None:
        from host_sdk.testing import Moment

        run = Run().go(5)
        run.hear(Moment("failure", 5, detail="non-finite-loss: the loss of step 5 is NaN"))
        self.assertIn("1. non-finite, steps 5 to 5: ", run.end()[1])
        other = Run().go(5)
        other.hear(Moment("failure", 5, detail="panic: the shapes do not fit"))
        self.assertEqual(other.end(), ["diagnoses in this run: none"])


class LeftOut(unittest.TestCase):
    def test_each_diagnosis_can_be_left_out(self) -> None:
        run = Run({"leave-out": list(Diagnosis)}, {"loss": constant(math.nan), "time/data": constant(0.1)})
        run.go(300).evaluate(math.nan)
        self.assertEqual(run.end(), ["diagnoses in this run: none"])
