"""The example against what three libraries did with the same values, and the decisions that it makes."""

import json
import math
import unittest
from typing import Any

from early_stopping import EarlyStopping
from host_sdk import Hook
from host_sdk.kinds import NOT_FINITE
from host_sdk.testing import Decision, Harness, Moment, Note, Report, Restore, Save, Stop

from . import ROOT

FIXTURES = ROOT.parent.parent / "tests" / "fixtures" / "early_stopping"
RULES = {"hf": "huggingface", "lightning": "lightning", "keras": "keras"}
REASONS = {
    "patience_exhausted": "has not improved",
    "non_finite_metric": "not finite",
    "stopping_threshold": "stopping threshold",
    "divergence_threshold": "divergence threshold",
}


def number(value: Any) -> Any:
    return NOT_FINITE.get(value, value) if isinstance(value, str) else value


def config_of(params: dict[str, Any], rule: str) -> dict[str, Any]:
    """The configuration that means the same under a rule."""
    config = {"rule": rule}
    for name, value in params.items():
        if name == "greater_is_better":
            config["mode"] = "max" if value else "min"
        elif value is not None:
            config["min-delta" if name == "threshold" else name.replace("_", "-")] = value
    return config


def check(harness: Harness, index: int, value: float) -> list[Decision]:
    """An evaluation: a step an epoch, and an evaluation at the end of each."""
    return harness.send(Moment(Hook.EVALUATE_END, index + 1, {"eval/loss": value}, epoch=index + 1.0))


def reason(decisions: list[Decision]) -> str | None:
    return next((decision.reason for decision in decisions if isinstance(decision, Stop)), None)


@unittest.skipUnless(FIXTURES.exists(), "the SDK is not in the host's repository")
class Libraries(unittest.TestCase):
    def test_each_rule_is_its_librarys_also_when_resumed(self) -> None:
        for file, rule in RULES.items():
            cases = json.loads((FIXTURES / f"{file}.json").read_text())["cases"]
            self.assertGreater(len(cases), 100)
            for case in cases:
                with self.subTest(case["id"]):
                    self.play(case, config_of(case["params"], rule))

    def play(self, case: dict[str, Any], config: dict[str, Any]) -> None:
        waits: Any = case.get("wait_after") or case.get("counter_after") or case.get("wait_count_after")
        bests: Any = case.get("best_after") or case.get("best_metric_after")
        values = [number(value) for value in case["values"]]
        harness = Harness(EarlyStopping, config)
        stopped = None
        for index, value in enumerate(values):
            why = reason(check(harness, index, value))
            self.assertEqual(harness.state.memory.wait, waits[index])
            best, recorded = harness.state.memory.best, number(bests[index])
            self.assertTrue(best == recorded or math.isnan(best) and math.isnan(recorded), f"{index}: {best}")
            if why is not None:
                self.assertIn(REASONS.get(case.get("reason", ""), ""), why)
                stopped = index
                break
        self.assertEqual(stopped, case["stop_index"])
        for before in case["resume_at"]:
            self.assertEqual(self.resumed(config, values, before), case["resumed_stop_index"])

    def resumed(self, config: dict[str, Any], values: list[float], before: int) -> int | None:
        harness = Harness(EarlyStopping, config)
        for index, value in enumerate(values):
            if index == before:
                harness.resume(index)
            if reason(check(harness, index, value)) is not None:
                return index
        return None


class Decisions(unittest.TestCase):
    def test_the_state_is_that_of_the_plugin_in_rust(self) -> None:
        harness = Harness(EarlyStopping)
        check(harness, 9, 0.5)
        state = {"memory": {"best": 0.5, "wait": 0}, "best_step": 10, "told_missing": False}
        self.assertEqual(json.loads(harness.save()), state)
        harness.load(state, 1)
        self.assertEqual(reason(check(harness, 10, 1.0)), None)

    def test_an_improvement_saves_and_a_stop_says_why(self) -> None:
        harness = Harness(EarlyStopping, {"patience": 2})
        self.assertEqual(check(harness, 9, 0.5), [Save("best"), Report("best", 0.5), Report("wait", 0.0)])
        self.assertEqual(check(harness, 19, 0.75), [Report("best", 0.5), Report("wait", 1.0)])
        why = "eval/loss has not improved for 2 checks: now 1, best 0.5 at step 10"
        self.assertEqual(check(harness, 29, 1.0), [Report("best", 0.5), Report("wait", 2.0), Stop(why)])

    def test_the_best_comes_back_unless_it_is_there(self) -> None:
        harness = Harness(EarlyStopping)
        self.assertEqual(check(harness, 0, math.nan), [Report("wait", 1.0)])
        self.assertEqual(harness.send(Moment(Hook.TRAIN_END, 1)), [])
        check(harness, 9, 0.5)
        self.assertEqual(harness.send(Moment(Hook.TRAIN_END, 10)), [])
        self.assertEqual(harness.send(Moment(Hook.TRAIN_END, 11)), [Restore("best")])

    def test_nothing_is_saved_or_put_back_when_that_is_not_wanted(self) -> None:
        harness = Harness(EarlyStopping, {"restore-best": False})
        self.assertEqual(check(harness, 9, 0.5), [Report("best", 0.5), Report("wait", 0.0)])
        self.assertEqual(harness.send(Moment(Hook.TRAIN_END, 11)), [])

    def test_checks_during_the_warm_up_are_left_out(self) -> None:
        harness = Harness(EarlyStopping, {"warm-up": 3, "start-from-epoch": 4})
        self.assertEqual([len(check(harness, index, 1.0)) for index in range(5)], [0, 0, 0, 0, 3])

    def test_another_measurement_can_be_watched_at_another_moment(self) -> None:
        config = {"monitor": "accuracy", "mode": "max", "check-at": "step-end", "check-every": 2, "patience": 1}
        harness = Harness(EarlyStopping, config)
        values = [0.25, 0.5, 0.25, 0.5]
        answers = [harness.send(Moment("step-end", step, {"accuracy": it})) for step, it in enumerate(values, 1)]
        self.assertEqual((answers[0], answers[1][0], answers[2]), ([], Save("best"), []))
        self.assertIsNotNone(reason(answers[3]))

    def test_a_value_that_is_missing_is_told_once(self) -> None:
        harness = Harness(EarlyStopping, {"monitor": "loss"})
        with self.assertLogs("host_sdk", "WARNING"):
            self.assertEqual(check(harness, 0, 0.5), [Note("loss is not known here, so nothing was checked")])
        self.assertEqual(check(harness, 1, 0.5), [])

    def test_settings_that_make_no_sense_are_refused_with_the_reason(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"min-delta": -1.0}, "min-delta is -1.0"),
            ({"check-every": 0}, "check-every is 0"),
            ({"rule": "huggingface", "baseline": 1.0}, "baseline is not part of the huggingface rule"),
            ({"rule": "keras", "check-finite": True}, "check-finite is not part of the keras rule"),
            ({"rule": "lightning", "baseline": 1.0}, "baseline is not part of the lightning rule"),
            ({"patience": -1}, "-1"),
            ({"patiense": 1}, "unknown key patiense; is patience meant?"),
            ({"mode": "least"}, "mode is 'least'"),
        ]
        for config, words in cases:
            with self.subTest(words), self.assertRaises(ValueError) as caught:
                Harness(EarlyStopping, config)
            self.assertIn(words, str(caught.exception))
