"""Handle an agent's response before it is forwarded to the editor."""

import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from msgspec import UNSET

from peerwire.errors import AUTH_REQUIRED, INVALID_PARAMS, REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.calls import Asker, Call
from symposium.chain.messages import Answer, Crossing
from symposium.run_mode.care import Care
from symposium.run_mode.chat_commands import our_commands, text_line, update_line
from symposium.run_mode.editor_end import renamed
from symposium.run_mode.floor import Floor
from symposium.run_mode.open_chain import OpenChain, with_outer_ids
from symposium.run_mode.prompts import blocks_of, prompt_text
from symposium.run_mode.refusal import Refusal
from symposium.run_mode.sessions import Session

Refused: TypeAlias = Callable[[RpcError, Callable[[Answer], None]], None]

OnLogin: TypeAlias = Callable[[Refusal], None]
"""Receives a prompt that needs a login first; ends its turn."""

_OF_THE_EDITOR: Final = frozenset({INVALID_PARAMS, REQUEST_CANCELLED})
"""Errors that are about what the editor asked for: another agent would not help."""


class NewSession:
    """Requester of a new session: registers it before the editor gets its id.

    Made before the request goes to the chain; what the agent says of the session meanwhile waits.
    """

    def __init__(
        self, call: Call, chain: OpenChain, floor: Floor, on_refused: Refused | None = None
    ) -> None:
        self._asker = call.asker
        self._origin = origin_of(call.crossing)
        self._chain = chain
        self._floor = floor
        self._on_refused = on_refused
        chain.end.turnstile.expect()

    def answered(self, call: Call, answer: Answer) -> None:
        """Store the session, answer, and offer the commands before the agent's updates."""
        result = as_object(None if answer.error else answer.result)
        inner = result.get("sessionId")
        if not isinstance(inner, str):
            self._refuse(call, answer)
            self._chain.end.turnstile.expected(None)
            return
        outer = inner
        known = self._floor.sessions.find(inner)
        if known is not None and (known.chain is not self._chain or known.inner_id != inner):
            # Two agents chose the same id, or one did whose session was given to another since: the
            # editor gets a fresh one (acp-host §4.5).
            outer = str(uuid.uuid4())
            answer = Answer(value={**result, "sessionId": outer}, extra=answer.extra)
        self._floor.sessions.add(Session(outer, self._chain, inner, care=Care(origin=self._origin)))
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
    """Requester of a session by its id: the history comes before the answer."""

    def __init__(
        self, call: Call, chain: OpenChain, floor: Floor, inner_id: str | None = None
    ) -> None:
        self._asker = call.asker
        self._id = call.crossing.session_id or ""
        self._inner_id = inner_id or self._id
        self._origin = origin_of(call.crossing)
        self._chain = chain
        self._floor = floor
        if self._inner_id != self._id:
            call.crossing.replace(method=None, params=renamed(call.crossing.params, inner_id or ""))
            chain.end.rename(self._inner_id, self._id)
        chain.end.turnstile.know(self._inner_id)

    def answered(self, call: Call, answer: Answer) -> None:
        """Store the session, answer, and offer our commands."""
        if answer.error is None:
            care = Care(origin=self._origin)
            session = Session(self._id, self._chain, self._inner_id, care=care)
            self._floor.sessions.add(session)
        self._asker.answered(call, answer)
        if answer.error is None:
            introduce(self._floor, self._chain, self._id)
        else:
            self._chain.end.forget(self._inner_id)


class Turn:
    """Requester of a prompt: the turn is in progress until the response."""

    def __init__(self, call: Call, session: Session, chain: OpenChain, on_login: OnLogin) -> None:
        self._asker = call.asker
        self._on_login = on_login
        self._session = session
        self._chain = chain
        self._text = prompt_text(call.crossing.params)
        self._reads_before = chain.end.recent.reads
        session.open_turns += 1
        session.care.turns[call] = blocks_of(call.crossing.params)
        session.care.interrupted = None

    def answered(self, call: Call, answer: Answer) -> None:
        """End the turn, then answer; first inform the user if the agent crashed."""
        session, care = self._session, self._session.care
        session.open_turns -= 1
        blocks = care.turns.pop(call)
        inner_id = call.crossing.session_id or session.inner_id
        said = self._chain.end.recent.since(self._reads_before)
        care.memory.turn_ended(self._text, said, inner_id)
        error = answer.error
        if error is not None and error.code == AUTH_REQUIRED and session.menu is None:
            refused = partial(self._asker.answered, call, answer)
            self._on_login(Refusal(session, self._chain, error, blocks, refused))
            return
        if self._chain.running.failure is None or error is None:
            self._asker.answered(call, answer)
            return
        care.interrupted = blocks
        if session.chain is self._chain:
            # The editor does not know of the crash yet.
            care.is_told = False
        care.hold(lambda: self._asker.answered(call, answer))


class Closing:
    """Requester of a close: the session is removed when its agent agrees."""

    def __init__(self, asker: Asker, close: Callable[[], None]) -> None:
        self._asker = asker
        self._close = close

    def answered(self, call: Call, answer: Answer) -> None:
        """Answer, then forget the session."""
        self._asker.answered(call, answer)
        if answer.error is None:
            self._close()


class Listing:
    """Requester of a session list: replaces the agent's ids by the editor's."""

    def __init__(self, asker: Asker, outer_ids: Mapping[str, str]) -> None:
        self._asker = asker
        self._outer_ids = outer_ids

    def answered(self, call: Call, answer: Answer) -> None:
        """Put in the names, and answer."""
        if answer.error is None and self._outer_ids:
            answer = with_outer_ids(answer, self._outer_ids)
        self._asker.answered(call, answer)


def introduce(floor: Floor, chain: OpenChain, session_id: str) -> None:
    """Offer the commands in a new session, and report mods that were left out."""
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
    call.asker = NewSession(call, chain, floor, on_refused)
    chain.give(call)


def origin_of(crossing: Crossing) -> bytes:
    """The params of a request, for asking again: a mod may change them in place."""
    body = crossing.encoded()
    return b"" if body is UNSET else bytes(body)
