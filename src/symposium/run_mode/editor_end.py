"""The editor as one chain sees it: named as the editor knows its sessions, and kept while it must.

A stream that nobody waits for passes as the bytes that came.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from peerwire.jsonrpc.messages import Message
from symposium.conductor.call import Call
from symposium.conductor.component import Crossing
from symposium.conductor.ends import PlainEnd
from symposium.conductor.link import Link
from symposium.run_mode.chat_commands import COMMANDS_UPDATE, with_commands
from symposium.run_mode.turnstile import Turnstile

_COMMANDS_MARK: Final = COMMANDS_UPDATE.encode()

_KIND: Final = b'"sessionUpdate":"'

_NOTHING: Final = b"\n"
"""How no line begins."""

MOST_HELD: Final = 16 * 1024 * 1024
"""Bytes that are kept for the editor before the chain is not read any longer (acp-host §4.6)."""


class EditorEnd:
    """Where a chain's messages to the editor arrive.

    Attributes:
        turnstile: keeps what the editor may not see yet.
        outer_ids: the editor's id for each session that this chain serves under another id.
        sources: the links that write here; held while very much is kept.
    """

    def __init__(self, link: Link) -> None:
        self._plain = PlainEnd(link)
        # The short way of a stream: nothing is ever kept for the editor's link itself.
        self._send = link.transport.send
        self._begins_other = _NOTHING
        self.turnstile = Turnstile(self._brake)
        self.outer_ids: dict[str, str] = {}
        self.sources: list[Link] = []

    def forward(self, message: Message, line: bytes) -> None:
        """Take a notification that nobody touched."""
        if (
            self.turnstile.is_idle
            and not self.outer_ids
            and (line.startswith(self._begins_other) or self._is_other(line))
        ):
            self._send(line)
        elif isinstance(message.method, str):
            self.notify(Crossing(message.method, message.params, is_request=False, line=line))

    def _is_other(self, line: bytes) -> bool:
        """Whether it is no list of commands; searched once, as lines of a stream begin alike."""
        if _COMMANDS_MARK in line:
            return False
        at = line.find(_KIND)
        end = line.find(b'"', at + len(_KIND))
        if at >= 0 and end >= 0:
            self._begins_other = line[: end + 1]
        return True

    def notify(self, crossing: Crossing) -> None:
        """Take a notification."""
        self._pass(crossing, lambda: self._plain.notify(crossing))

    def ask(self, call: Call) -> None:
        """Take a request."""
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
        for link in self.sources:
            if size > MOST_HELD:
                link.hold(self)
            else:
                link.let_go(self)


def renamed(params: Mapping[str, Any], session: str) -> dict[str, Any]:
    """The same params about the session of that name."""
    return {**params, "sessionId": session}
