"""Debug log of a chain: the lines of its connections, and the stderr of its components.

The debug log shows bytes, while the trace shows messages. In `0 → +12ms {…}`, `0` is the position
of a component; `C` is the client. `→` marks a line to the component, `←` a line from it, and `!` a
line of its stderr. Secrets and colors are removed.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from localio.redaction import UNREADABLE, Redactor
from peerwire.jsonrpc.transport import Listener, OversizedLine, Transport
from symposium.chain.record_files import RecordFile, new_file, time_stem

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
