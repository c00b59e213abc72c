"""Messages as the Language Server Protocol frames them: headers, an empty line, then the body.

Source: LSP 3.17, base protocol.
"""

from typing import Final

from peerwire.errors import TransportError

MAX_HEADER: Final = 4096
"""Bytes of the longest header that is waited for."""

MAX_BODY: Final = 64 * 1024 * 1024
"""Bytes of the largest message that is taken."""

_END: Final = b"\r\n\r\n"
_LENGTH: Final = b"content-length"


class FramingError(TransportError):
    """What came is no frame; where the next one begins cannot be known."""


def frame(body: bytes) -> bytes:
    """The body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Frames:
    """Takes bytes as they come, gives whole bodies."""

    def __init__(self, *, max_body: int = MAX_BODY) -> None:
        self._buffer = bytearray()
        self._max_body = max_body
        self._missing: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that these bytes complete.

        Raises:
            FramingError: a header is none, or announces too much.
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
                raise FramingError(f"no header ends within {MAX_HEADER} bytes")
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
                raise FramingError(f"no length that can be taken: {digits[:40]!r}")
            if int(digits) > self._max_body:
                raise FramingError(f"a message of {int(digits)} bytes; at most {self._max_body}")
            return int(digits)
        raise FramingError(f"a header without Content-Length: {header[:80]!r}")
