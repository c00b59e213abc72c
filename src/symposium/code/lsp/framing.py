"""Messages with Content-Length headers over the pipes of a process.

Source: LSP 3.17, base protocol.
"""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from localio.files import trusted_places
from peerwire.errors import ConnectionClosedError, SpawnError, TransportError
from peerwire.jsonrpc.transport import Listener

MAX_HEADER: Final = 4096
"""Maximum size of a header, in bytes."""

MAX_BODY: Final = 64 * 1024 * 1024
"""Maximum size of a message, in bytes."""

_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length"


class FramingError(TransportError):
    """The input is not a valid frame, so the next one cannot be found."""


def frame(body: bytes) -> bytes:
    """The body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Split a byte stream into message bodies."""

    def __init__(self, *, max_body: int = MAX_BODY) -> None:
        self._buffer = bytearray()
        self._max_body = max_body
        self._missing: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Add bytes and return the completed bodies.

        Raises:
            FramingError: a header is malformed, or a length exceeds the limit.
        """
        self._buffer += data
        bodies: list[bytes] = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        if self._missing is None:
            end = self._buffer.find(_END)
            if end < 0 and len(self._buffer) <= MAX_HEADER:
                return None
            if not 0 <= end <= MAX_HEADER:
                raise FramingError(f"no end of header within {MAX_HEADER} bytes")
            self._missing = self._length(bytes(self._buffer[:end]))
            del self._buffer[: end + len(_END)]
        if len(self._buffer) < self._missing:
            return None
        body = bytes(self._buffer[: self._missing])
        del self._buffer[: self._missing]
        self._missing = None
        return body

    def _length(self, header: bytes) -> int:
        for line in header.split(b"\r\n"):
            name, _, value = line.partition(b":")
            digits = value.strip()
            if name.strip().lower() != _LENGTH:
                continue
            if not digits.isdigit() or len(digits) > len(str(self._max_body)):
                raise FramingError(f"invalid length: {digits[:40]!r}")
            if int(digits) > self._max_body:
                raise FramingError(f"message of {int(digits)} bytes exceeds {self._max_body}")
            return int(digits)
        raise FramingError(f"header without Content-Length: {header[:80]!r}")


TERM_GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL, and after SIGKILL."""

_TAIL: Final = 2000
"""Size of the stored end of stderr, in bytes."""


async def spawn_framed(argv: Sequence[str], cwd: Path) -> "FramedProcess":
    """Start a program in its own process group, with a PATH without the workspace.

    Raises:
        SpawnError: it could not be started.
    """
    loop = asyncio.get_running_loop()
    path = os.pathsep.join(trusted_places(os.environ.get("PATH", os.defpath), cwd))
    try:
        process, output = await loop.subprocess_exec(
            _Output, *argv, cwd=cwd, env={**os.environ, "PATH": path}, start_new_session=True
        )
    except OSError as error:
        reason = f"could not start {argv[0]}: {error.strerror}"
        raise SpawnError(reason, argv=tuple(argv), errno=error.errno) from error
    return FramedProcess(process, output)


class FramedProcess:
    """Process as a transport; its messages are the transport's lines."""

    def __init__(self, process: asyncio.SubprocessTransport, output: "_Output") -> None:
        self._process = process
        self._output = output
        stdin, stdout = process.get_pipe_transport(0), process.get_pipe_transport(1)
        assert isinstance(stdin, asyncio.WriteTransport)
        assert isinstance(stdout, asyncio.ReadTransport)
        self._stdin = stdin
        self._stdout = stdout

    @property
    def backlog(self) -> int:
        """Number of unsent bytes."""
        return self._stdin.get_write_buffer_size()

    @property
    def has_exited(self) -> bool:
        """Whether the program exited."""
        return self._output.exited.is_set()

    def start(self, listener: Listener) -> None:
        """Deliver input, starting with buffered input."""
        self._output.deliver_to(listener)

    def send(self, line: bytes) -> None:
        """Send one message with its header; do nothing if stdin is closed."""
        if not self._stdin.is_closing():
            self._stdin.write(frame(line))

    def pause_reading(self) -> None:
        self._stdout.pause_reading()

    def resume_reading(self) -> None:
        self._stdout.resume_reading()

    async def drain(self) -> None:
        """Wait until most of the output is sent."""
        await self._output.is_writable.wait()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Stop the program and its group: end of input, SIGTERM, SIGKILL."""
        self._stdin.close()
        try:
            if not await self._exits_in(grace):
                self._signal(signal.SIGTERM)
                await self._exits_in(TERM_GRACE)
        finally:
            # Includes remaining child processes.
            self._signal(signal.SIGKILL)
            await self._exits_in(TERM_GRACE)
            self._process.close()

    async def _exits_in(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._output.exited.wait()
        return self.has_exited

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.get_pid(), number)


class _Output(asyncio.SubprocessProtocol):
    """Events of a program, buffered until there is a listener."""

    def __init__(self) -> None:
        self.exited = asyncio.Event()
        self.is_writable = asyncio.Event()
        self.is_writable.set()
        self._frames = Frames()
        self._listener: Listener | None = None
        self._early: list[bytes] = []
        self._tail = b""
        self._error: Exception | None = None
        self._is_over = False

    def deliver_to(self, listener: Listener) -> None:
        self._listener = listener
        early, self._early = self._early, []
        if early:
            listener.lines_received(early)
        if self._is_over:
            listener.ended(self._reason())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._process = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._tail = (self._tail + data)[-_TAIL:]
            return
        if self._error is not None:
            return
        try:
            bodies = self._frames.feed(data)
        except TransportError as error:
            # The start of the next message is unknown, so the connection is unusable.
            self._error = error
            self._process.kill()
            return
        if self._listener is None:
            self._early += bodies
        elif bodies:
            self._listener.lines_received(bodies)

    def pause_writing(self) -> None:
        self.is_writable.clear()

    def resume_writing(self) -> None:
        self.is_writable.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._error = self._error or exc
        self._is_over = True
        self.is_writable.set()
        if self._listener is not None:
            self._listener.ended(self._reason())

    def _reason(self) -> Exception:
        if self._error is not None:
            return self._error
        said = self._tail.decode(errors="replace").strip()
        code = self._process.get_returncode()
        return ConnectionClosedError(f"exited with code {code}{': ' if said else ''}{said}")
