"""The dialogues that a session can be in; imported only when the first of them begins."""

from collections.abc import Sequence
from typing import Final

from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.config.user_config import Config, ConfigError, Loaded, content_of, load
from symposium.run_mode.chat_commands import OURS, RECAP, RECOMMENDATIONS, RETRY
from symposium.run_mode.config_menu import NotStartedError, first_time, import_older, main_menu
from symposium.run_mode.conversation import Conversation, Script
from symposium.run_mode.directory import suited
from symposium.run_mode.floor import Floor
from symposium.run_mode.login import counter_of, logging_in, trouble_of
from symposium.run_mode.mending import mend, wait_for_start
from symposium.run_mode.menu_host import MenuHost, give_agent
from symposium.run_mode.menu_text import code
from symposium.run_mode.offers import NOTHING
from symposium.run_mode.overviews import overview
from symposium.run_mode.prompts import help_text
from symposium.run_mode.refusal import Refusal
from symposium.run_mode.revival_text import NOTHING_SAID, NOTHING_TO_SEND
from symposium.run_mode.sessions import Session
from symposium.run_mode.trouble import of_file

ANEW: Final = (
    "The config file cannot be read, so you set up a new one. "
    "`SAVE` saves the old content beside it.\n"
)

_WITHOUT_AGENT: Final = {
    **dict.fromkeys(RECOMMENDATIONS, NOTHING),
    **dict.fromkeys(RETRY, NOTHING_TO_SEND),
    **dict.fromkeys(RECAP, NOTHING_SAID),
}
"""Answers to commands about an agent in a session without one."""


def setting_up(floor: Floor, session: Session) -> Script:
    """The first-time set-up; what an older layout says is offered first."""
    host = MenuHost(floor, session, None, is_first=True)

    async def script(talk: Conversation) -> None:
        workspace = _workspace_of(session)
        older = await floor.settings.directory.older(workspace)
        mods = suited(floor.settings.default_mods, workspace)
        if older is None:
            await first_time(talk, host, mods)
        else:
            await import_older(talk, host, older, mods)

    return script


def _workspace_of(session: Session) -> str:
    """The directory that the editor asked a session for; empty if it named none."""
    params = as_object(None if session.setup is None else session.setup.params)
    return str(params.get("cwd") or "")


def in_menu(floor: Floor, session: Session, loaded: Loaded) -> Script:
    """The menu on a config that there is."""
    host = MenuHost(floor, session, loaded.text)
    return lambda talk: main_menu(talk, host, loaded.config)


def mending(
    floor: Floor, session: Session, error: ConfigError | RpcError, config: Config | None
) -> Script:
    """Make the dialog of a session without an agent.

    Args:
        floor: the editor connection.
        session: without an agent.
        error: why it has none.
        config: what its chain was to be made from; None where that could not be read.
    """
    if isinstance(error, ConfigError) or config is None:
        assert isinstance(error, ConfigError)
        trouble = of_file(error)
    else:
        trouble = trouble_of(floor, error, config)
    ward = _Ward(floor, session)
    return lambda talk: mend(talk, ward, trouble)


def starting(floor: Floor, session: Session) -> Script:
    """Make the dialog of a session whose agent starts slowly."""
    ward = _Ward(floor, session)
    return lambda talk: wait_for_start(talk, ward)


def at_login(refusal: Refusal) -> Script:
    """Make the dialog of a session whose agent requires a login."""
    return lambda talk: logging_in(talk, refusal)


class _Ward:
    """A session without an agent, as the dialogue about it sees it."""

    def __init__(self, floor: Floor, session: Session) -> None:
        self._floor = floor
        self._session = session

    async def start(self) -> Sequence[str]:
        """Try again with the current config.

        Raises:
            NotStartedError: it does not start.
        """
        try:
            loaded = load(self._floor.settings.config)
        except ConfigError as error:
            trouble = of_file(error)
            raise NotStartedError(trouble.reason, trouble.mend) from error
        if loaded is None:
            raise NotStartedError("The config file no longer exists.", "")
        return await give_agent(self._floor, self._session, loaded.config)

    async def choose(self, talk: Conversation) -> bool:
        """Open the menu on what the file says now; whether there is an agent after it."""
        floor, session = self._floor, self._session
        mods = suited(floor.settings.default_mods, _workspace_of(session))
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

    async def log_in(self, talk: Conversation, word: str) -> bool | None:
        """Log in to the agent of the config, if a number is meant for one of its ways."""
        try:
            loaded = load(self._floor.settings.config)
        except ConfigError:
            return None
        counter = None if loaded is None else counter_of(self._floor, loaded.config)
        method = None if counter is None else counter.chosen(word)
        if counter is None or method is None:
            return None
        return await counter.log_in(talk, method)

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command without an agent; None for anything else."""
        floor, session = self._floor, self._session
        if floor.offers.takes(session, text):
            return await floor.offers.answer(session, text)
        told = _WITHOUT_AGENT.get(text) or await overview(text, session, floor)
        if told is None and text.removeprefix("/").startswith(OURS) and " " not in text:
            return f"Unknown command: {code(text)}\n\n{help_text()}"
        return told

    def keeps(self) -> bool:
        """Whether a message is kept for the agent."""
        return bool(self._session.kept)

    def forget(self) -> None:
        """Keep nothing any more."""
        self._session.kept = []
