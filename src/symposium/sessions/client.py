"""Start and reach a session server, and hand it an environment.

Whoever has it listens at a socket of its own for as long as it asks, and only the socket's path
goes over the bus; nothing of the environment is written down on the way.
"""

import asyncio
import os
import secrets
import socket
import subprocess
import sys
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from localio.files import make_private_directory
from peerwire.errors import METHOD_NOT_FOUND, ConnectionClosedError, ErrorBoundary, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.transports.unix import connect_unix, peer_uid
from symposium.sessions.session import (
    LOG,
    OF_TASK,
    SessionError,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)

LAUNCH_TIMEOUT: Final = 30.0
"""Seconds that a keeper may take until it can be reached; the agent itself may take longer."""

READY: Final = b"ready\n"


async def launch(
    store: SessionStore, spec: SessionSpec, environment: Mapping[str, str] | None = None
) -> None:
    """Start the keeper of a session, and return when it can be reached.

    Args:
        store: where sessions are.
        spec: what is to be kept.
        environment: that of keeper and agent, ours by default; it is not written down.

    Raises:
        SessionError: it did not start, and why; or one of that id is running.
        OSError: it cannot be written down.
    """
    directory = store.add(spec)
    log = os.open(directory / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    reading, writing = os.pipe()
    try:
        keeper = subprocess.Popen(  # noqa: ASYNC220, S603 - ourselves, and it forks at once
            [sys.executable, "-P", "-m", "symposium.sessions", spec.id, str(writing)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment,
            pass_fds=[writing],
            start_new_session=True,
        )
    finally:
        os.close(writing)
        os.close(log)
    # It forks at once and ends: what stays is nobody's child.
    said = await _read(reading)
    await asyncio.to_thread(keeper.wait)
    if said != READY:
        told = said.decode(errors="replace").strip() or "it ended without a word"
        raise SessionError(f"the session {spec.id} did not start: {told}", f"see {directory / LOG}")


async def _read(descriptor: int) -> bytes:
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), pipe)
    try:
        async with asyncio.timeout(LAUNCH_TIMEOUT):
            return await reader.read()
    except TimeoutError:
        return f"it said nothing in {LAUNCH_TIMEOUT:.0f} s".encode()
    finally:
        transport.close()


HANDOVER_TIMEOUT: Final = 10.0
"""Seconds in which it must have come."""


@asynccontextmanager
async def hand_over_environment(
    environment: Mapping[str, str], directory: Path
) -> AsyncGenerator[str, None]:
    """Where the environment can be had by programs of this user, for the block.

    Args:
        environment: names and values.
        directory: for sockets; made private if it is not there.

    Raises:
        OSError: nobody can listen there.
    """
    text = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environment.items())

    async def serve(_: StreamReader, writer: StreamWriter) -> None:
        if _is_ours(writer):
            writer.write(text)
        writer.close()

    make_private_directory(directory)
    path = directory / f"e-{secrets.token_hex(6)}.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.bind(os.fspath(path))
        try:
            path.chmod(0o600)
            async with await asyncio.start_unix_server(serve, sock=sock):
                yield str(path)
        finally:
            path.unlink(missing_ok=True)


async def take_environment(path: str) -> dict[str, str]:
    """The environment that is lent there.

    Raises:
        SessionError: it cannot be had.
    """
    try:
        async with asyncio.timeout(HANDOVER_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                text = await reader.read(-1) if _is_ours(writer) else b""
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        raise SessionError(f"the environment for the agent did not come: {error}", "") from error
    pairs = (os.fsdecode(each).partition("=") for each in text.split(b"\0") if b"=" in each)
    return {name: value for name, _, value in pairs}


def _is_ours(writer: StreamWriter) -> bool:
    """Whether a program of this user is at the other end."""
    sock: socket.socket = writer.get_extra_info("socket")
    return peer_uid(sock) == os.getuid()


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

STOP_TIMEOUT: Final = 15.0
"""Seconds in which a keeper ends its agent, gently first."""

ANSWER_TIME: Final = 10.0
"""Seconds that a session server has for an answer; none of them takes work."""

LOOK_AGAIN: Final = 0.02
"""Seconds between two looks at a lock that says whether a keeper lives."""

Notified = Callable[[Any], None]


class NoAnswerError(SessionError):
    """A session server runs and does not answer."""


class SessionClient:
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
) -> AsyncGenerator[SessionClient, None]:
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
    client = SessionClient(connection, id_)

    async def run() -> None:
        await connection.run()
        client.gone.set()
        if on_gone is not None:
            on_gone()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(run())
        with ErrorBoundary() as caught:
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
        for _ in range(round(STOP_TIMEOUT / LOOK_AGAIN)):
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
