"""Stop an agent at each tool call until its worktree has been saved.

An agent that asks for permission needs no stop: its worktree is saved while the question is open.
Each of these counts as not asking: no question so far, a call that ran without one, a permission
for all further calls, another mode.

If the agent is a program, the kernel stops it in each line that it writes, until the line has been
read. An agent that asks before its tool calls is stopped only after an announcement has been read.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Self

from msgspec import DecodeError, json

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.jsonrpc.values import as_list, as_object
from peerwire.transports.memory import TappedTransport
from peerwire.transports.process import ProcessTransport
from peerwire.transports.stop_on_write import StopOnWrite
from symposium.sessions.pause import HOLD, ProcessPauser, groups_writing

HARMLESS: Final = frozenset({"read", "search", "think", "fetch"})
"""Kinds of tools that change no file (ACP, tool calls)."""

_ASK: Final = "session/request_permission"
_ASKS: Final = f'"{_ASK}"'.encode()
_ANSWERS: Final = b'"optionId"'
_CHANGES_MODE: Final = (b'"session/set_mode"', b'"session/set_config_option"')
_MODE_CHANGED: Final = b'"current_mode_update"'
_CALL: Final = b'"tool_call'


class ApprovalHabit:
    """Whether one agent asks before its tool calls; give it every line in order.

    Attributes:
        is_asking: whether it has asked for each call so far, and at least once.
    """

    def __init__(self) -> None:
        self.is_asking = False
        self._runs_unasked = False
        self._asked: set[str] = set()
        self._announced: str | None = None
        self._always: dict[str, frozenset[str]] = {}

    def received(self, line: bytes) -> None:
        """Process a line from the agent."""
        if self._runs_unasked:
            return
        if _ASKS in line:
            self._has_asked(_members(line))
        elif _MODE_CHANGED in line:
            self.is_asking = False
        elif _CALL in line:
            self._has_called(as_object(_members(line).get("params")))

    def sent(self, line: bytes) -> None:
        """Process a line to the agent."""
        if any(sign in line for sign in _CHANGES_MODE):
            self.is_asking = False
        if not self._always or _ANSWERS not in line:
            return
        message = _members(line)
        options = self._always.pop(str(message.get("id")), frozenset())
        outcome = as_object(as_object(message.get("result")).get("outcome"))
        if outcome.get("optionId") in options:
            self._set_unasked()

    def begin_turn(self) -> None:
        """Start a turn: an announced call without a question must have run by now."""
        if self._announced is not None:
            self._set_unasked()

    def _has_asked(self, message: Mapping[str, Any]) -> None:
        if message.get("method") != _ASK:
            return
        params = as_object(message.get("params"))
        id_ = str(as_object(params.get("toolCall")).get("toolCallId"))
        if self._announced not in {None, id_}:
            self._set_unasked()
            return
        self._announced = None
        self._asked.add(id_)
        options = params.get("options")
        self._always[str(message.get("id"))] = frozenset(
            str(as_object(each).get("optionId"))
            for each in as_list(options)
            if as_object(each).get("kind") == "allow_always"
        )
        self.is_asking = True

    def _has_called(self, params: Mapping[str, Any]) -> None:
        update = as_object(params.get("update"))
        if update.get("sessionUpdate") not in {"tool_call", "tool_call_update"}:
            return
        id_ = str(update.get("toolCallId"))
        if id_ in self._asked or update.get("kind") in HARMLESS:
            return
        is_begun = update.get("status") in {"in_progress", "completed", "failed"}
        if is_begun or self._announced not in {None, id_}:
            self._set_unasked()
        else:
            self._announced = id_

    def _set_unasked(self) -> None:
        self._runs_unasked = True
        self.is_asking = False
        self._always.clear()


def _members(line: bytes) -> Mapping[str, Any]:
    try:
        return as_object(json.decode(line))
    except DecodeError:
        # The receiver of the line reports it.
        return {}


LATE: Final = f"saving the worktree takes longer than {HOLD:g} s: the agent continues"


class AgentStop:
    """Stop one agent at a time, across restarts.

    Args:
        announces: whether a line from the agent announces a tool call, so that the agent
            stays stopped until `release`. The second argument is the time of the line, in
            seconds since 1970, if the agent was not stopped while it wrote; else None.
        on_late: called when the agent continues after the time limit.
    """

    def __init__(
        self,
        announces: Callable[[bytes | OversizedLine, float | None], bool],
        on_late: Callable[[], None],
    ) -> None:
        self._announces = announces
        self._pauser = ProcessPauser(on_late)
        self._habit = ApprovalHabit()
        self._stop: StopOnWrite | None = None
        self._leader = 0

    async def __aenter__(self) -> Self:
        """Start the guard process, which continues the agent if this process is killed."""
        await self._pauser.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Continue the agent, and stop the guard."""
        await self._pauser.__aexit__(*error)

    def listen(self, transport: Transport) -> Transport:
        """Wrap the transport of a new agent process, to see announcements before handlers do."""
        self._pauser.resume()
        self._habit = habit = ApprovalHabit()
        self._stop = None
        if not isinstance(transport, ProcessTransport):
            return TappedTransport(transport, self._see)
        self._leader = transport.pid
        self._stop = transport.stop_on_write(self._check)
        self._pauser.watch((self._leader,))
        self._stop.arm()

        def sent(direction: Literal["received", "sent"], line: bytes | OversizedLine) -> None:
            if direction == "sent" and not isinstance(line, OversizedLine):
                habit.sent(line)
                self._fit()

        return _TappedSending(transport, sent)

    def begin_turn(self) -> None:
        """Update the approval habit and the writers of the agent's output."""
        self._habit.begin_turn()
        self._fit()
        self._find_writers()

    def release(self) -> None:
        """Continue the agent, if it was stopped for an announcement."""
        self._pauser.resume()

    def _see(self, direction: Literal["received", "sent"], line: bytes | OversizedLine) -> None:
        """For an agent inside this process, which cannot be stopped."""
        if direction == "received":
            self._announces(line, time.time())

    def _check(self, lines: Sequence[bytes | OversizedLine]) -> bool:
        # Once for the whole read: `_fit` runs after its last line.
        was_stopped = self._stop is not None and self._stop.was_stopped
        is_announced = False
        for line in lines:
            if not isinstance(line, OversizedLine):
                self._habit.received(line)
            if self._announces(line, None if was_stopped else time.time()):
                self._pauser.pause(self._leader, self._resume)
                is_announced = True
        if is_announced:
            self._find_writers()
        if lines:
            self._fit()
        return is_announced

    def _fit(self) -> None:
        """Let the kernel stop the agent in its writes, unless it asks before its tool calls."""
        if self._stop is None or self._stop.is_armed is not self._habit.is_asking:
            return
        if self._habit.is_asking:
            self._stop.disarm()
        else:
            self._stop.arm()

    def _find_writers(self) -> None:
        """Also stop other process groups of the agent that can announce a tool call."""
        if self._stop is None or not self._stop.is_armed:
            return
        groups = groups_writing(self._leader, self._stop.pipe)
        self._pauser.watch((self._leader, *groups))
        self._stop.also(groups)

    def _resume(self) -> None:
        if self._stop is not None:
            self._stop.resume()


class _TappedSending(TappedTransport):
    """Show sent lines only: received ones were checked when they were read."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self._listener.lines_received(lines)
