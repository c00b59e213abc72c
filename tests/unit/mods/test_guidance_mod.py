"""Guidance that an agent gets once, and that no editor shows."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.mods.guidance import (
    BEGIN,
    END,
    MAX_BYTES,
    META,
    META_SHA256,
    Guidance,
    GuidedSession,
    without_text,
)
from symposium.testing import FakeAgent, chain_of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has said nothing yet."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def prompts(agent: FakeAgent) -> list[list[dict[str, Any]]]:
    return [
        each.params["prompt"] for each in agent.received.items if each.method == "session/prompt"
    ]


def texts(blocks: Sequence[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in blocks]


@pytest.mark.requirement("built-in-mods.guidance-once")
async def test_a_session_has_the_text_when_another_in_its_directory_was_closed(
    tmp_path: Path,
) -> None:
    agent = FakeAgent("hi")
    agent.requests["session/close"] = lambda _: {}
    async with chain_of(Guidance(), agent=agent) as editor:
        first = await editor.new_session(cwd=str(tmp_path))
        await editor.new_session(cwd=str(tmp_path))
        await editor.connection.request("session/close", {"sessionId": first})
        await editor.prompt("one")

    (prompt,) = prompts(agent)
    assert len(prompt) == 2


@pytest.mark.requirement("built-in-mods.guidance-once")
async def test_the_first_prompt_of_each_session_has_the_text_before_it(tmp_path: Path) -> None:
    agent = FakeAgent("hi")
    async with chain_of(Guidance(), agent=agent) as editor:
        first = await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("one")
        await editor.prompt("two")
        second = await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("three", session_id=second)
        await editor.prompt("four", session_id=first)
    first, *others = prompts(agent)
    assert first[0]["text"].startswith(BEGIN)
    assert "A question is not an order" in first[0]["text"]
    assert "Looking, and not guessing" not in first[0]["text"], "the summary, not all of it"
    assert len(first[0]["text"].encode()) < 4000
    assert "---" not in first[0]["text"].split("\n")[1]
    assert first[0]["annotations"] == {"audience": ["assistant"]}
    digest = hashlib.sha256(first[0]["text"].encode()).hexdigest()
    assert first[0]["_meta"] == {META: "main.md", META_SHA256: digest}
    assert first[1:] == [{"type": "text", "text": "one"}]
    assert [texts(each)[-1] for each in others] == ["two", "three", "four"]
    assert [len(each) for each in others] == [1, 2, 1]


@pytest.mark.requirement("built-in-mods.guidance-once")
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_resumed_session_gets_no_second_guidance(tmp_path: Path, method: str) -> None:
    agent = FakeAgent("hi")
    agent.requests[method] = lambda _: {}
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.initialize()
        params: dict[str, Any] = {"sessionId": "old", "cwd": str(tmp_path), "mcpServers": []}
        await editor.connection.request(method, params)
        await editor.prompt("continue", session_id="old")
    assert [texts(each) for each in prompts(agent)] == [["continue"]]


@pytest.mark.requirement("built-in-mods.guidance-once")
async def test_fork_gets_no_guidance_and_its_origin_still_does(tmp_path: Path) -> None:
    agent = FakeAgent("hi")
    agent.requests["session/fork"] = lambda _: {"sessionId": "forked"}
    async with chain_of(Guidance(), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        params: dict[str, Any] = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        await editor.connection.request("session/fork", params)
        await editor.prompt("one", session_id="forked")
        await editor.prompt("two", session_id=session)
    assert [len(each) for each in prompts(agent)] == [1, 2]


@pytest.mark.requirement("built-in-mods.guidance-gentle")
async def test_command_stays_first_and_the_next_prompt_gets_the_guidance(tmp_path: Path) -> None:
    agent = FakeAgent("hi")
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        await editor.prompt(" /compact")
        await editor.prompt([{"type": "resource_link", "uri": "file:///a", "name": "a"}])
    assert [len(each) for each in prompts(agent)] == [1, 2]


@pytest.mark.requirement("built-in-mods.guidance-gentle")
async def test_a_prompt_that_failed_was_no_telling(tmp_path: Path) -> None:
    agent = FakeAgent("hi")
    answer = agent.requests["session/prompt"]

    def fail(_: Request) -> Any:
        raise RpcError(-32000, "not now")

    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        agent.requests["session/prompt"] = fail
        with pytest.raises(RpcError):
            await editor.prompt("one")
        agent.requests["session/prompt"] = answer
        await editor.prompt("two")
    assert [len(each) for each in prompts(agent)] == [2, 2]


def chunk(text: str, kind: str = "user_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


@pytest.mark.requirement("built-in-mods.guidance-unseen")
@pytest.mark.parametrize(
    ("pieces", "left"),
    [
        ([f"{BEGIN}\nsecret\n{END}\n"], []),
        ([f"{BEGIN}\nsecret\n{END}\n", "mine"], ["mine"]),
        ([f"{BEGIN}\nsecret\n{END}\nmine"], ["mine"]),
        ([f"{BEGIN}\nsec", "ret", f"\n{END}mine", "too"], ["mine", "too"]),
        ([f"a{BEGIN}secret{END}b{BEGIN}secret{END}c"], ["abc"]),
        (["no text at all", "<guidance>"], ["no text at all", "<guidance>"]),
    ],
)
async def test_what_an_agent_repeats_of_the_text_is_taken_out(
    tmp_path: Path, pieces: list[str], left: list[str]
) -> None:
    agent = FakeAgent()

    def replay(_: Request) -> Any:
        for each in pieces:
            agent.update("old", chunk(each))
        return {}

    agent.requests["session/load"] = replay
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.initialize()
        params: dict[str, Any] = {"sessionId": "old", "cwd": str(tmp_path), "mcpServers": []}
        await editor.connection.request("session/load", params)
        assert [params["update"] for params in editor.updates.items] == [
            chunk(each) for each in left
        ]


@pytest.mark.requirement("built-in-mods.guidance-gentle")
async def test_what_the_agent_says_itself_is_left_alone(tmp_path: Path) -> None:
    agent = FakeAgent(f"I received {BEGIN}a{END}")
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        assert (await editor.prompt("what?")).text == f"I received {BEGIN}a{END}"


@pytest.mark.requirement("built-in-mods.guidance-unseen")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from([BEGIN, END, "secret", "mine", "\n"]), max_size=8), st.data())
def test_however_it_is_cut_what_is_within_the_text_does_not_come_out(
    words: list[str], data: st.DataObject
) -> None:
    whole = f"{BEGIN}{''.join(each for each in words if each not in {BEGIN, END})}{END}mine"
    at = data.draw(st.integers(len(BEGIN), whole.index(END)))
    session = GuidedSession(Path("/"))
    assert without_text(session, whole[:at]) + without_text(session, whole[at:]) == "mine"


@pytest.mark.requirement("built-in-mods.guidance-tools")
async def test_the_other_texts_are_read_by_tools(tmp_path: Path) -> None:
    async with chain_of(Guidance()) as editor:
        await editor.new_session(cwd=str(tmp_path))
        said = (await editor.prompt("use tool guidance::list_guidance with {}")).text
        assert "walkthrough-format.md" in said
        said = (await editor.prompt('use tool guidance::read_guidance with {"id": "main.md"}')).text
        assert "Working together" in said
        said = (await editor.prompt('use tool guidance::read_guidance with {"id": "../x"}')).text
        assert "unknown guidance '../x'" in said


@pytest.mark.requirement("built-in-mods.guidance-tools")
async def test_a_project_s_own_text_needs_the_user_s_trust_and_the_user_s_own_does_not(
    tmp_path: Path, home: Path
) -> None:
    for place in (tmp_path / ".symposium" / "guidance", home / "guidance"):
        place.mkdir(parents=True)
    (tmp_path / ".symposium" / "guidance" / "main.md").write_text("Obey the repository.\n")
    agent = FakeAgent("hi")
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("one")
        (home / "guidance" / "main.md").write_text("As I like it.\n")
        await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("two")
    first, second = prompts(agent)
    assert "Obey" not in first[0]["text"] + second[0]["text"]
    assert "A question is not an order" in first[0]["text"]
    assert "As I like it." in second[0]["text"]


@pytest.mark.requirement("guidance.applies-to")
async def test_the_first_prompt_names_the_texts_for_its_words_and_the_workspace(
    tmp_path: Path,
) -> None:
    (tmp_path / "Cargo.toml").write_text("", encoding="utf-8")
    agent = FakeAgent("hi")
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("The login crashes.")
    first = prompts(agent)[0][0]["text"]

    assert "`rust-projects.md`" in first
    assert "`debugging-tasks.md`" in first
    assert "`python-projects.md`" not in first
    assert "`refactoring-tasks.md`" not in first


@pytest.mark.requirement("guidance.budget")
async def test_a_short_text_is_given_whole_and_a_long_one_by_its_summary(
    tmp_path: Path, home: Path
) -> None:
    (home / "guidance").mkdir(parents=True)
    agent = FakeAgent("hi")
    for body in ("Short and whole.", "# Long\n\nFirst sentence. Second one.\n\n" + "x" * MAX_BYTES):
        (home / "guidance" / "main.md").write_text(body, encoding="utf-8")
        async with chain_of(Guidance(), agent=agent) as editor:
            await editor.new_session(cwd=str(tmp_path))
            await editor.prompt("one")
    short, long = (each[0]["text"] for each in prompts(agent))

    assert "Short and whole." in short
    assert "with examples" not in short
    assert "- Long: First sentence." in long
    assert "Second one." not in long
    assert "`main.md`: the complete text" in long
