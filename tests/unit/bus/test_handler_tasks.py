"""Tasks of handlers: which end, when, and what is kept of them."""

import asyncio
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from tests.support.event_listener import Mailbox

from symposium.bus.envelope import Envelope, Sender, envelope_of
from symposium.bus.handlers import HandlerTable, HandlerTasks, RequestContext
from symposium.bus.messages.agents import DeleteTaskspace
from symposium.bus.messages.broker import CancelRequest

US = Sender("/here")


async def pass_turns() -> None:
    """Let the loop run what is ready, and what that makes ready."""
    for _ in range(5):
        await asyncio.sleep(0)


class Working:
    """Handlers that wait for `release`, and what became of each request.

    Attributes:
        began: ids of requests whose handlers started.
        ended: how each ended, by the id of its request.
        kept: the tasks of the handlers.
    """

    def __init__(self) -> None:
        answers = HandlerTable()
        answers.on_request(DeleteTaskspace, self._work)
        self.tasks = HandlerTasks(answers, US, self._send)
        self.began = Mailbox[str]()
        self.ended: dict[str, str] = {}
        self.kept: list[weakref.ref[asyncio.Task[object]]] = []
        self.release = asyncio.Event()

    def _send(self, answer: Envelope) -> bool:
        self.ended[answer.id] = "answered"
        return True

    async def _work(self, message: DeleteTaskspace, asked: RequestContext) -> object:
        self.began.add(asked.id)
        if (task := asyncio.current_task()) is not None:
            self.kept.append(weakref.ref(task))
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended[asked.id] = "canceled"
            raise
        return {"unused": message.taskspace_uuid}

    def ask(self, id_: str) -> None:
        """Start a handler for a request of this id."""
        envelope = envelope_of(DeleteTaskspace(project_path="/p", taskspace_uuid="u"), US)
        self.tasks.start(Envelope(envelope.type, id_, US, envelope.payload))

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None, None]:
        """Run handlers of the requests `a` and `b`."""
        async with asyncio.TaskGroup() as group:
            running = group.create_task(self.tasks.run())
            self.ask("a")
            self.ask("b")
            await self.began.next()
            await self.began.next()
            yield
            running.cancel()


@pytest.mark.requirement("bus.client-cancels")
@pytest.mark.parametrize(("request_id", "ended"), [("a", {"a": "canceled"}), ("c", {})])
async def test_cancellation_ends_the_handler_of_its_request_only(
    request_id: str, ended: dict[str, str]
) -> None:
    working = Working()
    async with working.running():
        working.tasks.cancel(envelope_of(CancelRequest(request_id=request_id), US))
        await pass_turns()
        found = dict(working.ended)

    assert found == ended


@pytest.mark.requirement("bus.client-cancels")
async def test_lost_connection_ends_every_handler() -> None:
    working = Working()
    async with working.running():
        working.tasks.cancel_all()
        await pass_turns()
        found = dict(working.ended)

    assert found == {"a": "canceled", "b": "canceled"}


@pytest.mark.requirement("bus.client-cancels")
async def test_message_that_arrives_after_the_end_starts_no_handler() -> None:
    working = Working()
    async with working.running():
        pass
    working.ask("late")

    assert working.began.values == []


@pytest.mark.requirement("bus.open-requests-forgotten")
async def test_task_of_a_handler_is_not_kept_after_its_response() -> None:
    working = Working()
    async with working.running():
        working.release.set()
        await pass_turns()
        kept = [each() for each in working.kept]

    assert working.ended == {"a": "answered", "b": "answered"}
    assert kept == [None, None]
