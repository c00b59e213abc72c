"""What happens here when an agent answers, before the editor learns of it."""

import uuid
from collections.abc import Callable
from typing import Final, TypeAlias

from peerwire.jsonrpc.errors import INVALID_PARAMS, REQUEST_CANCELLED, RpcError
from symposium.conductor.call import Asker, Call
from symposium.conductor.component import Answer
from symposium.conductor.gate import members_of
from symposium.run_mode.chat_commands import our_commands, text_line, update_line
from symposium.run_mode.floor import Floor
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.sessions import Session

Refused: TypeAlias = Callable[[RpcError, Callable[[Answer], None]], None]

_OF_THE_EDITOR: Final = frozenset({INVALID_PARAMS, REQUEST_CANCELLED})
"""Errors that are about what the editor asked for: another agent would not help."""


class NewSession:
    """Whoever asked for a session that its agent names: it is known here before the editor knows.

    Made before the request goes to the chain; what the agent says of the session meanwhile waits.
    """

    def __init__(
        self, asker: Asker, chain: OpenChain, floor: Floor, on_refused: Refused | None = None
    ) -> None:
        self._asker = asker
        self._chain = chain
        self._floor = floor
        self._on_refused = on_refused
        chain.end.turnstile.expect()

    def answered(self, call: Call, answer: Answer) -> None:
        """Store the session, answer, offer our commands; then its agent has the word."""
        result = members_of(None if answer.error else answer.result)
        inner = result.get("sessionId")
        if not isinstance(inner, str):
            self._refuse(call, answer)
            self._chain.end.turnstile.expected(None)
            return
        outer = inner
        known = self._floor.sessions.find(inner)
        if known is not None and known.chain is not self._chain:
            # Two agents chose the same id: the editor gets a fresh one (acp-host §4.5).
            outer = str(uuid.uuid4())
            answer = Answer(value={**result, "sessionId": outer}, extra=answer.extra)
        self._floor.sessions.add(Session(outer, self._chain, inner))
        self._asker.answered(call, answer)
        introduce(self._floor, self._chain, outer)
        self._chain.end.turnstile.expected(inner)

    def _refuse(self, call: Call, answer: Answer) -> None:
        error = answer.error
        if error is None or self._on_refused is None or error.code in _OF_THE_EDITOR:
            self._asker.answered(call, answer)
        else:
            self._on_refused(error, lambda opened: self._asker.answered(call, opened))


class ReopenedSession:
    """Whoever asked for a session that it can name: the history comes before the answer."""

    def __init__(self, call: Call, chain: OpenChain, floor: Floor) -> None:
        self._asker = call.asker
        self._id = call.crossing.session_id or ""
        self._chain = chain
        self._floor = floor
        chain.end.turnstile.know(self._id)

    def answered(self, call: Call, answer: Answer) -> None:
        """Store the session, answer, and offer our commands."""
        if answer.error is None:
            self._floor.sessions.add(Session(self._id, self._chain, self._id))
        self._asker.answered(call, answer)
        if answer.error is None:
            introduce(self._floor, self._chain, self._id)
        else:
            self._chain.end.turnstile.forget(self._id)


class Turn:
    """Whoever prompted: the session has a turn in progress until this is answered."""

    def __init__(self, asker: Asker, session: Session) -> None:
        self._asker = asker
        self._session = session
        session.open_turns += 1

    def answered(self, call: Call, answer: Answer) -> None:
        """End the turn, then answer."""
        self._session.open_turns -= 1
        self._asker.answered(call, answer)


class Closing:
    """Whoever closes a session: once its agent agrees, it is not known any more."""

    def __init__(self, asker: Asker, close: Callable[[], None]) -> None:
        self._asker = asker
        self._close = close

    def answered(self, call: Call, answer: Answer) -> None:
        """Answer, then forget the session."""
        self._asker.answered(call, answer)
        if answer.error is None:
            self._close()


def introduce(floor: Floor, chain: OpenChain, session_id: str) -> None:
    """Tell of our commands in a new session, and of what its chain lacks."""
    floor.write(update_line(session_id, our_commands()))
    for note in chain.notes:
        floor.write(text_line(session_id, note))


def pass_new_session(
    call: Call, chain: OpenChain, floor: Floor, on_refused: Refused | None = None
) -> None:
    """Have a chain make a session.

    Args:
        call: the request.
        chain: who is asked.
        floor: the editor connection.
        on_refused: takes an error that is the chain's, and what answers the editor instead of it.
    """
    call.asker = NewSession(call.asker, chain, floor, on_refused)
    chain.give(call)
