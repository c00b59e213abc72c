"""Route each editor message by the state of its session (§4.4)."""

from collections.abc import Callable
from typing import Final

from peerwire.acp.names import (
    CLOSE_METHODS,
    INITIALIZE,
    REOPEN_METHODS,
    SESSION_CANCEL,
    SESSION_FORK,
    SESSION_NEW,
    SESSION_PROMPT,
)
from peerwire.errors import INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from symposium.chain.calls import SHUTTING_DOWN, ModCall, Requester, Step
from symposium.chain.conductor import (
    ALREADY_ANSWERED,
    EXPECTED_INITIALIZE,
    NOT_ANSWERED_YET,
    ClosedEnd,
)
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import Drop, Outcome
from symposium.chain.ordering import OrderedQueues
from symposium.chain.routing import Route, join
from symposium.run_mode.new_sessions import NewSessions
from symposium.run_mode.session_requests import SessionRequests
from symposium.run_mode.sessions import Session

_FOR_ANY_SESSION: Final = frozenset({SESSION_FORK, *REOPEN_METHODS, *CLOSE_METHODS})
"""Requests that may name a session which this process did not create."""


class RequestRouter(Route):
    """Route each editor message by the state of its session."""

    def __init__(
        self,
        queues: tuple[OrderedQueues, OrderedQueues],
        new_sessions: NewSessions,
        session_requests: SessionRequests,
    ) -> None:
        super().__init__(Direction.TO_AGENT, (), ClosedEnd(), queues[0])
        join(self, Route(Direction.TO_CLIENT, (), ClosedEnd(), queues[1]))
        # No fast path: every message is routed.
        self.other = (Step(0, _stop),)
        self._new_sessions = new_sessions
        self._session_requests = session_requests
        self._refusal: RpcError | None = None
        self._is_initialized = False

    def open(self) -> None:
        """Start handling requests, after `initialize` is answered."""
        self._is_initialized = True

    def close(self) -> None:
        """Refuse all further requests."""
        self._is_initialized = False
        self._refusal = SHUTTING_DOWN

    def take(self, message: ChainMessage, call: ModCall | None = None, *, after: int = -1) -> None:
        """Route a message to its handler."""
        del after
        if call is None:
            if self._is_initialized:
                self._notification(message)
        elif self._is_initialized:
            self._request(message, call)
        elif self._refusal is None and message.method == INITIALIZE:
            self._refusal = NOT_ANSWERED_YET
            call.asker = _InitializeRequester(call.asker, self._initialize_refused)
            self._new_sessions.initialize(call)
        else:
            self._refusal = self._refusal or EXPECTED_INITIALIZE
            call.fail(self._refusal)

    def _initialize_refused(self) -> None:
        if self._refusal is NOT_ANSWERED_YET:
            self._refusal = None

    def _request(self, message: ChainMessage, call: ModCall) -> None:
        method = message.method
        session_id = message.session_id
        session = self._session_requests.sessions.find(session_id)
        if method == INITIALIZE:
            call.fail(ALREADY_ANSWERED)
        elif method == SESSION_NEW:
            self._new_sessions.new_session(call)
        elif session is not None:
            self._of_session(call, session)
        elif session_id is None or method in _FOR_ANY_SESSION:
            self._new_sessions.default_chain(call)
        else:
            data = {"sessionId": session_id}
            call.fail(RpcError(INVALID_REQUEST, data, message="Unknown session"))

    def _of_session(self, call: ModCall, session: Session) -> None:
        method = call.message.method
        if method == SESSION_PROMPT:
            self._session_requests.prompt(call, session)
        elif method in CLOSE_METHODS and (session.setup is None or session.is_not_set_up):
            self._session_requests.close(call, session)
        elif session.menu is not None:
            refusal = f"Method not supported in config mode: {method}"
            data = {"method": method, "sessionId": session.id}
            call.fail(RpcError(METHOD_NOT_FOUND, data, message=refusal))
        else:
            self._session_requests.forward(call, session)

    def _notification(self, message: ChainMessage) -> None:
        session_id = message.session_id
        session = self._session_requests.sessions.find(session_id)
        if session_id is None:
            self._new_sessions.every_chain(message)
        elif session is None:
            return
        elif session.menu is not None:
            if message.method == SESSION_CANCEL:
                self._session_requests.cancelled(session)
        elif message.method == SESSION_CANCEL:
            self._session_requests.cancel(message, session)
        elif session.chain is not None:
            session.rename(message)
            session.chain.send_notification(message)


class _InitializeRequester:
    """Requester of `initialize`, which may be repeated after an error."""

    def __init__(self, asker: Requester, on_refused: Callable[[], None]) -> None:
        self._asker = asker
        self._on_refused = on_refused

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        if answer.error is not None:
            self._on_refused()
        self._asker.on_answer(call, answer)


def _stop(_: ChainMessage) -> Outcome:
    return Drop()
