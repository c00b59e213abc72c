"""Start and reach a session server, and hand an environment to a program.

The owner of the environment listens on a temporary socket. Only the socket's path goes over the
bus; the environment is never written to disk.
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
from peerwire.errors import METHOD_NOT_FOUND, ConnectionClosedError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers
from peerwire.task_group import flat_task_group
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
"""Timeout in seconds for the server to accept connections; the agent may take longer."""

READY: Final = b"ready\n"


async def launch(
    store: SessionStore, spec: SessionSpec, environment: Mapping[str, str] | None = None
) -> None:
    """Start a session server, and return when it accepts connections.

    Args:
        store: the user's sessions.
        spec: the session.
        environment: for server and agent; default: this process's. It is not saved.

    Raises:
        SessionError: it did not start, or a session with this id is running.
        OSError: the session cannot be saved.
    """
    directory = store.add(spec)
    log = os.open(directory / LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    reading, writing = os.pipe()
    try:
        starter = subprocess.Popen(  # noqa: ASYNC220, S603 - the same interpreter; it forks at once
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
    # Double fork: the session server is reparented to init.
    said = await _read(reading)
    await asyncio.to_thread(starter.wait)
    if said != READY:
        reason = said.decode(errors="replace").strip() or "it exited without an error message"
        message = f"the session {spec.id} did not start: {reason}"
        raise SessionError(message, f"see {directory / LOG}")


async def _read(descriptor: int) -> bytes:
    reader = StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(descriptor, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), pipe)
    try:
        async with asyncio.timeout(LAUNCH_TIMEOUT):
            return await reader.read()
    except TimeoutError:
        return f"it did not start within {LAUNCH_TIMEOUT:.0f} s".encode()
    finally:
        transport.close()


HANDOVER_TIMEOUT: Final = 10.0
"""Timeout in seconds for the transfer."""


@asynccontextmanager
async def hand_over_environment(
    environment: Mapping[str, str], directory: Path
) -> AsyncGenerator[str, None]:
    """Serve the environment to programs of this user, for the block.

    Args:
        environment: names and values.
        directory: for the socket; created as private if missing.

    Raises:
        OSError: the socket cannot be created.
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
    """Read the environment served at a path.

    Raises:
        SessionError: the transfer failed.
    """
    try:
        async with asyncio.timeout(HANDOVER_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                text = await reader.read(-1) if _is_ours(writer) else b""
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        message = f"could not receive the environment for the agent: {error}"
        raise SessionError(message, "") from error
    pairs = (os.fsdecode(each).partition("=") for each in text.split(b"\0") if b"=" in each)
    return {name: value for name, _, value in pairs}


def _is_ours(writer: StreamWriter) -> bool:
    """Whether the peer runs as the same user."""
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

_PROMPT_METHODS: Final = frozenset({SAY, CANCEL, QUESTIONS, ANSWER})
"""Methods that only the server of an ACP agent supports."""

STOP_TIMEOUT: Final = 15.0
"""Timeout in seconds for a session server to stop its agent."""

ANSWER_TIME: Final = 10.0
"""Timeout in seconds for a response of a session server."""

POLL_INTERVAL: Final = 0.02
"""Interval in seconds for polling the lock of a session server."""

Notified = Callable[[Any], None]


class NoAnswerError(SessionError):
    """A session server runs but does not answer."""


class SessionClient:
    """A connection to a session server; created by `reach`."""

    def __init__(self, connection: Connection, session: str) -> None:
        self._connection = connection
        self._session = session
        self.closed = asyncio.Event()

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float = ANSWER_TIME,
    ) -> Any:
        """Send a request, and wait for the response.

        Raises:
            NoAnswerError: no response within `timeout` seconds.
            SessionError: the server rejected the request, or exited.
        """
        try:
            async with asyncio.timeout(timeout):
                return await self._connection.request(method, dict(params or {}))
        except TimeoutError as error:
            raise _no_answer(self._session, f"within {timeout:g} s") from error
        except ConnectionClosedError as error:
            raise SessionError("the session server exited", "") from error
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND and method in _PROMPT_METHODS:
                raise SessionError(
                    "its agent runs in a terminal and takes no prompts",
                    "type them there: `symposium session attach ID`, or `symposium task attach`",
                ) from error
            raise SessionError(error.message, "") from error

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        self._connection.notify(method, dict(params))


@asynccontextmanager
async def reach(
    store: SessionStore,
    id_: str,
    notified: Mapping[str, Notified] | None = None,
    on_close: Callable[[], None] | None = None,
) -> AsyncGenerator[SessionClient, None]:
    """Connect to a session server, for the block.

    Args:
        store: the user's sessions.
        id_: the complete session id; a prefix is not accepted.
        notified: handlers of the server's notifications, by method.
        on_close: called when the connection closes.

    Raises:
        SessionNotFoundError: the session does not exist.
        SessionError: it is not running.
    """
    spec = store.spec(id_)
    try:
        transport = connect_unix(store.socket(id_))
    except BlockingIOError as error:
        raise _no_answer(id_, "because too many clients are waiting") from error
    except OSError as error:
        state = store.state(id_)
        raise SessionError(
            f"the session {id_} is not running ({state.status.value}: {state.reason or error})",
            f"run `symposium {_group(spec)} resume {id_}` to restart it",
        ) from error
    connection = Connection(transport, Handlers(notifications=dict(notified or {})))
    client = SessionClient(connection, id_)

    async def run() -> None:
        await connection.run()
        client.closed.set()
        if on_close is not None:
            on_close()

    async with flat_task_group() as tasks:
        tasks.create_task(run())
        try:
            yield client
        finally:
            connection.close()


def _group(spec: SessionSpec) -> str:
    """Command group of the session: the agent of a task is started by the task."""
    return "task" if spec.env.get(OF_TASK) == spec.id else "session"


def _no_answer(session: str, when: str) -> NoAnswerError:
    return NoAnswerError(
        f"the session server of {session} did not answer {when}",
        f"try again, or run `symposium session kill {session}` to stop it",
    )


class AgentSessions:
    """Start and stop the agents of tasks as sessions, for the engine.

    Args:
        store: the user's sessions.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def is_running(self, id_: str) -> bool:
        """Whether the session server runs."""
        return self._store.is_kept(id_)

    async def stop(self, id_: str) -> None:
        """Stop the agent and the processes it started, if it runs.

        Raises:
            SessionError: it did not stop in time.
        """
        if not self._store.is_kept(id_):
            return
        try:
            async with reach(self._store, id_) as server:
                await server.ask(STOP)
        except SessionError:
            # Starting or stopping: the lock decides.
            pass
        for _ in range(round(STOP_TIMEOUT / POLL_INTERVAL)):
            if not self._store.is_kept(id_):
                return
            await asyncio.sleep(POLL_INTERVAL)
        server_pid = self._store.state(id_).server_pid
        raise SessionError(f"the session {id_} did not stop", f"its server is process {server_pid}")

    def status(self, id_: str) -> Status:
        return self._store.state(id_).status

    def kind(self, id_: str) -> SessionKind:
        """Protocol of the session's agent.

        Raises:
            SessionNotFoundError: the session does not exist.
        """
        return self._store.spec(id_).kind
