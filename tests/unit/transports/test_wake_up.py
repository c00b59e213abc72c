"""When what is sent goes out: with the lines that caused it, or at the next turn of the loop."""

import asyncio

import pytest

from peerwire.transports.fd import WriteBatch


@pytest.mark.requirement("process.routing-writes")
def test_what_is_sent_while_lines_are_routed_goes_out_when_they_are() -> None:
    seen: list[str] = []
    wake_up = WriteBatch()

    def route(lines: list[str]) -> None:
        wake_up.flush_at_end(lambda: seen.append("written"))
        seen.extend(lines)

    wake_up.batched(route)(["one", "two"])

    assert seen == ["one", "two", "written"]


@pytest.mark.requirement("process.routing-writes")
def test_what_was_sent_goes_out_though_routing_failed() -> None:
    seen: list[str] = []
    wake_up = WriteBatch()

    def route(_: object) -> None:
        wake_up.flush_at_end(lambda: seen.append("written"))
        raise LookupError

    with pytest.raises(LookupError):
        wake_up.batched(route)([])

    assert seen == ["written"]


@pytest.mark.requirement("process.routing-writes")
async def test_what_is_sent_by_itself_goes_out_at_the_next_turn_of_the_loop() -> None:
    written = asyncio.Event()
    wake_up = WriteBatch()
    wake_up.batched(lambda _: None)([])

    wake_up.flush_at_end(written.set)

    assert not written.is_set()
    async with asyncio.timeout(45):
        await written.wait()
