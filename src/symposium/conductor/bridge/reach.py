"""How an agent reaches each MCP server that a session declares, and what is missing; pure."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from symposium.conductor.bridge.agent_side import Mode, Way, choose_way, takes_servers_over

_NAMES: Final = {"stdio": "programs", "acp": "MCP over ACP"}
_BRIDGED: Final = frozenset({"http", "acp"})

Reaching: TypeAlias = Literal["direct", "bridged", "unavailable"]


class Reach(Struct, frozen=True):
    """One server, as one agent reaches it.

    Attributes:
        name: what the session calls it.
        kind: how it was declared: `stdio`, `http`, `sse`, `acp`, or what is new to us.
        reaching: whether it is.
        why: which side lacks or does what.
    """

    name: str
    kind: str
    reaching: Reaching
    why: str


def reach(declaration: Mapping[str, Any], mode: Mode, greeting: object) -> Reach:
    """How it is.

    Args:
        declaration: the entry of `mcpServers`, above the bridge.
        mode: of the bridge.
        greeting: the agent's own answer to `initialize`.
    """
    kind = str(declaration.get("type") or "stdio")
    reaching, why = _reaching(kind, mode, greeting)
    return Reach(str(declaration.get("name") or "?"), kind, reaching, why)


def _reaching(kind: str, mode: Mode, greeting: object) -> tuple[Reaching, str]:
    name = _NAMES.get(kind, kind)
    if _takes(kind, mode, greeting):
        return "direct", f"the agent takes {name}"
    if mode != "off" and kind in _BRIDGED:
        return "bridged", f"the agent lacks {name}; it gets {_form(mode, greeting)}"
    ours = "the bridge is off" if kind in _BRIDGED else f"Symposium does not bridge {name}"
    return "unavailable", f"the agent lacks {name}, and {ours}"


def _takes(kind: str, mode: Mode, greeting: object) -> bool:
    match kind:
        case "stdio":
            # Every agent must.
            return True
        case "http":
            return takes_servers_over("http", greeting)
        case "sse":
            return takes_servers_over("sse", greeting)
        case _:
            is_forced = mode in {"http", "stdio"}
            return kind == "acp" and not is_forced and choose_way("auto", greeting) is Way.NATIVE


def _form(mode: Mode, greeting: object) -> str:
    match choose_way(mode, greeting):
        case Way.HTTP:
            return "http"
        case Way.STDIO:
            return "a program"
        case Way.NATIVE:
            return "MCP over ACP"
