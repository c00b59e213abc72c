"""Lines for a component that is not ready for them yet, in order."""

from collections.abc import Callable


class Kept:
    """Keeps what is to be written until it may be.

    Attributes:
        size: bytes that it holds.
        write: takes the next line: keeps it, or writes it at once.
    """

    def __init__(self, send: Callable[[bytes], None], on_growth: Callable[[], None]) -> None:
        self.size = 0
        self.write = send
        self._send = send
        self._on_growth = on_growth
        self._lines: list[bytes] = []

    def keep(self) -> None:
        """From now on write nothing."""
        self.write = self._keep

    def release(self) -> None:
        """Write what was kept, in order, and from now on all at once."""
        lines, self._lines = self._lines, []
        self.size = 0
        self.write = self._send
        for line in lines:
            self._send(line)

    def drop(self) -> None:
        """Forget what was kept; from now on lines are written, to a peer that is gone."""
        self._lines.clear()
        self.release()

    def _keep(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line) + 1
        self._on_growth()
