"""The dialog of a session without an agent."""

from collections.abc import Sequence
from typing import Final

from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.config.user_config import Config, ConfigError, LoadedConfig, content_of, load
from symposium.run_mode.available_mods import suited
from symposium.run_mode.chat import COMMAND_PREFIX, RECAP, RECOMMENDATIONS, RETRY, Dialog, Script
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.failure_text import (
    CHOICES,
    MESSAGE_NOT_SAVED,
    MESSAGE_SAVED,
    NOT_RUNNING_YET,
    NOTHING_SAID,
    STILL,
    WAIT_CHOICES,
    StartProblem,
    of_file,
)
from symposium.run_mode.menu.actions import MenuActions, start_agent_for
from symposium.run_mode.menu.login import logging_in, login_menu, start_problem
from symposium.run_mode.menu.main_menu import NotStartedError, first_time, import_older, main_menu
from symposium.run_mode.menu.overviews import help_text, overview
from symposium.run_mode.menu.pickers import code
from symposium.run_mode.menu.slow_start import CONFIG_WORDS, STARTING, wait_with_input
from symposium.run_mode.offers import NO_OFFERS
from symposium.run_mode.session_answers import LoginRequired
from symposium.run_mode.sessions import Session

NOT_SENT: Final = "Your saved message will not be sent.\n\n"

_IDLE_WORDS: Final = frozenset({"", "back", "cancel"})
_RETRY_WORDS: Final = RETRY | {"again", "retry"}


async def wait_for_start(talk: Dialog, agentless: "AgentlessSession") -> None:
    """Wait for a slow agent; continue until the session has one."""
    talk.say(STARTING)
    problem = await _start(talk, agentless, "", is_said=True)
    if problem is not None:
        await _fix(talk, agentless, problem)


async def run_no_agent_dialog(
    talk: Dialog, agentless: "AgentlessSession", cause: StartProblem
) -> None:
    """Show why there is no agent; continue until there is one."""
    problem = cause.text()
    talk.say(problem)
    await _fix(talk, agentless, problem)


async def _fix(talk: Dialog, agentless: "AgentlessSession", problem: str) -> None:
    while True:
        text = await talk.read()
        word = text.lower()
        if word in CONFIG_WORDS:
            if await agentless.choose(talk):
                return
            talk.say(CHOICES)
        elif word in _IDLE_WORDS:
            talk.say(problem)
        elif word not in _RETRY_WORDS and (answer := await agentless.own_answer(text)) is not None:
            talk.say(f"{answer}\n{CHOICES}")
        elif (is_done := await agentless.log_in(talk, word)) is False:
            continue
        else:
            if is_done is None and word not in _RETRY_WORDS:
                _report_unsaved(talk)
            now = await _start(talk, agentless, problem, is_said=False)
            if now is None:
                return
            problem = now


def _report_unsaved(talk: Dialog) -> None:
    """Save the message; report only that it is too large, because the agent starts next."""
    if talk.keep() == MESSAGE_NOT_SAVED:
        talk.say(MESSAGE_NOT_SAVED)


async def _start(
    talk: Dialog, agentless: "AgentlessSession", before: str, *, is_said: bool
) -> str | None:
    """Try to start; return the problem, or None once the session has an agent."""
    try:
        notes = await wait_with_input(
            talk, agentless.start(), agentless.own_answer, is_said=is_said
        )
    except NotStartedError as error:
        problem, choices = error.problem.text(), error.problem.choices or error.problem.fix
        kept = [MESSAGE_SAVED] if agentless.keeps() else []
        is_known = problem == before and not talk.is_first_turn
        for text in [STILL, *kept, choices] if is_known else [problem, *kept]:
            talk.say(text)
        return problem
    match notes:
        case "config":
            if await agentless.choose(talk):
                return None
            talk.say(CHOICES)
            return before or CHOICES
        case "cancel":
            talk.say(f"{NOT_SENT}{WAIT_CHOICES}" if agentless.keeps() else WAIT_CHOICES)
            agentless.forget()
            return before or CHOICES
        case _:
            for note in notes:
                talk.say(note)
            return None


RETRY_TEXT: Final = (
    "The config file cannot be read; set up a new one here. "
    "`SAVE` first copies the old content to another file.\n"
)

_WITHOUT_AGENT: Final = {
    **dict.fromkeys(RECOMMENDATIONS, NO_OFFERS),
    **dict.fromkeys(RETRY, NOT_RUNNING_YET),
    **dict.fromkeys(RECAP, NOTHING_SAID),
}
"""Answers to commands about an agent in a session without one."""


def setting_up(connection: EditorConnection, session: Session) -> Script:
    """Make the first-time setup; it offers a config of an older layout first."""
    host = MenuActions(connection, session, None, is_first=True)

    async def script(talk: Dialog) -> None:
        workspace = _workspace_of(session)
        older = await connection.settings.directory.older(workspace)
        mods = suited(connection.settings.default_mods, workspace)
        if older is None:
            await first_time(talk, host, mods)
        else:
            await import_older(talk, host, older, mods)

    return script


def _workspace_of(session: Session) -> str:
    """The directory of the requested session; empty if the editor named none."""
    params = as_object(None if session.setup is None else session.setup.params)
    return str(params.get("cwd") or "")


def in_menu(connection: EditorConnection, session: Session, loaded: LoadedConfig) -> Script:
    """Make the menu for an existing config."""
    host = MenuActions(connection, session, loaded.text)
    return lambda talk: main_menu(talk, host, loaded.config)


def no_agent_dialog(
    connection: EditorConnection,
    session: Session,
    error: ConfigError | RpcError,
    config: Config | None,
) -> Script:
    """Make the dialog of a session without an agent.

    Args:
        connection: the editor connection.
        session: the session without an agent.
        error: the reason.
        config: the config of its chain; None if it could not be read.
    """
    if isinstance(error, ConfigError) or config is None:
        assert isinstance(error, ConfigError)
        cause = of_file(error)
    else:
        cause = start_problem(connection, error, config)
    agentless = AgentlessSession(connection, session)
    return lambda talk: run_no_agent_dialog(talk, agentless, cause)


def starting(connection: EditorConnection, session: Session) -> Script:
    """Make the dialog of a session whose agent starts slowly."""
    agentless = AgentlessSession(connection, session)
    return lambda talk: wait_for_start(talk, agentless)


def at_login(refusal: LoginRequired) -> Script:
    """Make the dialog of a session whose agent requires a login."""
    return lambda talk: logging_in(talk, refusal)


class AgentlessSession:
    """A session without an agent, for its dialog."""

    def __init__(self, connection: EditorConnection, session: Session) -> None:
        self._connection = connection
        self._session = session

    async def start(self) -> Sequence[str]:
        """Start the agent of the current config.

        Raises:
            NotStartedError: it does not start.
        """
        try:
            loaded = load(self._connection.settings.config)
        except ConfigError as error:
            cause = of_file(error)
            raise NotStartedError(cause) from error
        if loaded is None:
            reason = "The config file no longer exists; `/symposium:config` sets up a new one."
            raise NotStartedError(StartProblem(reason))
        return await start_agent_for(self._connection, self._session, loaded.config)

    async def choose(self, talk: Dialog) -> bool:
        """Open the menu for the current file; return whether the session then has an agent."""
        connection, session = self._connection, self._session
        mods = suited(connection.settings.default_mods, _workspace_of(session))
        try:
            loaded = load(connection.settings.config)
        except ConfigError as error:
            talk.say(str(error))
            broken = content_of(connection.settings.config)
            host = MenuActions(connection, session, None, broken=broken)
            await first_time(talk, host, mods, welcome=RETRY_TEXT)
        else:
            host = MenuActions(connection, session, None if loaded is None else loaded.text)
            if loaded is None:
                await first_time(talk, host, mods)
            else:
                await main_menu(talk, host, loaded.config)
        return session.chain is not None

    async def log_in(self, talk: Dialog, word: str) -> bool | None:
        """Log in to the agent of the config if the word is the number of a login method."""
        try:
            loaded = load(self._connection.settings.config)
        except ConfigError:
            return None
        counter = None if loaded is None else login_menu(self._connection, loaded.config)
        method = None if counter is None else counter.chosen(word)
        if counter is None or method is None:
            return None
        return await counter.log_in(talk, method)

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command without an agent; None for anything else."""
        connection, session = self._connection, self._session
        if connection.offers.takes(session, text):
            return await connection.offers.answer(session, text)
        answer = _WITHOUT_AGENT.get(text) or await overview(text, session, connection)
        if answer is None and text.removeprefix("/").startswith(COMMAND_PREFIX) and " " not in text:
            return f"Unknown command: {code(text)}\n\n{help_text()}"
        return answer

    def keeps(self) -> bool:
        """Whether a message is saved for the agent."""
        return bool(self._session.kept)

    def forget(self) -> None:
        """Drop the saved message."""
        self._session.kept = []
