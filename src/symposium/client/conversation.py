"""One chain: initialize, sessions, turns."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from peerwire.errors import INTERNAL_ERROR, ConnectionClosedError, PeerwireError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.jsonrpc.values import as_object
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import Instantiator
from symposium.chain.conductor import Conductor, Settings
from symposium.client.answers import CAPABILITIES, ClientAnswers, OnDecision, PausableDeadline
from symposium.client.permissions import Decider
from symposium.errors import AgentTimeoutError, StepError

CLIENT: Final = {"name": "symposium", "title": "Symposium", "version": "0.1.0"}
"""`clientInfo` in `initialize`."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class ConversationConfig:
    """Settings of a client.

    Attributes:
        cwd: the directory of its sessions, absolute; the agent reaches no file outside it.
        decider: decides on permissions.
        on_update: receives the params of each `session/update`, in order.
        on_decision: receives each permission request and its decision.
        timeout: time limit for each response of the agent in seconds, without the time it waits
            for a decision; None for no limit.
        servers: MCP servers for its sessions, as ACP declares them.
    """

    cwd: Path
    decider: Decider
    on_update: Callable[[Any], None]
    on_decision: OnDecision
    timeout: float | None = None
    servers: Sequence[Mapping[str, Any]] = ()


class Conversation:
    """The client's end of one chain; made by `converse`.

    Attributes:
        opened: the result of `session/new`, for `on_open`: modes and options.
    """

    def __init__(
        self,
        connection: Connection,
        answers: ClientAnswers,
        terms: ConversationConfig,
        timeout: PausableDeadline,
    ) -> None:
        self._connection = connection
        self._answers = answers
        self._terms = terms
        self._deadline = timeout
        self._scope: asyncio.Timeout | None = None
        self._is_over = False
        self.opened: Any = None

    async def initialize(self) -> dict[str, Any]:
        """Start the chain and return the result of `initialize`.

        Raises:
            StepError: the chain could not be started.
        """
        params = {"protocolVersion": 1, "clientCapabilities": CAPABILITIES, "clientInfo": CLIENT}
        # The conductor has its own timeout here and can name the silent component.
        return await self._ask("initialize", params)

    async def log_in(self, method: str) -> None:
        """Log in by a method of the agent, without a timeout: the user may take long.

        Raises:
            StepError: the login failed, or the agent has ended.
        """
        await self._ask("authenticate", {"methodId": method})

    async def new_session(self, on_open: Callable[[str], object]) -> str:
        """Open a session and return its id, after `on_open` and before any update.

        Raises:
            StepError: the agent opened none.
            AgentTimeoutError: it did not answer in time.
        """
        params = self._setting()

        def tell(result: Any) -> None:
            self.opened = result
            if (session_id := _text(result, "sessionId")) is not None:
                on_open(session_id)

        result = await self._in_time("session/new", params, tell)
        session_id = _text(result, "sessionId")
        if session_id is None:
            raise StepError("session/new", RpcError(INTERNAL_ERROR, "its answer has no sessionId"))
        return session_id

    async def continue_session(self, session_id: str, method: str) -> None:
        """Continue a session of an earlier process; returns after a replay.

        Args:
            session_id: session id of the agent.
            method: `session/resume` or `session/load`, whichever the agent declares.

        Raises:
            StepError: the agent does not know it, or has ended.
            AgentTimeoutError: it did not answer in time.
        """
        await self._in_time(method, {"sessionId": session_id, **self._setting()})

    async def prompt(
        self, session_id: str, text: str, attached: Sequence[Mapping[str, Any]] = ()
    ) -> str:
        """Run one turn and return the stop reason.

        Args:
            session_id: session id of the agent.
            text: the user's prompt.
            attached: additional content blocks.

        Raises:
            StepError: the agent answered with an error, or has ended.
            AgentTimeoutError: it did not answer in time; the turn has been canceled.
        """
        self._answers.forget_grants()
        prompt = [{"type": "text", "text": text}, *map(dict, attached)]
        params = {"sessionId": session_id, "prompt": prompt}
        try:
            result = await self._in_time("session/prompt", params)
        except AgentTimeoutError:
            self.cancel(session_id)
            raise
        return _text(result, "stopReason") or "none given"

    async def set_up(self, session_id: str, method: str, params: Mapping[str, Any]) -> Any:
        """Change a setting of a session and return the agent's answer.

        Raises:
            StepError: the agent refuses, or has ended.
            AgentTimeoutError: it did not answer in time.
        """
        return await self._in_time(method, {"sessionId": session_id, **params})

    def cancel(self, session_id: str) -> None:
        """Ask the agent to end the turn; `prompt` returns when it has."""
        self._connection.notify("session/cancel", {"sessionId": session_id})
        self._answers.withdraw()

    async def until_ended(self, wait: Awaitable[_Result]) -> _Result:
        """Wait for something other than the agent, at most until the chain ends.

        Raises:
            ConnectionClosedError: the chain has ended.
        """
        try:
            async with asyncio.timeout(None) as self._scope:
                if self._is_over:
                    self.over()
                return await wait
        except TimeoutError as error:
            if not self._is_over:
                raise
            raise ConnectionClosedError("the chain has ended") from error
        finally:
            self._scope = None

    def over(self) -> None:
        """Report that the chain has ended."""
        self._is_over = True
        if self._scope is not None:
            self._scope.reschedule(asyncio.get_running_loop().time())

    def _setting(self) -> dict[str, Any]:
        servers = [dict(server) for server in self._terms.servers]
        return {"cwd": str(self._terms.cwd), "mcpServers": servers}

    async def _in_time(
        self, method: str, params: dict[str, Any], on_result: Callable[[Any], None] | None = None
    ) -> Any:
        try:
            async with self._deadline.limit():
                return await self._ask(method, params, on_result)
        except TimeoutError as error:
            message = f"the agent did not answer {method} within {self._deadline.seconds} s"
            raise AgentTimeoutError(message, "give it longer with --timeout") from error

    async def _ask(
        self, method: str, params: dict[str, Any], on_result: Callable[[Any], None] | None = None
    ) -> Any:
        try:
            return await self._connection.request(method, params, on_result=on_result)
        except PeerwireError as error:
            raise StepError(method, error) from error


@asynccontextmanager
async def converse(
    instantiate: Instantiator, terms: ConversationConfig, settings: Settings
) -> AsyncGenerator[Conversation, None]:
    """Run a chain in this process and return its client; both end with the block."""
    ours, theirs = memory_pair()
    timeout = PausableDeadline(terms.timeout)
    answers = ClientAnswers(terms.cwd, terms.decider, terms.on_decision, timeout)

    def updated(params: Any) -> None:
        answers.record_update(params)
        terms.on_update(params)

    handlers = Handlers(requests=answers.handlers(), notifications={"session/update": updated})
    connection = Connection(ours, handlers)
    conversation = Conversation(connection, answers, terms, timeout)
    conductor = Conductor(theirs, instantiate, settings)

    async def run_connection() -> None:
        await connection.run()
        conversation.over()

    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(conductor.run())
            tasks.create_task(run_connection())
            try:
                yield conversation
            finally:
                connection.close()
    except ExceptionGroup as group:
        raise _only(group) from group


def _text(result: Any, name: str) -> str | None:
    members = as_object(result)
    value = members.get(name)
    return value if isinstance(value, str) else None


def _only(group: ExceptionGroup[Exception]) -> Exception:
    """Unwrap the one exception of the block from the group of its tasks."""
    (first, *others) = group.exceptions
    return group if others or isinstance(first, ExceptionGroup) else first


CANCEL_GRACE: Final = 5.0
"""Seconds that an agent gets to end a canceled turn; some never do (peers: openhands)."""

CANCELLED: Final = "cancelled"


class ClientTurn:
    """Run a turn until it ends, or until it was stopped and had time to end.

    Attributes:
        stops: number of calls of `stop`.
    """

    def __init__(self, conversation: Conversation, session_id: str) -> None:
        self._conversation = conversation
        self._session_id = session_id
        self._scope = asyncio.timeout(None)
        self.stops = 0

    async def run(self, text: str, attached: Sequence[Mapping[str, Any]] = ()) -> str:
        """The agent's reason to stop."""
        try:
            async with self._scope:
                return await self._conversation.prompt(self._session_id, text, attached)
        except TimeoutError:
            if not self._scope.expired():
                raise
            return CANCELLED

    def stop(self) -> None:
        """Cancel the turn; the second time, wait for the agent no longer."""
        loop = asyncio.get_running_loop()
        self.stops += 1
        if self.stops > 1:
            self._scope.reschedule(loop.time())
            return
        self._conversation.cancel(self._session_id)
        self._scope.reschedule(loop.time() + CANCEL_GRACE)


@contextmanager
def on_interrupt(act: Callable[[], None]) -> Generator[None]:
    """Inside the block, Ctrl-C calls this instead of ending the program."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    loop.add_signal_handler(signal.SIGINT, act)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
