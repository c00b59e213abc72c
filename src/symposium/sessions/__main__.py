"""Main program of a session server: `python -m symposium.sessions SESSION READY_FD`."""

import asyncio
import os
import signal
import sys

from localio.errors import ExplainedError
from symposium.config.paths import keep_runtime, paths
from symposium.planning.chain_spec import check_policy
from symposium.sessions.acp_server import AcpSessionServer
from symposium.sessions.budget import BusBudget, NoBudget, SpendingMeter
from symposium.sessions.client import READY
from symposium.sessions.server import SessionServer, SessionSocket
from symposium.sessions.session import ServerSessionState, SessionKind, SessionStore
from symposium.sessions.session_announcements import BusNotes, NoNotes
from symposium.sessions.terminal_server import TerminalSessionServer
from symposium.sessions.tool_call_snapshots import BusSnapshots, NoSnapshots, session_bus


def main(words: list[str]) -> int:
    """Serve one session until its agent exits."""
    id_, ready = words[0], int(words[1])
    # The agent must not keep the readiness pipe open.
    os.set_inheritable(ready, False)  # noqa: FBT003 - it takes no names
    if os.fork():
        # Double fork: the starter does not wait, and the server survives its end.
        os._exit(0)
    store = SessionStore(paths())
    try:
        store.lock(id_)
        server = _server(store, id_)
    except (ExplainedError, OSError) as error:
        os.write(ready, str(error).encode())
        return 1
    return asyncio.run(_serve(store, id_, server, ready))


def _server(store: SessionStore, id_: str) -> SessionServer:
    spec = store.spec(id_)
    check_policy()
    if spec.kind is SessionKind.TERMINAL:
        return TerminalSessionServer(spec, store.directory(id_))
    taskspace = spec.env.get("SYMPOSIUM_TASKSPACE")
    directory = store.directory(id_)
    if taskspace is None:
        return AcpSessionServer(
            spec, store, NoSnapshots(), SpendingMeter(directory, NoBudget()), NoNotes()
        )
    bus = session_bus(taskspace, spec.cwd)
    spending = SpendingMeter(directory, BusBudget(taskspace, bus))
    notes = BusNotes(spec.id, bus)
    return AcpSessionServer(spec, store, BusSnapshots(taskspace, bus), spending, notes)


async def _serve(store: SessionStore, id_: str, server: SessionServer, ready: int) -> int:
    """Serve clients until the agent exits or is stopped."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, server.stop)

    def save_state(state: ServerSessionState) -> None:
        store.write_state(id_, state)

    async with asyncio.TaskGroup() as tasks:
        socket = SessionSocket(store.socket(id_), server, tasks)
        try:
            socket.open()
            keep_runtime()
        except OSError as error:
            server.stop()
            os.write(ready, f"{error.strerror}: {error.filename or store.socket(id_)}".encode())
            return 1
        try:
            # Clients may connect now; their requests wait until the server runs.
            os.write(ready, READY)
            os.close(ready)
            save_state(await server.run(save_state))
        finally:
            await socket.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
