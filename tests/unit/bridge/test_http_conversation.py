"""One HTTP connection of an agent, without a socket."""

import asyncio
from itertools import chain, repeat
from typing import cast

import h11
import pytest

from symposium.bridge import http_server
from symposium.bridge.http_server import (
    IDLE_UNPROVEN,
    LINGER,
    LINGERING,
    UNREAD,
    BodyTooLongError,
    HttpConversation,
    McpHttpSession,
)


class Writer:
    """Notes what is written; its buffer is as full as a test says."""

    def __init__(self) -> None:
        self.data = b""
        self.waiting = 0
        self.is_gone = False
        self.transport = self

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None: ...

    def is_closing(self) -> bool:
        return self.is_gone

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.data += b"<eof>"

    def get_write_buffer_size(self) -> int:
        return self.waiting

    def abort(self) -> None:
        self.is_gone = True

    close = abort


def conversation_of(reader: asyncio.StreamReader, writer: Writer) -> HttpConversation:
    return HttpConversation(reader, cast("asyncio.StreamWriter", writer))


async def begun(
    body: bytes = b"", *, has_come: int | None = None, follows: bytes = b""
) -> tuple[HttpConversation, Writer, asyncio.StreamReader]:
    """A conversation whose request has a body of which only a part may have come."""
    reader, writer = asyncio.StreamReader(), Writer()
    conversation = conversation_of(reader, writer)
    head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    reader.feed_data(head.encode() + body[:has_come])
    assert isinstance(await conversation.next_request(), h11.Request)
    reader.feed_data(follows)
    return conversation, writer, reader


@pytest.mark.requirement("bridge.http-bounds")
async def test_body_of_exactly_the_limit_is_accepted() -> None:
    conversation, _, _ = await begun(b"x" * 10)
    assert await conversation.body(10) == b"x" * 10
    conversation, _, _ = await begun(b"x" * 10)
    with pytest.raises(BodyTooLongError):
        await conversation.body(9)


@pytest.mark.requirement("bridge.http-bounds")
async def test_events_are_written_until_the_client_leaves_or_stops_reading() -> None:
    conversation, writer, _ = await begun()
    await conversation.body(0)
    assert not conversation.send_event(b"1"), "no answer has begun"
    conversation.begin_events()
    writer.waiting = UNREAD
    assert conversation.send_event(b"2")
    writer.waiting += 1
    assert not conversation.send_event(b"3")
    assert writer.is_gone
    writer.waiting = 0
    assert not conversation.send_event(b"4")
    assert (b"data: 2" in writer.data, b"data: 4" in writer.data) == (True, False)


@pytest.mark.requirement("bridge.http-bounds")
@pytest.mark.parametrize("is_whole", [True, False])
async def test_connection_is_reused_only_if_the_last_request_was_read(*, is_whole: bool) -> None:
    conversation, writer, _ = await begun(b"x" * 10, has_come=None if is_whole else 5)
    if is_whole:
        await conversation.body(10)
    await conversation.answer(200)

    assert conversation.next_cycle() is is_whole
    assert (b"Connection: close" in writer.data) is not is_whole
    assert conversation.can_answer is is_whole


@pytest.mark.requirement("bridge.http-bounds")
async def test_rest_of_a_rejected_request_is_read_up_to_a_limit() -> None:
    conversation, writer, reader = await begun(follows=b"x" * (LINGERING + 2 * 64 * 1024))
    await conversation.linger()

    assert writer.data.endswith(b"<eof>")
    assert len(await reader.read(LINGERING)) == 2 * 64 * 1024
    assert (LINGER, IDLE_UNPROVEN) == (1.0, 10.0)


@pytest.mark.requirement("bridge.http-bounds")
async def test_client_is_busy_while_connecting() -> None:
    may_continue = asyncio.Event()

    class Owner:
        async def open(self, server_id: str, client: object) -> object:
            assert (server_id, client is not None) == ("s", True)
            await may_continue.wait()
            return self

    client = McpHttpSession(Owner(), "s")  # type: ignore[arg-type] - as much of one as is used
    assert not client.is_busy
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(client.ready())
        await asyncio.sleep(0)
        assert client.is_busy
        assert not client.is_connected
        may_continue.set()
    assert not client.is_busy
    assert client.is_connected


class SlowReader(asyncio.StreamReader):
    """A client that writes a header byte by byte, without an end."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = chain(b"POST / HTTP/1.1\r\nX: ", repeat(ord("x"), 100))

    async def read(self, n: int = -1) -> bytes:
        del n
        await asyncio.sleep(0.01)
        return bytes([next(self.bytes)])


@pytest.mark.requirement("bridge.http-bounds")
async def test_request_that_arrives_byte_by_byte_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_server, "HTTP_REQUEST_TIMEOUT", 0.1)
    conversation = conversation_of(SlowReader(), Writer())

    with pytest.raises(TimeoutError):
        await conversation.next_request()
