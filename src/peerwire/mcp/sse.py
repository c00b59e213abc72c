"""Server-sent events, as far as MCP uses them: the data of each event, and nothing else; pure."""

from collections.abc import Iterator


class EventReader:
    """Puts events together from a stream's bytes, however they are cut."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []

    @property
    def size(self) -> int:
        """Bytes kept of an event that is not complete."""
        return sum(map(len, self._rest)) + sum(map(len, self._data))

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data of every event that these bytes complete; its lines joined by newlines."""
        # Joined once there is a line's end, or a line of megabytes would be copied with each piece.
        self._rest.append(data)
        if b"\n" not in data and b"\r" not in b"".join(self._rest[-2:]):
            return
        # All three line ends are allowed; after a carriage return a newline may be yet to come.
        text = b"".join(self._rest)
        cut = len(text) - text.endswith(b"\r")
        *lines, rest = text[:cut].replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = [rest + text[cut:]]
        for line in lines:
            if not line:
                if self._data:
                    yield b"\n".join(self._data)
                    self._data = []
            elif line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))


def event(data: bytes) -> bytes:
    """One message as an event; `data` is JSON on one line."""
    return b"event: message\ndata: %b\n\n" % data
