"""Sessions in config mode: opens the menu, and lets the session go on when it is left."""

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
from symposium.run_mode.editor_end import ALL_SESSIONS, MessageGate
from symposium.run_mode.responses import LoginRequired
from symposium.run_mode.sessions import Session

_log = logging.getLogger(__name__)


class ConfigMode:
    """The dialogues of one editor connection."""

    def __init__(self, floor: EditorConnection) -> None:
        self._floor = floor
        self._paused: dict[str, Sequence[tuple[MessageGate, str]]] = {}

    def begin_setup(self, session: Session, first: Input | None = None) -> None:
        """Open the first-time dialogue."""
        from symposium.run_mode.menu.no_agent import setting_up  # noqa: PLC0415 - see there

        self._open(session, setting_up(self._floor, session), first)

    def begin_repair(
        self, session: Session, error: ConfigError | RpcError, config: Config | None = None
    ) -> None:
        """Say why a session has no agent, and stay until it has one.

        Args:
            session: without an agent.
            error: why it has none.
            config: what its chain was to be made from; None where that could not be read.
        """
        from symposium.run_mode.menu.no_agent import no_agent_dialog  # noqa: PLC0415 - see there

        self._floor.write(update_line(session.id, our_commands()))
        self._open(session, no_agent_dialog(self._floor, session, error, config), None)

    def begin_waiting(self, session: Session) -> None:
        """Say that a session's agent takes its time, and stay until it is there."""
        from symposium.run_mode.menu.no_agent import starting  # noqa: PLC0415 - see there

        self._floor.write(update_line(session.id, our_commands()))
        self._open(session, starting(self._floor, session), None)

    def begin_login(self, refusal: LoginRequired) -> None:
        """Say how to log in to the agent; what it has refused it gets after that."""
        from symposium.run_mode.menu.no_agent import at_login  # noqa: PLC0415 - see there

        answered = refusal.answered
        # Its turn ends when the dialogue listens: behind what is said first.
        first = Input("", answered, answered, lambda: True)
        self._open(refusal.session, at_login(refusal), first)

    def begin(self, session: Session, first: Input) -> None:
        """Open the menu of a running session, and hold back what its agent says meanwhile."""
        try:
            loaded = load(self._floor.settings.config)
        except ConfigError as error:
            self.say(session, f"The config file cannot be used:\n\n{error}\n\n")
            self.say(session, "Your session continues unchanged.\n")
            first.answered()
            return
        self._pause(session)
        if loaded is None:
            self.begin_setup(session, first)
        else:
            from symposium.run_mode.menu.no_agent import in_menu  # noqa: PLC0415 - see there

            self._open(session, in_menu(self._floor, session, loaded), first)

    def set_up_again(self, session: Session, first: Input) -> None:
        """Open the set-up that was left, or start the agent that the config names by now."""
        from symposium.run_mode.menu.no_agent import starting  # noqa: PLC0415 - see there

        try:
            loaded = load(self._floor.settings.config)
        except ConfigError as error:
            self.begin_repair(session, error)
            first.answered()
            return
        if loaded is None:
            self.begin_setup(session, first)
        else:
            self._open(session, starting(self._floor, session), first)

    def leave(self, session: Session) -> None:
        """End the dialogue without saving; what the agent has said meanwhile is shown."""
        menu, session.menu = session.menu, None
        if menu is None:
            return
        unheard = menu.end()
        for gate, scope in self._paused.pop(session.id, ()):
            gate.open(scope)
        if session.chain is None and session.setup is None and session.care.health == "well":
            self._floor.sessions.remove(session)
        if session.chain is not None:
            self._floor.sessions.on_begun(session)
        for given in unheard:
            given.unheard()

    def say(self, session: Session, text: str) -> None:
        """Show a text in a session, apart from what follows: editors join what is said."""
        end = "" if text.endswith("\n") else "\n\n"
        self._floor.write(text_line(session.id, text + end))

    def _open(self, session: Session, script: Script, first: Input | None) -> None:
        talk = Dialog(lambda text: self.say(session, text), first)
        session.menu = talk

        async def play() -> None:
            try:
                with ErrorBoundary() as caught:
                    await script(talk)
                if caught.error is not None:
                    _log.error("the menu failed", exc_info=caught.error)
                    self.say(session, f"The menu has failed; nothing is changed: {caught.error}")
            finally:
                # Left in another way, the session may be in another dialogue by now.
                if session.menu is talk:
                    self.leave(session)

        self._floor.spawn("config mode", play)
        self._floor.spawn("the registry", self._floor.settings.directory.refresh)

    def _pause(self, session: Session) -> None:
        chain = session.chain
        if chain is None:
            return
        # Towards the agent a session in config mode sends nothing; its neighbours do.
        in_conductor = ((chain.end.gate, ALL_SESSIONS), (chain.to_agent, ALL_SESSIONS))
        in_session = ((chain.end.gate, session.inner_id),)
        closed = in_conductor if self._floor.settings.pause == "conductor" else in_session
        for gate, scope in closed:
            gate.close(scope)
        self._paused[session.id] = closed
