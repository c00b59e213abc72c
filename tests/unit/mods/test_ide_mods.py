"""IDE operations in a chain: the same tools, whether an editor or an adapter answers."""

import gc
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.chain.blueprint import Blueprint
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer
from symposium.mods.ide_ops import IdeOps, IdeTools, OperationError
from symposium.mods.ide_ops_adapter import IdeOpsAdapter
from symposium.planning.chain_spec import read_chain
from symposium.planning.planned_chain import PlannedChain, planned_chain
from symposium.testing import CAPABILITIES, FakeAgent, FakeEditor, chain_of

HAS_IT = {**CAPABILITIES, "_meta": {"symposium": {"version": "1.0", "ide_operations": True}}}
SELECTION = {"selectedText": "x = 1", "message": "5 characters"}


async def use(editor: FakeEditor, tool: str, **arguments: Any) -> str:
    return (await editor.prompt(f"use tool ide::{tool} with {json.dumps(arguments)}")).text


def selecting(editor: FakeEditor) -> list[Any]:
    """Let the editor answer for its selection; what it is asked with."""
    asked: list[Any] = []

    def answer(request: Request) -> dict[str, str]:
        asked.append(request.params)
        return SELECTION

    editor.answers["_symposium/ide/get_selection"] = answer
    return asked


@pytest.mark.requirement("ide.adapter-passes-through")
async def test_an_editor_that_has_operations_answers_them() -> None:
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        asked = selecting(editor)
        await editor.initialize(capabilities=HAS_IT)
        session = await editor.new_session()
        assert json.loads((await use(editor, "get_selection")).removeprefix("OK: ")) == SELECTION
        assert asked == [{"sessionId": session}]


@pytest.mark.requirement("ide.adapter-stands-in")
async def test_the_adapter_answers_for_an_editor_that_has_none(tmp_path: Path) -> None:
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        asked = selecting(editor)
        await editor.new_session(cwd=str(tmp_path))
        said = json.loads((await use(editor, "get_selection")).removeprefix("OK: "))
        assert said == {"selectedText": None, "message": "no editor"}
        answer = await use(editor, "hover", path="a.py", line=1, column=1)
        assert f"{tmp_path}/a.py does not exist" in answer
        assert asked == []


@pytest.mark.requirement("ide.adapter-stands-in")
async def test_the_adapter_answers_for_sessions_while_they_are_open(tmp_path: Path) -> None:
    agent = FakeAgent()
    answers: list[str] = []
    old, new = tmp_path / "old", tmp_path / "new"

    async def hover(session: str) -> None:
        params = {"sessionId": session, "path": "a.py", "line": 1, "column": 1}
        assert agent.connection is not None
        try:
            answers.append(str(await agent.connection.request("_symposium/ide/hover", params)))
        except RpcError as error:
            answers.append(str(error.data))

    async def load(request: Request) -> dict[str, Any]:
        await hover(request.params["sessionId"])
        return {}

    agent.requests |= {"session/load": load, "session/close": lambda _: {}}
    agent.requests["session/fork"] = lambda _: {"sessionId": "forked"}
    async with chain_of(IdeOpsAdapter(), agent=agent) as editor:
        await editor.initialize()
        for method, folder in (("session/load", old), ("session/fork", new)):
            params: dict[str, Any] = {"sessionId": "s", "cwd": str(folder), "mcpServers": []}
            await editor.connection.request(method, params)
        await hover("s")
        await hover("forked")
        await editor.connection.request("session/close", {"sessionId": "s"})
        await hover("s")

    shown = [[str(each) in answer for each in (old, new)] for answer in answers]
    assert shown == [[True, False], [True, False], [False, True], [False, False]]
    assert "unknown_session" in answers[-1]


@pytest.mark.requirement("ide.adapter-stands-in")
@pytest.mark.parametrize("capabilities", [CAPABILITIES, HAS_IT])
async def test_agent_learns_of_operations_in_either_case(
    capabilities: dict[str, Any],
) -> None:
    agent = FakeAgent()
    async with chain_of(IdeOpsAdapter(), IdeOps(), agent=agent) as editor:
        await editor.initialize(capabilities=capabilities)
    (greeting,) = [each for each in agent.received.items if each.method == "initialize"]
    assert greeting.params["clientCapabilities"] == HAS_IT


@pytest.mark.requirement("ide.tools")
@pytest.mark.parametrize("capabilities", [CAPABILITIES, HAS_IT])
async def test_the_tools_are_the_same_in_either_case(capabilities: dict[str, Any]) -> None:
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        await editor.initialize(capabilities=capabilities)
        await editor.new_session()
        said = (await editor.prompt("list tools from ide")).text
    assert re.findall(r"^  - (\w+): ", said, re.MULTILINE) == [
        *("find_symbols", "find_definitions", "find_references"),
        *("hover", "diagnostics", "get_selection"),
    ]


@pytest.mark.requirement("ide.tools")
async def test_each_session_asks_in_its_own_name() -> None:
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        asked = selecting(editor)
        await editor.initialize(capabilities=HAS_IT)
        first, second = await editor.new_session(), await editor.new_session()
        for session in (second, first):
            await editor.prompt("use tool ide::get_selection with {}", session_id=session)
        assert [each["sessionId"] for each in asked] == [second, first]


class Noting(ToolMod):
    """Notes what it learns of the sessions that its tools are for."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[tuple[str, str]] = []

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        return [ToolServer(Path(params["cwd"]).name, [])]

    def session_opened(self, session_id: str, servers: Sequence[ToolServer]) -> None:
        self.notes += [(session_id, server.name) for server in servers]

    def session_ended(self, servers: Sequence[ToolServer]) -> None:
        self.notes += [("ended", server.name) for server in servers]


@pytest.mark.requirement("ide.tools")
async def test_a_mod_learns_which_session_its_tools_are_for_and_when_it_is_over() -> None:
    agent, mod = FakeAgent(), Noting()
    agent.requests["session/close"] = lambda _: {}
    async with chain_of(mod, agent=agent, bridge="off") as editor:
        first, second = await editor.new_session(cwd="/a"), await editor.new_session(cwd="/b")
        await editor.connection.request("session/close", {"sessionId": first})
    assert mod.notes == [(first, "a"), (second, "b"), ("ended", "a")]


def living_tools() -> int:
    gc.collect()
    return sum(isinstance(each, IdeTools) for each in gc.get_objects())


@pytest.mark.requirement("ide.tools")
async def test_tools_of_a_closed_session_are_released() -> None:
    agent = FakeAgent()
    agent.requests["session/close"] = lambda _: {}
    async with chain_of(IdeOpsAdapter(), IdeOps(), agent=agent, bridge="off") as editor:
        first, _ = await editor.new_session(), await editor.new_session()
        before = living_tools()
        await editor.connection.request("session/close", {"sessionId": first})
        assert living_tools() == before - 1


def planned(capabilities: dict[str, Any], *mods: str) -> PlannedChain:
    params = {"protocolVersion": 1, "clientCapabilities": capabilities}
    return planned_chain(read_chain(mods, "eliza"), params)


@pytest.mark.requirement("planning.four-chains")
def test_the_catalog_s_adapter_is_added_exactly_when_the_editor_needs_it() -> None:
    plans = [planned(each, "ide-ops").plan for each in (CAPABILITIES, HAS_IT)]
    assert [[entry.id for entry in made.chain] for made in plans] == [
        ["ide-ops-adapter", "ide-ops"],
        ["ide-ops"],
    ]
    assert plans[0].chain[1].needs.enriches == {"ide_operations": "mcp_tools"}
    mods = planned(CAPABILITIES, "tag", "ide-ops").blueprint.mods
    assert [mod.name for mod in mods][:3] == ["ide-ops-adapter", "tag", "ide-ops"]


@pytest.mark.requirement("planning.prediction-holds")
@pytest.mark.parametrize("capabilities", [CAPABILITIES, HAS_IT])
async def test_the_agent_gets_the_request_that_was_predicted(capabilities: dict[str, Any]) -> None:
    made = planned(capabilities, "ide-ops")
    agent = FakeAgent()
    begun: Blueprint = made.blueprint
    assert begun.params is not None
    async with chain_of(*begun.mods, agent=agent, bridge="off") as editor:
        await editor.initialize(capabilities=begun.params["clientCapabilities"])
    (greeting,) = [each for each in agent.received.items if each.method == "initialize"]
    assert greeting.params["clientCapabilities"] == made.prediction["clientCapabilities"]


@pytest.mark.requirement("ide.tools")
async def test_a_tool_that_is_called_before_its_session_is_open_says_so() -> None:
    with pytest.raises(OperationError, match="the session is not open yet"):
        await IdeTools(IdeOps().client, None).get_selection()


class Asked:
    """An editor's side that records requests, then fails with some data."""

    def __init__(self, data: Any = None) -> None:
        self.data = data
        self.seen: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None) -> Any:
        self.seen.append((method.removeprefix("_symposium/ide/"), params))
        if self.data is not None:
            raise RpcError(INTERNAL_ERROR, self.data)
        return "found"

    def notify(self, method: str, params: Any = None) -> None:
        raise AssertionError([method, params])


@pytest.mark.requirement("ide.tools")
async def test_each_tool_asks_for_its_operation() -> None:
    asked = Asked()
    tools, place = IdeTools(asked, "s"), ("a.py", 3, 7)
    for call in (tools.find_definitions, tools.find_references, tools.hover):
        assert await call(*place) == "found"
    assert await tools.find_symbols("f") == await tools.diagnostics("a.py") == "found"
    at = {"sessionId": "s", "path": "a.py", "line": 3, "column": 7}

    assert asked.seen == [
        ("find_definitions", at),
        ("find_all_references", at),
        ("hover", at),
        ("resolve_symbol_by_name", {"sessionId": "s", "name": "f"}),
        ("diagnostics", {"sessionId": "s", "path": "a.py"}),
    ]


@pytest.mark.requirement("ide.tools")
@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"detail": "no server", "hint": "install one"}, "no server; install one"),
        ({"detail": "no server"}, "no server"),
        ("broken", "Internal error: broken"),
    ],
)
async def test_an_operation_fails_with_its_reason_and_its_hint(data: Any, text: str) -> None:
    with pytest.raises(OperationError) as caught:
        await IdeTools(Asked(data), "s").get_selection()
    assert str(caught.value) == text
