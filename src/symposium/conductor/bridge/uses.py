"""Which sessions use which servers, so that an endpoint closes with its last; pure."""

from collections import Counter
from collections.abc import Iterable


class Uses:
    """Servers in use, by session, and by requests that have yet to make one."""

    def __init__(self) -> None:
        self._pending: Counter[str] = Counter()
        self._sessions: dict[str, frozenset[str]] = {}

    def begin(self, servers: Iterable[str]) -> None:
        """A session with these servers has been asked for."""
        self._pending.update(servers)

    def opened(self, session: str, servers: Iterable[str]) -> list[str]:
        """The session is there; those of its former servers that nobody uses now."""
        before = self._sessions.get(session, frozenset())
        self._sessions[session] = frozenset(servers)
        self._pending.subtract(servers)
        return self._unused(before)

    def failed(self, servers: Iterable[str]) -> list[str]:
        """There will be no session; those of the servers that nobody uses now."""
        self._pending.subtract(servers)
        return self._unused(servers)

    def ended(self, session: str) -> list[str]:
        """A session has ended; those of its servers that nobody uses now."""
        return self._unused(self._sessions.pop(session, frozenset()))

    def _unused(self, servers: Iterable[str]) -> list[str]:
        used = set(+self._pending)
        for of_session in self._sessions.values():
            used |= of_session
        return sorted(set(servers) - used)
