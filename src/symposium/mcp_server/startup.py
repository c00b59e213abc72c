"""Open the context of a server and start its background work."""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from symposium.bus.client import BusClient, Identity
from symposium.bus.endpoint import Bus
from symposium.bus.envelope import Sender
from symposium.bus.errors import BusError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import Log, Marco, Polo
from symposium.bus.messages.editor import (
    FindAllReferences,
    ResolveSymbolByName,
    StoreReference,
    UserFeedback,
)
from symposium.bus.messages.editor import (
    SymbolDef as WireSymbol,
)
from symposium.bus.protocol import Ack, Role
from symposium.code.ide_operations import CodeRange, Diagnostic, Hover, SymbolDefinition
from symposium.code.lsp.headless import Headless, HeadlessPort
from symposium.code.query.functions import At, IdePort
from symposium.config.paths import paths
from symposium.documents.first_prompt import BootPrompts
from symposium.documents.guidance import checkout_of, library_for
from symposium.documents.references import ReferenceStore
from symposium.documents.walkthroughs.store import WalkthroughStore, project_folder
from symposium.mcp_server.location import locate_agent, terminal_of
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.review_inbox import PendingReviews
from symposium.mcp_server.server_context import ServerContext, Site
from symposium.mcp_server.task_lookup import Readings

Level: TypeAlias = Literal["error", "warn", "info", "debug"]

MAX_MESSAGE: Final = 4000
"""Maximum characters of one log message."""

_OWN: Final = "symposium.bus"
"""Logger of the bus; forwarding its records would loop."""


@contextmanager
def logged_to(announce: Callable[[Log], None], *, level: int = logging.INFO) -> Generator[None]:
    """Forward log records of a minimum level; the bus redacts secrets when it records them."""
    passing = _Passing(announce, level)
    root = logging.getLogger()
    root.addHandler(passing)
    try:
        yield
    finally:
        root.removeHandler(passing)


class _Passing(logging.Handler):
    def __init__(self, announce: Callable[[Log], None], level: int) -> None:
        super().__init__(level)
        self._announce = announce

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(_OWN):
            text = f"{record.name}: {record.getMessage()}"[:MAX_MESSAGE]
            self._announce(Log(level=_level(record.levelno), message=text))


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    return "info" if number >= logging.INFO else "debug"


IDE_TIMEOUT = 10.0
"""Seconds to wait for an editor; without one, the daemon answers at once."""

_log = logging.getLogger(__name__)


class EditorFirst:
    """Ask the editor first, then language servers."""

    def __init__(self, bus: Bus, otherwise: IdePort) -> None:
        self._bus = bus
        self._otherwise = otherwise

    async def symbols(self, name: str) -> Sequence[SymbolDefinition]:
        """Symbols with this name or a similar one."""
        try:
            found = await self._bus.request(ResolveSymbolByName(name=name), timeout=IDE_TIMEOUT)
        except BusError as error:
            _log.debug("no editor found the symbol %s: %s", name, error)
            return await self._otherwise.symbols(name)
        return msgspec.convert(msgspec.to_builtins(found), list[SymbolDefinition])

    async def references(self, symbol: SymbolDefinition) -> Sequence[CodeRange]:
        """The uses of a symbol, without its definition."""
        request = FindAllReferences(symbol=msgspec.convert(msgspec.to_builtins(symbol), WireSymbol))
        try:
            found = await self._bus.request(request, timeout=IDE_TIMEOUT)
        except BusError as error:
            _log.debug("no editor found references of %s: %s", symbol.name, error)
            return await self._otherwise.references(symbol)
        return msgspec.convert(msgspec.to_builtins(found), list[CodeRange])

    async def definitions(self, at: At) -> Sequence[CodeRange]:
        """The definitions of the symbol at a position; editors are not asked."""
        return await self._otherwise.definitions(at)

    async def hover(self, at: At) -> Hover:
        """Type and documentation of the symbol at a position; editors are not asked."""
        return await self._otherwise.hover(at)

    async def diagnostics(self, path: str) -> Sequence[Diagnostic]:
        """Errors and warnings of a file; editors are not asked."""
        return await self._otherwise.diagnostics(path)


CALLED: Final = "symposium mcp"

_Result = TypeVar("_Result")


async def open_workplace(
    site: Site, serve: Callable[[ServerContext], Awaitable[_Result]]
) -> _Result:
    """Run work in a context, with background tasks; does not wait for a daemon."""
    headless = Headless()
    home = paths(site.environment).home
    references = ReferenceStore(home)
    standing = locate_agent(site.directory, site.environment)
    shell = terminal_of(os.getpid(), site.environment).shell
    sender = Sender(str(site.directory), standing.taskspace or None, shell)
    answers = HandlerTable()
    bus = BusClient(Identity(Role.MCP_SERVER, CALLED, sender), answers, site.bus)
    reviews = pending_reviews(site)
    _answer(answers, references, bus)
    answers.on_request(UserFeedback, reviews.receive)
    outbox = Outbox(home)
    workplace = workplace_of(site, bus, headless, reviews)
    async with bus, asyncio.TaskGroup() as tasks:
        works = (headless.run(), outbox.run(bus), workplace.readings.run(bus))
        beside = [tasks.create_task(work) for work in works]
        try:
            with logged_to(bus.announce):
                return await serve(workplace)
        finally:
            for task in beside:
                task.cancel()


def pending_reviews(site: Site) -> PendingReviews:
    """Open the reviews of a site's project."""
    home = paths(site.environment).home
    return PendingReviews(home / "reviews" / project_folder(home, site.directory).name)


def workplace_of(
    site: Site, bus: Bus, headless: Headless, reviews: PendingReviews
) -> ServerContext:
    """Make the context of a site without requests."""
    home = paths(site.environment).home
    library = library_for(site.directory, site.environment)
    standing = locate_agent(site.directory, site.environment)
    return ServerContext(
        standing=standing,
        library=library,
        boot=BootPrompts(library),
        references=ReferenceStore(home),
        walkthroughs=WalkthroughStore(project_folder(home, site.directory)),
        bus=bus,
        ide=EditorFirst(bus, HeadlessPort(headless, checkout_of(site.directory))),
        outbox=Outbox(home),
        reviews=reviews,
        readings=Readings(standing),
        tools=site.tools,
    )


def _answer(answers: HandlerTable, references: ReferenceStore, bus: BusClient) -> None:
    async def store(message: StoreReference, asked: RequestContext) -> Ack:
        references.put(message.key, message.value, taskspace=asked.sender.taskspace_uuid or "")
        return Ack()

    async def here(message: Marco, asked: RequestContext) -> None:
        del message, asked
        bus.announce(Polo())

    answers.on_request(StoreReference, store)
    answers.on_announcement(Marco, here)
