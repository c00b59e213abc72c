"""The state of running agents, from their session servers.

A session server that hangs costs each list one timeout, however many hang, and the list shows since
when there is no answer.

A session server of this version announces what happens (`session_noted`). The daemon then asks that
one server, so a list needs no server at all. Servers of an earlier version announce nothing; they
are asked for each list. Servers are asked side by side, each with a timeout.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final

from symposium.sessions.client import DESCRIBE, POLL_INTERVAL, STOP_TIMEOUT, NoAnswerError, reach
from symposium.sessions.session import SessionError, SessionKind, SessionStore, Status

FIRST_TIMEOUT: Final = 2.0
"""Seconds until a session server must answer."""

NEXT_TIMEOUT: Final = 0.2
"""The timeout after a server did not answer: most servers that hang keep hanging."""

AT_ONCE: Final = 64
"""Session servers that are asked at the same time."""


@dataclass(frozen=True, slots=True)
class AgentNow:
    """State of one agent.

    Attributes:
        questions: the permissions that it waits for, as its session server lists them.
        is_idle: whether it runs and has finished its prompts; unknown for a terminal.
        announces: whether the server can announce what happens on the bus.
        seq: number of the last event of the session; -1 where it is unknown.
        no_answer_since: since when its session server has not answered, ISO 8601 in UTC; empty
            while it answers.
    """

    questions: tuple[Mapping[str, Any], ...] = ()
    is_idle: bool = False
    announces: bool = False
    seq: int = -1
    no_answer_since: str = ""


NO_AGENT: Final = AgentNow()
"""State of an agent that does not run, or that has its own terminal."""


class SessionServers:
    """Ask session servers, and remember the ones that did not answer.

    Args:
        store: store of sessions.
        timeout: seconds until a server must answer.
    """

    def __init__(self, store: SessionStore, timeout: float = FIRST_TIMEOUT) -> None:
        self._store = store
        self._timeout = timeout
        self._silent: dict[str, str] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def now(self, taskspace: str) -> AgentNow:
        """State of the agent of one task."""
        if not self._store.is_kept(taskspace):
            self._silent.pop(taskspace, None)
            return NO_AGENT
        async with self._turns:
            return await self._ask(taskspace)

    async def all(self, taskspaces: Collection[str]) -> dict[str, AgentNow]:
        """States of the agents of these tasks; all are asked at once."""
        async with asyncio.TaskGroup() as tasks:
            asked = {each: tasks.create_task(self.now(each)) for each in taskspaces}
        return {each: task.result() for each, task in asked.items()}

    async def _ask(self, taskspace: str) -> AgentNow:
        timeout = min(self._timeout, NEXT_TIMEOUT) if taskspace in self._silent else self._timeout
        try:
            if self._store.spec(taskspace).kind is not SessionKind.ACP:
                return NO_AGENT
            async with reach(self._store, taskspace) as server:
                now = await server.ask(DESCRIBE, timeout=timeout)
        except NoAnswerError:
            since = datetime.now(UTC).isoformat(timespec="milliseconds")
            return AgentNow(no_answer_since=self._silent.setdefault(taskspace, since))
        except SessionError:
            # The session has just ended, or is just starting.
            return NO_AGENT
        self._silent.pop(taskspace, None)
        has_session = now.get("acpSession") is not None
        is_idle = has_session and not now.get("working") and not now.get("waiting")
        questions, announces = tuple(now.get("questions", ())), now.get("announces") is True
        return AgentNow(questions, is_idle, announces, int(now.get("seq", -1)))


CACHE_SECONDS: Final = 5.0
"""Seconds after which a server that announces is asked again, in case it hangs."""

Ask = Callable[[str], Awaitable[AgentNow]]
"""Asks the server of this session."""


class LiveSessions:
    """State of all running sessions.

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
        self._order = count()
        self._changed_in: dict[str, int] = {}
        self._answered_in: dict[str, int] = {}
        self._connected: set[str] = set()
        self._dirty: dict[str, str] = {}
        self._is_dirty = asyncio.Event()
        self._ended: dict[str, None] = {}
        self.on_change: Callable[[str, str], None] = _ignore

    async def run(self) -> None:
        """Ask each server that has announced an event, until canceled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._is_dirty.wait()
                self._is_dirty.clear()
                dirty, self._dirty = self._dirty, {}
                for id_, cause in dirty.items():
                    # One task for each server: a server that hangs delays only itself.
                    tasks.create_task(self._follow(id_, cause))

    def noted(self, id_: str, cause: str) -> None:
        """Ask a session server at once, after it announced an event."""
        self._connected.add(id_)
        self.changed(id_, cause)

    def changed(self, id_: str, cause: str) -> None:
        """Ask soon, after something about a session changed."""
        self._dirty[id_] = cause
        self._asked_at.pop(id_, None)
        self._changed_in[id_] = next(self._order)
        self._is_dirty.set()

    async def gone(self, id_: str) -> None:
        """A session server has disconnected: once its process has exited, record how it ended."""
        self._connected.discard(id_)
        for _ in range(round(STOP_TIMEOUT / POLL_INTERVAL)):
            if not self._store.is_kept(id_):
                break
            await asyncio.sleep(POLL_INTERVAL)
        self.changed(id_, "exited")

    async def of(self, ids: Collection[str]) -> dict[str, AgentNow]:
        """State of the running ones of these sessions."""
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
        """Find the running sessions and ask each, when the daemon starts."""

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
        """Whether its session server runs; forget its state if it has exited."""
        if self._store.is_kept(id_):
            self._ended.pop(id_, None)
            self._known.setdefault(id_, NO_AGENT)
            return True
        for each in (self._asked_at, self._changed_in, self._answered_in):
            each.pop(id_, None)
        if self._known.pop(id_, None) is not None:
            self._ended[id_] = None
        return False

    def _is_stale(self, id_: str) -> bool:
        """Whether to ask before listing; a server without an answer is asked now and then."""
        live, asked_at = self._known[id_], self._asked_at.get(id_)
        if asked_at is None:
            return True
        is_recent = self._clock() - asked_at < CACHE_SECONDS
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
        # A list waits for an answer from after the last change: it joins no earlier question.
        started, asked_at = next(self._order), self._clock()
        now, known = await self._ask(id_), self._known.get(id_, NO_AGENT)
        if started < self._answered_in.get(id_, -1):
            return
        self._answered_in[id_] = started
        if started > self._changed_in.get(id_, -1):
            self._asked_at[id_] = asked_at
        if now.no_answer_since:
            self._known[id_] = replace(known, no_answer_since=now.no_answer_since, is_idle=False)
        elif now.seq >= known.seq:
            # Answers can arrive out of order: keep the one with the later event.
            self._known[id_] = now
        else:
            # The session is starting or ending, or its agent has a terminal: ask for each list.
            self._known[id_] = replace(known, no_answer_since="")
            self._asked_at.pop(id_, None)


def _ignore(id_: str, cause: str) -> None:
    del id_, cause
