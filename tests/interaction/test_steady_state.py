"""Cost and memory of forwarding, independent of the readers."""

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.interaction.test_backpressure import settled
from tests.support.chain_harness import chain_harness, inner, mods

from symposium.chain.mod import Mod

SIZE = 1000
BOUND = 256 * 1024
"""Bytes that one side may hold: the mark, what one wake-up reads, and one line more."""


def note(number: int) -> dict[str, Any]:
    params = {"sessionId": "s", "n": number, "x": "x" * SIZE}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


@pytest.mark.requirement("jsonrpc.reader-no-task-per-message")
async def test_forwarding_ten_thousand_messages_starts_no_task() -> None:
    made: list[str] = []

    def counting(
        loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any] | Generator[Any, None, Any]
    ) -> asyncio.Task[Any]:
        made.append(getattr(work, "__qualname__", ""))
        return asyncio.Task(work, loop=loop)

    async with chain_harness(*mods(Mod()), inner()) as it:
        agent = await it.open()
        asyncio.get_running_loop().set_task_factory(counting)
        agent.write(*(note(at) for at in range(10_000)))
        numbers = [message["params"]["n"] for message in await it.client.reads(10_000)]
    assert numbers == [*range(10_000)]
    assert len([name for name in made if "Conductor" not in name]) < 50


@pytest.mark.requirement("jsonrpc.invariant-bounded")
@settings(max_examples=25)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 400)), min_size=1, max_size=12))
def test_backlog_is_bounded_for_a_reader_that_pauses_at_random(
    schedule: list[tuple[bool, int]],
) -> None:
    async def play() -> None:
        async with chain_harness(*mods(Mod())) as it:
            agent = await it.open()
            sent = 0
            for is_reading, number in schedule:
                if is_reading:
                    it.client.transport.resume_reading()
                else:
                    it.client.transport.pause_reading()
                agent.write(*(note(sent + at) for at in range(number)))
                sent += number
                await settled(it)
                assert it.conductor.client.transport.backlog < BOUND
            it.client.transport.resume_reading()
            received = await it.client.reads(sent)
            assert [message["params"]["n"] for message in received] == [*range(sent)]

    asyncio.run(play())
