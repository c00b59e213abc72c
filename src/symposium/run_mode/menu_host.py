"""Actions of a session's menu: look up choices, save, and start the session's agent."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from peerwire.errors import INTERNAL_ERROR, RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import Crossing
from symposium.config.user_config import Config, ConfigError, content_of, load, save, save_anew
from symposium.run_mode.askers import origin_of
from symposium.run_mode.chat_commands import our_commands, update_line
from symposium.run_mode.choices import AgentChoices, ModChoices
from symposium.run_mode.config_menu import NotStartedError
from symposium.run_mode.differences import differences, for_whom
from symposium.run_mode.floor import Floor
from symposium.run_mode.login import trouble_of
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.overviews import overview
from symposium.run_mode.own_request import OwnRequest
from symposium.run_mode.sessions import Session

NEW_SESSION: Final = "Please start a new session."
_GONE: Final = "_The agent of this session has ended in the meantime._\n"
_SEND_TO_SET_UP: Final = " Send any message to set Symposium up."
_STARTING: Final = "Configuration saved. Starting your session.\n\n"


class MenuHost:
    """One visit to the menu, as the rest of run mode sees it.

    Attributes:
        broken: what the config file holds, where that cannot be read as a config.
    """

    def __init__(
        self,
        floor: Floor,
        session: Session,
        seen: str | None,
        *,
        broken: bytes | None = None,
        is_first: bool = False,
    ) -> None:
        self.broken = broken
        self._is_first = is_first
        self._floor = floor
        self._session = session
        self._seen = seen
        self._offered: AgentChoices | None = None
        self._path = floor.settings.config

    async def agents(self, *, is_fresh: bool = False) -> AgentChoices:
        """The agents on offer, looked up once in a visit: it may start programs to ask them.

        Args:
            is_fresh: look again: an agent may have been added meanwhile.
        """
        if self._offered is None or is_fresh:
            self._offered = await self._floor.settings.directory.choices()
        return self._offered

    async def mods(self) -> ModChoices:
        """The mods on offer."""
        return await self._floor.settings.directory.mods()

    async def own_answer(self, text: str) -> str | None:
        """Answer a Symposium command that changes nothing."""
        return await overview(text, self._session, self._floor)

    async def save(self, config: Config) -> Sequence[str]:
        """Write the config; a session that waits for its agent gets one, others keep their own."""
        before = _config_in(self._path)
        told = self._write(config)
        if self._session.setup is not None:
            try:
                notes = await give_agent(self._floor, self._session, config)
            except NotStartedError as error:
                raise NotStartedError("\n\n".join([*told, error.message]), error.hint) from error
            return [*told, _STARTING, *notes]
        agents = (await self.agents()).agents
        chain = self._session.chain
        changes = [
            differences(before, config, agents),
            "" if chain is None else for_whom(chain.config, config, agents),
        ]
        return [*told, *filter(None, changes), f"Configuration saved. {self._way_on()}"]

    async def overwrite(self, config: Config) -> Sequence[str]:
        """The same, whatever the file says."""
        self._seen = _text_of(self._path)
        if _config_in(self._path) is None and self._seen is not None:
            self.broken = content_of(self._path)
        return await self.save(config)

    def cancelled(self) -> str:
        """Return the message for leaving without saving."""
        if self._session.setup is not None:
            return f"Configuration cancelled.{_SEND_TO_SET_UP if self._is_first else ''}"
        return f"Configuration cancelled. {self._way_on()}"

    def _write(self, config: Config) -> list[str]:
        if self.broken is None:
            self._seen = save(self._path, config, self._seen)
            return []
        kept = save_anew(self._path, config, self.broken)
        self.broken, self._seen = None, _text_of(self._path)
        return [f"The old content is saved as `{kept}`."]

    def _way_on(self) -> str:
        if self._session.chain is not None or self._session.care.health == "reviving":
            return "Returning to your session."
        return f"{NEW_SESSION}\n\n{_GONE}"


async def give_agent(floor: Floor, session: Session, config: Config) -> Sequence[str]:
    """Have the session that waits made by the chain of a config; the chain's notes.

    Raises:
        NotStartedError: there is no such chain, or it makes none.
    """
    setup = session.setup
    assert setup is not None
    try:
        chain = await floor.supervisor.chain_for(config)
        result = await _made_session(chain, setup)
    except RpcError as error:
        trouble = trouble_of(floor, error, config)
        raise NotStartedError(trouble.reason, trouble.mend) from error
    inner_id = str(result["sessionId"])
    session.care.origin = origin_of(setup)
    session.setup = None
    floor.sessions.delegate(session, chain, inner_id)
    floor.write(update_line(session.id, our_commands()))
    if "configOptions" in result:
        # The answer to `session/new` was given before there was an agent to name them.
        named = {"configOptions": result["configOptions"]}
        told_later = {"sessionUpdate": "config_option_update", **named}
        floor.write(update_line(session.id, told_later))
    chain.end.turnstile.expected(inner_id)
    return chain.notes


async def _made_session(chain: OpenChain, setup: Crossing) -> Mapping[str, Any]:
    """Have a session made with what the editor has asked for; the agent's answer."""
    asked = Crossing(setup.method, setup.encoded(), is_request=True)
    asked.extra = setup.extra
    chain.end.turnstile.expect()
    result: Mapping[str, Any] | None = None
    try:
        answer = await OwnRequest(asked).answer(chain.entrance)
        if answer.error is None and isinstance(as_object(answer.result).get("sessionId"), str):
            result = as_object(answer.result)
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
