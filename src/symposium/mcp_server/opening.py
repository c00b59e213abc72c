"""Makes the workplace of one server, and keeps what works beside it."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from symposium.bus.client import BusClient, Identity
from symposium.bus.envelope import Sender
from symposium.bus.handlers import Answers, Asked
from symposium.bus.messages.broker import Marco, Polo
from symposium.bus.messages.editor import StoreReference, UserFeedback
from symposium.bus.protocol import Done, Role
from symposium.code.lsp.headless import Headless, HeadlessPort
from symposium.config.paths import paths
from symposium.documents.boot import BootPrompts
from symposium.documents.guidance import checkout_of, library_for
from symposium.documents.references import ReferenceStore
from symposium.documents.walkthroughs.store import WalkthroughStore, project_folder
from symposium.mcp_server.bus_log import logged_to
from symposium.mcp_server.bus_port import Bus
from symposium.mcp_server.detection import standing_of
from symposium.mcp_server.ide_port import EditorFirst
from symposium.mcp_server.outbox import Outbox
from symposium.mcp_server.processes import terminal_of
from symposium.mcp_server.readings import Readings
from symposium.mcp_server.review_desk import ReviewDesk
from symposium.mcp_server.site import Site
from symposium.mcp_server.workplace import Workplace

CALLED: Final = "symposium mcp"

_Result = TypeVar("_Result")


async def at_work(site: Site, serve: Callable[[Workplace], Awaitable[_Result]]) -> _Result:
    """Do something at a workplace; what works beside it ends with it. Waits for no daemon."""
    headless = Headless()
    home = paths(site.environment).home
    references = ReferenceStore(home)
    standing = standing_of(site.directory, site.environment)
    shell = terminal_of(os.getpid(), site.environment).shell
    sender = Sender(str(site.directory), standing.taskspace or None, shell)
    answers = Answers()
    bus = BusClient(Identity(Role.MCP_SERVER, CALLED, sender), answers, site.bus)
    reviews = review_desk(site)
    _answer(answers, references, bus)
    answers.to(UserFeedback, reviews.hear)
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


def review_desk(site: Site) -> ReviewDesk:
    """The reviews of a site's project."""
    home = paths(site.environment).home
    return ReviewDesk(home / "reviews" / project_folder(home, site.directory).name)


def workplace_of(site: Site, bus: Bus, headless: Headless, reviews: ReviewDesk) -> Workplace:
    """The workplace of a site; nothing is asked yet."""
    home = paths(site.environment).home
    library = library_for(site.directory, site.environment)
    standing = standing_of(site.directory, site.environment)
    return Workplace(
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


def _answer(answers: Answers, references: ReferenceStore, bus: BusClient) -> None:
    async def store(message: StoreReference, asked: Asked) -> Done:
        references.put(message.key, message.value, taskspace=asked.sender.taskspace_uuid or "")
        return Done()

    async def here(message: Marco, asked: Asked) -> None:
        del message, asked
        bus.announce(Polo())

    answers.to(StoreReference, store)
    answers.hear(Marco, here)
