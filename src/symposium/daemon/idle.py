"""When a daemon that nobody needs may end; told the time, it has no clock."""

from math import inf


class Idleness:
    """Counts who is there; a time of 0 seconds means that the daemon never ends by itself."""

    def __init__(self, timeout: float, now: float) -> None:
        self._timeout = timeout or inf
        self._here = 0
        self._since = now

    def came(self) -> None:
        """Somebody has connected."""
        self._here += 1

    def left(self, now: float) -> None:
        """Somebody has gone."""
        self._here -= 1
        self._since = now

    def busy(self, now: float) -> None:
        """There was something to do at this moment."""
        self._since = now

    @property
    def due(self) -> float:
        """When nobody will have been there for long enough; infinite while somebody is."""
        return inf if self._here else self._since + self._timeout

    def is_due(self, now: float) -> bool:
        """Whether that is now."""
        return now >= self.due
