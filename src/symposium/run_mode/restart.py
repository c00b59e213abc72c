"""Restart an agent and reopen its sessions."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import as_object, decode_value, encode_value
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.restart_policy import FailureWindow, resume_methods
from symposium.config.user_config import Config
from symposium.run_mode.chat import text_line, update_line
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.failure_text import (
    BEING_STARTED,
    Return,
    came_back,
    gave_up,
    not_reopened,
    notice,
    offer,
)
from symposium.run_mode.open_chain import HostRequest, OpenChain
from symposium.run_mode.sessions import Session

_log = logging.getLogger(__name__)

_NEW: Final = "session/new"


@dataclass(frozen=True, slots=True)
class Reopened:
    """A session reopened by a new agent.

    Attributes:
        how: the method that reopened it.
        inner_id: the agent's id of the session.
        result: the agent's result.
    """

    how: Return
    inner_id: str
    result: Mapping[str, Any]


class SessionReopener:
    """Reopens one session in one chain."""

    def __init__(self, session: Session, chain: OpenChain, timeout: float) -> None:
        self._session = session
        self._chain = chain
        self._timeout = timeout
        self._request: HostRequest | None = None

    async def run(self) -> Reopened:
        """Reopen the session at the agent; hold its updates until `settle`.

        Raises:
            RpcError: the agent refused, or crashed meanwhile.
        """
        inner_id = self._session.inner_id
        for how in resume_methods(self._chain.initialize_result):
            self._chain.end.mute(inner_id)
            is_back = False
            try:
                result = await self._ask(how, self._params(inner_id))
                is_back = True
            except RpcError as error:
                if self._chain.death is not None:
                    raise
                _log.warning("could not reopen a session by %s: %s", how, error)
                continue
            finally:
                if not is_back:
                    self._chain.end.unmute(inner_id)
            return Reopened(how, inner_id, result)
        return await self._new_session()

    def settle(self, reopened: Reopened) -> None:
        """Forward the held updates of the session."""
        if reopened.how == "fresh":
            self._chain.end.gate.expected(reopened.inner_id)
        else:
            self._chain.end.unmute(reopened.inner_id)

    def died(self, death: RpcError) -> None:
        """Fail the request: the chain has ended."""
        if self._request is not None:
            self._request.give_up(Answer(error=death))

    async def _new_session(self) -> Reopened:
        gate = self._chain.end.gate
        gate.expect()
        inner_id: object = None
        try:
            result = await self._ask(_NEW, self._params(None))
            inner_id = result.get("sessionId")
        finally:
            if not isinstance(inner_id, str):
                gate.expected(None)
        if not isinstance(inner_id, str):
            raise RpcError(INTERNAL_ERROR, {"reason": "session_without_id"})
        return Reopened("fresh", inner_id, result)

    def _params(self, inner_id: str | None) -> dict[str, Any]:
        origin = self._session.state.origin
        made_with = as_object(decode_value(origin) if origin else None)
        rest = {name: value for name, value in made_with.items() if name != "sessionId"}
        return rest if inner_id is None else {"sessionId": inner_id, **rest}

    async def _ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        request = HostRequest(ChainMessage(method, encode_value(params), is_request=True))
        self._request = request
        try:
            async with asyncio.timeout(self._timeout):
                answer = await request.answer(self._chain.entrance)
        except TimeoutError as error:
            data = {"reason": "no_answer", "method": method, "seconds": self._timeout}
            raise RpcError(INTERNAL_ERROR, data) from error
        finally:
            self._request = None
        if answer.error is not None:
            raise answer.error
        return as_object(answer.result)


class AgentRestart:
    """Restart the agent of one config and restore its sessions."""

    def __init__(self, connection: EditorConnection, config: Config) -> None:
        self._connection = connection
        self._config = config
        self._terms = connection.settings.restart_policy
        self._failures = FailureWindow(self._terms)
        self._reason = ""
        self._dead: OpenChain | None = None
        self._sessions: list[Session] = []
        self._reopening: SessionReopener | None = None
        self._is_running = False

    def failed(self, chain: OpenChain) -> None:
        """Handle the crash of a chain of this config."""
        self._failures.add()
        self._reason = ""
        self._dead = chain
        if self._reopening is not None and chain.death is not None:
            self._reopening.died(chain.death)

    def forget_failures(self) -> None:
        """Forget earlier failures, at the user's request."""
        self._failures.clear()

    def add(self, session: Session) -> None:
        """Add a session to restore."""
        session.state.config = self._config
        self._sessions.append(session)
        if not session.state.is_informed:
            asyncio.get_running_loop().call_later(self._terms.tell_after, self._tell, session)
        if not self._is_running:
            self._is_running = True
            self._connection.spawn("restart of an agent", self._run)

    def end(self) -> None:
        self._sessions.clear()

    async def _run(self) -> None:
        try:
            while self._sessions:
                await self._wait_closed()
                if self._failures.is_full:
                    self._stop()
                elif self._sessions and (chain := await self._started()) is not None:
                    await self._hand_over(chain)
        finally:
            self._is_running = False

    async def _wait_closed(self) -> None:
        """Wait until the crashed chain has stopped: two agents must not share a session."""
        dead, self._dead = self._dead, None
        if dead is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._terms.close_timeout):
                    await dead.stopped.wait()

    async def _started(self) -> OpenChain | None:
        try:
            return await self._connection.supervisor.chain_for(self._config)
        except RpcError as error:
            _log.warning("could not restart the agent: %s", error)
            self._failures.add()
            self._reason = str(as_object(error.data).get("detail") or error)
            return None

    async def _hand_over(self, chain: OpenChain) -> None:
        while self._sessions and chain.death is None:
            session = self._sessions[0]
            if self._connection.sessions.find(session.id) is session:
                await self._bring_back(session, chain)
            if chain.death is None and session in self._sessions:
                self._sessions.remove(session)

    async def _bring_back(self, session: Session, chain: OpenChain) -> None:
        self._reopening = reopening = SessionReopener(session, chain, self._terms.reopen_timeout)
        try:
            reopened = await reopening.run()
        except RpcError as error:
            if chain.death is None:
                self._stop_one(session, not_reopened(str(error)))
            return
        finally:
            self._reopening = None
        self._on_restored(session, chain, reopened)
        reopening.settle(reopened)

    def _on_restored(self, session: Session, chain: OpenChain, reopened: Reopened) -> None:
        state = session.state
        self._connection.sessions.delegate(session, chain, reopened.inner_id)
        state.health = "well"
        has_memory = bool(state.memory.digest())
        _say(
            self._connection,
            session,
            came_back(reopened.how, has_memory=has_memory),
            _offer(session),
        )
        if reopened.how == "fresh" and "configOptions" in reopened.result:
            named = {"configOptions": reopened.result["configOptions"]}
            text = {"sessionUpdate": "config_option_update", **named}
            self._connection.write(update_line(session.id, text))
        state.release_answers()
        state.resume_waiting()

    def _stop(self) -> None:
        sessions, self._sessions = self._sessions, []
        text = gave_up(len(self._failures), self._terms.window, self._reason)
        for session in sessions:
            self._stop_one(session, text)

    def _stop_one(self, session: Session, text: str) -> None:
        state = session.state
        state.health = "stopped"
        if self._connection.sessions.find(session.id) is session:
            _say(self._connection, session, text)
        state.release_answers()
        state.resume_waiting()

    def _tell(self, session: Session) -> None:
        if session.state.health == "restarting" and not session.state.is_informed:
            _say(self._connection, session, BEING_STARTED, _offer(session))
            session.state.release_answers()


def _say(connection: EditorConnection, session: Session, *parts: str) -> None:
    """Show a text, after the description of the crash if that is not shown yet."""
    first = "" if session.state.is_informed else session.state.death
    connection.write(text_line(session.id, notice(first, *parts)))


def _offer(session: Session) -> str:
    is_new = not session.state.is_informed and session.state.interrupted is not None
    return offer(was_interrupted=is_new)
