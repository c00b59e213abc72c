"""Streams of the SDK over lines of a transport; invalid lines are refused.

The SDK's own reader drops invalid lines and accepts lines of any length. This one answers invalid
requests, and pauses reading while too many messages or bytes wait.
"""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Final, Generic, Self, TypeVar

from msgspec import Raw

from peerwire.errors import INVALID_REQUEST, RpcError
from peerwire.jsonrpc import messages
from peerwire.jsonrpc.messages import Batch, Malformed, Message
from peerwire.jsonrpc.transport import OversizedLine, Transport

MAX_WAITING: Final = 256
"""Messages read ahead of the server before reading pauses."""

MAX_WAITING_BYTES: Final = 16 * 1024 * 1024
"""Bytes read ahead of the server before reading pauses: one of the longest lines."""

MAX_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of one line."""

RESUME_LOAD: Final = 0.5
"""Part of a limit at which reading resumes."""

_ID: Final = re.compile(rb'".*"|-?[0-9]+', re.DOTALL)

_Item = TypeVar("_Item")


class BadLineError(ValueError):
    """A line is JSON-RPC but not an MCP message."""


class _Reader(Generic[_Item]):
    """Read messages one by one, and answer malformed lines."""

    def __init__(self, parse: Callable[[bytes], _Item], send: Callable[[bytes], None]) -> None:
        self._parse = parse
        self._send = send

    def read(self, line: bytes | OversizedLine) -> _Item | None:
        """The message of a line; None for a malformed one, which is answered if needed."""
        if isinstance(line, OversizedLine):
            self._refuse(messages.NULL_ID, f"the line is longer than {line.limit} bytes")
            return None
        match messages.decode(line):
            case Message() as message:
                return self._message(message, line)
            case Malformed() as malformed:
                self._refuse_malformed(malformed)
            case Batch():
                self._refuse(messages.NULL_ID, "MCP has no batches; send each message on its line")
        return None

    def _message(self, message: Message, line: bytes) -> _Item | None:
        malformed = messages.check(message)
        if malformed is not None:
            self._refuse_malformed(malformed)
            return None
        id_ = bytes(message.id) if isinstance(message.id, Raw) else None
        if id_ is not None and not _ID.fullmatch(id_):
            self._refuse(id_, "the id of an MCP request must be a string or an integer")
            return None
        try:
            return self._parse(line)
        except BadLineError as error:
            if id_ is not None and isinstance(message.method, str):
                self._refuse(id_, str(error))
            return None

    def _refuse_malformed(self, malformed: Malformed) -> None:
        if malformed.answer:
            body = messages.error_body(malformed.error)
            self._send(messages.error_response(malformed.id, body))

    def _refuse(self, id_: bytes, reason: str) -> None:
        body = messages.error_body(RpcError(INVALID_REQUEST, reason))
        self._send(messages.error_response(id_, body))


class LineStreams(Generic[_Item]):
    """Both directions of one client; a reading and a writing stream in one, closed together.

    Args:
        transport: source and target of lines.
        parse: converts a line to an item; raises `BadLineError`.
        write: converts an item to a line.
    """

    def __init__(
        self,
        transport: Transport,
        parse: Callable[[bytes], _Item],
        write: Callable[[_Item], bytes],
    ) -> None:
        self._transport = transport
        self._reader = _Reader(parse, transport.send)
        self._write = write
        self._waiting: deque[tuple[_Item, int]] = deque()
        self._waiting_bytes = 0
        self._is_paused = False
        self._something = asyncio.Event()
        self._is_over = False

    def start(self) -> None:
        """Start reading from the transport."""
        self._transport.start(self)

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Queue valid messages, and answer malformed lines."""
        for line in lines:
            item = self._reader.read(line)
            if item is not None and isinstance(line, bytes):
                self._waiting.append((item, len(line)))
                self._waiting_bytes += len(line)
        if not self._is_paused and self._load >= 1:
            self._is_paused = True
            self._transport.pause_reading()
        self._something.set()

    def writing_paused(self) -> None:
        """Do nothing: `send` waits."""

    def writing_resumed(self) -> None:
        """Do nothing: `send` continues."""

    def ended(self, error: Exception | None) -> None:
        del error
        self._is_over = True
        self._something.set()

    async def receive(self) -> _Item:
        """Return the next message.

        Raises:
            StopAsyncIteration: the stream has ended.
        """
        return await self.__anext__()

    async def send(self, item: _Item, /) -> None:
        """Write one message, and wait while the client is slow."""
        self._transport.send(self._write(item))
        await self._transport.drain()

    async def aclose(self) -> None:
        """Stop reading; the owner of the transport still delivers written data."""
        self._is_over = True
        self._something.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        while not self._waiting:
            if self._is_over:
                raise StopAsyncIteration
            self._something.clear()
            await self._something.wait()
        item, size = self._waiting.popleft()
        self._waiting_bytes -= size
        if self._is_paused and self._load <= RESUME_LOAD:
            self._is_paused = False
            self._transport.resume_reading()
        return item

    @property
    def _load(self) -> float:
        """Used part of the nearest limit."""
        return max(len(self._waiting) / MAX_WAITING, self._waiting_bytes / MAX_WAITING_BYTES)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        del exc_type, exc_val, exc_tb
        await self.aclose()
        return None
