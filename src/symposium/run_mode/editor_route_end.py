"""The editor as one chain sees it, and the gate that holds messages back.

A stream without a waiting message passes byte for byte.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from msgspec import Struct

from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.transport import OversizedLine
from peerwire.jsonrpc.values import as_object
from symposium.chain.calls import ModCall, Requester
from symposium.chain.ends import PlainEnd
from symposium.chain.link import Link
from symposium.chain.messages import Answer, ChainMessage
from symposium.run_mode.chat import COMMANDS_UPDATE, with_commands

PERMISSION: Final = "session/request_permission"

CANCELLED: Final[Mapping[str, Any]] = {"outcome": {"outcome": "cancelled"}}
"""The answer to a permission request whose turn was canceled (acp-host §7.1)."""


class Permissions:
    """The open permission requests of one chain."""

    def __init__(self) -> None:
        self._open: dict[ModCall, str] = {}

    def asked(self, call: ModCall) -> None:
        """Register a request that is sent to the editor."""
        self._open[call] = call.message.session_id or ""
        call.asker = _Question(call.asker, self._open)

    def withdraw(self, session: str) -> None:
        """Settle the open requests of a session whose turn is canceled."""
        for call, asked_in in list(self._open.items()):
            if asked_in == session:
                call.settle(Answer(value=CANCELLED))


class _Question:
    """Requester of a permission."""

    def __init__(self, asker: Requester, open_questions: dict[ModCall, str]) -> None:
        self._asker = asker
        self._open = open_questions

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Remove the request and forward the answer."""
        self._open.pop(call, None)
        self._asker.on_answer(call, answer)


MAX_RECENT: Final = 400
"""Lines kept for a summary of the agent's last output; whole reads are dropped above this."""

MAX_RECENT_LINE: Final = 4096
"""Maximum bytes of a kept line; a longer one is not part of a text."""


class RecentLines:
    """Store the short lines of each read, so that a stream costs little per line.

    Attributes:
        reads: number of reads so far.
    """

    def __init__(self) -> None:
        self.reads = 0
        self._kept: deque[tuple[int, Sequence[bytes]]] = deque()
        self._count = 0

    def take(self, lines: Sequence[bytes | OversizedLine]) -> None:
        """Store the lines of a read."""
        pieces = [line for line in lines if type(line) is bytes and len(line) <= MAX_RECENT_LINE]
        self.reads += 1
        if not pieces:
            # An empty read would never be dropped: only lines are counted.
            return
        self._kept.append((self.reads, pieces))
        self._count += len(pieces)
        while self._count - len(self._kept[0][1]) >= MAX_RECENT:
            self._count -= len(self._kept.popleft()[1])

    def since(self, reads: int) -> Iterator[bytes]:
        """Return the kept lines after the first `reads` reads, in order."""
        for number, lines in self._kept:
            if number > reads:
                yield from lines


ALL_SESSIONS: Final = ""
"""Key that closes the gate for all sessions of a chain."""


class _Held(Struct, frozen=True):
    session: str | None
    size: int
    go: Callable[[], None]


class MessageGate:
    """Hold or release messages of one direction between the editor and a chain.

    It is closed for a session while its menu is open, and for sessions that are not answered yet.

    Attributes:
        is_idle: whether everything passes.
        size: bytes of held messages.
    """

    def __init__(self, on_size: Callable[[int], None] | None = None) -> None:
        self.is_idle = True
        self.size = 0
        self._on_size = on_size
        self._closed: Counter[str] = Counter()
        self._held: list[_Held] = []
        self._expected = 0
        self._known: set[str] = set()

    def close(self, scope: str) -> None:
        """Hold messages of this session, or of `ALL_SESSIONS`; closings are counted."""
        self._closed[scope] += 1
        self.is_idle = False

    def open(self, scope: str) -> None:
        """Undo one `close`; release the held messages in order."""
        if self._closed[scope] > 1:
            self._closed[scope] -= 1
        else:
            del self._closed[scope]
            self._flush()

    def open_all(self) -> None:
        """Undo every `close`, after the chain has ended."""
        self._closed.clear()
        self._expected = 0
        self._flush()

    def expect(self) -> None:
        """Hold messages of unknown sessions while a session is created."""
        self._expected += 1
        self.is_idle = False

    def expected(self, session: str | None) -> None:
        """Register the expected session, or (None) that it will not open."""
        self._expected = max(0, self._expected - 1)
        if session is not None:
            self._known.add(session)
        self._flush()

    def know(self, session: str) -> None:
        """Register a session that the editor knows."""
        self._known.add(session)

    def forget(self, session: str) -> None:
        """Remove an ended session."""
        self._known.discard(session)

    def hold(self, session: str | None, size: int, go: Callable[[], None]) -> bool:
        """Hold a message if it may not pass yet; return whether it is held."""
        if self.is_idle or not self._must_wait(session):
            return False
        self._keep(_Held(session, size, go))
        self._tell_size()
        return True

    def _must_wait(self, session: str | None) -> bool:
        if ALL_SESSIONS in self._closed:
            return True
        if session is None:
            return False
        return session in self._closed or (self._expected > 0 and session not in self._known)

    def _keep(self, held: _Held) -> None:
        self._held.append(held)
        self.size += held.size

    def _flush(self) -> None:
        waiting, self._held = self._held, []
        self.size = 0
        for held in waiting:
            if self._must_wait(held.session):
                self._keep(held)
            else:
                held.go()
        self.is_idle = not (self._closed or self._expected or self._held)
        self._tell_size()

    def _tell_size(self) -> None:
        if self._on_size is not None:
            self._on_size(self.size)


_COMMANDS_MARK: Final = COMMANDS_UPDATE.encode()

_KIND: Final = b'"sessionUpdate":"'

_BLANK_LINE: Final = b"\n"
"""Prefix that no line has."""

MAX_QUEUED: Final = 16 * 1024 * 1024
"""Bytes of held messages above which the chain is no longer read (acp-host §4.6)."""

HISTORY: Final = frozenset(
    {
        *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
        *("tool_call", "tool_call_update", "plan"),
    }
)
"""Updates of the history, which an agent repeats when it loads a session."""


class EditorRouteEnd:
    """Route end for a chain's messages to the editor.

    Attributes:
        gate: holds messages that the editor may not see yet.
        permissions: open permission requests of the agent.
        recent: the latest lines of the chain's links.
        outer_ids: the editor's id for each session that this chain serves under another id.
    """

    def __init__(self, link: Link) -> None:
        self._plain = PlainEnd(link)
        # Fast path of a stream: the editor's link itself holds nothing.
        self._send = link.transport.send
        # Prefix of lines that pass unparsed; none do while sessions have other ids here.
        self._passing = _BLANK_LINE
        self.gate = MessageGate(self._brake)
        self.permissions = Permissions()
        self.recent = RecentLines()
        self._muted: set[str] = set()
        self.outer_ids: dict[str, str] = {}
        self._sources: list[Link] = []

    def read_from(self, sources: list[Link]) -> None:
        """Register the chain's links; they are paused while many messages are held."""
        self._sources = sources
        for link in sources:
            link.on_lines = self.recent.take

    def rename(self, inner_id: str, outer_id: str) -> None:
        """Use the editor's id for a session of the chain."""
        self._passing = _BLANK_LINE
        self.outer_ids[inner_id] = outer_id

    def forget(self, inner_id: str) -> None:
        """Remove a session of the chain."""
        self.outer_ids.pop(inner_id, None)
        self.gate.forget(inner_id)

    def forward(self, message: Message, line: bytes) -> None:
        """Forward an unchanged notification."""
        if line.startswith(self._passing) and self.gate.is_idle:
            self._send(line)
        elif self.gate.is_idle and not self.outer_ids and _COMMANDS_MARK not in line:
            self._passing = _beginning(line)
            self._send(line)
        elif isinstance(message.method, str):
            self.notify(ChainMessage(message.method, message.params, is_request=False, line=line))

    def notify(self, message: ChainMessage) -> None:
        """Forward a notification, or hold it."""
        if self._muted and message.session_id in self._muted and _is_history(message):
            return
        self._pass(message, lambda: self._plain.notify(message))

    def mute(self, session: str) -> None:
        """Drop the history of this session, which the editor has; hold other updates."""
        self._muted.add(session)
        self.gate.close(session)

    def unmute(self, session: str) -> None:
        """Undo `mute`; forward the held messages."""
        self._muted.discard(session)
        self.gate.know(session)
        self.gate.open(session)

    def ask(self, call: ModCall) -> None:
        """Forward a request, or hold it."""
        if call.message.method == PERMISSION:
            self.permissions.asked(call)
        self._pass(call.message, lambda: self._ask(call))

    def cancel(self, call: ModCall) -> None:
        """Cancel a request at the editor; never held."""
        self._plain.cancel(call)

    def pass_answer(self, session: str | None, size: int, go: Callable[[], None]) -> None:
        """Forward an answer after earlier messages of its agent."""
        if not self.gate.hold(session, size, go):
            go()

    def _ask(self, call: ModCall) -> None:
        if not call.is_settled:
            self._plain.ask(call)

    def _pass(self, message: ChainMessage, go: Callable[[], None]) -> None:
        def deliver() -> None:
            self._adapt(message)
            go()

        if not self.gate.hold(message.session_id, message.size, deliver):
            deliver()

    def _adapt(self, message: ChainMessage) -> None:
        """Insert the editor's session id and Symposium's commands."""
        params = message.params
        if not isinstance(params, dict):
            return
        given = cast("dict[str, Any]", params)
        adapted = with_commands(given)
        session = message.session_id
        if session is not None and session in self.outer_ids:
            adapted = renamed(adapted or given, self.outer_ids[session])
        if adapted is not None:
            message.replace(method=None, params=adapted)

    def _brake(self, size: int) -> None:
        for link in self._sources:
            if size > MAX_QUEUED:
                link.hold(self)
            else:
                link.release(self)


def _is_history(message: ChainMessage) -> bool:
    update = as_object(as_object(message.params).get("update"))
    return update.get("sessionUpdate") in HISTORY


def _beginning(line: bytes) -> bytes:
    """The prefix of a line up to the kind of its update; `_BLANK_LINE` without a kind."""
    at = line.find(_KIND)
    end = line.find(b'"', at + len(_KIND))
    return line[: end + 1] if at >= 0 and end >= 0 else _BLANK_LINE


def renamed(params: Mapping[str, Any], session: str) -> dict[str, Any]:
    """Copy the params with another session id."""
    return {**params, "sessionId": session}
