"""How an agent takes MCP servers, read from its answer to `initialize`; pure (acp-host §2.5)."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypeAlias, cast

from symposium.conductor.meta import MCP_OVER_ACP, has_capability

Mode: TypeAlias = Literal["auto", "http", "stdio", "off"]
"""What a person may choose for a run: `auto` goes by what the agent declares."""


class Way(Enum):
    """How the tools of mods reach the agent."""

    NATIVE = "native"
    HTTP = "http"
    STDIO = "stdio"


def choose_way(mode: Mode, result: object) -> Way:
    """How this agent is served, given its answer to `initialize`."""
    match mode:
        case "http":
            return Way.HTTP
        case "stdio":
            return Way.STDIO
        case "off":
            return Way.NATIVE
        case "auto":
            pass
    mcp = _mcp(result)
    if _is_set(mcp.get("acp")) or speaks_first_era(result):
        return Way.NATIVE
    # Every agent must take servers over stdio.
    return Way.HTTP if takes_servers_over("http", result) else Way.STDIO


def takes_servers_over(transport: str, result: object) -> bool:
    """Whether the agent can be given a server over `http` or `sse`, by its own answer."""
    return _is_set(_mcp(result).get(transport))


def speaks_first_era(result: object) -> bool:
    """Whether the agent declares MCP over ACP in the way of era (a), and in no other."""
    members = _object(result)
    declared = any(
        has_capability(members.get(name), MCP_OVER_ACP)
        for name in ("agentCapabilities", "capabilities")
    )
    return declared and not _is_set(_mcp(result).get("acp"))


def advertising(result: object) -> Any:
    """The answer to `initialize` as the chain shall see it: with MCP over ACP, else unchanged."""
    if not isinstance(result, Mapping):
        return result
    members = _object(cast("object", result))
    if is_second_version(members):
        return _with(members, ("capabilities", "session", "mcp", "acp"), {})
    return _with(members, ("agentCapabilities", "mcpCapabilities", "acp"), True)  # noqa: FBT003 - JSON's


def is_second_version(result: object) -> bool:
    """Whether the agent answered in version 2 of ACP; a later one is not taken for it."""
    return _object(result).get("protocolVersion") == 2  # noqa: PLR2004 - the version itself


def _mcp(result: object) -> Mapping[str, Any]:
    members = _object(result)
    if is_second_version(result):
        return _object(_object(_object(members.get("capabilities")).get("session")).get("mcp"))
    return _object(_object(members.get("agentCapabilities")).get("mcpCapabilities"))


def _with(members: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = _with(_object(members.get(name)), tuple(rest), value) if rest else value
    return {**members, name: inner}


def _is_set(value: object) -> bool:
    return value is not None and value is not False


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
