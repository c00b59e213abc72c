"""Waiting for a slow start, while the user may type."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias, TypeVar

from peerwire.errors import ErrorBoundary
from symposium.run_mode.chat import CONFIG, Dialog

CONFIG_WORDS: Final = CONFIG | {"config"}
"""Inputs that open the menu in a session without an agent."""

NOTICE_DELAY: Final = 2.0
"""Seconds before the user is informed that the work takes longer."""

STARTING: Final = (
    "Symposium is starting or installing the agent. The agent receives the messages that you send "
    "now. `cancel` stops waiting; `/symposium:config` chooses another agent."
)

LEFT: Final = "Stopped waiting; the agent continues to start in the background."

_LEAVES: Final = frozenset({"cancel", "back"})

_Result = TypeVar("_Result")

Left: TypeAlias = Literal["cancel", "config"]
"""The user's choice instead of waiting."""

Answer: TypeAlias = Callable[[str], Awaitable[str | None]]
"""Answer a Symposium command that needs no agent; None for anything else."""


async def wait_with_input(
    talk: Dialog, work: Awaitable[_Result], own_answer: Answer, *, is_said: bool = False
) -> _Result | Left:
    """Return the result of the work, or the user's choice to stop it.

    Args:
        talk: the dialog that reads input.
        work: the slow work.
        own_answer: answers Symposium commands.
        is_said: whether the user already knows that it takes longer.
    """
    left: Left | None = None
    caught = ErrorBoundary()

    async def running() -> _Result | None:
        with caught:
            return await work
        return None

    async with asyncio.TaskGroup() as tasks:
        run = tasks.create_task(running())
        # Let work that is done at once finish before later input is read.
        await asyncio.wait((run,), timeout=0)
        while left is None and not run.done():
            typed = tasks.create_task(talk.something_typed())
            await asyncio.wait(
                (run, typed),
                timeout=None if is_said else NOTICE_DELAY,
                return_when=asyncio.FIRST_COMPLETED,
            )
            is_typed = typed.done()
            typed.cancel()
            if run.done():
                break
            if is_typed:
                left = await _handle_input(talk, own_answer)
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


async def _handle_input(talk: Dialog, own_answer: Answer) -> Left | None:
    text = await talk.read()
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
        talk.say(talk.keep() or STARTING)
    return None
