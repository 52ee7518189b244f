"""Which callback a component is made of. Builds none: that takes `componentize-py`."""

import sys
import tempfile
import unittest
from pathlib import Path

from host_sdk.build import BuildError, build, find

ONE = """
from host_sdk import Callback, Manifest

class One(Callback):
    manifest = Manifest("one", "0.1.0")
"""
TWO = ONE + "\nclass Two(One):\n    pass\n"


class Finding(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def module(self, name: str, text: str) -> Path:
        path = self.folder / f"{name}.py"
        path.write_text(text)
        self.addCleanup(sys.modules.pop, name, None)
        return path

    def test_the_only_callback_of_a_module_is_found(self) -> None:
        self.assertEqual(find(self.module("has_one", ONE)).__name__, "One")

    def test_one_of_several_is_named(self) -> None:
        path = self.module("has_two", TWO)
        self.assertEqual(find(path, "Two").__name__, "Two")
        with self.assertRaisesRegex(BuildError, "exactly one callback; it has One, Two"):
            find(path)
        with self.assertRaisesRegex(BuildError, "a callback Three; it has none"):
            find(path, "Three")

    def test_what_is_no_module_is_refused(self) -> None:
        with self.assertRaisesRegex(BuildError, "neither a Python file nor a package"):
            build(self.folder)
