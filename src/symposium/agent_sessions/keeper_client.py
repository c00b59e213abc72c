"""Speaks to a session's keeper: JSON-RPC over its socket, of the same user only."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from peerwire.errors import METHOD_NOT_FOUND, Boundary, ConnectionClosedError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.transports.unix import connect_unix
from symposium.agent_sessions.session import OF_TASK, SessionError, SessionKind, SessionSpec, Status
from symposium.agent_sessions.store import SessionStore

DESCRIBE: Final = "session/describe"
STOP: Final = "session/stop"
WATCH: Final = "session/watch"
EVENT: Final = "session/event"
ENDED: Final = "session/ended"

ATTACH: Final = "terminal/attach"
INPUT: Final = "terminal/input"
RESIZE: Final = "terminal/resize"
OUTPUT: Final = "terminal/output"

SAY: Final = "agent/say"
CANCEL: Final = "agent/cancel"
QUESTIONS: Final = "agent/questions"
ANSWER: Final = "agent/answer"

_OF_PROMPTS: Final = frozenset({SAY, CANCEL, QUESTIONS, ANSWER})
"""What only the keeper of an agent that speaks ACP answers."""

STOP_PATIENCE: Final = 15.0
"""Seconds in which a keeper ends its agent, gently first."""

ANSWER_TIME: Final = 10.0
"""Seconds that a session server has for an answer; none of them takes work."""

LOOK_AGAIN: Final = 0.02
"""Seconds between two looks at a lock that says whether a keeper lives."""

Notified = Callable[[Any], None]


class NoAnswerError(SessionError):
    """A session server runs and does not answer."""


class KeeperClient:
    """One connection to a keeper; made by `reach`."""

    def __init__(self, connection: Connection, session: str) -> None:
        self._connection = connection
        self._session = session
        self.gone = asyncio.Event()

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float = ANSWER_TIME,  # noqa: ASYNC109 - of the answer, not of the caller's task
    ) -> Any:
        """Ask, and wait for the answer.

        Raises:
            NoAnswerError: there was none within `timeout` seconds.
            SessionError: the keeper refuses, or has gone.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._connection.request(method, dict(params or {}))
        except TimeoutError as error:
            raise _no_answer(self._session, f"within {timeout:g} s") from error
        except ConnectionClosedError as error:
            raise SessionError("the keeper of the session has gone", "") from error
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and method in _OF_PROMPTS:
                raise SessionError(
                    "its agent has a terminal of its own and takes no prompts",
                    "type them there: `symposium session attach ID`, or `symposium task attach`",
                ) from error
            raise SessionError(error.message, "") from error

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell; nothing comes back."""
        self._connection.notify(method, dict(params))


@asynccontextmanager
async def reach(
    store: SessionStore,
    id_: str,
    notified: Mapping[str, Notified] | None = None,
    on_gone: Callable[[], None] | None = None,
) -> AsyncGenerator[KeeperClient, None]:
    """A connection to the keeper of a session, for the block.

    Args:
        store: where sessions are.
        id_: the session's whole id: nothing is guessed from a beginning.
        notified: what to do with what the keeper tells, by method.
        on_gone: told when the keeper has gone.

    Raises:
        SessionNotFoundError: there is no such session.
        SessionError: it is not running.
    """
    spec = store.spec(id_)
    try:
        transport = connect_unix(store.socket(id_))
    except BlockingIOError as error:
        raise _no_answer(id_, "any of those who wait already") from error
    except OSError as error:
        state = store.state(id_)
        raise SessionError(
            f"the session {id_} is not running ({state.status.value}: {state.reason or error})",
            f"`symposium {_group(spec)} resume {id_}` starts it again",
        ) from error
    connection = Connection(transport, Handlers(notifications=dict(notified or {})))
    client = KeeperClient(connection, id_)

    async def run() -> None:
        await connection.run()
        client.gone.set()
        if on_gone is not None:
            on_gone()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run())
        with Boundary() as caught:
            yield client
        connection.close()
    if caught.error is not None:
        raise caught.error


def _group(spec: SessionSpec) -> str:
    """The commands that are about it: a task's agent is started as the task says."""
    return "task" if spec.env.get(OF_TASK) == spec.id else "session"


def _no_answer(session: str, when: str) -> NoAnswerError:
    return NoAnswerError(
        f"the session server of {session} did not answer {when}",
        f"try again; if it stays silent, `symposium session kill {session}` ends it",
    )


class AgentSessions:
    """The agents of taskspaces as sessions: what the engine starts and stops them by.

    Args:
        store: where sessions are.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def is_running(self, id_: str) -> bool:
        """Whether the session's keeper lives."""
        return self._store.is_kept(id_)

    async def stop(self, id_: str) -> None:
        """End the agent and all that it has started, if it runs.

        Raises:
            SessionError: it does not end.
        """
        if not self._store.is_kept(id_):
            return
        try:
            async with reach(self._store, id_) as keeper:
                await keeper.ask(STOP)
        except SessionError:
            # Not there yet, or not any more: what counts is whether it lives.
            pass
        for _ in range(round(STOP_PATIENCE / LOOK_AGAIN)):
            if not self._store.is_kept(id_):
                return
            await asyncio.sleep(LOOK_AGAIN)
        keeper_pid = self._store.state(id_).keeper
        raise SessionError(
            f"the session {id_} does not end", f"its keeper is the process {keeper_pid}"
        )

    def status(self, id_: str) -> Status:
        """How it stands."""
        return self._store.state(id_).status

    def kind(self, id_: str) -> SessionKind:
        """How its agent is spoken to.

        Raises:
            SessionNotFoundError: there is none.
        """
        return self._store.spec(id_).kind
