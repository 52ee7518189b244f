"""The examples of the README run as they stand."""

import re
import sys
import types
import unittest
from typing import Any

from host_sdk.callback import Callback
from host_sdk.testing import Harness, Moment, Stop

from . import ROOT

BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def run(block: str) -> dict[str, Any]:
    """What an example defines, as a module of the name that the README gives it."""
    module = types.ModuleType("loss_ceiling")
    sys.modules["loss_ceiling"] = module
    exec(block, vars(module))  # noqa: S102
    return vars(module)


class Readme(unittest.TestCase):
    def test_the_first_example_stops_a_run(self) -> None:
        harness = Harness(run(BLOCKS[0])["LossCeiling"])
        self.assertEqual(harness.send(Moment("step-end", 1, {"loss": 2.0})), [])
        self.assertEqual(harness.send(Moment("step-end", 2, {"loss": 21.0})), [Stop("the loss is 21.0")])

    def test_the_example_with_parts_passes_the_test_that_is_shown(self) -> None:
        self.assertTrue(issubclass(run(BLOCKS[1])["LossCeiling"], Callback))
        scope: dict[str, Any] = {}
        test = next(block for block in BLOCKS if "unittest" in block)
        exec(test, scope)  # noqa: S102
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(scope["Test"]).run(result)
        self.assertEqual((result.testsRun, result.failures, result.errors), (1, [], []))
