"""Taking a request back: by the one who asked, once, on its own hop (acp-host §1.8)."""

import asyncio
from typing import Any

import pytest

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.testing import Recorder, connected_pair, facing_bytes

CANCEL_1 = b'{"method":"$/cancel_request","params":{"requestId":1}}'


async def wait_forever(_: Request) -> None:
    await asyncio.Event().wait()


HANDLERS = Handlers(requests={"wait": wait_forever, "ok": lambda _: "ok"})


@pytest.mark.requirement(
    "jsonrpc.cancel-when-dropped", "jsonrpc.cancel-for-own-id", "jsonrpc.cancel-once"
)
async def test_a_caller_that_stops_waiting_sends_one_cancel() -> None:
    async with facing_bytes(HANDLERS) as (near, peer):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await near.request("slow")
        peer.write(b'{"id":1,"method":"ok"}')
        asked, cancel, answer = await peer.read(3)
    assert (asked["id"], answer["result"]) == (1, "ok")
    expected = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 1}}
    assert cancel == expected
    assert len(peer.lines.items) == 3


@pytest.mark.requirement(
    "jsonrpc.cancel-late-response",
    "jsonrpc.late-response-discarded",
    "jsonrpc.order-unconsumed-response",
)
async def test_the_late_answer_to_what_was_given_up_is_dropped_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with facing_bytes(HANDLERS) as (near, peer):
        task = asyncio.Task(near.request("slow"))
        await peer.read(1)
        task.cancel()
        await peer.read(2)
        peer.write(b'{"id":1,"result":"late"}', b'{"id":7,"method":"ok"}')
        assert (await peer.read(3))[2]["id"] == 7
    assert task.cancelled()
    assert not caplog.records


@pytest.mark.requirement(
    "jsonrpc.cancel-disarmed-by-buffered-response", "jsonrpc.cancel-disarmed-by-handler"
)
async def test_an_answer_that_has_arrived_disarms_the_cancel() -> None:
    async with facing_bytes(HANDLERS) as (near, peer):
        task: asyncio.Task[Any]

        def stop_waiting(_: Any) -> None:
            task.cancel()

        task = asyncio.Task(near.request("a", on_result=stop_waiting))
        await peer.read(1)
        peer.write(b'{"id":1,"result":1}', b'{"id":7,"method":"ok"}')
        await peer.read(2)
        await asyncio.wait([task])
    assert task.cancelled()
    assert len(peer.lines.items) == 2


@pytest.mark.requirement("jsonrpc.cancel-races")
async def test_an_answer_on_its_way_to_a_caller_cancelled_in_the_same_turn_is_dropped() -> None:
    seen: list[Any] = []
    async with facing_bytes(HANDLERS) as (near, peer):
        task = asyncio.Task(near.request("a", on_result=seen.append))
        await peer.read(1)
        task.cancel()
        near.lines_received([b'{"id":1,"result":"too late"}'])
        await asyncio.wait([task])
        peer.write(b'{"id":7,"method":"ok"}')
        await peer.read(2)
    assert task.cancelled()
    assert len(peer.lines.items) == 2
    assert seen == []


@pytest.mark.requirement("jsonrpc.cancel-not-after-completion")
async def test_an_answered_request_is_not_cancelled_afterwards() -> None:
    received: Recorder[Any] = Recorder()
    async with facing_bytes(HANDLERS) as (near, peer):
        task = asyncio.Task(_ask_and_stay(near, received))
        await peer.read(1)
        peer.write(b'{"id":1,"result":1}')
        await received.count(1)
        task.cancel()
        await asyncio.wait([task])
        peer.write(b'{"id":7,"method":"ok"}')
        await peer.read(2)
    assert len(peer.lines.items) == 2


async def _ask_and_stay(connection: Any, received: Recorder[Any]) -> None:
    received.note(await connection.request("a"))
    await asyncio.Event().wait()


@pytest.mark.requirement(
    "jsonrpc.cancel-sent-and-handled", "jsonrpc.cancel-text", "jsonrpc.cancel-answer-still-owed"
)
@pytest.mark.parametrize("apart", [True, False])
async def test_a_cancelled_request_is_answered_once_with_the_code_for_it(*, apart: bool) -> None:
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(b'{"id":1,"method":"wait"}')
        if apart:
            peer.write(b'{"id":2,"method":"ok"}')
            await peer.read(1)
        peer.write(CANCEL_1, CANCEL_1, b'{"id":3,"method":"ok"}')
        answers = await peer.read(3 if apart else 2)
    by_id = {answer["id"]: answer for answer in answers}
    assert by_id[1]["error"] == {"code": -32800, "message": "Request cancelled"}
    assert len(by_id) == len(peer.lines.items)


@pytest.mark.requirement("jsonrpc.cancel-observed")
async def test_a_handler_learns_of_it_and_may_answer_as_it_likes() -> None:
    async def prompt(_: Request) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"stopReason": "cancelled"}

    async with facing_bytes(Handlers(requests={"prompt": prompt})) as (_, peer):
        peer.write(b'{"id":1,"method":"prompt"}', CANCEL_1)
        (answer,) = await peer.read(1)
    assert answer["result"] == {"stopReason": "cancelled"}


@pytest.mark.requirement("jsonrpc.cancel-once")
async def test_a_second_cancel_does_not_disturb_a_handler_that_cleans_up() -> None:
    cleaning, cleaned = asyncio.Event(), asyncio.Event()

    async def prompt(_: Request) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cleaning.set()
            await cleaned.wait()
        return "clean"

    handlers = Handlers(requests={"prompt": prompt, "ok": lambda _: "ok"})
    async with facing_bytes(handlers) as (_, peer):
        peer.write(b'{"id":1,"method":"prompt"}', CANCEL_1)
        await cleaning.wait()
        peer.write(CANCEL_1, b'{"id":2,"method":"ok"}')
        await peer.read(1)
        cleaned.set()
        assert (await peer.read(2))[1] == {"jsonrpc": "2.0", "id": 1, "result": "clean"}


@pytest.mark.requirement("jsonrpc.cancel-marker-after-the-fact")
async def test_handler_that_asks_after_the_cancellation_gets_yes() -> None:
    async def stubborn(request: Request) -> Any:
        before = request.cancellation.is_requested
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return [before, request.cancellation.is_requested]

    async with facing_bytes(Handlers(requests={"stubborn": stubborn})) as (_, peer):
        peer.write(b'{"id":1,"method":"stubborn"}', CANCEL_1)
        (answer,) = await peer.read(1)
    assert answer["result"] == [False, True]


@pytest.mark.requirement("jsonrpc.cancel-unknown-ignored")
@pytest.mark.parametrize(
    "params",
    [b"", b',"params":null', b',"params":[]', b',"params":{}', b',"params":{"requestId":9}',
     b',"params":{"requestId":{"a":[]}}', b',"params":{"requestId":"1"}', b',"params":3',
     b',"params":{"requestId":1e99999999999999999999}'],
)  # fmt: skip
async def test_a_cancel_of_nothing_is_ignored_silently(
    params: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("ERROR")
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(b'{"id":1,"method":"wait"}', b'{"method":"$/cancel_request"%b}' % params)
        peer.write(b'{"id":2,"method":"ok"}')
        assert [answer["id"] for answer in await peer.read(1)] == [2]
    assert not caplog.records


@pytest.mark.requirement("jsonrpc.cancel-races")
@pytest.mark.parametrize(
    ("request_id", "named"),
    [(b'"a"', b'"\\u0061"'), (b'"\\u0061"', b'"a"'), (b"7.0", b"7"),
     (b"1.50", b"1.50"), (b"null", b"null"), (b"7", b"7.0"),
     (b"123456789012345678901234567890", b"123456789012345678901234567890")],
)  # fmt: skip
async def test_a_cancel_finds_its_request_by_an_id_of_any_type(
    request_id: bytes, named: bytes
) -> None:
    async with facing_bytes(HANDLERS) as (_, peer):
        peer.write(b'{"id":%b,"method":"wait"}' % request_id)
        peer.write(b'{"method":"$/cancel_request","params":{"requestId":%b}}' % named)
        (answer,) = await peer.read(1)
    assert answer["error"]["code"] == -32800


@pytest.mark.requirement("jsonrpc.cancel-own-forwarding-opt-in", "jsonrpc.cancel-reverse")
async def test_a_handler_that_waits_for_its_own_request_passes_the_cancel_on() -> None:
    ended: Recorder[Any] = Recorder()

    async def ask_permission(_: Request) -> Any:
        return await middle.request("permission")

    async def permission(request: Request) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.note(request.cancellation.is_requested)

    async with (
        connected_pair(far=Handlers(requests={"permission": permission})) as (middle, _),
        facing_bytes(Handlers(requests={"prompt": ask_permission})) as (_, peer),
    ):
        peer.write(b'{"id":1,"method":"prompt"}', CANCEL_1)
        (answer,) = await peer.read(1)
        assert await ended.count(1) == [True]
    assert answer["error"]["code"] == -32800


@pytest.mark.requirement("jsonrpc.cancel-own-forwarding-default")
async def test_a_request_that_is_posted_outlives_the_one_it_was_posted_for() -> None:
    async def work(_: Request) -> Any:
        middle.post("keep", [1])
        await asyncio.Event().wait()

    async with (
        facing_bytes() as (middle, beyond),
        facing_bytes(Handlers(requests={"work": work, "ok": lambda _: "ok"})) as (_, peer),
    ):
        peer.write(b'{"id":1,"method":"work"}', CANCEL_1)
        await peer.read(1)
        middle.notify("done")
        lines = await beyond.read(2)
    assert [line["method"] for line in lines] == ["keep", "done"]


@pytest.mark.requirement("jsonrpc.cancel-answer-still-owed")
async def test_a_cancelled_handler_is_answered_once_and_its_task_ends_as_cancelled() -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    async def work(_: Request) -> None:
        tasks.append(asyncio.current_task())
        await asyncio.Event().wait()

    async with facing_bytes(Handlers(requests={"work": work, "ok": lambda _: "ok"})) as (_, peer):
        peer.write(b'{"id":1,"method":"work"}', CANCEL_1, b'{"id":2,"method":"ok"}')
        answers = await peer.read(2)
    assert sorted(answer["id"] for answer in answers) == [1, 2]
    assert len(peer.lines.items) == 2
    (task,) = tasks
    assert task is not None
    assert task.cancelled()


@pytest.mark.requirement("jsonrpc.error-dropped-responder")
async def test_a_handler_that_gives_up_by_itself_is_answered_as_our_fault() -> None:
    async def give_up(_: Request) -> None:
        raise asyncio.CancelledError

    async with connected_pair(far=Handlers(requests={"g": give_up})) as (near, _):
        with pytest.raises(RpcError) as caught:
            await near.request("g")
    assert (caught.value.code, caught.value.data) == (-32603, {"reason": "the handler gave up"})
