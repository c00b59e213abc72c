"""Answers to requests of sessions: create, reopen, or close one, or end a turn."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import UNSET, Struct

from peerwire.errors import AUTH_REQUIRED, INVALID_PARAMS, REQUEST_CANCELLED, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.calls import ModCall, Requester
from symposium.chain.messages import Answer, ChainMessage
from symposium.run_mode.chat import our_commands, text_line, update_line
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.editor_route_end import renamed
from symposium.run_mode.open_chain import OpenChain, with_outer_ids
from symposium.run_mode.prompt_content import blocks_of, prompt_text
from symposium.run_mode.sessions import Session, SessionState


class LoginRequired(Struct, frozen=True):
    """A prompt that an agent refused because it requires a login.

    Attributes:
        session: the session of the prompt.
        chain: the chain of the agent.
        error: the error of the agent.
        blocks: the content blocks of the prompt.
        answered: ends the turn with an error.
    """

    session: Session
    chain: OpenChain
    error: RpcError
    blocks: Sequence[Any]
    answered: Callable[[], None]


Refused: TypeAlias = Callable[[RpcError, Callable[[Answer], None]], None]

OnLogin: TypeAlias = Callable[[LoginRequired], None]
"""Receives a prompt that needs a login first; ends its turn."""

_OF_THE_EDITOR: Final = frozenset({INVALID_PARAMS, REQUEST_CANCELLED})
"""Errors caused by the request itself; another agent would return them, too."""


class NewSession:
    """Requester of a new session: registers it before the editor gets its id.

    Created before the request is sent; the agent's updates of the session wait for the answer.
    """

    def __init__(
        self,
        call: ModCall,
        chain: OpenChain,
        connection: EditorConnection,
        on_refused: Refused | None = None,
    ) -> None:
        self._asker = call.asker
        self._origin = origin_of(call.message)
        self._chain = chain
        self._connection = connection
        self._on_refused = on_refused
        if call.message.session_id is not None:
            # The editor knows the session to fork: the answer must not wait for itself.
            chain.end.gate.know(call.message.session_id)
        chain.end.gate.expect()

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Store the session, answer, and offer the commands before the agent's updates."""
        result = as_object(None if answer.error else answer.result)
        inner = result.get("sessionId")
        if not isinstance(inner, str):
            self._refuse(call, answer)
            self._chain.end.gate.expected(None)
            return
        outer = inner
        known = self._connection.sessions.find(inner)
        if known is not None and (known.chain is not self._chain or known.inner_id != inner):
            # Two agents chose the same id, or the id belongs to a session that moved to another
            # agent: the editor gets a new id (acp-host §4.5).
            outer = str(uuid.uuid4())
            answer = Answer(value={**result, "sessionId": outer}, extra=answer.extra)
        self._connection.sessions.add(
            Session(outer, self._chain, inner, state=SessionState(origin=self._origin))
        )
        self._asker.on_answer(call, answer)
        introduce(self._connection, self._chain, outer)
        self._chain.end.gate.expected(inner)

    def _refuse(self, call: ModCall, answer: Answer) -> None:
        error = answer.error
        if error is None or self._on_refused is None or error.code in _OF_THE_EDITOR:
            self._asker.on_answer(call, answer)
        else:
            self._on_refused(error, lambda opened: self._asker.on_answer(call, opened))


class ReopenedSession:
    """Requester of a session by its id: the history comes before the answer."""

    def __init__(
        self,
        call: ModCall,
        chain: OpenChain,
        connection: EditorConnection,
        inner_id: str | None = None,
    ) -> None:
        self._asker = call.asker
        self._id = call.message.session_id or ""
        self._inner_id = inner_id or self._id
        self._origin = origin_of(call.message)
        self._chain = chain
        self._connection = connection
        if self._inner_id != self._id:
            call.message.replace(method=None, params=renamed(call.message.params, inner_id or ""))
            chain.end.rename(self._inner_id, self._id)
        chain.end.gate.know(self._inner_id)

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Store the session, answer, and offer Symposium's commands."""
        if answer.error is None:
            state = SessionState(origin=self._origin)
            session = Session(self._id, self._chain, self._inner_id, state=state)
            self._connection.sessions.add(session)
        self._asker.on_answer(call, answer)
        if answer.error is None:
            introduce(self._connection, self._chain, self._id)
        else:
            self._chain.end.forget(self._inner_id)


class TurnResponse:
    """Requester of a prompt: the turn is in progress until the response."""

    def __init__(
        self, call: ModCall, session: Session, chain: OpenChain, on_login: OnLogin
    ) -> None:
        self._asker = call.asker
        self._on_login = on_login
        self._session = session
        self._chain = chain
        self._text = prompt_text(call.message.params)
        self._reads_before = chain.end.recent.reads
        session.open_turns += 1
        session.state.turns[call] = blocks_of(call.message.params)
        session.state.interrupted = None

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """End the turn, then answer; first inform the user if the agent crashed."""
        session, state = self._session, self._session.state
        session.open_turns -= 1
        blocks = state.turns.pop(call)
        inner_id = call.message.session_id or session.inner_id
        said = self._chain.end.recent.since(self._reads_before)
        state.memory.turn_ended(self._text, said, inner_id)
        error = answer.error
        if error is not None and error.code == AUTH_REQUIRED and session.menu is None:
            refused = partial(self._asker.on_answer, call, answer)
            self._on_login(LoginRequired(session, self._chain, error, blocks, refused))
            return
        if self._chain.running.failure is None or error is None:
            self._asker.on_answer(call, answer)
            return
        state.interrupted = blocks
        if session.chain is self._chain:
            # The editor does not know of the crash yet.
            state.is_informed = False
        state.defer_answer(lambda: self._asker.on_answer(call, answer))


class CloseResponse:
    """Requester of a close: the session is removed when its agent agrees."""

    def __init__(self, asker: Requester, close: Callable[[], None]) -> None:
        self._asker = asker
        self._close = close

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Answer, then remove the session."""
        self._asker.on_answer(call, answer)
        if answer.error is None:
            self._close()


class MenuListing:
    """Requester of a session list: replaces the agent's ids by the editor's."""

    def __init__(self, asker: Requester, outer_ids: Mapping[str, str]) -> None:
        self._asker = asker
        self._outer_ids = outer_ids

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        """Insert the editor's ids, and answer."""
        if answer.error is None and self._outer_ids:
            answer = with_outer_ids(answer, self._outer_ids)
        self._asker.on_answer(call, answer)


def introduce(connection: EditorConnection, chain: OpenChain, session_id: str) -> None:
    """Offer the commands in a new session, and report mods that were left out."""
    connection.write(update_line(session_id, our_commands()))
    for note in chain.notes:
        connection.write(text_line(session_id, note))


def pass_new_session(
    call: ModCall, chain: OpenChain, connection: EditorConnection, on_refused: Refused | None = None
) -> None:
    """Create a session in a chain.

    Args:
        call: the request.
        chain: the chain of the session.
        connection: the editor connection.
        on_refused: receives an error of the chain, and a function that answers the editor.
    """
    call.asker = NewSession(call, chain, connection, on_refused)
    chain.send_request(call)


def origin_of(message: ChainMessage) -> bytes:
    """Copy the params of a request for a retry: a mod may change them in place."""
    body = message.encoded()
    return b"" if body is UNSET else bytes(body)
