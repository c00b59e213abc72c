"""Events put together again, however a stream was cut, and requests without an answer."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.mcp.streamable_http import EventReader, HttpTransport
from peerwire.testing import LinePeer
from symposium.bridge.http_server import event

LINES = st.binary(max_size=40).filter(lambda data: not set(data) & set(b"\r\n"))


@pytest.mark.requirement("bridge.client-events")
@given(st.lists(LINES), st.lists(st.integers(0, 2000)))
def test_events_survive_every_way_to_cut_their_bytes(data: list[bytes], cuts: list[int]) -> None:
    written = b"".join(event(each) for each in data)
    places = sorted({0, len(written), *(cut % (len(written) + 1) for cut in cuts)})
    reader = EventReader()
    read = [found for start, end in pairwise(places) for found in reader.feed(written[start:end])]
    assert read == data
    assert reader.size == 0


@pytest.mark.requirement("bridge.client-events")
def test_all_line_ends_comments_and_other_fields_are_understood() -> None:
    stream = b": hello\r\n\r\nid: 7\r\ndata:one\r\ndata: two\r\rdata: x\n\nretry: 5\n\ndata: cut"
    assert list(EventReader().feed(stream)) == [b"one\ntwo", b"x"]
    reader = EventReader()
    old = b"data: one\r\rdata: two\r\rend"
    assert [each for byte in old for each in reader.feed(bytes([byte]))] == [b"one", b"two"]


@pytest.mark.requirement("bridge.client-http")
def test_size_counts_every_line_of_an_incomplete_event() -> None:
    reader = EventReader()
    for piece, size in (
        (b": hello\ndata: abc\n", len(b"abc\n")),
        (b"data:\n" * 1000, len(b"abc\n") + 1000),
        (b"data: cut", len(b"abc\n") + 1000 + len(b"data: cut")),
    ):
        assert list(reader.feed(piece)) == []
        assert reader.size == size
    assert list(reader.feed(b"\n\n")) == [b"\n".join([b"abc", *[b""] * 1000, b"cut"])]
    assert reader.size == 0


@pytest.mark.requirement("bridge.client-events")
@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_a_fault(data: bytes) -> None:
    reader = EventReader()
    for each in data:
        list(reader.feed(bytes([each])))
    assert reader.size <= len(data)


@pytest.mark.requirement("bridge.client-http")
async def test_close_ends_a_request_that_the_server_never_answers() -> None:
    received, answered = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        received.set()
        await answered.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(10):
        async with asyncio.TaskGroup() as tasks:
            transport = HttpTransport(f"http://127.0.0.1:{port}/mcp", (), tasks)
            peer = LinePeer(transport)
            peer.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
            await received.wait()
            await transport.aclose(grace=0.01)
        answered.set()

    assert peer.lines.items == []


class PausingPeer(LinePeer):
    """Pauses its transport after each read."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self.transport.pause_reading()
        super().lines_received(lines)


@pytest.mark.requirement("jsonrpc.url-server-paused")
async def test_paused_transport_reads_no_further_line_of_a_response() -> None:
    lines = [b'{"method":"one"}', b'{"method":"two"}', b'{"id":1,"result":{}}']
    body = b"".join(map(event, lines))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        transport = HttpTransport(f"http://127.0.0.1:{port}/mcp", (), tasks)
        peer = PausingPeer(transport)
        peer.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
        for number in range(1, len(lines) + 1):
            assert await peer.lines.count(number) == lines[:number]
            transport.resume_reading()
        await transport.aclose(grace=0.01)
