"""Messages that a client writes ahead of the server."""

import json

import pytest

from peerwire.jsonrpc.transport import Transport
from peerwire.testing import Recorder
from peerwire.transports.memory import ForwardingTransport, memory_pair
from symposium.mcp_server import line_streams as lines_module
from symposium.mcp_server.line_streams import LineStreams


class Paused(ForwardingTransport):
    """A transport that records when reading from it was paused and resumed."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.reading: Recorder[str] = Recorder()

    def pause_reading(self) -> None:
        super().pause_reading()
        self.reading.note("pause")

    def resume_reading(self) -> None:
        super().resume_reading()
        self.reading.note("resume")


def ping(size: int) -> bytes:
    """Return a request of this size."""
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": ""}})
    return line.replace('""', f'"{"." * (size - len(line))}"').encode()


@pytest.mark.requirement("mcp-server.read-ahead")
@pytest.mark.parametrize("limit", ["MAX_WAITING", "MAX_WAITING_BYTES"])
async def test_reading_pauses_at_the_limit_until_half_is_left(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    # Four messages reach the limit; each is larger than what one read takes.
    size = 100_000
    monkeypatch.setattr(lines_module, limit, {"MAX_WAITING": 4}.get(limit, 4 * size))
    near, far = memory_pair()
    transport = Paused(near)
    streams = LineStreams(transport, bytes, bytes)
    streams.start()
    for _ in range(8):
        far.send(ping(size))
    await transport.reading.count(1)
    waiting = far.backlog // size
    read = [await streams.receive()]
    above_half = list(transport.reading.items)
    read.append(await streams.receive())

    assert waiting == 4
    assert above_half == ["pause"]
    assert transport.reading.items == ["pause", "resume"]
    await transport.reading.count(3)
    read += [await streams.receive() for _ in range(6)]
    assert read == [ping(size)] * 8
    assert transport.reading.items == ["pause", "resume"] * 2
