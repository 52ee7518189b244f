"""State as bytes of JSON. Does not say when: `instance` saves and loads."""

import json
from dataclasses import dataclass
from typing import Any, TypeVar

from host_sdk.kinds import Kind
from host_sdk.values import STATE, kind_of

Type = TypeVar("Type")


def to_json(kind: Kind, value: Any) -> bytes:
    """JSON of a value. Every bit of a float survives; NaN and the infinities, for which JSON has no number, become
    words that :func:`from_json` reads back.

    Raises:
        ValueError: The value is not of the types that its hints say.
    """
    return json.dumps(kind.write(value), allow_nan=False, separators=(",", ":")).encode()


def from_json(text: bytes | str) -> Any:
    """Parsed JSON.

    Raises:
        ValueError: It is none.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class Saved:
    """State as another version of the plugin saved it, for :meth:`Callback.migrate` to read."""

    version: int
    """The version that the plugin gave its state when it saved it."""
    data: bytes
    """The bytes as they were saved."""

    @property
    def json(self) -> Any:
        """The state as parsed JSON. Keys are the names of fields; floats that are not finite are the words `NaN`,
        `Infinity` and `-Infinity`.

        Raises:
            ValueError: It is no JSON.
        """
        return from_json(self.data)

    def read(self, type_: type[Type]) -> Type:
        """The state as a dataclass that had this version.

        Raises:
            ValueError: The bytes do not fit it.
        """
        try:
            return kind_of(type_, STATE).read(self.json, "", strict=False)  # type: ignore[no-any-return]
        except ValueError as error:
            raise ValueError(f"state of version {self.version}: {error}") from None
