"""Debug log of a chain: the lines of its connections, and the stderr of its components.

The debug log shows bytes, while the trace shows messages. In `0 → +12ms {…}`, `0` is the position
of a component; `C` is the client. `→` marks a line to the component, `←` a line from it, and `!` a
line of its stderr. Secrets and colors are removed.
"""

import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from localio.redaction import UNREADABLE, Redactor
from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.transports.memory import TappedTransport
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

        def on_line(direction: Literal["sent", "received"], line: bytes | OversizedLine) -> None:
            content = line.head + b" (cut)" if isinstance(line, OversizedLine) else line
            self.line(label, "→" if direction == "sent" else "←", content)

        return TappedTransport(transport, on_line)

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


def open_debug_log(directory: Path, known_secrets: Iterable[str] = ()) -> DebugLog:
    """Start a debug log in a new file of a directory; needs a running event loop.

    Raises:
        RecordingError: the directory cannot be created or written.
    """
    return DebugLog(new_file(directory, time_stem(), ".log"), Redactor(known_secrets))
