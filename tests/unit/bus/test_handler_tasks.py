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
from symposium.bus.messages.broker import CancelRequest, Goodbye
from symposium.bus.messages.editor import FileRange, FindAllReferences

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
        answers: all responses.
        kept: the tasks of the handlers.
    """

    def __init__(self) -> None:
        answers = HandlerTable()
        answers.on_request(DeleteTaskspace, self._work)
        answers.on_request(FindAllReferences, self._find)
        answers.on_announcement(Goodbye, self._note)
        self.tasks = HandlerTasks(answers, US, self._send)
        self.began = Mailbox[str]()
        self.ended: dict[str, str] = {}
        self.answers: list[Envelope] = []
        self.kept: list[weakref.ref[asyncio.Task[object]]] = []
        self.release = asyncio.Event()

    def _send(self, answer: Envelope) -> bool:
        self.ended[answer.id] = "answered"
        self.answers.append(answer)
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

    async def _find(self, message: FindAllReferences, asked: RequestContext) -> list[FileRange]:
        del message, asked
        return []

    async def _note(self, message: Goodbye, asked: RequestContext) -> None:
        del message
        self.ended[asked.id] = "noted"

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


@pytest.mark.requirement("bus.acknowledged")
async def test_announcement_reaches_its_handler_and_has_no_response() -> None:
    working = Working()
    async with working.running():
        working.tasks.start(Envelope("goodbye", "bye", US))
        await pass_turns()
        found = dict(working.ended)

    assert found == {"bye": "noted"}
    assert working.answers == []


@pytest.mark.requirement("bus.acknowledged")
async def test_reply_may_be_a_list() -> None:
    working = Working()
    async with working.running():
        working.tasks.start(envelope_of(FindAllReferences(symbol="x"), US))
        await pass_turns()

    (answer,) = working.answers
    assert bytes(answer.payload) == b'{"success":true,"data":[]}'
