"""Server context with a fake bus, and an in-memory MCP client that speaks raw JSON."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from peerwire.jsonrpc.transport import OversizedLine
from peerwire.transports.memory import MemoryTransport, memory_pair
from symposium.bus.endpoint import Bus, OnProgress
from symposium.bus.envelope import Address
from symposium.bus.error_codes import NO_HANDLER
from symposium.bus.errors import BusRefusedError
from symposium.bus.protocol import BusMessage, BusRequest
from symposium.code.query.functions import IdePort, NoIde
from symposium.documents.first_prompt import BootPrompts
from symposium.documents.guidance import library_for
from symposium.documents.references import ReferenceStore
from symposium.documents.walkthroughs.store import WalkthroughStore
from symposium.mcp_server.location import AgentLocation
from symposium.mcp_server.offering import all_tools
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.review_inbox import PendingReviews
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.task_lookup import Readings
from symposium.mcp_server.tool import ToolAnswer, ToolInvocation

TASK = "0f6f3f2e-6a86-4b1e-9d5c-3c1a9f2b7d10"

Respond = Callable[[Any, OnProgress | None], Awaitable[Any]]


class FakeBus:
    """Answers by message type; a type without an answer has no handler."""

    def __init__(self) -> None:
        self.asked: list[BusMessage] = []
        self.timeouts: list[float | None] = []
        self.answers: dict[str, Respond] = {}

    def answer(self, type_: str, reply: Any) -> None:
        """Set the answer for a type: a value or an error."""

        async def respond(message: Any, news: OnProgress | None) -> Any:
            del message, news
            if isinstance(reply, Exception):
                raise reply
            return reply

        self.answers[type_] = respond

    async def request(
        self,
        message: BusRequest[Any],
        *,
        to: Address | None = None,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> Any:
        del to
        self.asked.append(message)
        self.timeouts.append(timeout)
        respond = self.answers.get(message.about.type)
        if respond is None:
            raise BusRefusedError(f"no handler for {message.about.type}", NO_HANDLER)
        return await respond(message, on_progress)


def workplace_in(
    root: Path, bus: Bus | None = None, *, ide: IdePort | None = None, taskspace: str = TASK
) -> ServerContext:
    """Create a server context with everything below one directory."""
    home = root / "home"
    checkout = root / "checkout"
    (checkout / ".git").mkdir(parents=True, exist_ok=True)
    library = library_for(checkout, {"HOME": str(root), "SYMPOSIUM_HOME": str(home)})
    standing = AgentLocation(checkout, str(checkout) if taskspace else "", taskspace)
    return ServerContext(
        standing=standing,
        library=library,
        boot=BootPrompts(library),
        references=ReferenceStore(home),
        walkthroughs=WalkthroughStore(home / "walkthroughs"),
        bus=bus or FakeBus(),
        ide=ide or NoIde(),
        outbox=Outbox(home),
        reviews=PendingReviews(home / "reviews" / "here"),
        readings=Readings(standing),
    )


class ProgressRecorder:
    """Records the progress that a client receives."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.came = asyncio.Event()

    async def __call__(self, done: float, total: float | None, message: str) -> None:
        del done, total
        self.lines.append(message)
        self.came.set()


async def call_tool(
    workplace: ServerContext,
    name: str,
    arguments: dict[str, Any],
    progress: ProgressRecorder | None = None,
) -> ToolAnswer:
    """Call a tool as a client does."""
    return await all_tools()[name].call(
        arguments, ToolInvocation(workplace, progress or ProgressRecorder())
    )


class RawClient:
    """An MCP client that writes and reads JSON."""

    def __init__(self, transport: MemoryTransport) -> None:
        self._transport = transport
        self._ids = 0
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self.unasked: list[Any] = []
        self.came = asyncio.Event()
        self.over = asyncio.Event()
        transport.start(self)

    def lines_received(self, lines: Any) -> None:
        for line in lines:
            assert not isinstance(line, OversizedLine)
            message = json.loads(line)
            is_asked = "method" not in message
            waiting = self._waiting.pop(message.get("id"), None) if is_asked else None
            if waiting is None:
                self.unasked.append(message)
                self.came.set()
            else:
                waiting.set_result(message)

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...

    def ended(self, error: Exception | None) -> None:
        del error
        self.over.set()

    def write(self, line: bytes) -> None:
        """Write any bytes."""
        self._transport.send(line)

    def notify(self, method: str, params: Any = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        self.write(json.dumps(message).encode())

    async def ask(self, method: str, params: Any = None) -> Any:
        """Send a request, and wait for the whole response."""
        self._ids += 1
        future = asyncio.get_running_loop().create_future()
        self._waiting[self._ids] = future
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self._ids, "method": method}
        message["params"] = params or {}
        self.write(json.dumps(message).encode())
        async with asyncio.timeout(45):
            return await future

    async def result(self, method: str, params: Any = None) -> Any:
        """Send a request, and wait for the result."""
        response = await self.ask(method, params)
        assert "result" in response, response
        return response["result"]

    async def greet(self, revision: str = "2025-11-25") -> Any:
        """Initialize."""
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": info}
        result = await self.result("initialize", params)
        self.notify("notifications/initialized")
        return result

    async def next_unasked(self) -> Any:
        """The next message that is no response."""
        async with asyncio.timeout(45):
            while not self.unasked:
                self.came.clear()
                await self.came.wait()
        return self.unasked.pop(0)

    async def aclose(self) -> None:
        """Disconnect."""
        await self._transport.aclose()


@asynccontextmanager
async def serving(
    serve: Callable[[MemoryTransport], Coroutine[Any, Any, None]],
) -> AsyncGenerator[RawClient, None]:
    """Run a server and a client for one block."""
    ours, theirs = memory_pair()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(serve(theirs))
        client = RawClient(ours)
        try:
            yield client
        finally:
            await client.aclose()
            async with asyncio.timeout(45):
                await running
