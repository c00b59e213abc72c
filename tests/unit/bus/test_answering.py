"""Response to a request for each way in which it can end."""

import asyncio

import pytest
from msgspec import Raw
from msgspec.structs import replace

from localio.errors import LocalIOError, ProgramNotFoundError
from peerwire.testing import Recorder
from symposium.bus import error_codes
from symposium.bus.envelope import (
    BusOutcome,
    Envelope,
    EnvelopeError,
    Sender,
    envelope_of,
    read_envelope,
    read_outcome,
    refusal,
)
from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import MAX_WORKING, HandlerTable, HandlerTasks, RequestContext
from symposium.bus.messages.agents import DeleteTaskspace, LogProgress
from symposium.bus.protocol import payload_of
from symposium.errors import BadValueError, NotFoundError, SymposiumError

DELETE = DeleteTaskspace(project_path="/p", taskspace_uuid="u")
LOG = LogProgress(project_path="/p", taskspace_uuid="u", message="m")
US = Sender("/here")


async def outcome_of(envelope: Envelope, answers: HandlerTable) -> BusOutcome:
    """Answer one request, and read what is sent back."""
    sent: list[Envelope] = []
    has_sent = asyncio.Event()

    def send(answer: Envelope) -> bool:
        sent.append(answer)
        has_sent.set()
        return True

    answering = HandlerTasks(answers, US, send)
    answering.start(envelope)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(answering.run())
        await has_sent.wait()
        running.cancel()
    (answer,) = sent
    assert answer.id == envelope.id
    return read_outcome(answer)


def raising(error: Exception) -> HandlerTable:
    async def fail(message: DeleteTaskspace, asked: RequestContext) -> object:
        del message, asked
        raise error

    answers = HandlerTable()
    answers.on_request(DeleteTaskspace, fail)
    return answers


@pytest.mark.requirement("bus.error-codes")
@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (NotFoundError("no task x", ""), error_codes.NOT_FOUND, "no task x"),
        (ProgramNotFoundError("no program x", ""), error_codes.NOT_FOUND, "no program x"),
        (BadValueError("no budget", ""), error_codes.BAD_VALUE, "no budget"),
        (LocalIOError("no archive", ""), error_codes.FAILED, "no archive"),
        (SymposiumError("git failed", ""), error_codes.FAILED, "git failed"),
        (BusRefusedError("has changed", "changed"), "changed", "has changed"),
        (BusRefusedError("no", ""), error_codes.FAILED, "no"),
        (OSError(28, "No space left on device"), error_codes.FAILED, "delete_taskspace failed: "),
        (KeyError("x"), error_codes.FAILED, "this is a bug in the handler of delete_taskspace"),
    ],
)
async def test_each_kind_of_error_has_its_code_and_message(
    error: Exception, code: str, text: str
) -> None:
    outcome = await outcome_of(envelope_of(DELETE, US), raising(error))

    assert (outcome.success, outcome.code) == (False, code)
    assert (outcome.error or "").startswith(text)
    assert ("bug" in (outcome.error or "")) == isinstance(error, KeyError)


@pytest.mark.requirement("bus.error-codes")
@pytest.mark.parametrize(
    ("envelope", "code"),
    [
        (Envelope("delete_taskspace", "1", US), error_codes.BAD_PAYLOAD),
        (Envelope("no_such_type", "1", US, payload_of(DELETE)), error_codes.BAD_PAYLOAD),
        (envelope_of(LOG, US), error_codes.NO_HANDLER),
    ],
    ids=["no payload", "unknown type", "no function"],
)
async def test_unanswerable_message_is_rejected_with_a_code(envelope: Envelope, code: str) -> None:
    outcome = await outcome_of(envelope, raising(NotFoundError("never asked", "")))

    assert (outcome.success, outcome.code) == (False, code)
    assert envelope.type in (outcome.error or "")


@pytest.mark.requirement("bus.bounded-handlers")
@pytest.mark.parametrize("is_early", [False, True])
async def test_message_beyond_the_limit_of_handlers_is_refused_or_dropped(
    caplog: pytest.LogCaptureFixture, *, is_early: bool
) -> None:
    handled: Recorder[LogProgress] = Recorder()
    sent: list[Envelope] = []
    may_end = asyncio.Event()

    async def note(message: LogProgress, asked: RequestContext) -> None:
        del asked
        handled.note(message)
        await may_end.wait()

    answers = raising(NotFoundError("never asked", ""))
    answers.on_announcement(LogProgress, note)
    answering = HandlerTasks(answers, US, lambda envelope: not sent.append(envelope))
    async with asyncio.timeout(30), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(answering.run()) if not is_early else None
        await asyncio.sleep(0)
        for _ in range(MAX_WORKING):
            answering.start(envelope_of(LOG, US))
        for message in (LOG, DELETE, LOG):
            answering.start(envelope_of(message, US))
        running = running or tasks.create_task(answering.run())
        await handled.count(MAX_WORKING)
        may_end.set()
        while len(handled.items) == MAX_WORKING:
            answering.start(envelope_of(LOG, US))
            await asyncio.sleep(0)
        running.cancel()

    (refused,) = [read_outcome(each) for each in sent]
    assert (refused.success, refused.code) == (False, error_codes.TOO_MANY)
    assert refused.error == "delete_taskspace: 10000 messages are being handled; try again"
    assert caplog.text.count("dropped log_progress") == 1


@pytest.mark.requirement("bus.odd-answers")
@pytest.mark.parametrize("by", ["window-1", ""])
async def test_handler_receives_the_connection_of_the_sender(by: str) -> None:
    askers: list[str] = []

    async def note(message: DeleteTaskspace, asked: RequestContext) -> object:
        askers.append(asked.by)
        raise NotFoundError(message.taskspace_uuid, "")

    answers = HandlerTable()
    answers.on_request(DeleteTaskspace, note)
    envelope = envelope_of(DELETE, US)
    await outcome_of(replace(envelope, from_=by) if by else envelope, answers)

    assert askers == [by]


@pytest.mark.requirement("bus.error-codes")
@pytest.mark.parametrize(("more", "ends"), [(0, "xx"), (1, "x…")])
def test_error_text_is_cut_beyond_a_thousand_characters(more: int, ends: str) -> None:
    line = refusal("1", error_codes.FAILED, "x" * (1000 + more))
    error = read_outcome(read_envelope(line)).error

    assert error is not None
    assert (len(error), error[-2:]) == (1000 + more, ends)


@pytest.mark.requirement("bus.error-codes")
@pytest.mark.parametrize("payload", [b"[]", b"{}", b'{"success":"yes"}'])
def test_response_without_an_outcome_is_an_error_with_its_id(payload: bytes) -> None:
    with pytest.raises(EnvelopeError, match="malformed payload in response one: "):
        read_outcome(Envelope("response", "one", US, Raw(payload)))
