"""Restart crashed agents with their sessions; stop after repeated crashes.

What a session keeps beyond its agent is its `Care`. Nothing is sent to an agent that the user has
not asked for: an interrupted prompt is offered, a fresh context is called so.
"""

from contextlib import suppress
from typing import Final, Protocol

from peerwire.errors import INTERNAL_ERROR, RpcError
from symposium.chain.messages import Answer
from symposium.config.user_config import Config, ConfigError, load
from symposium.run_mode.care import Waiting
from symposium.run_mode.chat_commands import text_line
from symposium.run_mode.floor import Floor
from symposium.run_mode.open_chain import OpenChain
from symposium.run_mode.revival_text import NOT_RUNNING, exit_manner
from symposium.run_mode.sessions import Session

CANCELLED: Final = {"stopReason": "cancelled"}
"""The end of a turn that was cancelled."""


class Reviving(Protocol):
    """The work on one config whose agent has died."""

    def failed(self, chain: OpenChain) -> None:
        """A chain of this config has died."""
        ...

    def forget_failures(self) -> None:
        """The user wants it to be tried again."""
        ...

    def add(self, session: Session) -> None:
        """Bring this session back, too."""
        ...

    def end(self) -> None:
        """Start nothing any more."""
        ...


class Revivals:
    """The agents of one editor connection that have died, and their sessions."""

    def __init__(self, floor: Floor) -> None:
        self._floor = floor
        self._efforts: dict[str, Reviving] = {}

    def chain_died(self, chain: OpenChain, death: RpcError) -> None:
        """Begin to bring its sessions back."""
        effort = self._effort(chain.config)
        effort.failed(chain)
        for session in self._floor.sessions.of(chain):
            session.chain = None
            _interrupt(session, exit_manner(death))
            effort.add(session)

    def keeps(self, waiting: Waiting, session: Session) -> bool:
        """Keep a request until the session's agent is back, or refuse it; whether it was ours."""
        match session.care.health:
            case "well":
                return False
            case "reviving":
                session.care.waiting.append(waiting)
            case "stopped":
                self._floor.write(text_line(session.id, f"{NOT_RUNNING}\n\n"))
                data = {"reason": "agent_not_running", "sessionId": session.id}
                waiting.call.fail(RpcError(INTERNAL_ERROR, data, message=NOT_RUNNING))
        return True

    def cancelled(self, session: Session) -> None:
        """The user does not want any longer what waits for the agent."""
        waiting, session.care.waiting = session.care.waiting, []
        for one in waiting:
            if one.call.crossing.method == "session/prompt":
                one.call.settle(Answer(value=CANCELLED))
            else:
                session.care.waiting.append(one)

    def start_again(self, session: Session) -> None:
        """Try once more at the user's request, with the current config."""
        config = session.care.config
        with suppress(ConfigError):
            loaded = load(self._floor.settings.config)
            config = config if loaded is None else loaded.config
        if config is not None:
            effort = self._effort(config)
            effort.forget_failures()
            session.care.health = "reviving"
            effort.add(session)

    def end(self) -> None:
        """The editor has gone: nothing is started any more, and every answer is given."""
        for effort in self._efforts.values():
            effort.end()
        for session in self._floor.sessions.all():
            session.care.told()

    def _effort(self, config: Config) -> Reviving:
        from symposium.run_mode.effort import Effort  # noqa: PLC0415 - see IMPORTS_LATE

        key = config.key()
        if key not in self._efforts:
            self._efforts[key] = Effort(self._floor, config)
        return self._efforts[key]


def _interrupt(session: Session, death: str) -> None:
    care = session.care
    care.health, care.is_told, care.death = "reviving", False, death
    for blocks in care.turns.values():
        care.interrupted = blocks
