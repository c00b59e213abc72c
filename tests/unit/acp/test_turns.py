"""The turns of a session: each ends once, by itself, with its error, or canceled."""

import asyncio

import pytest

from peerwire.acp.agent import Turns
from peerwire.errors import INVALID_PARAMS, RpcError


async def forever() -> str:
    await asyncio.Event().wait()
    return "never"


async def said(stop_reason: str) -> str:
    return stop_reason


@pytest.mark.requirement("acp.turns")
async def test_a_turn_says_why_it_ended() -> None:
    assert await Turns().run(said("max_tokens")) == "max_tokens"


@pytest.mark.requirement("acp.turns")
async def test_cancelling_without_a_turn_does_nothing_to_the_next() -> None:
    turns = Turns()

    turns.cancel()

    assert not turns.is_cancelled
    assert await turns.run(said("end_turn")) == "end_turn"


@pytest.mark.requirement("cli.testy-cancel")
async def test_cancellation_stays_set_until_every_turn_of_then_has_ended() -> None:
    turns, begun, release = Turns(), asyncio.Event(), asyncio.Event()

    async def slow_to_end() -> str:
        begun.set()
        try:
            return await forever()
        finally:
            await release.wait()

    async with asyncio.TaskGroup() as tasks:
        slow = tasks.create_task(turns.run(slow_to_end()))
        await begun.wait()
        turns.cancel()
        await turns.run(said("end_turn"))
        assert turns.is_cancelled
        release.set()
        await turns.quiet()

    assert slow.result() == "cancelled"
    assert not turns.is_cancelled


@pytest.mark.requirement("acp.turns")
async def test_a_turns_own_errors_come_out_as_they_are() -> None:
    turns = Turns()

    async def fails(error: Exception) -> str:
        raise error

    for error in (RpcError(INVALID_PARAMS), TimeoutError("its own")):
        with pytest.raises(type(error)) as caught:
            await turns.run(fails(error))
        assert caught.value is error
    await turns.quiet()


@pytest.mark.requirement("acp.turns")
async def test_a_turn_whose_request_is_taken_back_leaves_the_session_quiet() -> None:
    turns, begun = Turns(), asyncio.Event()

    async def begin() -> str:
        begun.set()
        return await forever()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(turns.run(begin()))
        await begun.wait()
        task.cancel()

    await turns.quiet()
    assert task.cancelled()
