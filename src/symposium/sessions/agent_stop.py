"""Stop an agent at each tool call until its worktree has been saved.

One that asks needs no stop: its worktree is saved while its question is open. Everything that
leaves a doubt counts as not asking: no question yet, a call that ran without one, a permission for
all further calls, another mode.

An agent that is a program is stopped by the kernel in each line that it writes, until the line has
been read. One that asks before its tool calls is stopped only once an announcement has been read.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, Self, cast

from msgspec import DecodeError, json

from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.jsonrpc.values import as_object
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
    """That of one agent, from its start; `heard` and `sent` are given its lines in order.

    Attributes:
        is_asking: whether it has asked for each call so far, and for one at least.
    """

    def __init__(self) -> None:
        self.is_asking = False
        self._runs_unasked = False
        self._asked: set[str] = set()
        self._announced: str | None = None
        self._always: dict[str, frozenset[str]] = {}

    def heard(self, line: bytes) -> None:
        """Learn from a line that the agent wrote."""
        if self._runs_unasked:
            return
        if _ASKS in line:
            self._has_asked(_members(line))
        elif _MODE_CHANGED in line:
            self.is_asking = False
        elif _CALL in line:
            self._has_called(as_object(_members(line).get("params")))

    def sent(self, line: bytes) -> None:
        """Learn from a line that the agent is sent."""
        if any(sign in line for sign in _CHANGES_MODE):
            self.is_asking = False
        if not self._always or _ANSWERS not in line:
            return
        message = _members(line)
        options = self._always.pop(str(message.get("id")), frozenset())
        outcome = as_object(as_object(message.get("result")).get("outcome"))
        if outcome.get("optionId") in options:
            self._no_more()

    def begin_turn(self) -> None:
        """A call that was announced and never asked for has run by now."""
        if self._announced is not None:
            self._no_more()

    def _has_asked(self, message: Mapping[str, Any]) -> None:
        if message.get("method") != _ASK:
            return
        params = as_object(message.get("params"))
        id_ = str(as_object(params.get("toolCall")).get("toolCallId"))
        if self._announced not in {None, id_}:
            self._no_more()
            return
        self._announced = None
        self._asked.add(id_)
        options = params.get("options")
        self._always[str(message.get("id"))] = frozenset(
            str(as_object(each).get("optionId"))
            for each in (cast("list[Any]", options) if isinstance(options, list) else [])
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
            self._no_more()
        else:
            self._announced = id_

    def _no_more(self) -> None:
        self._runs_unasked = True
        self.is_asking = False
        self._always.clear()


def _members(line: bytes) -> Mapping[str, Any]:
    try:
        return as_object(json.decode(line))
    except DecodeError:
        # Not for us to report: the receiver of the line does.
        return {}


LATE: Final = f"keeping the worktree takes longer than {HOLD:g} s: the agent goes on"


class AgentStop:
    """Of one agent at a time, in all its lives.

    Args:
        announces: whether a line that the agent wrote announces a tool call, so that the agent
            stays stopped until `release`. The second argument is when an agent wrote it that was
            not stopped in its write, in seconds since 1970; None for one that was.
        on_late: called when the agent continues because its time is over.
    """

    def __init__(
        self,
        announces: Callable[[bytes | OversizedLine, float | None], bool],
        on_late: Callable[[], None],
    ) -> None:
        self._announces = announces
        self._halting = ProcessPauser(on_late)
        self._habit = ApprovalHabit()
        self._stop: StopOnWrite | None = None
        self._leader = 0

    async def __aenter__(self) -> Self:
        """Start the guard that continues the agent when we are killed."""
        await self._halting.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Continue the agent, and end the guard."""
        await self._halting.__aexit__(*error)

    def listen(self, transport: Transport) -> Transport:
        """The transport of a new life, on which announcements are heard before they are handled."""
        self._halting.resume()
        self._habit = habit = ApprovalHabit()
        self._stop = None
        if not isinstance(transport, ProcessTransport):
            return TappedTransport(transport, self._hear)
        self._leader = transport.pid
        self._stop = transport.stop_on_write(self._check)
        self._halting.watch((self._leader,))
        self._stop.arm()

        def sent(direction: Literal["received", "sent"], line: bytes | OversizedLine) -> None:
            if direction == "sent" and not isinstance(line, OversizedLine):
                habit.sent(line)
                self._fit()

        return _TappedSending(transport, sent)

    def begin_turn(self) -> None:
        """Find out what has changed since the last turn: its habit, and who writes its output."""
        self._habit.begin_turn()
        self._fit()
        self._find_writers()

    def release(self) -> None:
        """Continue the agent, if it was stopped for an announcement."""
        self._halting.resume()

    def _hear(self, direction: Literal["received", "sent"], line: bytes | OversizedLine) -> None:
        """For an agent that is no program of its own: nothing of it can be stopped."""
        if direction == "received":
            self._announces(line, time.time())

    def _check(self, lines: Sequence[bytes | OversizedLine]) -> bool:
        # Of the whole read: `_fit` comes after its last line.
        was_stopped = self._stop is not None and self._stop.was_stopped
        is_announced = False
        for line in lines:
            if not isinstance(line, OversizedLine):
                self._habit.heard(line)
            if self._announces(line, None if was_stopped else time.time()):
                self._halting.halt(self._leader, self._resume)
                is_announced = True
        if is_announced:
            self._find_writers()
        if lines:
            self._fit()
        return is_announced

    def _fit(self) -> None:
        """Have the kernel stop the agent in its writes unless it asks before its tool calls."""
        if self._stop is None or self._stop.is_armed is not self._habit.is_asking:
            return
        if self._habit.is_asking:
            self._stop.disarm()
        else:
            self._stop.arm()

    def _find_writers(self) -> None:
        """Stop further process groups of the agent that can announce a tool call."""
        if self._stop is None or not self._stop.is_armed:
            return
        groups = groups_writing(self._leader, self._stop.pipe)
        self._halting.watch((self._leader, *groups))
        self._stop.also(groups)

    def _resume(self) -> None:
        if self._stop is not None:
            self._stop.resume()


class _TappedSending(TappedTransport):
    """Shows what is sent alone: what is received was checked when it was read."""

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        self._listener.lines_received(lines)
