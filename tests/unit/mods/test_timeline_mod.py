"""The mod that keeps timelines, in a chain."""

from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.documents.timelines import TimelineStore, TurnObserver
from symposium.mods.timeline import TimelineMod
from symposium.testing import FakeAgent, chain_of

CHUNK = "agent_message_chunk"


def entries_of(store: TimelineStore, session: str) -> list[tuple[str, Any]]:
    return [(entry.type, entry.data) for entry in store.read(session)]


@pytest.mark.requirement("timelines.mod-keeps")
async def test_a_turn_is_kept_in_short(tmp_path: Path) -> None:
    agent = FakeAgent()
    store = TimelineStore(tmp_path)

    async def answer(request: Request) -> dict[str, Any]:
        session = request.params["sessionId"]
        call = {"toolCallId": "t", "title": "Test", "kind": "execute", "status": "pending"}
        agent.update(session, {"sessionUpdate": "tool_call", **call})
        agent.say(session, "Let me ")
        assert agent.connection is not None
        options = [{"optionId": "y", "name": "Yes, once", "kind": "allow_once"}]
        question = {"sessionId": session, "toolCall": call, "options": options}
        await agent.connection.request("session/request_permission", question)
        content = [{"type": "content", "content": {"type": "text", "text": "2 passed"}}]
        update: dict[str, Any] = {"toolCallId": "t", "status": "completed", "content": content}
        update["rawInput"] = {"command": "pytest"}
        agent.update(session, {"sessionUpdate": "tool_call_update", **update})
        plan = [{"content": "one", "status": "pending", "priority": "high"}]
        agent.update(session, {"sessionUpdate": "plan", "entries": plan})
        agent.say(session, "see.")
        return {"stopReason": "end_turn"}

    agent.requests["session/prompt"] = answer
    async with chain_of(TimelineMod(store), agent=agent) as editor:
        session = await editor.new_session(cwd="/work")
        await editor.prompt("Do it")

    assert entries_of(store, session) == [
        ("session", {"session": session, "cwd": "/work", "agent": "fake-agent"}),
        ("prompt", {"text": "Do it"}),
        ("permission", {"title": "Test", "chosen": "Yes, once"}),
        (
            "tool",
            {
                "id": "t",
                "title": "Test",
                "kind": "execute",
                "status": "completed",
                "command": "pytest",
                "output": "2 passed",
            },
        ),
        ("said", {"text": "Let me see."}),
        ("plan", {"entries": [{"content": "one", "status": "pending", "priority": "high"}]}),
        ("stop", {"reason": "end_turn"}),
    ]


@pytest.mark.requirement("timelines.mod-keeps")
async def test_a_turn_that_fails_is_kept_with_its_error(tmp_path: Path) -> None:
    agent = FakeAgent()
    store = TimelineStore(tmp_path)

    def answer(_: Request) -> dict[str, Any]:
        raise RpcError(-32000, "no credit")

    agent.requests["session/prompt"] = answer
    async with chain_of(TimelineMod(store), agent=agent) as editor:
        session = await editor.new_session()
        with pytest.raises(RpcError):
            await editor.prompt("Do it")

    kind, data = entries_of(store, session)[-1]
    assert kind == "stop"
    assert "no credit" in data["reason"]


@pytest.mark.requirement("timelines.no-replay-twice")
async def test_what_a_loaded_session_replays_is_not_kept_again(tmp_path: Path) -> None:
    agent = FakeAgent("New.")
    store = TimelineStore(tmp_path)

    def load(request: Request) -> dict[str, Any]:
        agent.say(request.params["sessionId"], "Old.")
        return {}

    agent.requests["session/load"] = load
    async with chain_of(TimelineMod(store), agent=agent) as editor:
        await editor.initialize()
        params: dict[str, Any] = {"sessionId": "s", "cwd": "/", "mcpServers": []}
        await editor.connection.request("session/load", params)
        await editor.prompt("Continue", session_id="s")

    assert [data["text"] for kind, data in entries_of(store, "s") if kind == "said"] == ["New."]


@pytest.mark.requirement("timelines.bounded")
async def test_end_of_a_flood_of_text_is_saved(tmp_path: Path) -> None:
    agent = FakeAgent()
    store = TimelineStore(tmp_path)
    mod = TimelineMod(store)
    held: list[int] = []

    def record_held(_: Request) -> dict[str, Any]:
        held.append(mod.held)
        return {"outcome": {"outcome": "cancelled"}}

    async def answer(request: Request) -> dict[str, Any]:
        assert agent.connection is not None
        session_id = request.params["sessionId"]
        for at in range(1000):
            agent.say(session_id, f"{at:06}." + "x" * 1000)
        question: dict[str, Any] = {"sessionId": session_id, "toolCall": {}, "options": []}
        await agent.connection.request("session/request_permission", question)
        return {"stopReason": "end_turn"}

    agent.requests["session/prompt"] = answer
    async with chain_of(mod, agent=agent) as editor:
        editor.answers["session/request_permission"] = record_held
        session = await editor.new_session()
        await editor.prompt("Talk")

    (said,) = [data["text"] for kind, data in entries_of(store, session) if kind == "said"]
    assert len(said) <= 16 * 1024
    assert "000999." in said
    assert 200 * 1024 < held[0] <= 256 * 1024
    assert mod.held == 0


@pytest.mark.requirement("timelines.bounded")
def test_the_observer_of_a_turn_keeps_no_more_text_than_it_tells() -> None:
    observer = TurnObserver()
    for _ in range(1000):
        chunk = {"type": "text", "text": "x" * 1000}
        assert not list(observer.updated({"sessionUpdate": CHUNK, "content": chunk}))

    assert observer.held <= 17 * 1024


@pytest.mark.requirement("timelines.mod-keeps")
async def test_a_directory_that_cannot_be_written_stops_no_turn(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    agent = FakeAgent("Fine.")
    async with chain_of(TimelineMod(TimelineStore(blocked)), agent=agent) as editor:
        turn = await editor.prompt("Hello")

    assert turn.text == "Fine."


@pytest.mark.requirement("showing.user-words")
def test_what_is_for_the_agent_alone_is_nothing_that_the_user_has_said() -> None:
    ours = {"type": "text", "text": "how we work", "annotations": {"audience": ["assistant"]}}
    both = {"type": "text", "text": "Go", "annotations": {"audience": ["user", "assistant"]}}

    ((_, data),) = TurnObserver().prompted({"prompt": [ours, both]})

    assert data == {"text": "Go"}


@pytest.mark.requirement("timelines.mod-keeps")
def test_a_turn_starts_without_the_text_plan_and_calls_of_the_last_one() -> None:
    observer = TurnObserver()
    chunk = {"type": "text", "text": "Done."}
    entries = [{"content": "one", "status": "pending", "priority": "high"}]
    call = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Test", "status": "pending"}
    updates = (
        {"sessionUpdate": CHUNK, "content": chunk},
        {"sessionUpdate": "plan", "entries": entries},
        call,
    )

    assert [each for update in updates for each in observer.updated(update)] == []
    assert [kind for kind, _ in observer.stopped("end_turn")] == ["said", "plan", "tool", "stop"]
    assert list(observer.stopped("cancelled")) == [("stop", {"reason": "cancelled"})]
    assert observer.held == 0


@pytest.mark.requirement("timelines.no-replay-twice", "timelines.mod-keeps")
async def test_calls_of_a_replay_and_of_a_closed_session_are_not_kept(tmp_path: Path) -> None:
    agent = FakeAgent()
    store = TimelineStore(tmp_path)

    def call(session: str, title: str) -> None:
        update = {"toolCallId": title, "title": title, "status": "completed"}
        agent.update(session, {"sessionUpdate": "tool_call", **update})

    async def question(session: str) -> None:
        assert agent.connection is not None
        params: dict[str, Any] = {"sessionId": session, "toolCall": {}, "options": []}
        await agent.connection.request("session/request_permission", params)

    def load(_: Request) -> dict[str, Any]:
        call("s", "old")
        return {}

    agent.requests["session/load"] = load
    agent.requests["session/close"] = lambda _: {}
    async with chain_of(TimelineMod(store), agent=agent) as editor:
        await editor.initialize()
        params: dict[str, Any] = {"sessionId": "s", "cwd": "/", "mcpServers": []}
        await editor.connection.request("session/load", params)
        call("s", "new")
        call("unknown", "odd")
        await question("unknown")
        await editor.connection.request("session/close", {"sessionId": "s"})
        call("s", "late")
        await question("s")

    tools = [data["title"] for kind, data in entries_of(store, "s") if kind == "tool"]
    assert tools == ["new"]
    assert "permission" not in {kind for kind, _ in entries_of(store, "s")}


@pytest.mark.requirement("timelines.mod-keeps")
@pytest.mark.parametrize(
    ("info", "name"),
    [({"name": "a", "title": "An Agent"}, "An Agent"), ({"name": "a"}, "a"), (None, ""), (7, "")],
)
async def test_timeline_names_the_agent_by_its_title_or_name(
    info: Any, name: str, tmp_path: Path
) -> None:
    agent = FakeAgent()
    agent.requests["initialize"] = lambda _: {"protocolVersion": 1, "agentInfo": info}
    store = TimelineStore(tmp_path)
    async with chain_of(TimelineMod(store), agent=agent) as editor:
        session = await editor.new_session()

    assert entries_of(store, session)[0][1]["agent"] == name
