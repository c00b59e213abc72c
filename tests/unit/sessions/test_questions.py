"""Questions of an agent that wait for an answer."""

import asyncio
from pathlib import Path

import pytest

from symposium.client.events import ToolCall
from symposium.client.permissions import ChosenOption, Option, Permission
from symposium.sessions.acp_server import Questions


@pytest.mark.requirement("approvals.answered-at-once")
async def test_answered_question_is_not_listed() -> None:
    questions = Questions(lambda _: None, lambda _: None, Path("/work"))
    yes = Option("yes", "Yes", "allow_once")
    async with asyncio.TaskGroup() as tasks:
        deciding = tasks.create_task(questions.decide(Permission(ToolCall("1"), (yes,))))
        await asyncio.sleep(0)
        before = [each["question"] for each in questions.listed()]
        questions.answer(1, "yes", "a user")
        after = questions.listed()

    assert (before, after) == ([1], [])
    assert deciding.result() == ChosenOption(yes)
