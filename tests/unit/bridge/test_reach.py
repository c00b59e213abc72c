"""Ways in which a server reaches an agent, and the capability that each side lacks (A-10)."""

from typing import Any

import pytest

from symposium.chain.capabilities import Mode, reachability


def greeting(**takes: bool) -> dict[str, Any]:
    return {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": takes}}


@pytest.mark.requirement("stories.a-10-reach")
@pytest.mark.parametrize(
    ("kind", "mode", "takes", "reaching", "why"),
    [
        (None, "auto", {}, "direct", "programs"),
        ("http", "auto", {"http": True}, "direct", "supports http"),
        (
            "http",
            "auto",
            {},
            "bridged",
            "the agent does not support http, so Symposium offers it as a program",
        ),
        ("http", "auto", {"acp": True}, "bridged", "so Symposium offers it as MCP over ACP"),
        ("http", "off", {}, "unavailable", "the agent lacks http, and the bridge is off"),
        ("sse", "auto", {"sse": True}, "direct", "supports sse"),
        ("sse", "auto", {}, "unavailable", "the agent lacks sse, and Symposium does not bridge"),
        ("acp", "auto", {"acp": True}, "direct", "supports MCP over ACP"),
        ("acp", "auto", {"http": True}, "bridged", "so Symposium offers it as http"),
        ("acp", "stdio", {"acp": True}, "bridged", "so Symposium offers it as a program"),
        ("acp", "off", {}, "unavailable", "the bridge is off"),
        ("new", "auto", {}, "unavailable", "the agent lacks new, and Symposium does not bridge"),
    ],
)
def test_each_kind_of_server_is_shown_with_its_reason(
    kind: str | None, mode: Mode, takes: dict[str, bool], reaching: str, why: str
) -> None:
    declaration = {"name": "it"} | ({} if kind is None else {"type": kind})
    found = reachability(declaration, mode, greeting(**takes))
    assert (found.name, found.kind, found.reaching) == ("it", kind or "stdio", reaching)
    assert why in found.why
