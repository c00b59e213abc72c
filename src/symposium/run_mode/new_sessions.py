"""Handle requests without a session: `initialize`, new sessions, and other requests."""

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from localio.text import one_line
from peerwire.acp.names import (
    CLOSE_METHODS,
    REOPEN_METHODS,
    SESSION_DELETE,
    SESSION_FORK,
    SESSION_LIST,
    SESSION_NEW,
)
from peerwire.errors import AUTH_REQUIRED, INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.calls import ModCall
from symposium.chain.handshake import answered_version, pin_version, select_version
from symposium.chain.messages import Answer, ChainMessage
from symposium.client.auth_methods import TERMINAL_META
from symposium.config.user_config import ConfigError, LoadedConfig, load
from symposium.planning.planned_chain import VERSION
from symposium.planning.planner import before_agent
from symposium.run_mode.chain_starts import EditorInitialize
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.editor_route_end import renamed
from symposium.run_mode.menu.config_mode import ConfigMode
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.session_answers import (
    CloseResponse,
    MenuListing,
    ReopenedSession,
    origin_of,
    pass_new_session,
)
from symposium.run_mode.sessions import Session, SessionState

_log = logging.getLogger(__name__)

MAX_LOGGED: Final = 200
"""Maximum characters of a problem in a log line."""

PROMISED: Final[Mapping[str, Any]] = {
    "loadSession": False,
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
}
"""Capabilities in the answer to the editor without an agent (acp-host §4.9)."""

SERVED_VERSION: Final = 1
"""The ACP version of Symposium's own messages: the menu, and sessions without an agent."""


_NAMING: Final = REOPEN_METHODS | CLOSE_METHODS | {SESSION_FORK, SESSION_LIST}
"""Requests with session ids in the params or in the result."""


class NewSessions:
    """Handler of the editor's requests without a session.

    Attributes:
        offered: the result of `initialize` for the editor.
    """

    def __init__(
        self,
        connection: EditorConnection,
        config_mode: ConfigMode,
        on_initialized: Callable[[], None],
    ) -> None:
        self.offered: Mapping[str, Any] = {}
        self._connection = connection
        self._config_mode = config_mode
        self._on_initialized = on_initialized
        self._has_login = False

    def initialize(self, call: ModCall) -> None:
        """Start the config's chain and answer for it; without one, declare few capabilities."""
        self._connection.handle_request(call, self._initialize(call))

    async def _initialize(self, call: ModCall) -> None:
        version = select_version(call.message.params)
        pin_version(call.message, version)
        self._has_login = _has_login(as_object(call.message.params))
        initialize = EditorInitialize(call.message)
        self._connection.supervisor.initialize_with(initialize)
        answer: Answer | None = None
        try:
            loaded = load(self._connection.settings.config)
            if loaded is not None:
                chain = await self._connection.supervisor.chain_within_timeout(loaded.config)
                if chain is not None:
                    answer = Answer(value=dict(chain.initialize_result))
        except (ConfigError, RpcError) as error:
            message = _in_a_line(error)
            _log.warning("could not start the chain (retrying on session/new): %s", message)
        if answer is None:
            answer = without_agent(as_object(call.message.params), version)
        self.offered = as_object(answer.result)
        initialize.promised = answered_version(answer)
        self._on_initialized()
        call.settle(answer)

    def new_session(self, call: ModCall) -> None:
        """Open a session with the current config file, or start the first-time setup."""
        self._connection.handle_request(call, self._new_session(call))

    async def _new_session(self, call: ModCall) -> None:
        try:
            loaded = load(self._connection.settings.config)
        except ConfigError as error:
            session = self._waiting_session(call.settle, call.message)
            self._config_mode.begin_repair(session, error)
            return
        if loaded is None:
            session = self._waiting_session(call.settle, call.message)
            self._config_mode.begin_setup(session)
            return
        try:
            chain = await self._connection.supervisor.chain_within_timeout(loaded.config)
        except RpcError as error:
            session = self._waiting_session(call.settle, call.message)
            self._config_mode.begin_repair(session, error, loaded.config)
            return
        if chain is None:
            session = self._waiting_session(call.settle, call.message)
            self._config_mode.begin_waiting(session)
            return
        asked = ChainMessage(SESSION_NEW, call.message.encoded(), is_request=True)
        asked.extra = call.message.extra

        def refused(error: RpcError, answer: Callable[[Answer], None]) -> None:
            if error.code == AUTH_REQUIRED and self._has_login:
                answer(Answer(error=error))
                return
            waiting = self._waiting_session(answer, asked)
            self._config_mode.begin_repair(waiting, error, chain.config)

        pass_new_session(call, chain, self._connection, refused)

    def _waiting_session(self, answer: Callable[[Answer], None], asked: ChainMessage) -> Session:
        """Open a session without an agent: its chat shows the problem and the fix."""
        session = Session(
            str(uuid.uuid4()), setup=asked, state=SessionState(origin=origin_of(asked))
        )
        self._connection.sessions.add(session)
        answer(Answer(value={"sessionId": session.id}))
        return session

    def default_chain(self, call: ModCall) -> None:
        """Forward a request without a known session to the chain of the current config."""
        self._connection.handle_request(call, self._default_chain(call))

    async def _default_chain(self, call: ModCall) -> None:
        method = call.message.method
        loaded = self._load()
        if loaded is None:
            reason = f"{method}: no agent is configured; open a new session to choose one"
            raise RpcError(METHOD_NOT_FOUND, reason)
        chain = await self._connection.supervisor.chain_for(loaded.config)
        inner_id = await self._by_other_names(call, chain)
        if method in REOPEN_METHODS:
            self._check_promise(method, chain)
            call.asker = ReopenedSession(call, chain, self._connection, inner_id)
            chain.send_request(call)
            return
        if inner_id is not None:
            call.message.replace(method=None, params=renamed(call.message.params, inner_id))
        if method == SESSION_FORK:
            pass_new_session(call, chain, self._connection)
        else:
            chain.send_request(call)

    async def _by_other_names(self, call: ModCall, chain: OpenChain) -> str | None:
        """Return the agent's id of a session from an earlier start."""
        folder, outer = self._connection.settings.names, call.message.session_id
        if folder is None or call.message.method not in _NAMING:
            return None
        from symposium.run_mode.session_names import (
            SessionNames,
        )

        names = SessionNames(folder, chain.config)
        if outer is not None:
            inner = await asyncio.to_thread(names.inner, outer)
            if inner is not None and call.message.method == SESSION_DELETE:
                call.asker = CloseResponse(call.asker, partial(names.forget, outer))
            return inner
        call.asker = MenuListing(call.asker, await asyncio.to_thread(names.outer))
        return None

    def every_chain(self, message: ChainMessage) -> None:
        """Forward a notification without a session to every chain."""
        for chain in self._connection.supervisor.chains():
            copy = ChainMessage(message.method, message.encoded(), is_request=False)
            copy.extra = message.extra
            chain.send_notification(copy)

    def _check_promise(self, method: str, chain: OpenChain) -> None:
        """Refuse a method that another agent supports and this one does not (§4.9)."""
        if (
            method == "session/load"
            and _loads(self.offered)
            and not _loads(chain.initialize_result)
        ):
            raise RpcError(
                METHOD_NOT_FOUND, f"{method}: the agent of the current config does not support this"
            )

    def _load(self) -> LoadedConfig | None:
        try:
            return load(self._connection.settings.config)
        except ConfigError as error:
            raise RpcError(INTERNAL_ERROR, {"reason": "config", "detail": str(error)}) from error


def without_agent(params: Mapping[str, Any], version: int) -> Answer:
    """Make the answer to `initialize` without an agent, valid for any later agent.

    Args:
        params: the params of the editor.
        version: the highest version for the answer.
    """
    known = before_agent(params, VERSION)
    capabilities = {**PROMISED, **known}
    lowest = min(version, SERVED_VERSION)
    return Answer(value={"protocolVersion": lowest, "agentCapabilities": capabilities})


def _in_a_line(error: ConfigError | RpcError) -> str:
    """Describe the problem for the log; the chat shows details and the fix."""
    if isinstance(error, ConfigError):
        return one_line(error.message, width=MAX_LOGGED)
    data = as_object(error.data)
    known = str(data.get("reason") or error.message).replace("_", " ")
    component = data.get("component") or "the agent"
    return one_line(f"{component}: {data.get('detail') or known}", width=MAX_LOGGED)


def _has_login(params: Mapping[str, Any]) -> bool:
    """Whether an editor handles logins itself: it logs in, then requests the session again.

    It declares `auth.terminal`, or an older form of it. An empty `auth` has no meaning: ACP's
    Python SDK writes one for every client.
    """
    able = as_object(params.get("clientCapabilities"))
    said = as_object(able.get("auth")).get("terminal")
    said_before = as_object(able.get("_meta")).get(TERMINAL_META)
    return said is True or said_before is True


def _loads(initialize_result: Mapping[str, Any]) -> bool:
    return bool(as_object(initialize_result.get("agentCapabilities")).get("loadSession"))
