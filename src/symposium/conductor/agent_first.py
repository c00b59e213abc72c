"""Asks the agent `initialize` before the chain does, and answers the chain from what it said.

acp-host §3.3, steps 3 and 4. If the chain asks something else in the end, the agent is started once
more with the real request: ACP knows no second `initialize`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from msgspec import UNSET, Struct
from msgspec.structs import replace

from peerwire.acp.names import INITIALIZE
from peerwire.errors import SpawnError
from peerwire.jsonrpc import messages as wire
from peerwire.jsonrpc.messages import Message
from peerwire.jsonrpc.transport import Listener, Overlong, Transport
from peerwire.jsonrpc.values import decode_value, encode_value
from peerwire.transports.process import spawn
from symposium.chain.blueprint import OnStderr, Program, StartWork

_log = logging.getLogger(__name__)

FIRST_ID: Final = b'"symposium-agent-first"'
"""The id of the request that was predicted; the chain's own ids are numbers."""

Spawn: TypeAlias = Callable[[OnStderr | None], Transport]


def agent_first(
    agent: Program, prediction: Mapping[str, Any], *, spawn_agent: Spawn | None = None
) -> Program:
    """The agent, asked as soon as it is started.

    Args:
        agent: a program that speaks ACP.
        prediction: the params that it is expected to be asked with.
        spawn_agent: starts it; by its command, unless told otherwise.
    """

    def by_command(on_stderr: OnStderr | None) -> Transport:
        return spawn(agent.command, on_stderr=on_stderr)

    def opener(start: StartWork, on_stderr: OnStderr | None) -> Transport:
        again = spawn_agent or by_command
        return AgentFirst(lambda: again(on_stderr), prediction, start)

    return replace(agent, opener=opener)


class AgentFirst:
    """The agent's transport, as the chain sees it."""

    def __init__(
        self, spawn_agent: Callable[[], Transport], prediction: Mapping[str, Any], start: StartWork
    ) -> None:
        self._spawn = spawn_agent
        self._prediction = prediction
        self._start_work = start
        self._agent = spawn_agent()
        self._kept: Message | None = None
        self._early: list[bytes | Overlong] = []
        self._asked: bytes | None = None
        self._is_through = False

    @property
    def backlog(self) -> int:
        """Bytes that the agent has not taken yet."""
        return self._agent.backlog

    def start(self, listener: Listener) -> None:
        """Ask the agent, before anybody else is asked."""
        self._listener = listener
        self._agent.start(_Life(self, self._agent))
        body = encode_value(self._prediction)
        self._agent.send(wire.request(FIRST_ID, INITIALIZE, body))

    def send(self, line: bytes) -> None:
        """Pass a line on; the chain's `initialize` is compared with what was predicted."""
        if self._is_through or not self._is_greeting(line):
            self._agent.send(line)

    def pause_reading(self) -> None:
        """Read nothing for now."""
        self._agent.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self._agent.resume_reading()

    async def drain(self) -> None:
        """Wait until the agent has taken most of what waits for it."""
        await self._agent.drain()

    async def aclose(self, *, grace: float = 1.0) -> None:
        """End the agent."""
        await self._agent.aclose(grace=grace)

    def received(self, lines: Sequence[bytes | Overlong], agent: Transport) -> None:
        """Take what the agent says; what comes before the chain has asked waits."""
        if agent is not self._agent:
            return
        if self._is_through:
            self._listener.lines_received(lines)
            return
        for line in lines:
            if not self._keep(line):
                self._early.append(line)
        self._answer()

    def listener_of(self, agent: Transport) -> Listener | None:
        """Who is told of this agent; nobody, for one that has been replaced."""
        return self._listener if agent is self._agent else None

    def _keep(self, line: bytes | Overlong) -> bool:
        if self._kept is not None or isinstance(line, Overlong):
            return False
        message = wire.decode(line)
        if not isinstance(message, Message) or message.method is not UNSET:
            return False
        if message.id is UNSET or bytes(message.id) != FIRST_ID:
            return False
        self._kept = message
        return True

    def _is_greeting(self, line: bytes) -> bool:
        """Whether this is the chain's `initialize`, which is answered, or sent anew."""
        message = wire.decode(line)
        if not isinstance(message, Message) or message.method != INITIALIZE:
            return False
        assert message.id is not UNSET
        params = None if message.params is UNSET else decode_value(message.params)
        if plain(params) == plain(self._prediction):
            self._asked = bytes(message.id)
            self._answer()
        else:
            self._begin_again(line)
        return True

    def _answer(self) -> None:
        if self._kept is None or self._asked is None:
            return
        self._is_through = True
        kept, early = self._kept, self._early
        self._kept, self._early = None, []
        if kept.error is not UNSET:
            answer = wire.error_response(self._asked, kept.error)
        else:
            answer = wire.result_response(self._asked, kept.result or b"null")
        self._listener.lines_received([answer, *early])

    def _begin_again(self, line: bytes) -> None:
        _log.warning(
            "the agent was asked what the chain does not ask in the end; it is started again"
        )
        left = self._agent
        self._start_work(left.aclose(grace=0))
        try:
            self._agent = self._spawn()
        except SpawnError as error:
            self._listener.ended(error)
            return
        self._is_through = True
        self._early.clear()
        self._agent.start(_Life(self, self._agent))
        self._agent.send(line)


class _Life(Struct, frozen=True):
    """Listens to one agent, so that the words of one that was replaced reach nobody."""

    owner: AgentFirst
    agent: Transport

    def lines_received(self, lines: Sequence[bytes | Overlong]) -> None:
        self.owner.received(lines, self.agent)

    def writing_paused(self) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.writing_paused()

    def writing_resumed(self) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.writing_resumed()

    def ended(self, error: Exception | None) -> None:
        if (listener := self.owner.listener_of(self.agent)) is not None:
            listener.ended(error)


def plain(value: Any) -> Any:
    """The value without members `_meta` that are null or empty, at any depth."""
    if isinstance(value, Mapping):
        members = cast("Mapping[str, Any]", value).items()
        kept = {name: plain(each) for name, each in members}
        return {name: each for name, each in kept.items() if name != "_meta" or each}
    if isinstance(value, list | tuple):
        return [plain(each) for each in cast("Sequence[Any]", value)]
    return value
