"""Settings and state as JSON: what comes back, what is refused, and what the schema says."""

import json
import math
import random
import struct
import unittest
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

from host_sdk import Mode, Range
from host_sdk.state import Saved, from_json, to_json
from host_sdk.values import SETTINGS, STATE, kind_of


@dataclass
class Inner:
    value: float = 0.0


@dataclass
class Everything:
    number: float = 0.0
    maybe: float | None = None
    missing: int | None = None
    many: list[float] = field(default_factory=list)
    pair: tuple[float, int] = (0.0, 0)
    names: tuple[str, ...] = ()
    by_name: dict[str, float] = field(default_factory=dict)
    by_number: dict[int, Inner] = field(default_factory=dict)
    mode: Mode = Mode.MIN
    kind: Literal["a", "b"] = "a"
    inner: Inner = field(default_factory=Inner)
    large: int = 0
    words: str = ""
    flag: bool = False


def round_trip(value: Any) -> Any:
    kind = kind_of(type(value), STATE)
    return kind.read(from_json(to_json(kind, value)), "", strict=True)


class RoundTrip(unittest.TestCase):
    def test_every_kind_of_value_comes_back(self) -> None:
        value = Everything(
            number=0.1 + 0.2,
            maybe=math.inf,
            many=[1.0, -math.inf, -0.0, 5e-324, 1.7976931348623157e308],
            pair=(math.inf, 3),
            names=("NaN", ""),
            by_name={"a": math.inf},
            by_number={7: Inner(-math.inf)},
            mode=Mode.MAX,
            kind="b",
            inner=Inner(1.0),
            large=2**64,
            words="Infinity",
            flag=True,
        )
        back = round_trip(value)
        self.assertEqual(back, value)
        self.assertEqual(math.copysign(1, back.many[2]), -1)
        self.assertIs(back.mode, Mode.MAX)

    def test_nan_comes_back_as_nan(self) -> None:
        self.assertTrue(math.isnan(round_trip(Inner(math.nan)).value))

    def test_every_float_comes_back_to_the_bit(self) -> None:
        source = random.Random(1)
        for _ in range(2000):
            (value,) = struct.unpack("<d", source.randbytes(8))
            if not math.isnan(value):
                self.assertEqual(struct.pack("<d", round_trip(Inner(value)).value), struct.pack("<d", value))

    def test_the_text_is_plain_json(self) -> None:
        self.assertEqual(to_json(kind_of(Inner, STATE), Inner(math.nan)), b'{"value":"NaN"}')

    def test_a_whole_number_in_a_field_of_floats_is_a_float(self) -> None:
        self.assertIs(type(round_trip(Inner(1)).value), float)

    def test_a_value_of_another_type_is_not_saved(self) -> None:
        with self.assertRaisesRegex(ValueError, "inner: value: 'high' is not a number"):
            round_trip(Everything(inner=Inner("high")))  # type: ignore[arg-type]

    def test_saved_state_reads_as_another_type_and_may_have_more(self) -> None:
        saved = Saved(3, b'{"value": 2, "gone": 1}')
        self.assertEqual(saved.read(Inner), Inner(2.0))
        self.assertEqual(saved.json["gone"], 1)
        with self.assertRaisesRegex(ValueError, "state of version 3: it is not JSON"):
            Saved(3, b"{").read(Inner)


@dataclass
class Settings:
    """What it does,
    in words.

    More that is not for the schema.
    """

    ceiling: Annotated[float, "Not above this.", Range(above=0)]
    min_delta: Annotated[float | None, Range(minimum=0, maximum=1)] = None
    mode: Mode = Mode.MIN
    rates: dict[str, float] = field(default_factory=dict)
    count: int = 3
    lambda_: bool = True


class Reading(unittest.TestCase):
    def refused(self, config: Any, words: str) -> None:
        with self.assertRaises(ValueError) as caught:
            kind_of(Settings, SETTINGS).read(config, "", strict=True)
        self.assertIn(words, str(caught.exception))

    def test_keys_are_in_kebab_case(self) -> None:
        settings = kind_of(Settings, SETTINGS).read({"ceiling": 2, "min-delta": 0.5, "lambda": False}, "", strict=True)
        self.assertEqual(settings, Settings(2.0, 0.5, lambda_=False))

    def test_errors_say_where_and_what(self) -> None:
        self.refused({}, "ceiling is missing")
        self.refused({"ceiling": "high"}, "ceiling is 'high': it has to be a number")
        self.refused({"ceiling": True}, "ceiling is True: it has to be a number")
        self.refused({"ceiling": 0}, "ceiling is 0.0: it has to be more than 0")
        self.refused({"ceiling": "NaN"}, "ceiling is nan: it has to be more than 0")
        self.refused({"ceiling": 1, "min-delta": 2}, "min-delta is 2.0: it has to be at most 1")
        self.refused({"ceiling": 1, "count": 1.5}, "count is 1.5: it has to be a whole number")
        self.refused({"ceiling": 1, "mode": "least"}, "mode is 'least': it has to be one of min, max")
        self.refused({"ceiling": 1, "rates": {"a": None}}, "rates.a is None: it has to be a number")
        self.refused({"ceilin": 1}, "unknown key ceilin; is ceiling meant?")
        self.refused([], "it is []: it has to be a table")

    def test_the_schema_says_all_of_it(self) -> None:
        schema = kind_of(Settings, SETTINGS).schema()
        self.assertEqual(
            schema,
            {
                "type": "object",
                "description": "What it does, in words.",
                "properties": {
                    "ceiling": {"type": "number", "exclusiveMinimum": 0, "description": "Not above this."},
                    "min-delta": {"type": ["number", "null"], "minimum": 0, "maximum": 1, "default": None},
                    "mode": {"enum": ["min", "max"], "default": "min"},
                    "rates": {"type": "object", "additionalProperties": {"type": "number"}, "default": {}},
                    "count": {"type": "integer", "default": 3},
                    "lambda": {"type": "boolean", "default": True},
                },
                "required": ["ceiling"],
                "additionalProperties": False,
            },
        )
        json.dumps(schema, allow_nan=False)

    def test_hints_that_mean_nothing_are_refused_with_the_field(self) -> None:
        @dataclass
        class Untyped:
            things: list[Any] = field(default_factory=list)

        with self.assertRaisesRegex(TypeError, r"Untyped\.things: typing\.Any is not supported"):
            kind_of(Untyped, SETTINGS)

    def test_enumerations_go_by_value(self) -> None:
        class Level(Enum):
            ONE = 1

        kind = kind_of(Level, SETTINGS)
        self.assertIs(kind.read(1, "level", True), Level.ONE)
        self.assertEqual(kind.write(Level.ONE), 1)
        with self.assertRaises(ValueError):
            kind.read(True, "level", True)
