"""Kinds of values as JSON, in which every number survives.

Each :class:`Kind` reads itself from JSON, writes itself as JSON, and says its JSON Schema. Does not know type hints:
`values` makes kinds of them.
"""

import dataclasses
import difflib
import math
import operator
from collections.abc import Mapping
from typing import Any

NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""The words for numbers that JSON does not have."""


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """The values that a number may have, for `Annotated[float, Range(minimum=0)]`. A bound that is left out is none."""

    minimum: float | None = None
    """The lowest value."""
    maximum: float | None = None
    """The highest value."""
    above: float | None = None
    """Every value is higher than this."""
    below: float | None = None
    """Every value is lower than this."""

    def schema(self) -> dict[str, Any]:
        """The keywords of JSON Schema."""
        keywords = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        bounds = (self.minimum, self.maximum, self.above, self.below)
        return {keyword: bound for keyword, bound in zip(keywords, bounds) if bound is not None}

    def check(self, value: float, where: str) -> None:
        """Raises a ValueError for a value outside. NaN is in no range that has a bound."""
        rules = (
            ("at least", self.minimum, operator.ge),
            ("at most", self.maximum, operator.le),
            ("more than", self.above, operator.gt),
            ("less than", self.below, operator.lt),
        )
        for words, bound, compare in rules:
            if bound is not None and not compare(value, bound):
                raise ValueError(f"{where} is {value}: it has to be {words} {bound}")


class Kind:
    """What a type hint means as JSON. This one is a value that JSON has as it is."""

    def __init__(self, type_: type, words: str, schema: str) -> None:
        self.type, self.words, self.name = type_, words, schema

    def read(self, json: Any, where: str, strict: bool) -> Any:
        """The value of parsed JSON. `where` names its place in errors; `strict` refuses keys that mean nothing.

        Raises:
            ValueError: It does not fit.
        """
        # An exact comparison: `True` is an `int` too.
        if type(json) is not self.type:
            raise misfit(json, where, self.words)
        return json

    def write(self, value: Any) -> Any:
        """The value as what `json` writes.

        Raises:
            ValueError: The value is not of the type that its hint says.
        """
        if not isinstance(value, self.type):
            raise ValueError(f"{value!r} is not {self.words}")
        return value

    def schema(self) -> dict[str, Any]:
        """The JSON Schema."""
        return {"type": self.name}


class Number(Kind):
    """A float, in which NaN and the infinities are words."""

    def __init__(self) -> None:
        super().__init__(float, "a number", "number")

    def read(self, json: Any, where: str, strict: bool) -> float:
        if type(json) in (float, int):
            return float(json)
        if isinstance(json, str) and json in NOT_FINITE:
            return NOT_FINITE[json]
        raise misfit(json, where, self.words)

    def write(self, value: Any) -> Any:
        if not isinstance(value, (float, int)):
            raise ValueError(f"{value!r} is not {self.words}")
        value = float(value)
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class Choice(Kind):
    """A member of an enumeration, or one of the values of a `Literal`."""

    def __init__(self, members: Mapping[Any, Any]) -> None:
        self.members = members
        self.values = {member: value for value, member in members.items()}

    def read(self, json: Any, where: str, strict: bool) -> Any:
        for value, member in self.members.items():
            if type(value) is type(json) and value == json:
                return member
        raise misfit(json, where, "one of " + ", ".join(map(str, self.members)))

    def write(self, value: Any) -> Any:
        if value not in self.values:
            raise ValueError(f"{value!r} is not one of " + ", ".join(map(str, self.members)))
        return self.values[value]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self.members)}


class Maybe(Kind):
    """A value or `None`."""

    def __init__(self, inner: Kind) -> None:
        self.inner = inner

    def read(self, json: Any, where: str, strict: bool) -> Any:
        return None if json is None else self.inner.read(json, where, strict)

    def write(self, value: Any) -> Any:
        return None if value is None else self.inner.write(value)

    def schema(self) -> dict[str, Any]:
        inner = self.inner.schema()
        if isinstance(inner.get("type"), str):
            return inner | {"type": [inner["type"], "null"]}
        if "enum" in inner:
            return inner | {"enum": [*inner["enum"], None]}
        return {"anyOf": [inner, {"type": "null"}]}


class Within(Kind):
    """A number within a range."""

    def __init__(self, inner: Kind, bounds: Range) -> None:
        self.inner, self.bounds = inner, bounds

    def read(self, json: Any, where: str, strict: bool) -> Any:
        value = self.inner.read(json, where, strict)
        self.bounds.check(value, where)
        return value

    def write(self, value: Any) -> Any:
        return self.inner.write(value)

    def schema(self) -> dict[str, Any]:
        return self.inner.schema() | self.bounds.schema()


class Many(Kind):
    """A list, or a tuple of any length, of values of one kind."""

    def __init__(self, type_: type, inner: Kind) -> None:
        self.type, self.inner = type_, inner

    def read(self, json: Any, where: str, strict: bool) -> Any:
        if not isinstance(json, list):
            raise misfit(json, where, "a list")
        return self.type(self.inner.read(item, f"{where}[{place}]", strict) for place, item in enumerate(json))

    def write(self, value: Any) -> Any:
        return [self.inner.write(item) for item in value]

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.inner.schema()}


class Several(Kind):
    """A tuple of so many values."""

    def __init__(self, inner: list[Kind]) -> None:
        self.inner = inner

    def read(self, json: Any, where: str, strict: bool) -> Any:
        if not isinstance(json, list) or len(json) != len(self.inner):
            raise misfit(json, where, f"a list of {len(self.inner)}")
        pairs = enumerate(zip(self.inner, json))
        return tuple(kind.read(item, f"{where}[{place}]", strict) for place, (kind, item) in pairs)

    def write(self, value: Any) -> Any:
        return [kind.write(item) for kind, item in zip(self.inner, value, strict=True)]

    def schema(self) -> dict[str, Any]:
        length = len(self.inner)
        items = [kind.schema() for kind in self.inner]
        return {"type": "array", "prefixItems": items, "minItems": length, "maxItems": length}


class Table(Kind):
    """A dictionary from text, or whole numbers, to values of one kind."""

    def __init__(self, key: type, inner: Kind) -> None:
        self.key, self.inner = key, inner

    def read(self, json: Any, where: str, strict: bool) -> Any:
        if not isinstance(json, dict):
            raise misfit(json, where, "a table")
        return {self._key(key, where): self.inner.read(item, f"{where}.{key}", strict) for key, item in json.items()}

    def _key(self, key: str, where: str) -> Any:
        try:
            return self.key(key)
        except ValueError:
            raise ValueError(f"{where}: the key {key} is not a whole number") from None

    def write(self, value: Any) -> Any:
        return {str(key): self.inner.write(item) for key, item in value.items()}

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.inner.schema()}


@dataclasses.dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass: its key in JSON, what it holds, and what is written about it."""

    key: str
    field: dataclasses.Field[Any]
    kind: Kind
    description: str

    @property
    def has_default(self) -> bool:
        """Whether it may be left out."""
        missing = dataclasses.MISSING
        return self.field.default is not missing or self.field.default_factory is not missing

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values, with description and default."""
        schema = self.kind.schema()
        if self.description:
            schema["description"] = self.description
        if self.has_default:
            default, factory = self.field.default, self.field.default_factory
            if factory is not dataclasses.MISSING:
                default = factory()
            schema["default"] = self.kind.write(default)
        return schema


class Record(Kind):
    """A dataclass."""

    def __init__(self, type_: type, fields: list[Field]) -> None:
        self.type, self.fields = type_, {field.key: field for field in fields}

    def read(self, json: Any, where: str, strict: bool) -> Any:
        if not isinstance(json, dict):
            raise misfit(json, where or "it", "a table")
        if strict:
            self._refuse_unknown(json, where)
        inside = f"{where}." if where else ""
        values = {}
        for key, field in self.fields.items():
            if key in json:
                values[field.field.name] = field.kind.read(json[key], inside + key, strict)
            elif not field.has_default:
                raise ValueError(f"{inside}{key} is missing")
        return self.type(**values)

    def _refuse_unknown(self, json: dict[str, Any], where: str) -> None:
        for key in json.keys() - self.fields.keys():
            near = difflib.get_close_matches(key, self.fields, 1)
            known = f"is {near[0]} meant?" if near else "known: " + (", ".join(self.fields) or "none")
            raise ValueError(f"unknown key {key}{' in ' + where if where else ''}; {known}")

    def write(self, value: Any) -> Any:
        if not isinstance(value, self.type):
            raise ValueError(f"{value!r} is not a {self.type.__name__}")
        json = {}
        for key, field in self.fields.items():
            try:
                json[key] = field.kind.write(getattr(value, field.field.name))
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(f"{key}: {error}") from None
        return json

    def schema(self) -> dict[str, Any]:
        required = [key for key, field in self.fields.items() if not field.has_default]
        schema: dict[str, Any] = {"type": "object"}
        doc = self.type.__doc__ or ""
        # A dataclass without a docstring is given its signature for one.
        if doc and not doc.startswith(f"{self.type.__name__}("):
            schema["description"] = " ".join(doc.split("\n\n")[0].split())
        schema["properties"] = {key: field.schema() for key, field in self.fields.items()}
        if required:
            schema["required"] = required
        return schema | {"additionalProperties": False}


def misfit(json: Any, where: str, wanted: str) -> ValueError:
    """The error for JSON that is not what is wanted."""
    return ValueError(f"{where} is {json!r}: it has to be {wanted}")


PLAIN = {
    bool: Kind(bool, "true or false", "boolean"),
    int: Kind(int, "a whole number", "integer"),
    float: Number(),
    str: Kind(str, "text", "string"),
}
