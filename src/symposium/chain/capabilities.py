"""Capabilities: `_meta.symposium`, primitives, and MCP transports of the agent."""

import logging
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, cast

from msgspec import Struct

from peerwire.jsonrpc.values import as_object

VERSION: Final = "1.0"
"""Version of the vocabulary, added to new capabilities."""

MCP_OVER_ACP: Final = "mcp_acp_transport"
"""Key for MCP over ACP in the oldest versions."""


def has_capability(capabilities: object, key: str) -> bool:
    """Whether the key exists and is neither false nor null."""
    value = declared(capabilities).get(key)
    return value is not None and value is not False


def with_capability(
    capabilities: Mapping[str, Any] | None, key: str, *, value: Any = True
) -> dict[str, Any]:
    """Copy with an added capability; other members stay."""
    return with_capabilities(capabilities, {"version": VERSION, key: value})


def with_capabilities(
    capabilities: Mapping[str, Any] | None, added: Mapping[str, Any]
) -> dict[str, Any]:
    """Copy with these added members; other members stay."""
    own = {**declared(capabilities), **added}
    return {**(capabilities or {}), "_meta": {**_member(capabilities, "_meta"), "symposium": own}}


def without_capability(capabilities: Mapping[str, Any] | None, key: str) -> dict[str, Any]:
    """Copy without a capability; other members stay."""
    if key not in declared(capabilities):
        return dict(capabilities or {})
    own = {name: value for name, value in declared(capabilities).items() if name != key}
    return {**(capabilities or {}), "_meta": {**_member(capabilities, "_meta"), "symposium": own}}


def declared(capabilities: object) -> Mapping[str, Any]:
    """The object; empty if missing or not an object."""
    return _member(_member(capabilities, "_meta"), "symposium")


def _member(value: object, name: str) -> Mapping[str, Any]:
    return as_object(as_object(value).get(name))


Mode: TypeAlias = Literal["auto", "http", "stdio", "off"]
"""Mode for a run: `auto` depends on the agent's capabilities."""


class McpDelivery(Enum):
    """Ways in which tools of mods reach the agent."""

    NATIVE = "native"
    HTTP = "http"
    STDIO = "stdio"


def choose_way(mode: Mode, result: object) -> McpDelivery:
    """Choose the way for this agent by its response to `initialize`."""
    match mode:
        case "http":
            return McpDelivery.HTTP
        case "stdio":
            return McpDelivery.STDIO
        case "off":
            return McpDelivery.NATIVE
        case "auto":
            pass
    mcp = _mcp(result)
    if _is_set(mcp.get("acp")) or speaks_first_era(result):
        return McpDelivery.NATIVE
    # ACP requires every agent to accept stdio servers.
    return McpDelivery.HTTP if takes_servers_over("http", result) else McpDelivery.STDIO


def takes_servers_over(transport: str, result: object) -> bool:
    """Whether the agent accepts servers over `http` or `sse`, by its response."""
    return _is_set(_mcp(result).get(transport))


def speaks_first_era(result: object) -> bool:
    """Whether the agent declares MCP over ACP only in the oldest form."""
    members = as_object(result)
    declared = any(
        has_capability(members.get(name), MCP_OVER_ACP)
        for name in ("agentCapabilities", "capabilities")
    )
    return declared and not _is_set(_mcp(result).get("acp"))


def advertising(result: object) -> Any:
    """Response to `initialize` for the chain: with MCP over ACP unless already declared."""
    if not isinstance(result, Mapping):
        return result
    members = as_object(cast("object", result))
    if is_second_version(members):
        return _with(members, ("capabilities", "session", "mcp", "acp"), {})
    return _with(members, ("agentCapabilities", "mcpCapabilities", "acp"), True)  # noqa: FBT003 - a JSON value


def is_second_version(result: object) -> bool:
    """Whether the agent answered with version 2 of ACP exactly."""
    return as_object(result).get("protocolVersion") == 2  # noqa: PLR2004 - the version itself


def _mcp(result: object) -> Mapping[str, Any]:
    members = as_object(result)
    if is_second_version(result):
        return as_object(
            as_object(as_object(members.get("capabilities")).get("session")).get("mcp")
        )
    return as_object(as_object(members.get("agentCapabilities")).get("mcpCapabilities"))


def _with(members: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = _with(as_object(members.get(name)), tuple(rest), value) if rest else value
    return {**members, name: inner}


def _is_set(value: object) -> bool:
    return value is not None and value is not False


BRIDGE_COMPONENTS: Final = ("url servers", "dialects", "bridge")
"""Names of the bridge's components, in order."""


_NAMES: Final = {"stdio": "programs", "acp": "MCP over ACP"}
_BRIDGED: Final = frozenset({"http", "acp"})

Reaching: TypeAlias = Literal["direct", "bridged", "unavailable"]


class Reach(Struct, frozen=True):
    """Reachability of one server for one agent.

    Attributes:
        name: name of the server in the session.
        kind: declared transport: `stdio`, `http`, `sse`, `acp`, or an unknown one.
        reaching: result.
        why: reason.
    """

    name: str
    kind: str
    reaching: Reaching
    why: str


def reachability(declaration: Mapping[str, Any], mode: Mode, initialize_result: object) -> Reach:
    """Determine the reachability of a server.

    Args:
        declaration: entry of `mcpServers` before the bridge.
        mode: mode of the bridge.
        initialize_result: the agent's response to `initialize`.
    """
    kind = str(declaration.get("type") or "stdio")
    reaching, why = _reaching(kind, mode, initialize_result)
    return Reach(str(declaration.get("name") or "?"), kind, reaching, why)


def _reaching(kind: str, mode: Mode, initialize_result: object) -> tuple[Reaching, str]:
    name = _NAMES.get(kind, kind)
    if _takes(kind, mode, initialize_result):
        return "direct", f"the agent supports {name}"
    if mode != "off" and kind in _BRIDGED:
        form = _form(mode, initialize_result)
        return "bridged", f"the agent does not support {name}, so Symposium offers it as {form}"
    ours = "the bridge is off" if kind in _BRIDGED else f"Symposium does not bridge {name}"
    return "unavailable", f"the agent lacks {name}, and {ours}"


def _takes(kind: str, mode: Mode, initialize_result: object) -> bool:
    match kind:
        case "stdio":
            # Required by ACP.
            return True
        case "http":
            return takes_servers_over("http", initialize_result)
        case "sse":
            return takes_servers_over("sse", initialize_result)
        case _:
            is_forced = mode in {"http", "stdio"}
            return (
                kind == "acp"
                and not is_forced
                and choose_way("auto", initialize_result) is McpDelivery.NATIVE
            )


def _form(mode: Mode, initialize_result: object) -> str:
    match choose_way(mode, initialize_result):
        case McpDelivery.HTTP:
            return "http"
        case McpDelivery.STDIO:
            return "a program"
        case McpDelivery.NATIVE:
            return "MCP over ACP"


_log = logging.getLogger(__name__)

FS_READ: Final = "fs_read"
FS_WRITE: Final = "fs_write"
BASH: Final = "bash"
IDE_OPERATIONS: Final = "ide_operations"
ELICITATION_FORM: Final = "elicitation_form"
ELICITATION_URL: Final = "elicitation_url"

_CONVENTION: Final = frozenset({"version", "details"})
"""Members of `_meta.symposium` that are not capabilities."""


def primitives(params: object) -> dict[str, Any]:
    """Capabilities of the client in `initialize`: name and detail, or true.

    An explicit key in `_meta.symposium` overrides ACP's own field; false and null mean absent.
    """
    capabilities = client_capabilities(params)
    found: dict[str, Any] = {name: True for name, is_there in _native(capabilities) if is_there}
    for name, value in _declared(capabilities).items():
        if value is False or value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def capabilities_member(params: object) -> str:
    """Name of the member with the client's capabilities: ACP v2 renames it."""
    given = as_object(params)
    is_v2 = "capabilities" in given and "clientCapabilities" not in given
    return "capabilities" if is_v2 else "clientCapabilities"


def client_capabilities(params: object) -> Mapping[str, Any]:
    """The client's capabilities; empty if missing."""
    return as_object(as_object(params).get(capabilities_member(params)))


def _declared(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    given = as_object(capabilities.get("_meta")).get("symposium")
    if given is not None and not isinstance(given, Mapping):
        _log.warning("ignoring _meta.symposium, which is not an object: %r", given)
    ours = declared(capabilities)
    version = ours.get("version", VERSION)
    if _major(version) != _major(VERSION):
        _log.warning("ignoring capabilities of unknown _meta.symposium version %s", version)
        return {}
    return {name: value for name, value in ours.items() if name not in _CONVENTION}


def _major(version: object) -> str:
    return str(version).partition(".")[0]


def _native(capabilities: Mapping[str, Any]) -> list[tuple[str, bool]]:
    files = as_object(capabilities.get("fs"))
    elicitation = as_object(capabilities.get("elicitation"))
    return [
        (FS_READ, files.get("readTextFile") is True),
        (FS_WRITE, files.get("writeTextFile") is True),
        (BASH, capabilities.get("terminal") is True),
        (ELICITATION_FORM, elicitation.get("form") is not None),
        (ELICITATION_URL, elicitation.get("url") is not None),
    ]
