"""Snapshots of the worktree before and after tool calls."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

from msgspec import DecodeError, Raw, Struct, json

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.jsonrpc.values import as_object
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_start import returning
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError
from symposium.bus.messages.tasks import SESSION_SERVER, SnapshotView
from symposium.bus.messages.worktrees import SnapshotTaskspace
from symposium.bus.protocol import Role
from symposium.sessions.agent_stop import LATE, AgentStop


@dataclass(frozen=True, slots=True)
class Listening:
    """Callbacks for observing an agent.

    Attributes:
        is_replay: whether the agent repeats the history of its session now.
        on_problem: called with a message for the user.
    """

    is_replay: Callable[[], bool]
    on_problem: Callable[[str], None]


class ToolCallHooks(Protocol):
    """Save the worktree before tools run."""

    @property
    def has_changed(self) -> bool:
        """Whether snapshots show a change of the worktree since the turn began."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *error: object) -> None:
        """Stop; pending snapshots have been taken or dropped."""
        ...

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """Wrap the agent's transport, to see each tool call before handlers do.

        The agent is stopped until its worktree is saved.
        """
        ...

    async def save(self, reason: str) -> str:
        """Save the worktree; return why that failed, or nothing."""
        ...

    async def begin_turn(self) -> str:
        """Save the worktree before a prompt; return why that failed, or nothing."""
        ...


class NoSnapshots:
    """Take no snapshots: for an agent without a task."""

    has_changed = False

    async def __aenter__(self) -> object:
        return self

    async def __aexit__(self, *error: object) -> None:
        """Do nothing."""

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """Return the transport unchanged."""
        del listening
        return transport

    async def save(self, reason: str) -> str:
        """Do nothing."""
        del reason
        return ""

    async def begin_turn(self) -> str:
        """Do nothing."""
        return ""


_SIGN: Final = b'"tool_call'
"""Bytes in every line of interest; other lines are not parsed."""

_OVER: Final = frozenset({"completed", "failed"})
"""Final statuses of a call (ACP, tool calls)."""

_MAX_TITLE: Final = 200
"""Longest title in a reason, in characters."""

_MAX_CALLS: Final = 1000
"""Calls that may be open; beyond that, they are forgotten."""


class _Notice(Struct):
    method: str = ""
    params: Raw = Raw(b"null")


@dataclass(frozen=True, slots=True)
class HeardCalls:
    """A change of tool calls that is worth a snapshot.

    Attributes:
        reason: for the user.
        is_first: whether a call begins while no other is open, so that it made recent changes.
    """

    reason: str
    is_first: bool


class OpenToolCalls:
    """The open tool calls of one agent."""

    def __init__(self) -> None:
        self._open: dict[str, str] = {}

    def received(self, line: bytes) -> HeardCalls | None:
        """Process a line from the agent; None unless it changes a tool call."""
        if _SIGN not in line:
            return None
        try:
            notice = json.decode(line, type=_Notice)
            update = as_object(as_object(json.decode(notice.params)).get("update"))
        except DecodeError:
            # The receiver of the line reports it.
            return None
        is_call = update.get("sessionUpdate") in {"tool_call", "tool_call_update"}
        return self._changed(update) if is_call and notice.method == "session/update" else None

    def forget(self) -> None:
        """Start a turn: calls that were left open have ended."""
        self._open.clear()

    def _changed(self, update: Mapping[str, Any]) -> HeardCalls | None:
        id_ = str(update.get("toolCallId"))
        before = self._open.get(id_)
        status = str(update.get("status") or before or "pending")
        title = str(update.get("title") or id_)[:_MAX_TITLE]
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
"""Timeout in seconds for a snapshot, during which a tool call waits."""

_log = logging.getLogger(__name__)


def session_bus(taskspace: str, worktree: str) -> BusClient:
    """Connection to the daemon, which restarts a crashed daemon but not a stopped one."""
    identity = Identity(Role.HOST, SESSION_SERVER, Sender(worktree, taskspace, None))
    return BusClient(identity, settings=ClientSettings(dial=returning()))


def _work(snapshot: SnapshotView | None) -> tuple[str, str] | None:
    return None if snapshot is None else (snapshot.tree, snapshot.tip)


@dataclass(frozen=True, slots=True)
class _Wanted:
    reason: str
    called_at: float | None


class BusSnapshots:
    """Requests snapshots of one task.

    Requests during a snapshot are merged into one more snapshot.

    Args:
        taskspace: its id.
        bus: the connection to the daemon; entered here.
    """

    def __init__(self, taskspace: str, bus: BusClient) -> None:
        self._taskspace = taskspace
        self._bus = bus
        self._calls = OpenToolCalls()
        self._stop = AgentStop(self._announces, lambda: self._report(LATE))
        self._wanted: _Wanted | None = None
        self._is_wanted = asyncio.Event()
        self._listening: Listening | None = None
        # The last reported problem, to report it only once until a snapshot succeeds.
        self._problem = ""
        self._at_start: SnapshotView | None = None
        self._newest: SnapshotView | None = None
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        """Connect to the bus and start taking snapshots."""
        await self._bus.__aenter__()
        await self._tasks.__aenter__()
        await self._stop.__aenter__()
        self._worker = self._tasks.create_task(self._work())
        return self

    async def __aexit__(self, *error: object) -> None:
        """Stop; pending snapshots have been taken or dropped."""
        self._worker.cancel()
        await self._stop.__aexit__(*error)
        await self._tasks.__aexit__(None, None, None)
        await self._bus.__aexit__(None, None, None)

    def listen(self, transport: Transport, listening: Listening) -> Transport:
        """Wrap the agent's transport, to see each tool call before handlers do."""
        self._listening = listening
        self._calls.forget()
        return self._stop.listen(transport)

    async def save(self, reason: str) -> str:
        """Save the worktree; return why that failed, or nothing."""
        return await self._save(_Wanted(reason, None))

    async def begin_turn(self) -> str:
        """Save the worktree before a prompt; return why that failed, or nothing."""
        self._calls.forget()
        self._stop.begin_turn()
        self._at_start = None
        return await self.save("before a prompt")

    @property
    def has_changed(self) -> bool:
        """Whether files or HEAD changed between the first and the newest snapshot of the turn.

        A branch made elsewhere in the clone also makes a new snapshot, but is not a change here.
        """
        return _work(self._newest) != _work(self._at_start)

    def _announces(self, line: bytes | OversizedLine, called_at: float | None) -> bool:
        """Request a snapshot if a line announces a tool call; return whether it does."""
        received = self._received(line)
        if received is None:
            return False
        may_be_late = received.is_first and self._wanted is None
        self._wanted = _Wanted(received.reason, called_at if may_be_late else None)
        self._is_wanted.set()
        return True

    def _received(self, line: bytes | OversizedLine) -> HeardCalls | None:
        if self._listening is None or self._listening.is_replay():
            return None
        if isinstance(line, OversizedLine):
            return HeardCalls("a line that is too long to parse", is_first=False)
        return self._calls.received(line)

    async def _save(self, wanted: _Wanted) -> str:
        message = SnapshotTaskspace(
            taskspace_uuid=self._taskspace, reason=wanted.reason, called_at=wanted.called_at
        )
        try:
            async with asyncio.timeout(SNAPSHOT_TIMEOUT):
                # Fail at once without a daemon.
                await self._bus.ready()
            taken = await self._bus.request(message, timeout=SNAPSHOT_TIMEOUT)
        except (BusError, TimeoutError) as error:
            _log.warning("could not save the worktree: %s", error)
            is_known, self._problem = self._problem == str(error), str(error)
            return "" if is_known else f"could not save the worktree ({wanted.reason}): {error}"
        self._problem = ""
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
            problem = await self._save(wanted)
            if not self._is_wanted.is_set():
                self._stop.release()
            if problem:
                self._report(problem)

    def _report(self, text: str) -> None:
        if self._listening is not None:
            self._listening.on_problem(text)
