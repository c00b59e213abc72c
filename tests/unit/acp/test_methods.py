"""The vocabulary of ACP: who may send what, what it needs, and when it may be sent."""

from typing import Any

import pytest

from peerwire.acp.methods import (
    COUNTERPART,
    METHODS,
    MethodKind,
    MethodRole,
    is_offered,
    may_send,
    missing_params,
)

TO_AGENT = [
    "initialize",
    "authenticate",
    "logout",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/close",
    "session/delete",
    "session/prompt",
    "session/cancel",
    "session/set_mode",
    "session/set_config_option",
]
TO_CLIENT = [
    "session/update",
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
    "elicitation/complete",
]
UNSTABLE = [
    "session/fork",
    "providers/list",
    "providers/set",
    "providers/disable",
    "nes/start",
    "nes/suggest",
    "nes/accept",
    "nes/reject",
    "nes/close",
    "document/didOpen",
    "document/didChange",
    "document/didClose",
    "document/didSave",
    "document/didFocus",
    "mcp/connect",
    "mcp/message",
    "mcp/disconnect",
    "_proxy/initialize",
    "_proxy/successor",
]


def senders(name: str) -> set[MethodRole]:
    return {role for role in MethodRole if may_send(role, METHODS[name])}


@pytest.mark.requirement("acp.method-table")
def test_the_table_has_every_method_of_v1_and_no_other() -> None:
    stable = {name for name, method in METHODS.items() if method.is_stable}

    assert stable == {*TO_AGENT, *TO_CLIENT, "$/cancel_request"}
    assert METHODS.keys() - stable == set(UNSTABLE)


@pytest.mark.requirement("acp.role-counterparts")
def test_every_role_faces_another_and_is_faced_by_it() -> None:
    assert {COUNTERPART[COUNTERPART[role]] for role in MethodRole} == set(MethodRole)
    assert COUNTERPART[MethodRole.CLIENT] is MethodRole.AGENT
    assert COUNTERPART[MethodRole.PROXY] is MethodRole.CONDUCTOR


@pytest.mark.requirement("acp.role-counterparts")
def test_an_end_sends_what_its_counterpart_acts_on() -> None:
    between = {MethodRole.PROXY, MethodRole.CONDUCTOR}
    assert all(senders(name) == {MethodRole.CLIENT, *between} for name in TO_AGENT)
    assert all(senders(name) == {MethodRole.AGENT, *between} for name in TO_CLIENT)
    assert senders("$/cancel_request") == senders("mcp/message") == set(MethodRole)


@pytest.mark.requirement("acp.role-counterparts")
def test_only_a_conductor_initializes_a_proxy_and_only_proxies_speak_in_envelopes() -> None:
    assert senders("_proxy/initialize") == {MethodRole.CONDUCTOR}
    assert senders("_proxy/successor") == {MethodRole.PROXY, MethodRole.CONDUCTOR}


@pytest.mark.requirement("acp.method-table")
def test_methods_are_notifications_or_requests() -> None:
    notifications = {
        name for name, method in METHODS.items() if method.kind is MethodKind.NOTIFICATION
    }
    assert notifications == {
        *("session/cancel", "session/update", "elicitation/complete", "$/cancel_request"),
        *("nes/accept", "nes/reject"),
        *(name for name in UNSTABLE if name.startswith("document/")),
    }
    either = {name for name, method in METHODS.items() if method.kind is MethodKind.EITHER}
    assert either == {"mcp/message", "_proxy/successor"}


LACKING: list[tuple[str, Any, list[str]]] = [
    ("session/new", {"cwd": "/", "mcpServers": []}, []),
    ("session/new", {"mcpServers": [], "_meta": {}}, ["cwd"]),
    ("session/new", {"cwd": "/"}, ["mcpServers"]),
    ("session/load", None, ["sessionId", "cwd", "mcpServers"]),
    ("session/prompt", ["s", []], ["sessionId", "prompt"]),
    ("session/list", None, []),
    ("vendor/unknown", None, []),
    ("$/cancel_request", {"requestId": None}, []),
]


@pytest.mark.requirement("acp.method-table")
@pytest.mark.parametrize(("method", "params", "missing"), LACKING)
def test_what_params_lack_is_named(method: str, params: Any, missing: list[str]) -> None:
    assert missing_params(method, params) == missing


@pytest.mark.requirement("acp.capabilities-object-flags")
@pytest.mark.parametrize(
    ("method", "handshake", "offered"),
    [
        ("session/new", {}, True),
        ("session/load", {}, False),
        ("session/load", {"agentCapabilities": {"loadSession": True}}, True),
        ("session/load", {"agentCapabilities": {"loadSession": False}}, False),
        ("session/fork", {"agentCapabilities": {"sessionCapabilities": {"fork": {}}}}, True),
        ("session/fork", {"agentCapabilities": {"sessionCapabilities": {"fork": None}}}, False),
        ("session/fork", {"agentCapabilities": {"sessionCapabilities": None}}, False),
        ("session/fork", {"agentCapabilities": {"sessionCapabilities": True}}, False),
        ("elicitation/complete", {"clientCapabilities": {"elicitation": {"url": {}}}}, True),
        ("elicitation/complete", {"clientCapabilities": {"elicitation": {}}}, False),
        ("elicitation/create", {"clientCapabilities": {"elicitation": {}}}, True),
    ],
)
def test_a_capability_that_is_an_object_counts_when_present(
    method: str, handshake: dict[str, Any], *, offered: bool
) -> None:
    assert is_offered(METHODS[method], handshake) is offered
