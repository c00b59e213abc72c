"""Restart the agent of one config and restore its sessions."""

import asyncio
import logging
from collections import deque
from contextlib import suppress

from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.config.user_config import Config
from symposium.run_mode.chat_commands import text_line, update_line
from symposium.run_mode.floor import Floor
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.reopening import Reopened, Reopening
from symposium.run_mode.revival_text import BEING_STARTED, came_back, gave_up, notice, offer
from symposium.run_mode.sessions import Session

_log = logging.getLogger(__name__)


class Effort:
    """Restart the agent of one config and restore its sessions."""

    def __init__(self, floor: Floor, config: Config) -> None:
        self._floor = floor
        self._config = config
        self._terms = floor.settings.revival
        self._failures: deque[float] = deque(maxlen=max(1, self._terms.most))
        self._reason = ""
        self._dead: OpenChain | None = None
        self._sessions: list[Session] = []
        self._reopening: Reopening | None = None
        self._is_running = False

    def failed(self, chain: OpenChain) -> None:
        """A chain of this config has died."""
        self._failures.append(self._terms.clock())
        self._reason = ""
        self._dead = chain
        if self._reopening is not None and chain.death is not None:
            self._reopening.died(chain.death)

    def forget_failures(self) -> None:
        """The user wants it to be tried again."""
        self._failures.clear()

    def add(self, session: Session) -> None:
        """Bring this session back, too."""
        session.care.config = self._config
        self._sessions.append(session)
        if not session.care.is_told:
            asyncio.get_running_loop().call_later(self._terms.tell_after, self._tell, session)
        if not self._is_running:
            self._is_running = True
            self._floor.aside("an agent's revival", self._run)

    def end(self) -> None:
        """Start nothing any more."""
        self._sessions.clear()

    # -- the work

    async def _run(self) -> None:
        try:
            while self._sessions:
                await self._burial()
                if self._is_hopeless():
                    self._stop()
                elif self._sessions and (chain := await self._started()) is not None:
                    await self._hand_over(chain)
        finally:
            self._is_running = False

    async def _burial(self) -> None:
        """Wait for the end of what has died: two agents at once would fight over the session."""
        dead, self._dead = self._dead, None
        if dead is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._terms.burial):
                    await dead.buried.wait()

    async def _started(self) -> OpenChain | None:
        try:
            return await self._floor.supervisor.chain_for(self._config)
        except RpcError as error:
            _log.warning("the agent could not be started again: %s", error)
            self._failures.append(self._terms.clock())
            self._reason = str(as_object(error.data).get("detail") or error)
            return None

    async def _hand_over(self, chain: OpenChain) -> None:
        while self._sessions and chain.death is None:
            session = self._sessions[0]
            if self._floor.sessions.find(session.id) is session:
                await self._bring_back(session, chain)
            if chain.death is None and session in self._sessions:
                self._sessions.remove(session)

    async def _bring_back(self, session: Session, chain: OpenChain) -> None:
        self._reopening = reopening = Reopening(session, chain, self._terms.patience)
        try:
            reopened = await reopening.run()
        except RpcError as error:
            if chain.death is None:
                self._stop_one(session, gave_up(1, self._terms.window, str(error)))
            return
        finally:
            self._reopening = None
        self._well_again(session, chain, reopened)
        reopening.settle(reopened)

    def _well_again(self, session: Session, chain: OpenChain, reopened: Reopened) -> None:
        care = session.care
        self._floor.sessions.delegate(session, chain, reopened.inner_id)
        care.health = "well"
        has_memory = bool(care.memory.digest())
        _say(self._floor, session, came_back(reopened.how, has_memory=has_memory), _offer(session))
        if reopened.how == "fresh" and "configOptions" in reopened.result:
            named = {"configOptions": reopened.result["configOptions"]}
            told = {"sessionUpdate": "config_option_update", **named}
            self._floor.write(update_line(session.id, told))
        care.told()
        care.go_on()

    # -- giving up

    def _is_hopeless(self) -> bool:
        since = self._terms.clock() - self._terms.window
        while self._failures and self._failures[0] <= since:
            self._failures.popleft()
        return len(self._failures) >= self._terms.most

    def _stop(self) -> None:
        sessions, self._sessions = self._sessions, []
        told = gave_up(len(self._failures), self._terms.window, self._reason)
        for session in sessions:
            self._stop_one(session, told)

    def _stop_one(self, session: Session, text: str) -> None:
        care = session.care
        care.health = "stopped"
        if self._floor.sessions.find(session.id) is session:
            _say(self._floor, session, text)
        care.told()
        care.go_on()

    def _tell(self, session: Session) -> None:
        if session.care.health == "reviving" and not session.care.is_told:
            _say(self._floor, session, BEING_STARTED, _offer(session))
            session.care.told()


def _say(floor: Floor, session: Session, *parts: str) -> None:
    """Say it, as the first thing that is said of a death behind how it came about."""
    first = "" if session.care.is_told else session.care.death
    floor.write(text_line(session.id, notice(first, *parts)))


def _offer(session: Session) -> str:
    is_new = not session.care.is_told and session.care.interrupted is not None
    return offer(was_interrupted=is_new)
