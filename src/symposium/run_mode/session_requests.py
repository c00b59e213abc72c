"""Requests of a session: prompt, cancel, retry, and the recovery of its agent.

State that survives an agent restart is in `SessionState`. Nothing is sent to an agent without a
request of the user: an interrupted prompt is only offered, and a fresh context is reported.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Protocol, TypeAlias

from peerwire.acp.names import SESSION_FORK, SESSION_PROMPT
from peerwire.errors import INTERNAL_ERROR, INVALID_REQUEST, RpcError
from symposium.chain.calls import ModCall
from symposium.chain.messages import Answer, ChainMessage
from symposium.config.user_config import Config, ConfigError, load
from symposium.run_mode.chat import CONFIG, RECAP, RETRY, SHOWING, Input, text_line
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.failure_text import (
    MESSAGE_NOT_SAVED,
    NOT_RUNNING,
    NOTHING_SAID,
    NOTHING_TO_SEND,
    exit_manner,
)
from symposium.run_mode.menu.config_mode import ConfigMode
from symposium.run_mode.menu.overviews import overview
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.prompt_content import adapt_prompt, blocks_of, prompt_text
from symposium.run_mode.session_answers import CloseResponse, TurnResponse, pass_new_session
from symposium.run_mode.sessions import QueuedRequest, Session, recap

CANCELLED: Final = {"stopReason": "cancelled"}
"""The result of a canceled turn."""


class AgentRestartPort(Protocol):
    """Restart of one config's agent."""

    def failed(self, chain: OpenChain) -> None:
        """Handle the crash of a chain of this config."""
        ...

    def forget_failures(self) -> None:
        """Forget earlier failures, at the user's request."""
        ...

    def add(self, session: Session) -> None:
        """Add a session to restore."""
        ...

    def end(self) -> None:
        """Stop restarting the agent."""
        ...


class AgentRecovery:
    """Recovery of the crashed agents of one editor connection."""

    def __init__(self, connection: EditorConnection) -> None:
        self._connection = connection
        self._restarts: dict[str, AgentRestartPort] = {}

    def chain_died(self, chain: OpenChain, death: RpcError) -> None:
        """Start restoring the sessions of a crashed chain."""
        restart = self._restart(chain.config)
        restart.failed(chain)
        for session in self._connection.sessions.of(chain):
            session.chain = None
            _interrupt(session, exit_manner(death))
            restart.add(session)

    def queue_or_reject(self, waiting: QueuedRequest, session: Session) -> bool:
        """Queue or refuse a request to a missing agent; return whether it was handled."""
        match session.state.health:
            case "well":
                return False
            case "restarting":
                session.state.waiting.append(waiting)
            case "stopped":
                self._connection.write(text_line(session.id, f"{NOT_RUNNING}\n\n"))
                data = {"reason": "agent_not_running", "sessionId": session.id}
                waiting.call.fail(RpcError(INTERNAL_ERROR, data, message=NOT_RUNNING))
        return True

    def cancelled(self, session: Session) -> None:
        """Cancel the requests that wait for the agent."""
        waiting, session.state.waiting = session.state.waiting, []
        for one in waiting:
            if one.call.message.method == "session/prompt":
                one.call.settle(Answer(value=CANCELLED))
            else:
                session.state.waiting.append(one)

    def start_again(self, session: Session) -> None:
        """Restart at the user's request, with the current config."""
        config = session.state.config
        with suppress(ConfigError):
            loaded = load(self._connection.settings.config)
            config = config if loaded is None else loaded.config
        if config is not None:
            restart = self._restart(config)
            restart.forget_failures()
            session.state.health = "restarting"
            restart.add(session)

    def end(self) -> None:
        """Stop all restarts and release held answers, after the editor disconnected."""
        for restart in self._restarts.values():
            restart.end()
        for session in self._connection.sessions.all():
            session.state.release_answers()

    def _restart(self, config: Config) -> AgentRestartPort:
        from symposium.run_mode.restart import AgentRestart

        key = config.key()
        if key not in self._restarts:
            self._restarts[key] = AgentRestart(self._connection, config)
        return self._restarts[key]


def _interrupt(session: Session, death: str) -> None:
    state = session.state
    state.health, state.is_informed, state.death = "restarting", False, death
    for blocks in state.turns.values():
        state.interrupted = blocks


PassOn: TypeAlias = Callable[[ModCall, Session], None]
"""Forward a prompt to the session's chain."""


class RetryCommands:
    """Handle `/symposium:retry` and `/symposium:recap`; each becomes a turn of the agent."""

    def __init__(
        self, connection: EditorConnection, recovery: AgentRecovery, pass_on: PassOn
    ) -> None:
        self._connection = connection
        self._recovery = recovery
        self._pass_on = pass_on

    def retry(self, call: ModCall, session: Session) -> None:
        """Send the interrupted prompt; first restart the agent if recovery has stopped."""
        state = session.state
        if state.health == "stopped":
            self._recovery.start_again(session)
        if self._waits(call, session, self.retry):
            return
        if state.interrupted is None:
            self._say_and_end(call, session, NOTHING_TO_SEND)
            return
        params = {"sessionId": session.id, "prompt": list(state.interrupted)}
        call.message.replace(method=None, params=params)
        self._pass_on(call, session)

    def recap(self, call: ModCall, session: Session) -> None:
        """Send a summary to the agent; keep the interrupted prompt for a later retry."""
        if self._waits(call, session, self.recap):
            return
        digest = session.state.memory.digest()
        if not digest:
            self._say_and_end(call, session, NOTHING_SAID)
            return
        blocks = [{"type": "text", "text": recap(digest)}]
        call.message.replace(method=None, params={"sessionId": session.id, "prompt": blocks})
        interrupted = session.state.interrupted
        self._pass_on(call, session)
        session.state.interrupted = interrupted

    def _waits(self, call: ModCall, session: Session, again: PassOn) -> bool:
        """Queue or refuse the call if the session has no agent; return whether it did."""
        return self._recovery.queue_or_reject(
            QueuedRequest(call, lambda: again(call, session)), session
        )

    def _say_and_end(self, call: ModCall, session: Session, text: str) -> None:
        self._connection.write(text_line(session.id, text))
        call.settle(Answer(value={"stopReason": "end_turn"}))


class TurnCancellation:
    """Handle `session/cancel` in a session without an open dialog."""

    def __init__(self, connection: EditorConnection, recovery: AgentRecovery) -> None:
        self._connection = connection
        self._recovery = recovery

    def cancel(self, message: ChainMessage, session: Session) -> None:
        """Forward the notification, settle open requests, and end a turn that continues."""
        chain = session.chain
        if chain is None:
            self._recovery.cancelled(session)
            return
        turns = list(session.state.turns)
        session.rename(message)
        chain.send_notification(message)
        chain.end.permissions.withdraw(session.inner_id)
        if turns:
            grace = self._connection.settings.restart_policy.cancel_grace
            asyncio.get_running_loop().call_later(grace, self._see_to_it, session, chain, turns)

    def _see_to_it(self, session: Session, chain: OpenChain, turns: Sequence[ModCall]) -> None:
        still = [turn for turn in turns if turn in session.state.turns]
        if not still or chain.death is not None:
            return
        for turn in still:
            turn.settle(Answer(value=CANCELLED))
        data = {"reason": "cancel_ignored", "component": chain.running.agent_name}
        chain.running.give_up(RpcError(INTERNAL_ERROR, data))


_NOT_SET_UP: Final = "The session has no agent yet; send a message to set up Symposium"


class SessionRequests:
    """Handler of the editor's requests of a session."""

    def __init__(
        self,
        connection: EditorConnection,
        config_mode: ConfigMode,
        recovery: AgentRecovery,
        offered: Callable[[], Mapping[str, Any]],
    ) -> None:
        self.sessions = connection.sessions
        self.cancel = TurnCancellation(connection, recovery).cancel
        self._second_try = RetryCommands(connection, recovery, self.forward)
        self._connection = connection
        self._config_mode = config_mode
        self._recovery = recovery
        self._offered = offered

    def prompt(self, call: ModCall, session: Session) -> None:
        """Handle a prompt: as a Symposium command or menu input, else forward it."""
        text = prompt_text(call.message.params)
        if session.menu is not None:
            session.menu.put(self._input(call, session, text))
        elif text in CONFIG and session.is_not_set_up:
            self._config_mode.set_up_again(session, self._input(call, session, text))
        elif text in CONFIG and session.open_turns:
            data = {"sessionId": session.id}
            call.fail(RpcError(INVALID_REQUEST, data, message="A turn is in progress"))
        elif text in CONFIG:
            self._config_mode.begin(session, self._input(call, session, text))
        elif text in SHOWING:
            self._connection.handle_request(call, self._show(call, session, text))
        elif text in RETRY:
            self._second_try.retry(call, session)
        elif text in RECAP:
            self._second_try.recap(call, session)
        elif self._connection.offers.takes(session, text):
            self._connection.handle_request(call, self._answer_offer(call, session, text))
        elif session.is_not_set_up:
            self._save_and_set_up(call, session, text)
        else:
            self.forward(call, session)

    def close(self, call: ModCall, session: Session) -> None:
        """End a session; close its open menu first."""
        self._config_mode.leave(session)
        if session.chain is None:
            self.sessions.remove(session)
            call.settle(Answer(value={}))
            return
        call.asker = CloseResponse(call.asker, lambda: self.sessions.remove(session))
        self.forward(call, session)

    def forward(self, call: ModCall, session: Session) -> None:
        """Forward a request to the session's chain with the agent's id."""
        chain = session.chain
        if chain is None:
            if not self._recovery.queue_or_reject(
                QueuedRequest(call, lambda: self.forward(call, session)), session
            ):
                data = {"sessionId": session.id}
                unknown = _NOT_SET_UP if session.is_not_set_up else "Unknown session"
                call.fail(RpcError(INVALID_REQUEST, data, message=unknown))
            return
        method = call.message.method
        session.rename(call.message)
        if method == SESSION_FORK:
            pass_new_session(call, chain, self._connection)
            return
        if method == SESSION_PROMPT:
            self._connection.offers.before_turn(session)
            call.asker = TurnResponse(call, session, chain, self._config_mode.begin_login)
            note = adapt_prompt(call.message, self._offered(), chain.initialize_result)
            if note is not None:
                self._connection.write(text_line(session.id, note))
        chain.send_request(call)

    def cancelled(self, session: Session) -> None:
        """`session/cancel` in config mode is the same as typing `CANCEL`."""
        if session.menu is not None:
            session.menu.cancel()

    def close_all(self) -> None:
        """End all dialogs without saving, after the editor disconnected."""
        for session in self.sessions.all():
            self._config_mode.leave(session)

    def _save_and_set_up(self, call: ModCall, session: Session, text: str) -> None:
        """Offer a canceled setup again; the message waits for the agent."""
        if session.keep(blocks_of(call.message.params)) == MESSAGE_NOT_SAVED:
            self._connection.write(text_line(session.id, f"{MESSAGE_NOT_SAVED}\n\n"))
        self._config_mode.set_up_again(session, self._input(call, session, text))

    async def _answer_offer(self, call: ModCall, session: Session, text: str) -> None:
        self._connection.write(
            text_line(session.id, await self._connection.offers.answer(session, text))
        )
        call.settle(Answer(value={"stopReason": "end_turn"}))

    async def _show(self, call: ModCall, session: Session, text: str) -> None:
        self._connection.write(
            text_line(session.id, await overview(text, session, self._connection) or "")
        )
        call.settle(Answer(value={"stopReason": "end_turn"}))

    def _input(self, call: ModCall, session: Session, text: str) -> Input:
        def answered() -> None:
            if session.chain is None or not session.kept:
                call.settle(Answer(value={"stopReason": "end_turn"}))
                return
            # Prompts from before the agent are answered in the turn of the `SAVE`.
            kept, session.kept = session.kept, []
            if not call.is_settled:
                call.message.replace(method=None, params={"sessionId": session.id, "prompt": kept})
                self.forward(call, session)

        def unhandled() -> None:
            if self.sessions.find(session.id) is session:
                self.prompt(call, session)
            else:
                data = {"sessionId": session.id}
                call.fail(RpcError(INVALID_REQUEST, data, message="Unknown session"))

        blocks = blocks_of(call.message.params)
        return Input(
            text, answered, unhandled, lambda: not call.is_settled, lambda: session.keep(blocks)
        )
