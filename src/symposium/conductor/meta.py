"""Capabilities that stand in `_meta.symposium` of a capabilities object (acp-host §2.6)."""

from collections.abc import Mapping
from typing import Any, Final, cast

VERSION: Final = "1.0"
"""The version of this vocabulary; written whenever a capability is added."""

MCP_OVER_ACP: Final = "mcp_acp_transport"
"""The key by which the oldest eras declare MCP over ACP."""


def has_capability(capabilities: object, key: str) -> bool:
    """Whether the key is there, and neither false nor null."""
    value = declared(capabilities).get(key)
    return value is not None and value is not False


def with_capability(
    capabilities: Mapping[str, Any] | None, key: str, *, value: Any = True
) -> dict[str, Any]:
    """A copy with the capability added; whatever else is in it stays."""
    return with_capabilities(capabilities, {"version": VERSION, key: value})


def with_capabilities(
    capabilities: Mapping[str, Any] | None, added: Mapping[str, Any]
) -> dict[str, Any]:
    """A copy with these members added as they are; whatever else is in it stays."""
    own = {**declared(capabilities), **added}
    return {**(capabilities or {}), "_meta": {**_member(capabilities, "_meta"), "symposium": own}}


def without_capability(capabilities: Mapping[str, Any] | None, key: str) -> dict[str, Any]:
    """A copy with the capability removed; whatever else is in it stays."""
    if key not in declared(capabilities):
        return dict(capabilities or {})
    own = {name: value for name, value in declared(capabilities).items() if name != key}
    return {**(capabilities or {}), "_meta": {**_member(capabilities, "_meta"), "symposium": own}}


def declared(capabilities: object) -> Mapping[str, Any]:
    """All that stands there; empty where nothing does, or something that is no object."""
    return _member(_member(capabilities, "_meta"), "symposium")


def _member(value: object, name: str) -> Mapping[str, Any]:
    found = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
