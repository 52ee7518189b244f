"""Patterns, names that are asked for once, and the contract that is packed into the SDK."""

import unittest

from host_sdk import matches
from host_sdk.hook import HOOKS
from host_sdk.names import MAX_SHAPES, Names

from . import ROOT


class Patterns(unittest.TestCase):
    def test_stars_stand_for_any_characters(self) -> None:
        for pattern, name, fits in [
            ("loss", "loss", True),
            ("loss", "losses", False),
            ("*", "", True),
            ("*", "eval/loss", True),
            ("eval/*", "eval/loss", True),
            ("eval/*", "eval", False),
            ("*/loss", "eval/loss", True),
            ("*/loss", "eval/loss/2", False),
            ("a*b*c", "abc", True),
            ("a*b*c", "a-b-b-c", True),
            ("a*b*c", "acb", False),
            ("a**c", "abc", True),
            ("ab*ba", "aba", False),
            ("*norm*", "gradient-norm/x", True),
        ]:
            with self.subTest(pattern=pattern, name=name):
                self.assertEqual(matches(pattern, name), fits)


class Counting:
    """A host that counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def key_of(self, name: str) -> int | None:
        self.asked += 1
        return None if name == "unknown" else len(name)

    def name_of(self, key: int) -> str | None:
        self.asked += 1
        return "x" * key if key else None

    def keys(self) -> list[int]:
        self.asked += 1
        return [1, 2]


class Asking(unittest.TestCase):
    def test_a_known_name_is_asked_once_and_an_unknown_one_again(self) -> None:
        host = Counting()
        names = Names(host)  # type: ignore[arg-type]
        for _ in range(3):
            self.assertEqual((names.key_of("loss"), names.name_of(2), names.name_of(4)), (4, "xx", "loss"))
        self.assertEqual(host.asked, 2)
        for _ in range(3):
            self.assertIsNone(names.key_of("unknown"))
        self.assertEqual(host.asked, 5)
        self.assertEqual(names.name_of(0), "#0")

    def test_keys_are_asked_for_once_for_each_shape(self) -> None:
        host = Counting()
        names = Names(host)  # type: ignore[arg-type]
        for _ in range(3):
            self.assertEqual(list(names.shape(5).items()), [("x", 0), ("xx", 1)])
        self.assertEqual(host.asked, 3)
        for number in range(3 * MAX_SHAPES):
            names.shape(number)
            self.assertLessEqual(len(names.shapes), MAX_SHAPES)


class Contract(unittest.TestCase):
    def test_the_packed_contract_is_the_hosts(self) -> None:
        original = ROOT.parent.parent / "wit" / "0.1.0" / "callback.wit"
        if not original.exists():
            self.skipTest("the SDK is not in the host's repository")
        self.assertEqual((ROOT / "src/host_sdk/wit/callback.wit").read_text(), original.read_text())

    def test_hooks_stand_at_their_numbers(self) -> None:
        text = (ROOT / "src/host_sdk/wit/callback.wit").read_text()
        body = text.partition("enum hook {")[2].partition("}")[0]
        lines = [line.strip() for line in body.splitlines()]
        names = [line.rstrip(",") for line in lines if line and not line.startswith("///")]
        self.assertEqual(names, list(HOOKS))
