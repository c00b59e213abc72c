"""Requests between the editor and the agents of run mode, and what belongs to them."""

from pathlib import Path

import pytest
from tests.support.run_mode_harness import CONFIG, run_mode_harness

from peerwire.errors import INTERNAL_ERROR


@pytest.mark.requirement("run-mode.table-delegating-forward")
@pytest.mark.parametrize("is_in_menu", [False, True])
async def test_request_that_an_agent_cancels_is_canceled_at_the_editor(
    tmp_path: Path, *, is_in_menu: bool
) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        agent.ask("p", "session/request_permission", {"sessionId": "s"})
        asked = await it.editor.read()
        if is_in_menu:
            await it.say("/symposium:config")
        agent.tell("$/cancel_request", {"requestId": "p"})
        canceled = await it.editor.read()
        assert (canceled["method"], canceled["params"]) == (
            "$/cancel_request",
            {"requestId": asked["id"]},
        )


@pytest.mark.requirement("run-mode.table-delegating-forward")
async def test_answered_permission_is_not_withdrawn_with_the_turn(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        turn = it.prompt("go")
        prompt = await agent.read()
        for name in ("first", "second"):
            agent.ask(name, "session/request_permission", {"sessionId": "s"})
        first, second = await it.editor.reads(2)
        it.editor.answer(first, {"outcome": {"outcome": "selected", "optionId": "yes"}})
        assert (await agent.read())["result"]["outcome"]["optionId"] == "yes"
        it.editor.tell("session/cancel", {"sessionId": "s"})
        messages = await agent.reads(2)
        withdrawn = next(each for each in messages if "result" in each)
        assert withdrawn["id"] == "second"
        assert withdrawn["result"] == {"outcome": {"outcome": "cancelled"}}
        it.editor.answer(second, {"outcome": {"outcome": "selected", "optionId": "late"}})
        agent.answer(prompt, {"stopReason": "cancelled"})
        _, answer = await it.said(turn)
        assert answer["result"] == {"stopReason": "cancelled"}
        assert agent.unread == []


@pytest.mark.requirement("run-mode.mending-kept")
async def test_second_session_new_has_all_members_of_the_first(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        request = {"jsonrpc": "2.0", "id": "new", "method": "session/new", "trace": [1, "x"]}
        it.editor.write({**request, "params": {"cwd": "/w", "more": {"a": None}}})
        first = await agent.read()
        agent.refuse(first, INTERNAL_ERROR, "busy")
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        it.prompt("Hello", session)
        second = await agent.read()

        assert first["trace"] == [1, "x"]
        assert {**second, "id": first["id"]} == first


@pytest.mark.requirement("run-mode.mending-retry")
async def test_agent_that_names_no_session_is_reported_again(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.open()
        assert agent is not None
        it.editor.ask("new", "session/new", {"cwd": "/w"})
        agent.refuse(await agent.read(), INTERNAL_ERROR, "busy")
        session = (await it.editor.reads(3))[0]["result"]["sessionId"]
        turn = it.prompt("Hello", session)
        agent.answer(await agent.read(), {})
        texts, _ = await it.said(turn)

        assert "session_without_id" in "".join(texts)


@pytest.mark.requirement("run-mode.fork")
async def test_error_of_a_fork_is_for_the_editor(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        it.editor.ask(1, "session/fork", {"sessionId": "s"})
        agent.refuse(await agent.read(), INTERNAL_ERROR, "busy")
        answer = await it.editor.read()
        assert (answer["id"], answer["error"]["data"]) == (1, "busy")
        it.prompt("continue")
        assert (await agent.read())["params"]["sessionId"] == "s"


@pytest.mark.requirement("run-mode.mending-broken")
async def test_file_that_broke_meanwhile_is_saved_before_it_is_replaced(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        await it.begin()
        await it.say("/symposium:config")
        await it.say("1")
        it.write_config("{ broken")
        assert "has changed since you opened this menu" in "".join(await it.say("save"))
        assert it.config.read_text() == "{ broken"
        kept = it.config.with_name("config.jsonc.broken")
        assert str(kept) in "".join(await it.say("save"))
        assert kept.read_text() == "{ broken"
        assert '"claude"' in it.config.read_text()


@pytest.mark.requirement("stories.a-04-gives-up", "stories.a-04-stopped")
async def test_failures_from_before_a_retry_of_the_user_do_not_count(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, CONFIG) as it:
        agent = await it.begin()
        await agent.hang_up()
        for number in (2, 3):
            agent = await it.chain(number)
            agent.refuse(await agent.read(), INTERNAL_ERROR, "broken")
        assert "failed 3 times" in str(await it.editor.read())
        it.prompt("/symposium:retry")
        for number in (4, 5):
            agent = await it.chain(number)
            agent.refuse(await agent.read(), INTERNAL_ERROR, "broken")
        await it.initialized_agent(6)
