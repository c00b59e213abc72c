"""Chains checked byte by byte: a test plays the client and the components."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.bare_proxy import ERAS, BareProxy

from peerwire.acp.names import Dialect
from peerwire.errors import ErrorBoundary
from peerwire.jsonrpc.transport import OversizedLine, Transport
from peerwire.testing import LinePeer
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import Blueprint, Component, InProcess, Program, Served
from symposium.chain.conductor import Conductor, Settings
from symposium.chain.mod import Mod

VERSION_ONE = {"protocolVersion": 1}

HASTY = Settings(quiet_grace=0.02)
HASTY_PROXY = Settings(is_proxy=True, quiet_grace=0.02)
"""For tests that leave before every request is answered."""


class Lines(LinePeer):
    """Bare end of a wire whose end a test can await."""

    def __init__(self, transport: Transport) -> None:
        self.over = asyncio.Event()
        super().__init__(transport)

    def ended(self, error: Exception | None) -> None:
        super().ended(error)
        self.over.set()


class Peer:
    """One end of a wire: writes messages, and reads line by line."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._lines = Lines(transport)
        self.over = self._lines.over
        self._read = 0

    def write(self, *messages: bytes | dict[str, Any] | list[Any]) -> None:
        """Write these in one turn of the loop."""
        for message in messages:
            self._lines.write(
                message if isinstance(message, bytes) else json.dumps(message).encode()
            )

    def ask(self, name: Any, method: str, params: Any = None) -> None:
        """Write a request."""
        self.write({"jsonrpc": "2.0", "id": name, "method": method, "params": params or {}})

    def tell(self, method: str, params: Any = None) -> None:
        """Write a notification."""
        self.write({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def answer(self, request: dict[str, Any], result: Any) -> None:
        """Answer a request that was read."""
        self.write({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def refuse(self, request: dict[str, Any], code: int, data: Any = None) -> None:
        """Answer a request that was read with an error."""
        error = {"code": code, "message": "no", "data": data}
        self.write({"jsonrpc": "2.0", "id": request["id"], "error": error})

    async def line(self) -> bytes:
        """The next line, unchanged."""
        self._read += 1
        lines = await self._lines.lines.count(self._read)
        line = lines[self._read - 1]
        assert not isinstance(line, OversizedLine)
        return line

    async def read(self) -> Any:
        """The next message."""
        return json.loads(await self.line())

    async def reads(self, number: int) -> list[Any]:
        """The next messages."""
        return [await self.read() for _ in range(number)]

    @property
    def unread(self) -> list[bytes | OversizedLine]:
        """Received lines that were not read."""
        return self._lines.lines.items[self._read :]

    async def ended(self) -> None:
        """Wait until the other end has written its last line."""
        await self._lines.ends.count(1)

    async def hang_up(self) -> None:
        """End the connection."""
        await self.transport.aclose()


class PlayedComponent:
    """Component that a test plays."""

    def __init__(self, name: str = "agent", dialect: Dialect | None = None) -> None:
        self.component = Served(name, self._serve, dialect)
        self._came = asyncio.Event()
        self._peer: Peer | None = None

    async def peer(self) -> Peer:
        """Its end of the wire, once it was started."""
        async with asyncio.timeout(45):
            await self._came.wait()
        assert self._peer is not None
        return self._peer

    async def _serve(self, transport: Transport) -> None:
        self._peer = Peer(transport)
        self._came.set()
        await self._peer.over.wait()


def bare(name: str = "bare", *, era: str = "b1", mark: str = "") -> tuple[Served, BareProxy]:
    """Return a component that is a proxy written without peerwire, and the proxy itself."""
    proxy = BareProxy(ERAS[era], mark)

    class Lines:
        def __init__(self, transport: Transport) -> None:
            self.transport = transport
            self.over = asyncio.Event()

        def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
            for line in lines:
                assert not isinstance(line, OversizedLine)
                for answer in proxy.receive(line):
                    self.transport.send(answer)

        def writing_paused(self) -> None: ...

        def writing_resumed(self) -> None: ...

        def ended(self, error: Exception | None) -> None:
            del error
            self.over.set()

    async def serve(transport: Transport) -> None:
        lines = Lines(transport)
        transport.start(lines)
        await lines.over.wait()

    return Served(name, serve), proxy


def inner(*mods: Component, name: str = "inner") -> Served:
    """Return a conductor in proxy mode as a component of another one."""

    async def serve(transport: Transport) -> None:
        await Conductor(transport, lambda _: Blueprint(mods, None), HASTY_PROXY).run()

    return Served(name, serve)


def mods(*them: Mod) -> list[InProcess]:
    """Return mods as components, each named by its class."""
    return [InProcess(type(mod).__name__, mod) for mod in them]


@dataclass
class ChainHarness:
    """Running conductor whose client and agent the test plays."""

    client: Peer
    conductor: Conductor
    agent_stand: PlayedComponent
    running: "asyncio.Task[int]"

    async def agent(self) -> Peer:
        """The agent's end."""
        return await self.agent_stand.peer()

    async def open(
        self, params: dict[str, Any] | None = None, result: dict[str, Any] | None = None
    ) -> Peer:
        """Send `initialize` and answer it; return the agent's end."""
        self.client.ask("open", "initialize", params or VERSION_ONE)
        agent = await self.agent()
        agent.answer(await agent.read(), result or VERSION_ONE)
        answer = await self.client.read()
        assert "result" in answer, answer
        return agent

    async def exit_code(self) -> int:
        """Wait for the conductor to end by itself."""
        async with asyncio.timeout(45):
            return await self.running


@asynccontextmanager
async def chain_harness(
    *components: Component,
    settings: Settings | None = None,
    agent: Served | Program | None = None,
    choose: Callable[[Any], Blueprint | Awaitable[Blueprint]] | None = None,
) -> AsyncGenerator[ChainHarness, None]:
    """Run a conductor inside the block; check afterwards that nothing is left."""
    near, far = memory_pair()
    stand = PlayedComponent()
    blueprint = Blueprint(components, agent or stand.component)
    conductor = Conductor(far, choose or (lambda _: blueprint), settings or HASTY)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(conductor.run())
        client = Peer(near)
        with ErrorBoundary() as caught:
            yield ChainHarness(client, conductor, stand, running)
        await near.aclose()
    if caught.error is not None:
        raise caught.error


@asynccontextmanager
async def proxy_harness(
    *components: Component,
) -> AsyncGenerator[tuple[Peer, "asyncio.Task[int]"], None]:
    """Run a conductor in proxy mode; the test plays its outer conductor."""
    near, far = memory_pair()
    conductor = Conductor(far, lambda _: Blueprint(components, None), HASTY_PROXY)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(conductor.run())
        with ErrorBoundary() as caught:
            yield Peer(near), running
        await near.aclose()
    if caught.error is not None:
        raise caught.error
