"""Sessions in config mode: open the menu, and resume the session afterwards."""

import logging
from collections.abc import Sequence

from peerwire.errors import ErrorBoundary, RpcError
from symposium.config.user_config import Config, ConfigError, load
from symposium.run_mode.chat import (
    Dialog,
    Input,
    Script,
    our_commands,
    text_line,
    update_line,
)
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.editor_route_end import ALL_SESSIONS, MessageGate
from symposium.run_mode.session_answers import LoginRequired
from symposium.run_mode.sessions import Session

_log = logging.getLogger(__name__)


class ConfigMode:
    """The dialogs of one editor connection."""

    def __init__(self, connection: EditorConnection) -> None:
        self._connection = connection
        self._paused: dict[str, Sequence[tuple[MessageGate, str]]] = {}

    def begin_setup(self, session: Session, first: Input | None = None) -> None:
        """Open the first-time dialog."""
        from symposium.run_mode.menu.no_agent import setting_up

        self._open(session, setting_up(self._connection, session), first)

    def begin_repair(
        self, session: Session, error: ConfigError | RpcError, config: Config | None = None
    ) -> None:
        """Open a dialog that explains why a session has no agent, until it has one.

        Args:
            session: the session without an agent.
            error: the reason.
            config: the config of its chain; None if it could not be read.
        """
        from symposium.run_mode.menu.no_agent import no_agent_dialog

        self._connection.write(update_line(session.id, our_commands()))
        self._open(session, no_agent_dialog(self._connection, session, error, config), None)

    def begin_waiting(self, session: Session) -> None:
        """Open a dialog that waits for a slow agent of a session."""
        from symposium.run_mode.menu.no_agent import starting

        self._connection.write(update_line(session.id, our_commands()))
        self._open(session, starting(self._connection, session), None)

    def begin_login(self, refusal: LoginRequired) -> None:
        """Open a login dialog; the refused prompt is sent after the login."""
        from symposium.run_mode.menu.no_agent import at_login

        answered = refusal.answered
        # Its turn ends when the dialog reads input, after the first text.
        first = Input("", answered, answered, lambda: True)
        self._open(refusal.session, at_login(refusal), first)

    def begin(self, session: Session, first: Input) -> None:
        """Open the menu of a running session, and hold its agent's messages meanwhile."""
        try:
            loaded = load(self._connection.settings.config)
        except ConfigError as error:
            self.say(session, f"The config file cannot be used:\n\n{error}\n\n")
            self.say(session, "Your session continues unchanged.\n")
            first.answered()
            return
        self._pause(session)
        if loaded is None:
            self.begin_setup(session, first)
        else:
            from symposium.run_mode.menu.no_agent import in_menu

            self._open(session, in_menu(self._connection, session, loaded), first)

    def set_up_again(self, session: Session, first: Input) -> None:
        """Reopen a canceled setup, or start the agent of the current config."""
        from symposium.run_mode.menu.no_agent import starting

        try:
            loaded = load(self._connection.settings.config)
        except ConfigError as error:
            self.begin_repair(session, error)
            first.answered()
            return
        if loaded is None:
            self.begin_setup(session, first)
        else:
            self._open(session, starting(self._connection, session), first)

    def leave(self, session: Session) -> None:
        """Close the dialog without saving; show the held messages."""
        menu, session.menu = session.menu, None
        if menu is None:
            return
        unread = menu.end()
        for gate, scope in self._paused.pop(session.id, ()):
            gate.open(scope)
        if session.chain is not None:
            self._connection.sessions.on_begun(session)
        for given in unread:
            given.unhandled()

    def say(self, session: Session, text: str) -> None:
        """Show a text as a separate paragraph; editors join consecutive texts."""
        end = "" if text.endswith("\n") else "\n\n"
        self._connection.write(text_line(session.id, text + end))

    def _open(self, session: Session, script: Script, first: Input | None) -> None:
        talk = Dialog(lambda text: self.say(session, text), first)
        session.menu = talk

        async def play() -> None:
            try:
                with ErrorBoundary() as caught:
                    await script(talk)
                if caught.error is not None:
                    _log.error("the menu failed", exc_info=caught.error)
                    way_on = "`/symposium:config` shows the current configuration."
                    self.say(session, f"The menu failed: {caught.error}. {way_on}")
            finally:
                # After another way out, the session may already have another dialog.
                if session.menu is talk:
                    self.leave(session)

        self._connection.spawn("config mode", play)
        self._connection.spawn("the registry", self._connection.settings.directory.refresh)

    def _pause(self, session: Session) -> None:
        chain = session.chain
        if chain is None:
            return
        # A session in config mode sends nothing to the agent; other sessions do.
        in_conductor = ((chain.end.gate, ALL_SESSIONS), (chain.to_agent, ALL_SESSIONS))
        in_session = ((chain.end.gate, session.inner_id),)
        closed = in_conductor if self._connection.settings.pause == "conductor" else in_session
        for gate, scope in closed:
            gate.close(scope)
        self._paused[session.id] = closed
