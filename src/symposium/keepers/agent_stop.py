"""Stop an agent at each tool call that it announces, until its worktree has been saved.

An agent that is a program is stopped by the kernel in each line that it writes, until the line has
been read. One that asks before its tool calls is stopped only once an announcement has been read.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, Self

from peerwire.jsonrpc.transport import Overlong, Transport
from peerwire.transports.memory import TappedTransport
from peerwire.transports.process import ProcessTransport
from peerwire.transports.stop_on_write import StopOnWrite
from symposium.keepers.approval_habit import ApprovalHabit
from symposium.keepers.halting import HOLD, Halting, groups_writing

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
        announces: Callable[[bytes | Overlong, float | None], bool],
        on_late: Callable[[], None],
    ) -> None:
        self._announces = announces
        self._halting = Halting(on_late)
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
        self._halting.go_on()
        self._habit = habit = ApprovalHabit()
        self._stop = None
        if not isinstance(transport, ProcessTransport):
            return TappedTransport(transport, self._hear)
        self._leader = transport.pid
        self._stop = transport.stop_on_write(self._check)
        self._halting.watch((self._leader,))
        self._stop.arm()

        def sent(direction: Literal["received", "sent"], line: bytes | Overlong) -> None:
            if direction == "sent" and not isinstance(line, Overlong):
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
        self._halting.go_on()

    def _hear(self, direction: Literal["received", "sent"], line: bytes | Overlong) -> None:
        """For an agent that is no program of its own: nothing of it can be stopped."""
        if direction == "received":
            self._announces(line, time.time())

    def _check(self, lines: Sequence[bytes | Overlong]) -> bool:
        is_armed = self._stop is not None and self._stop.is_armed
        is_announced = False
        for line in lines:
            if not isinstance(line, Overlong):
                self._habit.heard(line)
            if self._announces(line, None if is_armed else time.time()):
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

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        self._listener.lines_received(lines)
