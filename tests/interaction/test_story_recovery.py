"""Agents that crash, and their sessions (users A-4, A-5)."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.support.chain_harness import Peer
from tests.support.run_mode_harness import CONFIG, RunModeHarness, run_mode_harness

from symposium.chain.mod import Mod
from symposium.chain.restart_policy import RUN_MODE

RESUMES: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}},
}
LOADS: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
END = {"stopReason": "end_turn"}
OPTIONS: dict[str, Any] = {"configOptions": [{"id": "mode", "name": "Mode", "type": "select"}]}
ORIGIN: dict[str, Any] = {"cwd": "/", "mcpServers": []}


@dataclass
class Clock:
    """Time that a test advances."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Story:
    """One session whose agent crashes."""

    it: RunModeHarness
    agent: Peer
    chains: int = 1

    async def crashes_in_turn(self, text: str = "go") -> int:
        """Let a prompt reach the agent, which then crashes; return the prompt's id."""
        turn = self.it.prompt(text)
        assert (await self.agent.read())["method"] == "session/prompt"
        await self.agent.hang_up()
        return turn

    async def next_agent(self, result: dict[str, Any] | None = None) -> Peer:
        """Return the agent that was started as a replacement, initialized."""
        self.chains += 1
        self.agent = await self.it.initialized_agent(self.chains, result)
        return self.agent

    async def notice(self) -> str:
        """Return the next notice for the editor."""
        message = await self.it.editor.read()
        assert message["method"] == "session/update", message
        assert message["params"]["sessionId"] == "s"
        return message["params"]["update"]["content"]["text"]

    async def fails(self, turn: int) -> dict[str, Any]:
        """Return the error that ends a turn."""
        answer = await self.it.editor.read()
        assert answer["id"] == turn, answer
        return answer["error"]


async def begun(it: RunModeHarness, result: dict[str, Any] | None = None) -> Story:
    agent = await it.open(result)
    assert agent is not None
    await it.session(agent)
    return Story(it, agent)


async def resumed(story: Story) -> Peer:
    """Return the next agent, after it has resumed the session."""
    agent = await story.next_agent(RESUMES)
    request = await agent.read()
    assert request["method"] == "session/resume"
    assert request["params"] == {"sessionId": "s", **ORIGIN}
    agent.answer(request, {})
    return agent


def text(content: str, session: str = "s") -> dict[str, Any]:
    block = {"type": "text", "text": content}
    return {
        "sessionId": session,
        "update": {"sessionUpdate": "agent_message_chunk", "content": block},
    }


@pytest.mark.requirement("stories.a-04-told-once", "stories.a-04-resumed")
async def test_session_is_resumed_by_a_new_agent_with_one_notice(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn()
        agent = await resumed(story)
        told = await story.notice()
        assert "`claude` closed the connection. It was restarted" in told
        assert "continues where it left off" in told
        assert "/symposium:retry" in told
        assert (await story.fails(turn))["data"]["reason"] == "component_exited"

        turn = it.prompt("and now")
        prompt = await agent.read()
        assert prompt["params"]["sessionId"] == "s"
        agent.tell("session/update", text("yes"))
        agent.answer(prompt, END)
        assert await it.said(turn) == (["yes"], {"jsonrpc": "2.0", "id": turn, "result": END})


@pytest.mark.requirement("stories.a-04-loaded")
async def test_replayed_history_is_not_shown_again_but_state_changes_are(
    tmp_path: Path,
) -> None:
    mode = {
        "sessionId": "s",
        "update": {"sessionUpdate": "current_mode_update", "currentModeId": "m"},
    }
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, LOADS)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent(LOADS)
        request = await agent.read()
        assert request["method"] == "session/load"
        for kind in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"):
            old = text("old")
            old["update"]["sessionUpdate"] = kind
            agent.tell("session/update", old)
        for kind in ("tool_call", "tool_call_update", "plan"):
            call = {"sessionUpdate": kind, "toolCallId": "t"}
            agent.tell("session/update", {"sessionId": "s", "update": call})
        agent.tell("session/update", mode)
        agent.answer(request, {})
        assert "restarted" in await story.notice()
        assert await story.fails(turn)
        assert (await it.editor.read())["params"] == mode
        agent.tell("session/update", text("new"))
        assert await story.notice() == "new"


@pytest.mark.requirement("stories.a-04-falls-back")
async def test_refused_way_to_resume_is_followed_by_the_next(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent(RESUMES)
        asked: list[str] = []
        for _ in range(2):
            request = await agent.read()
            asked.append(request["method"])
            agent.refuse(request, -32002)
        assert asked == ["session/resume", "session/load"]
        request = await agent.read()
        assert (request["method"], request["params"]) == ("session/new", ORIGIN)
        agent.answer(request, {"sessionId": "other"})
        assert "fresh context" in await story.notice()
        assert await story.fails(turn)


@pytest.mark.requirement("stories.a-04-falls-back", "stories.a-04-loaded")
async def test_session_that_is_loaded_after_a_refused_resume_continues(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent(RESUMES)
        agent.refuse(await agent.read(), -32002)
        request = await agent.read()
        assert (request["method"], request["params"]) == (
            "session/load",
            {"sessionId": "s", **ORIGIN},
        )
        agent.tell("session/update", text("old"))
        agent.answer(request, {})
        assert "continues where it left off" in await story.notice()
        assert await story.fails(turn)
        agent.tell("session/update", text("new"))
        assert await story.notice() == "new"


@pytest.mark.requirement("stories.a-04-offered")
async def test_interrupted_prompt_is_sent_again_once_when_the_user_agrees(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn("do it")
        agent = await resumed(story)
        await story.notice()
        await story.fails(turn)
        turn = it.prompt("/symposium:retry")
        prompt = await agent.read()
        block = {"type": "text", "text": "do it"}
        assert prompt["params"] == {"sessionId": "s", "prompt": [block]}
        agent.answer(prompt, END)
        assert (await it.editor.read())["id"] == turn
        assert "no unanswered message" in "".join(await it.say("/symposium:retry"))
        assert agent.unread == []


@pytest.mark.requirement("stories.a-04-offered")
async def test_another_prompt_replaces_the_interrupted_one(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn("do it")
        agent = await resumed(story)
        await story.notice()
        await story.fails(turn)
        turn = it.prompt("something else")
        agent.answer(await agent.read(), END)
        assert (await it.editor.read())["id"] == turn
        assert "no unanswered message" in "".join(await it.say("/symposium:retry"))


@pytest.mark.requirement("stories.a-04-waits")
async def test_prompts_sent_meanwhile_wait_for_the_agent_in_order(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        await story.agent.hang_up()
        agent = await story.next_agent(RESUMES)
        request = await agent.read()
        it.editor.ask("mode", "session/set_mode", {"sessionId": "s", "modeId": "m"})
        turn = it.prompt("hello")
        agent.answer(request, {})
        assert "restarted" in await story.notice()
        first, second = await agent.reads(2)
        assert (first["method"], second["method"]) == ("session/set_mode", "session/prompt")
        agent.answer(second, END)
        assert (await it.editor.read())["id"] == turn


@pytest.mark.requirement("stories.a-04-waits")
async def test_prompt_that_waits_for_the_agent_can_be_canceled(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        await story.agent.hang_up()
        agent = await story.next_agent(RESUMES)
        request = await agent.read()
        turn = it.prompt("hello")
        it.editor.ask("mode", "session/set_mode", {"sessionId": "s", "modeId": "m"})
        it.editor.tell("session/cancel", {"sessionId": "s"})
        answer = await it.editor.read()
        assert (answer["id"], answer["result"]) == (turn, {"stopReason": "cancelled"})
        agent.answer(request, {})
        assert "/symposium:retry" not in await story.notice()
        assert (await agent.read())["method"] == "session/set_mode"
        assert agent.unread == []


@pytest.mark.requirement("stories.a-04-gives-up", "stories.a-04-stopped")
async def test_restart_stops_after_three_failures_until_the_user_asks_again(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with run_mode_harness(
        tmp_path, CONFIG, settings={"restart_policy": structs.replace(RUN_MODE, clock=clock)}
    ) as it:
        story = await begun(it, RESUMES)
        for _ in range(2):
            turn = await story.crashes_in_turn()
            await resumed(story)
            await story.notice()
            await story.fails(turn)
            clock.seconds += 100
        turn = await story.crashes_in_turn("third")
        told = await story.notice()
        assert "failed 3 times within 5 minutes, so Symposium does not restart it again" in told
        assert "/symposium:retry" in told
        await story.fails(turn)

        texts, answer = await it.said(it.prompt("hello"))
        assert "is not running" in "".join(texts)
        assert answer["error"]["data"]["reason"] == "agent_not_running"
        assert "`/symposium:retry`" in answer["error"]["message"]

        it.write_config({"agent": "other"})
        turn = it.prompt("/symposium:retry")
        agent = await resumed(story)
        assert it.workshop.started.items[-1][0].agent == "other"
        await story.notice()
        prompt = await agent.read()
        assert prompt["params"]["prompt"][0]["text"] == "third"
        agent.answer(prompt, END)
        assert (await it.editor.read())["id"] == turn


@pytest.mark.requirement("stories.a-04-gives-up")
async def test_old_failures_do_not_count(tmp_path: Path) -> None:
    clock = Clock()
    async with run_mode_harness(
        tmp_path, CONFIG, settings={"restart_policy": structs.replace(RUN_MODE, clock=clock)}
    ) as it:
        story = await begun(it, RESUMES)
        for _ in range(5):
            await story.agent.hang_up()
            await resumed(story)
            assert "continues where it left off" in await story.notice()
            clock.seconds += 151


@pytest.mark.requirement("stories.a-04-gives-up")
async def test_agent_that_does_not_start_again_is_given_up_with_the_reason(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, {"agent": "claude"}) as it:
        story = await begun(it, RESUMES)
        await story.agent.hang_up()
        for number in (2, 3):
            (await it.chain(number)).refuse(await (await it.chain(number)).read(), -32603, "broken")
        told = await story.notice()
        assert "failed 3 times" in told
        assert "broken" in told


@pytest.mark.requirement("stories.a-04-resumed", "stories.a-04-gives-up")
async def test_agent_that_crashes_while_it_resumes_is_replaced_again(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent(RESUMES)
        assert (await agent.read())["method"] == "session/resume"
        await agent.hang_up()
        agent = await resumed(story)
        assert "It was restarted; this session continues" in await story.notice()
        await story.fails(turn)
        # Nothing of the second agent holds the session's messages.
        agent.tell("session/update", text("new"))
        assert await story.notice() == "new"


@pytest.mark.requirement("stories.a-04-gives-up")
@pytest.mark.parametrize(("result", "reason"), [({}, "session_without_id"), (None, "no_answer")])
async def test_session_that_the_new_agent_does_not_open_is_given_up_with_the_reason(
    tmp_path: Path, result: dict[str, Any] | None, reason: str
) -> None:
    policy = structs.replace(RUN_MODE, reopen_timeout=60.0 if result is not None else 0.01)
    async with run_mode_harness(tmp_path, CONFIG, settings={"restart_policy": policy}) as it:
        story = await begun(it)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent()
        request = await agent.read()
        assert (request["method"], request["params"]) == ("session/new", ORIGIN)
        if result is not None:
            agent.answer(request, result)
        told = await story.notice()
        assert (
            "`claude` closed the connection. It was restarted but did not open this session" in told
        )
        assert reason in told
        assert (await story.fails(turn))["data"]["reason"] == "component_exited"
        # Messages of other sessions no longer wait for the one that does not open.
        agent.tell("session/update", text("unheld", "other"))
        update = (await it.editor.read())["params"]
        assert update == text("unheld", "other")


@pytest.mark.requirement("stories.a-04-resumed")
async def test_session_that_was_closed_meanwhile_is_not_resumed(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        await it.session(story.agent, "kept")
        await story.agent.hang_up()
        agent = await it.chain(2)
        greeting = await agent.read()
        it.editor.ask("close", "session/close", {"sessionId": "s"})
        assert (await it.editor.read())["result"] == {}
        agent.answer(greeting, RESUMES)
        request = await agent.read()
        assert request["params"]["sessionId"] == "kept"
        agent.answer(request, {})
        told = (await it.editor.read())["params"]
        assert told["sessionId"] == "kept"
        assert "continues where it left off" in told["update"]["content"]["text"]
        assert not agent.unread


@pytest.mark.requirement("stories.a-04-slow")
async def test_waiting_user_is_informed_at_once_and_of_the_outcome_later(tmp_path: Path) -> None:
    terms = structs.replace(RUN_MODE, tell_after=0.01)
    async with run_mode_harness(tmp_path, CONFIG, settings={"restart_policy": terms}) as it:
        story = await begun(it, RESUMES)
        turn = await story.crashes_in_turn()
        told = await story.notice()
        assert "closed the connection. It is being restarted." in told
        assert "/symposium:retry" in told
        await story.fails(turn)
        await resumed(story)
        later = await story.notice()
        assert "continues where it left off" in later
        assert "closed the connection" not in later
        assert "/symposium:retry" not in later


@pytest.mark.requirement("stories.a-04-end")
async def test_no_agent_is_started_for_an_editor_that_disconnects_meanwhile(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        await story.crashes_in_turn()
        new = await it.chain(2)
        assert await new.read()
        assert await it.over() == 0
        assert len(it.workshop.started.items) == 2


@pytest.mark.requirement("stories.a-05-fresh")
async def test_agent_without_session_load_has_a_fresh_context_in_the_same_session(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it)
        turn = await story.crashes_in_turn()
        agent = await story.next_agent()
        request = await agent.read()
        assert request["method"] == "session/new"
        agent.tell("session/update", text("early", "n"))
        agent.answer(request, {"sessionId": "n"})
        told = await story.notice()
        assert "fresh context" in told
        assert "/symposium:recap" in told
        await story.fails(turn)
        assert await story.notice() == "early"

        turn = it.prompt("hello")
        prompt = await agent.read()
        assert prompt["params"]["sessionId"] == "n"
        agent.tell("session/update", text("yes", "n"))
        agent.answer(prompt, END)
        assert (await it.said(turn))[0] == ["yes"]

        # The editor still uses this id for the first one, so no other session gets it.
        it.editor.ask("new", "session/new", ORIGIN)
        agent.answer(await agent.read(), {"sessionId": "s"})
        assert (await it.editor.read())["result"]["sessionId"] != "s"


@pytest.mark.requirement("stories.a-05-recap", "stories.a-04-offered")
async def test_summary_is_sent_on_request_and_the_prompt_after_it(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it)
        assert "nothing to summarize" in "".join(await it.say("/symposium:recap"))
        turn = it.prompt("What is the word?")
        prompt = await story.agent.read()
        for part in ("It is ", "shibboleth."):
            story.agent.tell("session/update", text(part))
        story.agent.answer(prompt, END)
        await it.said(turn)

        turn = await story.crashes_in_turn("spell it")
        agent = await story.next_agent()
        request = await agent.read()
        recap = it.prompt("/symposium:recap")
        agent.answer(request, {"sessionId": "n", **OPTIONS})
        await story.notice()
        assert (await it.editor.read())["params"] == {
            "sessionId": "s",
            "update": {"sessionUpdate": "config_option_update", **OPTIONS},
        }
        await story.fails(turn)

        turn = recap
        prompt = await agent.read()
        sent = prompt["params"]["prompt"][0]["text"]
        assert "User: What is the word?" in sent
        assert "Agent: It is shibboleth." in sent
        agent.answer(prompt, END)
        assert (await it.editor.read())["id"] == turn

        it.prompt("/symposium:retry")
        assert (await agent.read())["params"]["prompt"][0]["text"] == "spell it"


@pytest.mark.requirement("stories.a-04-resumed")
async def test_crash_between_turns_is_recovered_without_an_offer(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        story = await begun(it, RESUMES)
        await story.agent.hang_up()
        await resumed(story)
        told = await story.notice()
        assert "continues where it left off" in told
        assert "/symposium:retry" not in told


@pytest.mark.requirement("stories.a-04-one-at-a-time")
async def test_new_agent_is_started_after_every_process_of_the_old_one_has_ended(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        ended, may_continue = asyncio.Event(), asyncio.Event()
        seen: list[int] = []

        class Slow(Mod):
            async def aclose(self) -> None:
                if not seen:
                    ended.set()
                    await may_continue.wait()
                    seen.append(len(it.workshop.started.items))

        it.workshop.mods["sparkle"] = Slow
        story = await begun(it, RESUMES)
        await story.agent.hang_up()
        await ended.wait()
        may_continue.set()
        await resumed(story)
        assert seen == [1]
