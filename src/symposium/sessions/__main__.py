"""What a keeper's process runs: `python -m symposium.sessions SESSION READY_FD`."""

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
from symposium.sessions.notes import BusNotes, NoNotes
from symposium.sessions.server import KeeperSocket, SessionServer
from symposium.sessions.session import ServerSessionState, SessionKind, SessionStore
from symposium.sessions.snapshots import BusSnapshots, NoSnapshots, keepers_bus
from symposium.sessions.terminal_server import TerminalSessionServer


def main(words: list[str]) -> int:
    """Hold one session until its agent has ended."""
    id_, ready = words[0], int(words[1])
    # The agent must not hold open what says that we are ready.
    os.set_inheritable(ready, False)  # noqa: FBT003 - it takes nothing else
    if os.fork():
        # Whoever started us need not wait for us, nor we be ended with it.
        os._exit(0)
    store = SessionStore(paths())
    try:
        store.lock(id_)
        keeper = _keeper(store, id_)
    except (ExplainedError, OSError) as error:
        os.write(ready, str(error).encode())
        return 1
    return asyncio.run(_keep(store, id_, keeper, ready))


def _keeper(store: SessionStore, id_: str) -> SessionServer:
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
    bus = keepers_bus(taskspace, spec.cwd)
    purse = SpendingMeter(directory, BusBudget(taskspace, bus))
    notes = BusNotes(spec.id, bus)
    return AcpSessionServer(spec, store, BusSnapshots(taskspace, bus), purse, notes)


async def _keep(store: SessionStore, id_: str, keeper: SessionServer, ready: int) -> int:
    """Serve whoever comes, until the agent has ended or somebody has ended it."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, keeper.stop)

    def reached(state: ServerSessionState) -> None:
        store.write_state(id_, state)

    async with asyncio.TaskGroup() as tasks:
        socket = KeeperSocket(store.socket(id_), keeper, tasks)
        try:
            socket.open()
            keep_runtime()
        except OSError as error:
            keeper.stop()
            os.write(ready, f"{error.strerror}: {error.filename or store.socket(id_)}".encode())
            return 1
        try:
            # Whoever started us may go on: what they ask waits for us.
            os.write(ready, READY)
            os.close(ready)
            reached(await keeper.run(reached))
        finally:
            await socket.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
