"""The same conversation over every transport of lines."""

import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.testing import LineRecorder
from peerwire.transports.command import Command
from peerwire.transports.memory import memory_pair
from peerwire.transports.process import spawn
from peerwire.transports.unix import connect_unix, serve_unix

STDIO = """if True:
    import asyncio
    from peerwire.testing import LineRecorder
    from peerwire.transports.fd import stdio_transport

    async def main():
        transport = stdio_transport()
        recorder = LineRecorder()
        recorder.lines_received = lambda lines: [transport.send(line) for line in lines]
        transport.start(recorder)
        await recorder.end()
        await transport.aclose()

    asyncio.run(main())
"""

CHILD = """if True:
    import sys
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
"""


Peer = Callable[[Path], AbstractAsyncContextManager[Transport]]


class Echo(LineRecorder):
    """Sends back every line."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self._transport = transport
        transport.start(self)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            assert isinstance(line, bytes)
            self._transport.send(line)


@asynccontextmanager
async def memory(_: Path) -> AsyncGenerator[Transport, None]:
    ours, theirs = memory_pair()
    Echo(theirs)
    yield ours


@asynccontextmanager
async def unix_socket(path: Path) -> AsyncGenerator[Transport, None]:
    echoes: list[Echo] = []
    listener = serve_unix(path / "s", lambda transport, _: echoes.append(Echo(transport)))
    yield connect_unix(path / "s")
    listener.close()


@asynccontextmanager
async def child(_: Path) -> AsyncGenerator[Transport, None]:
    yield spawn(Command((sys.executable, "-ISc", CHILD)))


@asynccontextmanager
async def stdio(_: Path) -> AsyncGenerator[Transport, None]:
    yield spawn(Command((sys.executable, "-c", STDIO)))


@pytest.mark.requirement("process.transport-same-everywhere")
@pytest.mark.parametrize("peer", [memory, unix_socket, child, stdio])
async def test_conversation_is_the_same_on_every_transport(peer: Peer, tmp_path: Path) -> None:
    lines = [b'{"n":%d,"text":"\xc3\xa9\xe2\x80\xa8\\n"}' % n for n in range(2_000)]
    lines.insert(1_000, b'"' + b"x" * 3_000_000 + b'"')
    messages = LineRecorder()
    async with peer(tmp_path) as transport:
        transport.start(messages)
        for line in lines:
            transport.send(line)

        answers = await messages.received(len(lines))
        await transport.aclose()

    assert answers == lines
