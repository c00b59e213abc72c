"""Waits in a dialogue for what may take long, such as an agent's start; hears what is typed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias, TypeVar

from peerwire.errors import Boundary
from symposium.run_mode.chat_commands import CONFIG
from symposium.run_mode.conversation import Conversation
from symposium.run_mode.trouble import KEPT

CONFIG_WORDS: Final = CONFIG | {"config"}
"""What opens the menu in a session that has no agent."""

SOON: Final = 2.0
"""Seconds after which the user is told that it takes a while."""

STARTING: Final = (
    "The agent is being started, or installed. What you send meanwhile is kept for it; "
    "`cancel` stops waiting, and `/symposium:config` chooses another one."
)

LEFT: Final = "Nobody waits for the agent any longer; its start goes on."

_LEAVES: Final = frozenset({"cancel", "back"})

_Result = TypeVar("_Result")

Left: TypeAlias = Literal["cancel", "config"]
"""What the user wants instead of waiting."""

Answer: TypeAlias = Callable[[str], Awaitable[str | None]]
"""What a command of ours says that needs no agent; None for anything else."""


async def attended(
    talk: Conversation, work: Awaitable[_Result], own_answer: Answer, *, is_said: bool = False
) -> _Result | Left:
    """What the work comes to, or what the user wants instead; then it is cancelled.

    Args:
        talk: where the user is heard meanwhile.
        work: what may take long.
        own_answer: for commands of ours.
        is_said: the user knows already that it takes a while.
    """
    left: Left | None = None
    caught = Boundary()

    async def running() -> _Result | None:
        with caught:
            return await work
        return None

    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(running())
        # What is done at once is over before anything that was typed behind it.
        await asyncio.wait((run,), timeout=0)
        while left is None and not run.done():
            typed = tasks.create_task(talk.something_typed())
            await asyncio.wait(
                (run, typed),
                timeout=None if is_said else SOON,
                return_when=asyncio.FIRST_COMPLETED,
            )
            is_typed = typed.done()
            typed.cancel()
            if run.done():
                break
            if is_typed:
                left = await _heard(talk, own_answer)
            elif not is_said:
                is_said = True
                talk.say(STARTING)
        run.cancel()
    if left is not None:
        return left
    if caught.error is not None:
        raise caught.error
    result = run.result()
    assert result is not None
    return result


async def _heard(talk: Conversation, own_answer: Answer) -> Left | None:
    text = await talk.hear()
    word = text.lower()
    if word in CONFIG_WORDS:
        return "config"
    if word in _LEAVES:
        talk.say(LEFT)
        return "cancel"
    answer = await own_answer(text)
    if answer is not None:
        talk.say(answer)
    else:
        talk.say(KEPT if talk.keep() else STARTING)
    return None
