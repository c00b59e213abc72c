"""Sessions in config mode: opens the menu, and lets the session go on when it is left."""

import logging
from collections.abc import Sequence
from typing import Final

from peerwire.jsonrpc.boundary import Boundary
from symposium.config.broken_file import content_of
from symposium.config.user_config import ConfigError, Loaded, load
from symposium.run_mode.chat_commands import our_commands, text_line, update_line
from symposium.run_mode.config_menu import NotStartedError, first_time, main_menu
from symposium.run_mode.conversation import Conversation, Input, Script
from symposium.run_mode.floor import Floor
from symposium.run_mode.mending import mend
from symposium.run_mode.menu_host import MenuHost, give_agent
from symposium.run_mode.overviews import overview
from symposium.run_mode.sessions import Session
from symposium.run_mode.trouble import Trouble, of_file
from symposium.run_mode.turnstile import EVERYTHING, Turnstile

_log = logging.getLogger(__name__)

ANEW: Final = (
    "The configuration cannot be read, so it is made anew. "
    "`SAVE` keeps what it says now beside the new one.\n"
)


class ConfigMode:
    """The dialogues of one editor connection."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._paused: dict[str, Sequence[tuple[Turnstile, str]]] = {}

    def begin_setup(self, session: Session, first: Input | None = None) -> None:
        """Open the first-time dialogue."""
        host = MenuHost(self._floor, session, None)
        mods = self._floor.settings.default_mods
        self._open(session, lambda talk: first_time(talk, host, mods), first)

    def begin_mending(self, session: Session, trouble: Trouble) -> None:
        """Say why a session has no agent, and stay until it has one."""
        self._floor.write(update_line(session.id, our_commands()))
        ward = _Ward(self._floor, session)
        self._open(session, lambda talk: mend(talk, ward, trouble), None)

    def begin(self, session: Session, first: Input) -> None:
        """Open the menu of a running session, and hold back what its agent says meanwhile."""
        try:
            loaded = load(self._floor.settings.config)
        except ConfigError as error:
            self.say(session, f"The configuration cannot be used:\n\n{error}\n\n")
            self.say(session, "Your session goes on as it was.\n")
            first.answered()
            return
        self._pause(session)
        if loaded is None:
            self.begin_setup(session, first)
        else:
            self._open(session, self._menu(session, loaded), first)

    def leave(self, session: Session) -> None:
        """End the dialogue without saving; what the agent has said meanwhile is shown."""
        menu, session.menu = session.menu, None
        if menu is None:
            return
        unheard = menu.end()
        for turnstile, scope in self._paused.pop(session.id, ()):
            turnstile.open(scope)
        if session.chain is None and session.care.health == "well":
            self._floor.sessions.remove(session)
        for given in unheard:
            given.unheard()

    def say(self, session: Session, text: str) -> None:
        """Show a text in a session, apart from what follows: editors join what is said."""
        end = "" if text.endswith("\n") else "\n\n"
        self._floor.write(text_line(session.id, text + end))

    def _menu(self, session: Session, loaded: Loaded) -> Script:
        host = MenuHost(self._floor, session, loaded.text)
        return lambda talk: main_menu(talk, host, loaded.config)

    def _open(self, session: Session, script: Script, first: Input | None) -> None:
        talk = Conversation(lambda text: self.say(session, text), first)
        session.menu = talk

        async def play() -> None:
            try:
                with Boundary() as caught:
                    await script(talk)
                if caught.error is not None:
                    _log.error("the menu failed", exc_info=caught.error)
                    self.say(session, f"The menu has failed; nothing is changed: {caught.error}")
            finally:
                # Left in another way, the session may be in another dialogue by now.
                if session.menu is talk:
                    self.leave(session)

        self._floor.aside("config mode", play)
        self._floor.aside("the registry", self._floor.settings.directory.refresh)

    def _pause(self, session: Session) -> None:
        chain = session.chain
        if chain is None:
            return
        # Towards the agent a session in config mode sends nothing; its neighbours do.
        in_conductor = ((chain.end.turnstile, EVERYTHING), (chain.to_agent, EVERYTHING))
        in_session = ((chain.end.turnstile, session.inner_id),)
        closed = in_conductor if self._floor.settings.pause == "conductor" else in_session
        for turnstile, scope in closed:
            turnstile.close(scope)
        self._paused[session.id] = closed


class _Ward:
    """A session without an agent, as the dialogue about it sees it."""

    def __init__(self, floor: Floor, session: Session) -> None:
        self._floor = floor
        self._session = session

    async def start(self) -> Sequence[str]:
        """Try again, with the config as it is now.

        Raises:
            NotStartedError: it does not start.
        """
        try:
            loaded = load(self._floor.settings.config)
        except ConfigError as error:
            trouble = of_file(error)
            raise NotStartedError(trouble.reason, trouble.mend) from error
        if loaded is None:
            raise NotStartedError("There is no configuration any more.", "")
        return await give_agent(self._floor, self._session, loaded.config)

    async def choose(self, talk: Conversation) -> bool:
        """Open the menu on what the file says now; whether there is an agent after it."""
        floor, session = self._floor, self._session
        mods = floor.settings.default_mods
        try:
            loaded = load(floor.settings.config)
        except ConfigError as error:
            talk.say(str(error))
            broken = content_of(floor.settings.config)
            host = MenuHost(floor, session, None, broken=broken)
            await first_time(talk, host, mods, welcome=ANEW)
        else:
            host = MenuHost(floor, session, None if loaded is None else loaded.text)
            if loaded is None:
                await first_time(talk, host, mods)
            else:
                await main_menu(talk, host, loaded.config)
        return session.chain is not None

    async def own_answer(self, text: str) -> str | None:
        """What our commands that change nothing say."""
        return await overview(text, self._session, self._floor)
