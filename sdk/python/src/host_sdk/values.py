"""What a type hint of settings or state means. Does not read JSON itself: each of the :mod:`host_sdk.kinds` does."""

import dataclasses
from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from host_sdk.kinds import PLAIN, Choice, Field, Kind, Many, Maybe, Range, Record, Several, Table, Within


def kebab(name: str) -> str:
    """The key of a field in a configuration; an underscore behind a Python keyword is left out."""
    return name.strip("_").replace("_", "-")


def plain(name: str) -> str:
    """The key of a field in state, as other languages' SDKs write it too: its name."""
    return name


@dataclasses.dataclass(frozen=True, slots=True)
class Reader:
    """How hints are read: what the key of a dataclass's field is, and which dataclasses the hint stands in."""

    key: Callable[[str], str]
    around: tuple[type, ...] = ()


SETTINGS = Reader(kebab)
STATE = Reader(plain)


def kind_of(hint: Any, reader: Reader) -> Kind:
    """What a type hint means.

    Supported are `bool`, `int`, `float`, `str`, enumerations, `Literal`, `X | None`, `list[X]`, `tuple[X, ...]`,
    `tuple[X, Y]`, `dict[str, X]`, `dict[int, X]`, dataclasses, and `Annotated` with a :class:`Range`.

    Raises:
        TypeError: It is something else. The words name the field.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _annotated(arguments[0], arguments[1:], reader)
    if hint in PLAIN:
        return PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Choice({member.value: member for member in hint})
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _record(hint, reader)
    if origin is Literal:
        return Choice({value: value for value in arguments})
    if origin in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) == 1:
            return Maybe(kind_of(inner[0], reader))
    if origin is list or origin is tuple and arguments[1:] == (...,):
        return Many(origin, kind_of(arguments[0], reader))
    if origin is tuple:
        return Several([kind_of(argument, reader) for argument in arguments])
    if origin is dict and arguments[0] in (str, int):
        return Table(arguments[0], kind_of(arguments[1], reader))
    raise TypeError(f"{hint} is not supported in settings and state")


def _annotated(hint: Any, notes: tuple[Any, ...], reader: Reader) -> Kind:
    kind = kind_of(hint, reader)
    for note in notes:
        if isinstance(note, Range):
            kind = Maybe(Within(kind.inner, note)) if isinstance(kind, Maybe) else Within(kind, note)
    return kind


def _record(type_: type, reader: Reader) -> Record:
    if type_ in reader.around:
        raise TypeError(f"{type_.__name__} contains itself, which is not supported in settings and state")
    hints = get_type_hints(type_, include_extras=True)
    inside = Reader(reader.key, (*reader.around, type_))
    fields = []
    for field in dataclasses.fields(type_):
        if not field.init:
            continue
        hint = hints[field.name]
        try:
            kind = kind_of(hint, inside)
        except TypeError as error:
            raise TypeError(f"{type_.__name__}.{field.name}: {error}") from None
        notes = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        description = " ".join(note for note in notes if isinstance(note, str))
        fields.append(Field(reader.key(field.name), field, kind, description))
    return Record(type_, fields)
