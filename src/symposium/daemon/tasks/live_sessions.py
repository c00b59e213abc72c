"""What the session servers of running agents say: kept current, and read without asking them.

A session server of this version announces what happens (`session_noted`). The daemon then asks that
one server, so a list needs no server at all. Servers of an earlier version announce nothing; they
are asked for each list. Servers are asked side by side, each with a timeout.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from symposium.agent_sessions.keeper_client import LOOK_AGAIN, STOP_PATIENCE
from symposium.agent_sessions.session import Status
from symposium.agent_sessions.store import SessionStore
from symposium.daemon.tasks.session_servers import NOTHING, AgentNow, SessionServers

FRESH: Final = 5.0
"""Seconds after which a server that announces is asked again, in case it hangs."""

Ask = Callable[[str], Awaitable[AgentNow]]
"""Asks the session server of this session."""


class LiveSessions:
    """All running sessions.

    Args:
        store: the sessions.
        ask: asks one server. Default: over its socket.
        clock: seconds, for freshness.
    """

    def __init__(
        self,
        store: SessionStore,
        ask: Ask | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._ask = ask or SessionServers(store).now
        self._clock = clock
        self._known: dict[str, AgentNow] = {}
        self._asked_at: dict[str, float] = {}
        self._connected: set[str] = set()
        self._dirty: dict[str, str] = {}
        self._is_dirty = asyncio.Event()
        self._ended: dict[str, None] = {}
        self.on_change: Callable[[str, str], None] = _ignore

    async def run(self) -> None:
        """Ask each server that has announced something, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._is_dirty.wait()
                self._is_dirty.clear()
                dirty, self._dirty = self._dirty, {}
                for id_, cause in dirty.items():
                    # In a task each: one that hangs delays the news of no other.
                    tasks.create_task(self._follow(id_, cause))

    def noted(self, id_: str, cause: str) -> None:
        """A session server has announced something: ask it at once."""
        self._connected.add(id_)
        self.changed(id_, cause)

    def changed(self, id_: str, cause: str) -> None:
        """Something about a session has changed: look again soon."""
        self._dirty[id_] = cause
        self._asked_at.pop(id_, None)
        self._is_dirty.set()

    async def gone(self, id_: str) -> None:
        """A session server has disconnected: once its process is gone, note how it ended."""
        self._connected.discard(id_)
        for _ in range(round(STOP_PATIENCE / LOOK_AGAIN)):
            if not self._store.is_kept(id_):
                break
            await asyncio.sleep(LOOK_AGAIN)
        self.changed(id_, "exited")

    async def of(self, ids: Collection[str]) -> dict[str, AgentNow]:
        """What is known of those of these sessions that run."""
        running = [id_ for id_ in ids if self._is_running(id_)]
        await self._refresh([id_ for id_ in running if self._is_stale(id_)])
        return {id_: self._known[id_] for id_ in running if id_ in self._known}

    def known(self) -> list[str]:
        """Ids of the sessions that run, as far as known."""
        return list({**self._known, **self._dirty})

    def ended(self) -> list[str]:
        """Ids of sessions that have ended since they were seen running, or before the start."""
        return list(self._ended)

    async def find(self) -> None:
        """Find the sessions that run, and ask each; for the start of the daemon."""

        def look() -> list[tuple[str, bool]]:
            return [(id_, self._store.is_kept(id_)) for id_ in self._store.ids()]

        found = await asyncio.to_thread(look)
        running = [id_ for id_, is_kept in found if is_kept]
        ended = [id_ for id_, is_kept in found if not is_kept]
        self._ended |= dict.fromkeys(await asyncio.to_thread(self._exited, ended))
        await self._refresh([id_ for id_ in running if id_ not in self._known])

    def _exited(self, ids: Sequence[str]) -> list[str]:
        return [id_ for id_ in ids if self._store.state(id_).status is Status.EXITED]

    def _is_running(self, id_: str) -> bool:
        """Whether its server lives; what is known of one that does not is dropped."""
        if self._store.is_kept(id_):
            self._ended.pop(id_, None)
            self._known.setdefault(id_, NOTHING)
            return True
        if self._known.pop(id_, None) is not None:
            self._asked_at.pop(id_, None)
            self._ended[id_] = None
        return False

    def _is_stale(self, id_: str) -> bool:
        """Whether a list must ask first; one that does not answer is asked now and then."""
        live, asked_at = self._known[id_], self._asked_at.get(id_)
        if asked_at is None:
            return True
        is_recent = self._clock() - asked_at < FRESH
        is_told = live.announces and id_ in self._connected
        return not is_recent if is_told or live.no_answer_since else True

    async def _refresh(self, ids: Collection[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            for id_ in ids:
                tasks.create_task(self._ask_one(id_))

    async def _follow(self, id_: str, cause: str) -> None:
        if self._is_running(id_):
            await self._ask_one(id_)
        self.on_change(id_, cause)

    async def _ask_one(self, id_: str) -> None:
        self._asked_at[id_] = self._clock()
        now, known = await self._ask(id_), self._known.get(id_, NOTHING)
        if now.no_answer_since:
            self._known[id_] = replace(known, no_answer_since=now.no_answer_since, is_idle=False)
        elif now.seq >= known.seq:
            # Of two answers that cross, the one of the later event holds.
            self._known[id_] = now
        else:
            # It has only begun or just ended, or its agent has a terminal: asked for each list.
            self._known[id_] = replace(known, no_answer_since="")
            self._asked_at.pop(id_, None)


def _ignore(id_: str, cause: str) -> None:
    del id_, cause
