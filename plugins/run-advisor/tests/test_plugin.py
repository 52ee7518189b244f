"""The plugin as the host meets it: settings, subscriptions, state."""

import json
import math
import unittest
from typing import Any

from host_sdk.plugin import Plugin
from host_sdk.testing import Harness
from run_advisor import RunAdvisor
from run_advisor.settings import Diagnosis
from run_advisor.text import SUGGESTIONS

from . import PLUGIN
from .runs import Run, told

TROUBLED = {
    "loss": lambda step: math.nan if step % 290 == 9 else 1.0 + max(step - 600, 0) / 500.0,
    "gradient-norm": lambda step: 1.0 + step / 200.0,
    "gradient-norm/head": lambda step: 0.0 if step < 500 else 1.0,
    "update-ratio": lambda step: 0.02,
    "time/data": lambda step: 0.05 if step % 3 == 0 else 0.03,
}
"""A run with much wrong about it, which comes and goes."""


class State(unittest.TestCase):
    def test_a_resumed_run_says_the_same(self) -> None:
        config = {"branches": ["head"], "cooldown": 300}
        whole, resumed = Run(config, TROUBLED), Run(config, TROUBLED)
        self.assertEqual(list(told(whole, 1500)), list(told(resumed, 1500, resumed_every=7)))
        self.assertEqual(whole.harness.save(), resumed.harness.save())
        self.assertEqual(whole.end(), resumed.end())
        self.assertGreater(len(whole.notes), 10, "otherwise this proves little")

    def test_it_does_not_grow(self) -> None:
        run = Run({"branches": ["head"], "every": 1, "window": 16}, TROUBLED)
        run.go(1000).evaluate(1.0)
        before = len(run.harness.save())
        run.go(4000).evaluate(1.0)
        self.assertLess(len(run.harness.save()), before + 200)
        self.assertLess(before, 5000)

    def test_a_shorter_window_takes_the_state_of_a_longer_one(self) -> None:
        run = Run({"window": 64}).go(800)
        shorter = Run({"window": 16})
        shorter.harness.load(json.loads(run.harness.save()), 1)
        shorter.step = run.step
        shorter.go(80)
        self.assertEqual(len(shorter.harness.state.observed.values("loss")), 16)


class Rhythm(unittest.TestCase):
    def test_it_is_called_at_every_nth_step_only(self) -> None:
        run = Run({"every": 25}).go(100)
        self.assertEqual(run.harness.state.observed.looks, 4)

    def test_it_judges_at_every_nth_look(self) -> None:
        run = Run({"judge-every": 4}).go(30)
        self.assertEqual(run.reports, {})
        self.assertEqual(run.go(10).reports, {"findings": 0.0})


class Settings(unittest.TestCase):
    def test_what_makes_no_sense_is_refused_with_the_reason(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"every": 0}, "every is 0"),
            ({"window": 8}, "window is 8"),
            ({"significance": 0.0}, "significance is 0.0"),
            ({"low-update-ratio": 0.1}, "low-update-ratio is 0.1: it has to be less than high-update-ratio, 0.01"),
            ({"low-update-ratio": 0.01}, "low-update-ratio is 0.01"),
            ({"judge-every": 100}, "judge-every is 100: it has to be at most window, 64"),
            ({"branches": ["a", "b", "a"]}, "branches has a more than once"),
            ({"branches": [""]}, "branches has an empty pattern"),
            ({"leave-out": ["plato"]}, "leave-out[0] is 'plato'"),
            ({"data-share": 1.5}, "data-share is 1.5"),
            ({"windows": 8}, "unknown key windows; is window meant?"),
        ]
        for config, words in cases:
            with self.subTest(words), self.assertRaises(ValueError) as caught:
                Harness(RunAdvisor, config)
            self.assertIn(words, str(caught.exception))

    def test_the_edges_are_taken(self) -> None:
        Harness(
            RunAdvisor, {"every": 1, "window": 16, "judge-every": 16, "patience": 1, "cooldown": 0, "data-share": 1}
        )

    def test_the_page_has_each_of_them_with_its_default(self) -> None:
        page = (PLUGIN / "README.md").read_text()
        for key, schema in json.loads(Plugin(RunAdvisor).config_schema)["properties"].items():
            self.assertIn(f"| `{key}` | `{json.dumps(schema['default'])}` |".replace("1e-06", "1e-6"), page)

    def test_it_asks_for_nothing(self) -> None:
        self.assertEqual((RunAdvisor.manifest.requests, RunAdvisor.manifest.knobs), ((), ()))

    def test_each_diagnosis_has_a_suggestion_and_a_place_on_the_page(self) -> None:
        self.assertEqual(SUGGESTIONS.keys(), set(Diagnosis))
        page = (PLUGIN / "README.md").read_text()
        for diagnosis in Diagnosis:
            self.assertIn(f"| `{diagnosis}` |", page)
