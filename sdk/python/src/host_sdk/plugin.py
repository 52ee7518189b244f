"""A class of callbacks as a plugin: what its hints say about settings and state, and what it tells the host.

Made once, when a component is built. Does not run the callback: `instance` does.
"""

import json
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Any, get_type_hints

from host_sdk.callback import Callback
from host_sdk.kinds import Kind
from host_sdk.manifest import Manifest
from host_sdk.values import SETTINGS, STATE, kind_of


@dataclass
class NoSettings:
    """Settings of a callback that has none."""


class Plugin:
    """A class of callbacks, checked.

    Raises:
        TypeError: The class lacks a manifest, or its settings or state are not what they have to be.
    """

    def __init__(self, kind: type[Callback]) -> None:
        self.kind = kind
        if not isinstance(getattr(kind, "manifest", None), Manifest):
            raise TypeError(f"{kind.__name__} has no `manifest = Manifest(...)`")
        hints = get_type_hints(kind)
        self.settings: Kind = kind_of(_dataclass(kind, hints, "settings") or NoSettings, SETTINGS)
        self.state_type = _dataclass(kind, hints, "state")
        self.state: Kind | None = kind_of(self.state_type, STATE) if self.state_type else None
        if self.state_type:
            _require_defaults(kind, self.state_type)

    @property
    def manifest(self) -> Manifest:
        """What the plugin is and may ask for."""
        return self.kind.manifest

    @property
    def summary(self) -> str:
        """One sentence on what it does: the manifest's, or the first line of the class's docstring."""
        doc = self.kind.__doc__ or ""
        return self.manifest.summary or doc.strip().partition("\n")[0]

    @property
    def config_schema(self) -> str:
        """JSON Schema of its configuration."""
        return json.dumps(self.settings.schema(), separators=(",", ":"))


def _dataclass(kind: type[Callback], hints: dict[str, Any], name: str) -> type | None:
    hint = hints.get(name, Any)
    if hint in (Any, None, type(None)):
        return None
    if not (isinstance(hint, type) and is_dataclass(hint)):
        raise TypeError(f"{kind.__name__}.{name}: {hint} is not a dataclass")
    return hint


def _require_defaults(kind: type[Callback], state: type) -> None:
    for field in fields(state):
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            raise TypeError(f"{kind.__name__}.state: {state.__name__}.{field.name} has no default")
