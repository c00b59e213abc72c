"""Sessions in config mode: opens the menu, and lets the session go on when it is left."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from peerwire.jsonrpc.boundary import Boundary
from peerwire.jsonrpc.errors import INTERNAL_ERROR, RpcError
from symposium.conductor.component import Crossing
from symposium.conductor.gate import members_of
from symposium.config.user_config import Config, ConfigError, Loaded, load, save
from symposium.run_mode.chat_commands import our_commands, text_line, update_line
from symposium.run_mode.config_menu import NotStartedError, first_time, main_menu
from symposium.run_mode.conversation import Conversation, Input, Script
from symposium.run_mode.differences import differences
from symposium.run_mode.floor import Floor
from symposium.run_mode.menu_text import AgentChoices
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.own_request import OwnRequest
from symposium.run_mode.sessions import Session
from symposium.run_mode.turnstile import EVERYTHING, Turnstile

_log = logging.getLogger(__name__)

NEW_SESSION: Final = "Please start a new session."
_GONE: Final = "_The agent of this session has ended meanwhile._\n"


class ConfigMode:
    """The dialogues of one editor connection."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._paused: dict[str, Sequence[tuple[Turnstile, str]]] = {}

    def begin_setup(self, session: Session, first: Input | None = None) -> None:
        """Open the first-time dialogue."""
        host = _MenuHost(self._floor, session, None)
        mods = self._floor.settings.default_mods
        self._open(session, lambda talk: first_time(talk, host, mods), first)

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
        if session.chain is None:
            self._floor.sessions.remove(session)
        for given in unheard:
            given.unheard()

    def say(self, session: Session, text: str) -> None:
        """Show a text in a session, apart from what follows: editors join what is said."""
        end = "" if text.endswith("\n") else "\n\n"
        self._floor.write(text_line(session.id, text + end))

    def _menu(self, session: Session, loaded: Loaded) -> Script:
        host = _MenuHost(self._floor, session, loaded.text)
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


class _MenuHost:
    """What one menu may do: look up agents, and save."""

    def __init__(self, floor: Floor, session: Session, seen: str | None) -> None:
        self._floor = floor
        self._session = session
        self._seen = seen
        self._offered: AgentChoices | None = None
        self._path = floor.settings.config

    async def agents(self) -> AgentChoices:
        """The agents on offer, looked up once in a visit: it may start programs to ask them."""
        if self._offered is None:
            self._offered = await self._floor.settings.directory.choices()
        return self._offered

    async def save(self, config: Config) -> Sequence[str]:
        """Write the config; a session that waits for its agent gets one, others keep their own."""
        before = _config_in(self._path)
        self._seen = save(self._path, config, self._seen)
        setup = self._session.setup
        if setup is not None:
            chain = await self._start_session(config, setup)
            return ["Configuration saved. Starting your session.\n\n", *chain.notes]
        changes = differences(before, config)
        told = [changes] if changes else []
        return [*told, f"Configuration saved. {self._way_on()}"]

    async def overwrite(self, config: Config) -> Sequence[str]:
        """The same, whatever the file says."""
        self._seen = _text_of(self._path)
        return await self.save(config)

    def cancelled(self) -> str:
        """What to tell the user who leaves without saving."""
        if self._session.setup is not None:
            return "Configuration cancelled."
        return f"Configuration cancelled. {self._way_on()}"

    def _way_on(self) -> str:
        if self._session.chain is not None:
            return "Returning to your session."
        return f"{NEW_SESSION}\n\n{_GONE}"

    async def _start_session(self, config: Config, setup: Crossing) -> OpenChain:
        try:
            chain = await self._floor.supervisor.chain_for(config)
            result = await _made_session(chain, setup)
        except RpcError as error:
            told = f"The configuration is saved, but the agent did not start: {error}"
            hint = "Choose another agent with `A`, or mend it and `SAVE` again."
            raise NotStartedError(told, hint) from error
        session, inner_id = self._session, str(result["sessionId"])
        session.setup = None
        self._floor.sessions.delegate(session, chain, inner_id)
        self._floor.write(update_line(session.id, our_commands()))
        if "configOptions" in result:
            # The answer to `session/new` was given before there was an agent to name them.
            named = {"configOptions": result["configOptions"]}
            told_later = {"sessionUpdate": "config_option_update", **named}
            self._floor.write(update_line(session.id, told_later))
        chain.end.turnstile.expected(inner_id)
        return chain


async def _made_session(chain: OpenChain, setup: Crossing) -> Mapping[str, Any]:
    """Have a session made with what the editor has asked for; the agent's answer."""
    asked = Crossing(setup.method, setup.encoded(), is_request=True)
    asked.extra = setup.extra
    chain.end.turnstile.expect()
    result: Mapping[str, Any] | None = None
    try:
        answer = await OwnRequest(asked).answer(chain.entrance)
        if answer.error is None and isinstance(members_of(answer.result).get("sessionId"), str):
            result = members_of(answer.result)
    finally:
        if result is None:
            chain.end.turnstile.expected(None)
    if result is None:
        raise answer.error or RpcError(INTERNAL_ERROR, {"reason": "session_without_id"})
    return result


def _text_of(path: Path) -> str | None:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return None


def _config_in(path: Path) -> Config | None:
    try:
        loaded = load(path)
    except ConfigError:
        return None
    return None if loaded is None else loaded.config
