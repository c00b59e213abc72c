"""Actions of the menu: save, start the agent, show what a save changes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import ChainMessage
from symposium.config.user_config import (
    Config,
    ConfigError,
    content_of,
    load,
    save,
    save_replacement,
)
from symposium.run_mode.chat import our_commands, update_line
from symposium.run_mode.connection import EditorConnection
from symposium.run_mode.menu.login import start_problem
from symposium.run_mode.menu.main_menu import NotStartedError
from symposium.run_mode.menu.overviews import overview
from symposium.run_mode.menu.pickers import agent_label
from symposium.run_mode.menu_ports import AgentChoice, AgentChoices, ModChoices
from symposium.run_mode.open_chain import HostRequest, OpenChain
from symposium.run_mode.session_answers import origin_of
from symposium.run_mode.sessions import Session


def differences(before: Config | None, after: Config, agents: Sequence[AgentChoice]) -> str:
    """Format the removed and added lines; empty if nothing changes.

    Args:
        before: the earlier config.
        after: the saved config.
        agents: the known agents, for their names.
    """
    if before is None or before.key() == after.key():
        return ""
    old, new = _lines(before, agents), _lines(after, agents)
    if old[0] == new[0] and not _is_same_agent(before, after):
        # Do not show the command: it may contain keys.
        new[0] += ", with a different command"
    removed = [f"- {line}" for line in old if line not in new]
    added = [f"+ {line}" for line in new if line not in old]
    return "\n".join(["```diff", *removed, *added, "```", "", ""]) if removed or added else ""


def for_whom(here: Config, saved: Config, agents: Sequence[AgentChoice]) -> str:
    """Explain which sessions use the saved config; empty if this session does.

    Args:
        here: the config of this session's chain.
        saved: the config of new sessions.
        agents: the known agents, for their names.
    """
    if here.key() == saved.key():
        return ""
    theirs, ours = agent_label(saved.agent, agents), agent_label(here.agent, agents)
    if theirs != ours:
        text = f"New sessions use {theirs}; this session continues with {ours}. To use {theirs}"
    elif _is_same_agent(here, saved):
        text = "New sessions use these mods; this session keeps its mods. To use the new mods"
    else:
        text = (
            "New sessions use this configuration; this session does not change. "
            "To use the new configuration"
        )
    return f"{text}, open a new thread or session."


def _is_same_agent(one: Config, other: Config) -> bool:
    return one.with_mods().key() == other.with_mods().key()


def _lines(config: Config, agents: Sequence[AgentChoice]) -> list[str]:
    marks = {True: "x", False: " "}
    mods = [f"{at}. [{marks[mod.enabled]}] {mod.name}" for at, mod in enumerate(config.mods, 1)]
    return [f"agent {agent_label(config.agent, agents)}", *mods]


_STOPPED: Final = "The agent of this session is not running; `/symposium:retry` starts it."
_SET_UP_AGAIN: Final = " Send any message to start the setup again."
_STARTING: Final = "Configuration saved. Starting your session.\n\n"


class MenuActions:
    """Actions of one visit to the menu.

    Attributes:
        broken: content of a config file that cannot be parsed.
    """

    def __init__(
        self,
        connection: EditorConnection,
        session: Session,
        seen: str | None,
        *,
        broken: bytes | None = None,
        is_first: bool = False,
    ) -> None:
        self.broken = broken
        self._is_first = is_first
        self._is_saved = False
        self._connection = connection
        self._session = session
        self._seen = seen
        self._offered: AgentChoices | None = None
        self._path = connection.settings.config

    async def agents(self, *, is_fresh: bool = False) -> AgentChoices:
        """Return the available agents, looked up once in a visit, because it may start programs.

        Args:
            is_fresh: look again, for agents added meanwhile.
        """
        if self._offered is None or is_fresh:
            self._offered = await self._connection.settings.directory.choices()
        return self._offered

    async def mods(self) -> ModChoices:
        """Return the available mods."""
        return await self._connection.settings.directory.mods()

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command that changes nothing."""
        return await overview(text, self._session, self._connection)

    async def save(self, config: Config) -> Sequence[str]:
        """Write the config; a session that waits for its agent gets one, others keep their own."""
        before = _config_in(self._path)
        messages = self._write(config)
        self._is_saved = True
        if self._session.setup is not None:
            try:
                notes = await start_agent_for(self._connection, self._session, config)
            except NotStartedError as error:
                reason = "\n\n".join([*messages, error.problem.reason])
                raise NotStartedError(structs.replace(error.problem, reason=reason)) from error
            return [*messages, _STARTING, *notes]
        agents = (await self.agents()).agents
        chain = self._session.chain
        changes = [
            differences(before, config, agents),
            "" if chain is None else for_whom(chain.config, config, agents),
        ]
        return [*messages, *filter(None, changes), f"Configuration saved. {self._way_on()}"]

    async def overwrite(self, config: Config) -> Sequence[str]:
        """Write the config even if the file has changed."""
        self._seen = _text_of(self._path)
        if _config_in(self._path) is None and self._seen is not None:
            self.broken = content_of(self._path)
        return await self.save(config)

    def cancelled(self) -> str:
        """Return the message for leaving without saving."""
        if self._session.setup is not None:
            if self._is_saved:
                return (
                    "Configuration cancelled. The configuration that you saved before is unchanged."
                )
            again = _SET_UP_AGAIN if self._is_first else ""
            return f"Configuration cancelled. Nothing was changed.{again}"
        return f"Configuration cancelled. {self._way_on()}"

    def _write(self, config: Config) -> list[str]:
        if self.broken is None:
            self._seen = save(self._path, config, self._seen)
            return []
        kept = save_replacement(self._path, config, self.broken)
        self.broken, self._seen = None, _text_of(self._path)
        return [f"The old content is saved as `{kept}`."]

    def _way_on(self) -> str:
        if self._session.chain is not None or self._session.state.health == "restarting":
            return "Returning to your session."
        return _STOPPED


async def start_agent_for(
    connection: EditorConnection, session: Session, config: Config
) -> Sequence[str]:
    """Create the waiting session in the chain of a config; return the chain's notes.

    Raises:
        NotStartedError: the chain does not start, or refuses the session.
    """
    setup = session.setup
    assert setup is not None
    try:
        chain = await connection.supervisor.chain_for(config)
        result = await _made_session(chain, setup)
    except RpcError as error:
        problem = start_problem(connection, error, config)
        raise NotStartedError(problem) from error
    inner_id = str(result["sessionId"])
    session.state.origin = origin_of(setup)
    session.setup = None
    connection.sessions.delegate(session, chain, inner_id)
    connection.write(update_line(session.id, our_commands()))
    if "configOptions" in result:
        # `session/new` was answered before the agent could name them.
        named = {"configOptions": result["configOptions"]}
        told_later = {"sessionUpdate": "config_option_update", **named}
        connection.write(update_line(session.id, told_later))
    chain.end.gate.expected(inner_id)
    return chain.notes


async def _made_session(chain: OpenChain, setup: ChainMessage) -> Mapping[str, Any]:
    """Create a session with the editor's params; return the agent's result."""
    asked = ChainMessage(setup.method, setup.encoded(), is_request=True)
    asked.extra = setup.extra
    chain.end.gate.expect()
    result: Mapping[str, Any] | None = None
    try:
        answer = await HostRequest(asked).answer(chain.entrance)
        if answer.error is None and isinstance(as_object(answer.result).get("sessionId"), str):
            result = as_object(answer.result)
    finally:
        if result is None:
            chain.end.gate.expected(None)
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
