"""Recordings of a chain: files with rotation, and the debug log of its connections.

Recording files are readable only by their owner. Lines are buffered until the end of the event
loop's turn and written completely. If writing fails, the recording stops with one log message.

The debug log shows bytes, while the trace shows messages: `0 → +12ms {…}` is output to the first
component, `←` its input to us, `!` its stderr; the client is `C`. Secrets and colors are removed.
"""

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from errno import ENOENT
from pathlib import Path
from typing import Final

from localio.redaction import UNREADABLE, Redactor
from peerwire.jsonrpc.transport import Listener, OversizedLine, Transport
from symposium.errors import SymposiumError

_log = logging.getLogger(__name__)

FLUSH_BYTES: Final = 256 * 1024
"""Maximum size of the buffer in bytes; a longer turn writes earlier."""

MAX_PER_SECOND: Final = 1000
"""Maximum number of files with the same second in their name."""


class RecordingError(SymposiumError):
    """A requested recording cannot be started."""


class RecordFile:
    """A recording file; made by `new_file`.

    Attributes:
        path: its path.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = descriptor
        self._lines: list[bytes] = []
        self._waiting = 0
        self._written = 0
        self._is_scheduled = False

    @property
    def is_open(self) -> bool:
        """Whether lines are still written."""
        return self._descriptor is not None

    def write(self, line: bytes) -> None:
        """Append a line, without newline; written at the end of the loop's turn."""
        if self._descriptor is None:
            return
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting > FLUSH_BYTES:
            self.flush()
        elif not self._is_scheduled:
            self._schedule()

    def flush(self) -> None:
        """Write the buffer."""
        if self._descriptor is None or not self._lines:
            return
        lines = b"\n".join([*self._lines, b""])
        self._lines.clear()
        self._waiting = 0
        try:
            if not os.fstat(self._descriptor).st_nlink:
                raise FileNotFoundError(ENOENT, "it has been removed")
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self._give_up(self._descriptor, error)
        else:
            self._written += len(lines)

    def close(self) -> None:
        """Write the buffer and close the file; may be called twice."""
        self.flush()
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _schedule(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self._turn_ended)
            self._is_scheduled = True
        except RuntimeError:  # no event loop, so write at once
            self.flush()

    def _turn_ended(self) -> None:
        self._is_scheduled = False
        self.flush()

    def _give_up(self, descriptor: int, error: OSError) -> None:
        self._descriptor = None
        with suppress(OSError):
            os.ftruncate(descriptor, self._written)  # remove the incomplete line
        os.close(descriptor)
        _log.warning("stopped recording into %s: %s", self.path, error.strerror or error)


def new_file(directory: Path, stem: str, suffix: str) -> RecordFile:
    """Create a file, numbered if it exists, and its directory if necessary.

    Raises:
        RecordingError: the directory cannot be created or written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1, MAX_PER_SECOND):
            path = directory / f"{stem}{'' if number == 1 else f'-{number}'}{suffix}"
            with suppress(FileExistsError):
                return RecordFile(os.open(path, flags, 0o600), path)
    except OSError as error:
        message = f"cannot record into {directory}: {error.strerror or error}"
        raise RecordingError(message, "choose a writable directory") from error
    raise RecordingError(f"cannot record into {directory}: every name is taken", "empty it")


def time_stem() -> str:
    """File name from the local date and time, to the second."""
    return time.strftime("%Y%m%d-%H%M%S")


HEADER: Final = b"=== Conductor Debug Log ==="

CLIENT_LABEL: Final = "C"

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;:?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)?|.)")


class DebugLog:
    """Debug log of a chain.

    Attributes:
        file: its file.
    """

    def __init__(
        self, file: RecordFile, redactor: Redactor, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.file = file
        self._redactor = redactor
        self._clock = clock
        self._started = clock()
        self._labels: dict[str, str] = {}
        file.write(HEADER)

    def tap(self, transport: Transport, index: int | None = None, name: str = "") -> Transport:
        """A transport that logs all lines of another one.

        Args:
            transport: transport to the client or to a component.
            index: position of the component in the chain; None for the client.
            name: name of the component in `on_stderr`.
        """
        label = CLIENT_LABEL if index is None else str(index)
        self._labels[name] = label
        return _Tapped(transport, self, label)

    def on_stderr(self, name: str, line: bytes) -> None:
        """Log a line of a component's stderr."""
        self._write(self._labels.get(name, name), "!", line.decode(errors="replace"))

    def line(self, label: str, arrow: str, line: bytes) -> None:
        """Log a line of a connection."""
        redacted = self._redactor.json(line)
        if redacted == UNREADABLE:
            redacted = self._redactor.text(line.decode(errors="replace")).encode()
        self._write(label, arrow, redacted.decode(errors="replace"))

    def close(self) -> None:
        """Write the buffer and close the log."""
        self.file.close()

    def _write(self, label: str, arrow: str, text: str) -> None:
        milliseconds = int((self._clock() - self._started) * 1000)
        text = self._redactor.text(_ESCAPES.sub("", text).rstrip("\r\n"))
        entry = f"{label} {arrow} +{milliseconds}ms {text}".replace("\n", " ")
        self.file.write(entry.encode(errors="replace"))


class _Tapped:
    """Transport that logs its lines."""

    def __init__(self, transport: Transport, log: DebugLog, label: str) -> None:
        self._transport = transport
        self._log = log
        self._label = label
        self.pause_reading = transport.pause_reading
        self.resume_reading = transport.resume_reading
        self.drain = transport.drain

    @property
    def backlog(self) -> int:
        """Bytes not yet written, as reported by the transport."""
        return self._transport.backlog

    def start(self, listener: Listener) -> None:
        """Start reading, for the log and the listener."""
        self._transport.start(_TappedListener(listener, self._log, self._label))

    def send(self, line: bytes) -> None:
        self._log.line(self._label, "→", line)
        self._transport.send(line)

    async def aclose(self, *, grace: float = 1.0) -> None:
        """Close the transport."""
        await self._transport.aclose(grace=grace)


class _TappedListener:
    def __init__(self, listener: Listener, log: DebugLog, label: str) -> None:
        self._listener = listener
        self._log = log
        self._label = label
        self.writing_paused = listener.writing_paused
        self.writing_resumed = listener.writing_resumed
        self.ended = listener.ended

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            head = line.head + b" (cut)" if isinstance(line, OversizedLine) else line
            self._log.line(self._label, "←", head)
        self._listener.lines_received(lines)


def open_debug_log(directory: Path, known_secrets: Iterable[str] = ()) -> DebugLog:
    """Start a debug log in a new file of a directory; needs a running event loop.

    Raises:
        RecordingError: the directory cannot be created or written.
    """
    return DebugLog(new_file(directory, time_stem(), ".log"), Redactor(known_secrets))
