"""Real daemons for tests: each in its own folder, ended with the test."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from peerwire.testing import LineRecorder
from peerwire.transports.unix import connect_unix
from symposium.bus.client import BusClient, ClientSettings, Identity
from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import dial, dial_running
from symposium.bus.envelope import Sender
from symposium.bus.handlers import HandlerTable
from symposium.bus.messages.broker import DaemonStatus, Presence
from symposium.bus.protocol import Role


@dataclass(slots=True)
class Said:
    """Result of a command."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class DaemonFolder:
    """Folder with at most one daemon, and the commands for it."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "bus.sock"

    @property
    def compat(self) -> Path:
        return self.folder / "compat.sock"

    @property
    def options(self) -> DaemonOptions:
        return DaemonOptions(self.socket)

    async def symposium(self, *words: str, stdin: bytes | None = None) -> Said:
        """Run `symposium` with these words until it exits."""
        process = await self.begin(*words)
        out, err = await process.communicate(stdin)
        return Said(process.returncode or 0, out.decode(), err.decode())

    async def begin(self, *words: str) -> asyncio.subprocess.Process:
        """Start `symposium` with these words."""
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "symposium", *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "SYMPOSIUM_HOME": str(self.folder), **self.environment},
        )

    async def start(self, *words: str) -> None:
        """Start the daemon."""
        said = await self.symposium("daemon", "start", *words)
        assert said.code == 0, said.err

    async def pid(self) -> int:
        async with self.client(Role.CLI) as client:
            return (await client.request(DaemonStatus())).pid

    async def kill(self) -> None:
        """Kill the daemon, and wait until it has exited."""
        pid = await self.pid()
        gone = ProcessExit(pid)
        os.kill(pid, signal.SIGKILL)
        await gone.wait()

    def client(
        self,
        role: Role = Role.MCP_SERVER,
        answers: HandlerTable | None = None,
        presence: Presence | None = None,
        *,
        starts: bool = False,
    ) -> BusClient:
        """Return a client, which starts no daemon by default."""
        who = Identity(role, f"test-{role.value}", Sender(str(self.folder)), presence)
        settings = ClientSettings(self.options, dial if starts else dial_running)
        return BusClient(who, answers, settings)


class ProcessExit:
    """Waits for the end of a process that is not a child."""

    def __init__(self, pid: int) -> None:
        self._handle = os.pidfd_open(pid)
        self._over = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._handle, self._over.set)

    async def wait(self) -> None:
        await self._over.wait()
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)


@asynccontextmanager
async def daemon_folder(folder: Path) -> AsyncGenerator[DaemonFolder]:
    """Create a folder for a daemon; kill its processes at the end."""
    found = DaemonFolder(folder)
    os.environ["SYMPOSIUM_HOME"] = str(folder)
    try:
        yield found
    finally:
        del os.environ["SYMPOSIUM_HOME"]
        end_daemon(Path(f"{found.socket}.lock"))


def end_daemon(lock: Path) -> None:
    """Kill the process whose id is in this lock, if it still holds it."""
    if not lock.exists() or not (text := lock.read_text(encoding="utf-8").strip()):
        return
    try:
        held = {str(each.readlink()) for each in Path(f"/proc/{text}/fd").iterdir()}
    except OSError:
        return
    if str(lock) in held:
        os.kill(int(text), signal.SIGKILL)


class RawSocket:
    """Bare end of a socket: writes lines, and stores what it receives."""

    def __init__(self, path: Path) -> None:
        self._transport = connect_unix(path)
        self.seen = LineRecorder()
        self._transport.start(self.seen)

    def write(self, *lines: bytes) -> None:
        for line in lines:
            self._transport.send(line)

    async def lines(self, count: int) -> Sequence[object]:
        """Return the first received lines."""
        return await self.seen.received(count)

    def close(self) -> None:
        """Disconnect."""
        self._transport.close()
