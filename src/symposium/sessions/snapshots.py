"""Snapshots of the worktree around tool calls."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from msgspec import DecodeError, Raw, Struct, json

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.jsonrpc.values import as_object
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.connect import returning
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError
from symposium.bus.messages.tasks import SESSION_SERVER, SnapshotView
from symposium.bus.messages.worktrees import SnapshotTaskspace
from symposium.bus.protocol import Role
from symposium.sessions.agent_stop import LATE, AgentStop


@dataclass(frozen=True, slots=True)
class Listening:
    """How an agent is listened to.

    Attributes:
        is_old: whether what it says now was said before: it repeats its session.
        trouble: told what could not be done, for people.
    """

    is_old: Callable[[], bool]
    trouble: Callable[[str], None]


class ToolCallHooks(Protocol):
    """Keeps what a tool may destroy."""

    @property
    def has_changed(self) -> bool:
        """Whether the worktree has changed since the turn began, as far as snapshots show it."""
        ...

    async def __aenter__(self) -> object:
        """Begin."""
        ...

    async def __aexit__(self, *error: object) -> None:
        """End; what was asked for has been done or given up."""
        ...

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """The agent's transport, on which each tool call is heard before anybody acts on it.

        The agent stands still until its worktree is kept.
        """
        ...

    async def keep(self, reason: str) -> str:
        """Keep the worktree as it is now; why that could not be, or nothing."""
        ...

    async def begin_turn(self) -> str:
        """Keep the worktree before the agent is told something; why that could not be."""
        ...


class NoSnapshots:
    """Keeps nothing: for an agent that works in no taskspace."""

    has_changed = False

    async def __aenter__(self) -> object:
        """Nothing."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Nothing."""

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """The transport as it is."""
        del listening
        return transport

    async def keep(self, reason: str) -> str:
        """Nothing."""
        del reason
        return ""

    async def begin_turn(self) -> str:
        """Nothing."""
        return ""


_SIGN: Final = b'"tool_call'
"""What stands in every line of interest, however it is written: no line is read without it."""

_OVER: Final = frozenset({"completed", "failed"})
"""Statuses of a call that does nothing any more (ACP, tool calls)."""

_LONGEST: Final = 200
"""Characters of a title in a reason."""

_MAX_CALLS: Final = 1000
"""Calls that may be open; an agent that never ends them is not followed for ever."""


class _Notice(Struct):
    method: str = ""
    params: Raw = Raw(b"null")


@dataclass(frozen=True, slots=True)
class HeardCalls:
    """Something that is worth a snapshot.

    Attributes:
        reason: for people.
        is_first: whether a call begins while no other is open: what has changed just now, it did.
    """

    reason: str
    is_first: bool


class OpenToolCalls:
    """Those of one agent."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def heard(self, line: bytes) -> HeardCalls | None:
        """What a line that the agent wrote says of its tool calls; None if nothing new."""
        if _SIGN not in line:
            return None
        try:
            notice = json.decode(line, type=_Notice)
            update = as_object(as_object(json.decode(notice.params)).get("update"))
        except DecodeError:
            # Not ours to judge: whoever is to act on it says so.
            return None
        is_call = update.get("sessionUpdate") in {"tool_call", "tool_call_update"}
        return self._changed(update) if is_call and notice.method == "session/update" else None

    def forget(self) -> None:
        """A turn begins: what was left open is over."""
        self._open.clear()

    def _changed(self, update: Mapping[str, Any]) -> HeardCalls | None:
        id_ = str(update.get("toolCallId"))
        before = self._open.get(id_)
        status = str(update.get("status") or before or "pending")
        title = str(update.get("title") or id_)[:_LONGEST]
        if status in _OVER:
            self._open.pop(id_, None)
            return HeardCalls(f"after tool call {title}", is_first=False)
        if status == before:
            return None
        if len(self._open) >= _MAX_CALLS:
            self._open.clear()
        self._open[id_] = status
        return HeardCalls(f"tool call {title}", is_first=len(self._open) == 1)


SNAPSHOT_TIMEOUT: Final = 30.0
"""Seconds that a tool call waits at most for the worktree to be kept."""

_log = logging.getLogger(__name__)


def keepers_bus(taskspace: str, worktree: str) -> BusClient:
    """The way to the daemon: one that has died is started again, one that was stopped is not."""
    identity = Identity(Role.HOST, SESSION_SERVER, Sender(worktree, taskspace, None))
    return BusClient(identity, settings=ClientSettings(dial=returning()))


def _work(snapshot: SnapshotView | None) -> tuple[str, str] | None:
    return None if snapshot is None else (snapshot.tree, snapshot.tip)


@dataclass(frozen=True, slots=True)
class _Wanted:
    reason: str
    called_at: float | None


class BusSnapshots:
    """Asks for snapshots of one taskspace.

    What is asked for while one is being taken becomes one more: it holds everything since.

    Args:
        taskspace: its id.
        bus: the way to the daemon; entered here.
    """

    def __init__(self, taskspace: str, bus: BusClient) -> None:
        self._taskspace = taskspace
        self._bus = bus
        self._calls = OpenToolCalls()
        self._stop = AgentStop(self._announces, lambda: self._tell(LATE))
        self._wanted: _Wanted | None = None
        self._is_wanted = asyncio.Event()
        self._listening: Listening | None = None
        # What was told last: not told at each call, until one could be kept again.
        self._trouble = ""
        self._at_start: SnapshotView | None = None
        self._newest: SnapshotView | None = None
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Begin."""
        await self._bus.__aenter__()
        await self._tasks.__aenter__()
        await self._stop.__aenter__()
        self._worker = self._tasks.create_task(self._work())
        return self

    async def __aexit__(self, *error: object) -> None:
        """End; what was asked for has been done or given up."""
        self._worker.cancel()
        await self._stop.__aexit__(*error)
        await self._tasks.__aexit__(None, None, None)
        await self._bus.__aexit__(None, None, None)

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """The agent's transport, on which each tool call is heard before anybody acts on it."""
        self._listening = listening
        self._calls.forget()
        return self._stop.listen(transport)

    async def keep(self, reason: str) -> str:
        """Keep the worktree as it is now; why that could not be, or nothing."""
        return await self._keep(_Wanted(reason, None))

    async def begin_turn(self) -> str:
        """Keep the worktree before the agent is told something; why that could not be."""
        self._calls.forget()
        self._stop.begin_turn()
        self._at_start = None
        return await self.keep("before a prompt")

    @property
    def has_changed(self) -> bool:
        """Whether files or HEAD changed between the first and the newest snapshot of the turn.

        A branch made elsewhere in the clone also makes a new snapshot, but is no work of the turn.
        """
        return _work(self._newest) != _work(self._at_start)

    def _announces(self, line: bytes | OversizedLine, called_at: float | None) -> bool:
        """Ask for a snapshot where a line announces a tool call; whether it does."""
        heard = self._heard(line)
        if heard is None:
            return False
        may_be_late = heard.is_first and self._wanted is None
        self._wanted = _Wanted(heard.reason, called_at if may_be_late else None)
        self._is_wanted.set()
        return True

    def _heard(self, line: bytes | OversizedLine) -> HeardCalls | None:
        if self._listening is None or self._listening.is_old():
            return None
        if isinstance(line, OversizedLine):
            return HeardCalls("a line that is too long to read", is_first=False)
        return self._calls.heard(line)

    async def _keep(self, wanted: _Wanted) -> str:
        message = SnapshotTaskspace(
            taskspace_uuid=self._taskspace, reason=wanted.reason, called_at=wanted.called_at
        )
        try:
            async with asyncio.timeout(SNAPSHOT_TIMEOUT):
                # Without a daemon that is said at once: nobody is to wait for none.
                await self._bus.ready()
            taken = await self._bus.request(message, patience=SNAPSHOT_TIMEOUT)
        except (BusError, TimeoutError) as error:
            _log.warning("The worktree could not be kept: %s", error)
            is_known, self._trouble = self._trouble == str(error), str(error)
            return "" if is_known else f"the worktree could not be kept ({wanted.reason}): {error}"
        self._trouble = ""
        self._newest = taken.snapshot
        if self._at_start is None:
            self._at_start = self._newest
        return ""

    async def _work(self) -> None:
        while True:
            await self._is_wanted.wait()
            self._is_wanted.clear()
            wanted, self._wanted = self._wanted, None
            assert wanted is not None
            trouble = await self._keep(wanted)
            if not self._is_wanted.is_set():
                self._stop.release()
            if trouble:
                self._tell(trouble)

    def _tell(self, text: str) -> None:
        if self._listening is not None:
            self._listening.trouble(text)
