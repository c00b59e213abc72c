"""Turns that the user cancels (users A-6)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from tests.support.run_mode_harness import CONFIG, run_mode_harness

from symposium.chain.restart_policy import RUN_MODE

HASTY = {"restart_policy": structs.replace(RUN_MODE, cancel_grace=0.02)}
CANCELLED = {"stopReason": "cancelled"}
QUESTION: dict[str, Any] = {
    "toolCall": {"toolCallId": "t1"},
    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
}
CALL: dict[str, Any] = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "do it"}


@pytest.mark.requirement("stories.a-06-permission")
async def test_cancel_answers_the_requests_of_its_session_only(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        turn = it.prompt("go")
        prompt = await agent.read()
        agent.tell("session/update", {"sessionId": "s", "update": CALL})
        agent.ask(1, "session/request_permission", {"sessionId": "s", **QUESTION})
        agent.ask(2, "session/request_permission", {"sessionId": "t", **QUESTION})
        _, ours, others = await it.editor.reads(3)
        it.editor.tell("session/other", {"sessionId": "s"})
        it.editor.tell("session/cancel", {"sessionId": "s"})
        other, cancel, answer = await agent.reads(3)
        assert [other["method"], cancel["method"]] == ["session/other", "session/cancel"]
        assert (answer["id"], answer["result"]) == (1, {"outcome": {"outcome": "cancelled"}})

        # Too late: no request waits for it.
        chosen = {"outcome": {"outcome": "selected", "optionId": "y"}}
        it.editor.answer(ours, chosen)
        it.editor.answer(others, chosen)
        answer = await agent.read()
        assert (answer["id"], answer["result"]) == (2, chosen)
        agent.answer(prompt, CANCELLED)
        answer = await it.editor.read()
        assert (answer["id"], answer["result"]) == (turn, CANCELLED)


@pytest.mark.requirement("stories.a-06-in-time")
async def test_turn_that_ignores_a_cancel_ends_with_its_agent_and_the_next_prompt_works(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings=HASTY) as it:
        agent = await it.begin()
        turn = it.prompt("go")
        await agent.read()
        it.editor.tell("session/cancel", {"sessionId": "s"})
        answer = await it.editor.read()
        assert (answer["id"], answer["result"]) == (turn, CANCELLED)
        await agent.over.wait()

        turn = it.prompt("again")
        second = await it.initialized_agent(2)
        second.answer(await second.read(), {"sessionId": "n"})
        notice = (await it.editor.read())["params"]["update"]["content"]["text"]
        assert "`claude` did not stop when asked, so it was killed." in notice
        assert "not answered" not in notice
        prompt = await second.read()
        assert prompt["params"]["prompt"][0]["text"] == "again"
        second.answer(prompt, {"stopReason": "end_turn"})
        assert (await it.editor.read())["id"] == turn


@pytest.mark.requirement("stories.a-06-in-time", "stories.a-04-offered")
async def test_other_session_in_a_turn_is_informed_and_offered_its_prompt(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings=HASTY) as it:
        agent = await it.begin()
        await it.session(agent, "t")
        it.prompt("go")
        other = it.prompt("mine", "t")
        await agent.reads(2)
        it.editor.tell("session/cancel", {"sessionId": "s"})
        assert (await it.editor.read())["result"] == CANCELLED
        second = await it.initialized_agent(2)
        for name in ("n", "m"):
            second.answer(await second.read(), {"sessionId": name})
        texts, answer = await it.said(other)
        assert "/symposium:retry" in texts[-1]
        assert answer["error"]["data"]["reason"] == "cancel_ignored"


@pytest.mark.requirement("stories.a-06-twice")
async def test_second_cancel_and_cancel_without_a_turn_do_no_harm(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG, settings=HASTY) as it:
        agent = await it.begin()
        it.editor.tell("session/cancel", {"sessionId": "s"})
        turn = it.prompt("go")
        cancel, prompt = await agent.reads(2)
        assert cancel["method"] == "session/cancel"
        for _ in range(2):
            it.editor.tell("session/cancel", {"sessionId": "s"})
        await agent.reads(2)
        agent.answer(prompt, CANCELLED)
        answer = await it.editor.read()
        assert (answer["id"], answer["result"]) == (turn, CANCELLED)
        it.editor.tell("session/cancel", {"sessionId": "s"})
        await agent.read()

        # Another turn, which is still open when the grace period of the last one ends.
        turn = it.prompt("take your time")
        prompt = await agent.read()
        is_over = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, is_over.set)
        await is_over.wait()
        agent.answer(prompt, {"stopReason": "end_turn"})
        answer = await it.editor.read()
        assert (answer["id"], answer["result"]["stopReason"]) == (turn, "end_turn")
        assert len(it.workshop.started.items) == 1
