"""The editor as one chain sees it: named as the editor knows its sessions, and kept while it must.

A stream without a waiting message passes byte for byte.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.values import as_object
from symposium.chain.calls import Call
from symposium.chain.ends import PlainEnd
from symposium.chain.link import Link
from symposium.chain.messages import Crossing
from symposium.run_mode.chat_commands import COMMANDS_UPDATE, with_commands
from symposium.run_mode.permissions import PERMISSION, Permissions
from symposium.run_mode.recent import Recent
from symposium.run_mode.turnstile import Turnstile

_COMMANDS_MARK: Final = COMMANDS_UPDATE.encode()

_KIND: Final = b'"sessionUpdate":"'

_NOTHING: Final = b"\n"
"""How no line begins."""

MOST_HELD: Final = 16 * 1024 * 1024
"""Bytes that are kept for the editor before the chain is not read any longer (acp-host §4.6)."""

HISTORY: Final = frozenset(
    {
        *("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"),
        *("tool_call", "tool_call_update", "plan"),
    }
)
"""Updates that an agent sends again when it loads a session; others tell a state."""


class EditorEnd:
    """Route end for a chain's messages to the editor.

    Attributes:
        turnstile: holds messages that the editor may not see yet.
        permissions: what the agent has asked the user and waits for.
        recent: the latest lines of the links that write here.
        outer_ids: the editor's id for each session that this chain serves under another id.
    """

    def __init__(self, link: Link) -> None:
        self._plain = PlainEnd(link)
        # The short way of a stream: nothing is ever kept for the editor's link itself.
        self._send = link.transport.send
        # How the lines begin that may pass unread; none may while sessions have other names here.
        self._passing = _NOTHING
        self.turnstile = Turnstile(self._brake)
        self.permissions = Permissions()
        self.recent = Recent()
        self._muted: set[str] = set()
        self.outer_ids: dict[str, str] = {}
        self._sources: list[Link] = []

    def read_from(self, sources: list[Link]) -> None:
        """Know the links that write here: they are listened to, and held while much is kept."""
        self._sources = sources
        for link in sources:
            link.on_lines = self.recent.take

    def rename(self, inner_id: str, outer_id: str) -> None:
        """Call a session of the chain by the editor's id from now on."""
        self._passing = _NOTHING
        self.outer_ids[inner_id] = outer_id

    def forget(self, inner_id: str) -> None:
        """A session is no longer served here."""
        self.outer_ids.pop(inner_id, None)
        self.turnstile.forget(inner_id)

    def forward(self, message: Message, line: bytes) -> None:
        """Forward an unchanged notification; the lines of a stream begin alike."""
        if line.startswith(self._passing) and self.turnstile.is_idle:
            self._send(line)
        elif self.turnstile.is_idle and not self.outer_ids and _COMMANDS_MARK not in line:
            self._passing = _beginning(line)
            self._send(line)
        elif isinstance(message.method, str):
            self.notify(Crossing(message.method, message.params, is_request=False, line=line))

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        if self._muted and crossing.session_id in self._muted and _is_history(crossing):
            return
        self._pass(crossing, lambda: self._plain.notify(crossing))

    def mute(self, session: str) -> None:
        """The editor has the history of this session; what else is said of it waits."""
        self._muted.add(session)
        self.turnstile.close(session)

    def unmute(self, session: str) -> None:
        """Undo that; forward the waiting messages."""
        self._muted.discard(session)
        self.turnstile.know(session)
        self.turnstile.open(session)

    def ask(self, call: Call) -> None:
        """Take a request."""
        if call.crossing.method == PERMISSION:
            self.permissions.asked(call)
        self._pass(call.crossing, lambda: self._ask(call))

    def cancel(self, call: Call) -> None:
        """Tell the editor that an answer is not wanted any more; passes in any case."""
        self._plain.cancel(call)

    def pass_answer(self, session: str | None, size: int, go: Callable[[], None]) -> None:
        """Let an answer through, behind what its agent has said before."""
        if not self.turnstile.keeps(session, size, go):
            go()

    def _ask(self, call: Call) -> None:
        if not call.is_settled:
            self._plain.ask(call)

    def _pass(self, crossing: Crossing, go: Callable[[], None]) -> None:
        def deliver() -> None:
            self._adapt(crossing)
            go()

        if not self.turnstile.keeps(crossing.session_id, crossing.size, deliver):
            deliver()

    def _adapt(self, crossing: Crossing) -> None:
        """Put in the editor's name of the session, and our commands."""
        params = crossing.params
        if not isinstance(params, dict):
            return
        given = cast("dict[str, Any]", params)
        adapted = with_commands(given)
        session = crossing.session_id
        if session is not None and session in self.outer_ids:
            adapted = renamed(adapted or given, self.outer_ids[session])
        if adapted is not None:
            crossing.replace(method=None, params=adapted)

    def _brake(self, size: int) -> None:
        for link in self._sources:
            if size > MOST_HELD:
                link.hold(self)
            else:
                link.let_go(self)


def _is_history(crossing: Crossing) -> bool:
    update = as_object(as_object(crossing.params).get("update"))
    return update.get("sessionUpdate") in HISTORY


def _beginning(line: bytes) -> bytes:
    """A line up to the kind of its update; how no line begins, where it has none."""
    at = line.find(_KIND)
    end = line.find(b'"', at + len(_KIND))
    return line[: end + 1] if at >= 0 and end >= 0 else _NOTHING


def renamed(params: Mapping[str, Any], session: str) -> dict[str, Any]:
    """The same params about the session of that name."""
    return {**params, "sessionId": session}
