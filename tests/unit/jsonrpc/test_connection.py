"""One side of a connection: requests, answers, and notifications, in order."""

import asyncio
import logging
from typing import Any

import pytest

from peerwire.errors import INVALID_REQUEST, ConnectionClosedError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request, RequestHandler
from peerwire.jsonrpc.requests import MAX_RUNNING
from peerwire.jsonrpc.transport import LineSplitter
from peerwire.testing import LinePeer, Recorder, connected_pair, facing_bytes, running
from peerwire.transports.memory import memory_pair


def echo(request: Request) -> Any:
    return request.params


async def echo_later(request: Request) -> Any:
    await asyncio.sleep(0)
    return request.params


ECHO = Handlers(requests={"echo": echo, "echo_later": echo_later})


# Asking


@pytest.mark.requirement("jsonrpc.hello-request")
async def test_a_request_comes_back_with_its_handlers_result() -> None:
    async with connected_pair(far=ECHO) as (near, _):
        assert await near.request("echo", {"a": [1, None]}) == {"a": [1, None]}
        assert await near.request("echo_later", ["x"]) == ["x"]
        assert await near.request("echo") is None


@pytest.mark.requirement("jsonrpc.hello-notification")
async def test_notification_is_handled_without_an_answer() -> None:
    received: Recorder[Any] = Recorder()
    handlers = Handlers(requests={"echo": echo}, notifications={"note": received.note})
    async with facing_bytes(handlers) as (_, peer):
        peer.write(b'{"method":"note","params":[1]}', b'{"id":1,"method":"echo"}')
        assert await received.count(1) == [[1]]
        assert await peer.read(1) == [{"jsonrpc": "2.0", "id": 1, "result": None}]


@pytest.mark.requirement("jsonrpc.hello-sequence", "jsonrpc.order-per-direction")
async def test_requests_one_after_the_other_are_answered_in_that_order() -> None:
    async with facing_bytes(ECHO) as (_, peer):
        peer.write(*(b'{"id":%d,"method":"echo_later"}' % number for number in range(50)))
        assert [answer["id"] for answer in await peer.read(50)] == list(range(50))


@pytest.mark.requirement("jsonrpc.hello-sequence")
async def test_each_of_several_requests_is_answered_before_the_next_is_written() -> None:
    async with facing_bytes(ECHO) as (_, peer):
        for number in range(20):
            peer.write(b'{"id":%d,"method":"echo_later","params":[%d]}' % (number, number))
            answers = await peer.read(number + 1)
            assert answers[-1] == {"jsonrpc": "2.0", "id": number, "result": [number]}
            assert len(answers) == number + 1


@pytest.mark.requirement("jsonrpc.hello-concurrent", "jsonrpc.ids-fresh-per-hop")
async def test_many_requests_may_be_open_and_each_gets_its_own_answer() -> None:
    async with connected_pair(far=ECHO) as (near, _), asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(near.request("echo_later", [number])) for number in range(100)]
    assert [task.result() for task in asked] == [[number] for number in range(100)]


@pytest.mark.requirement("jsonrpc.ids-matched-not-by-order", "jsonrpc.batch-of-responses")
async def test_responses_in_any_order_reach_who_asked() -> None:
    async with facing_bytes() as (near, peer), asyncio.TaskGroup() as tasks:
        one, two, three = (tasks.create_task(near.request(name)) for name in ("a", "b", "c"))
        ids = {line["method"]: line["id"] for line in await peer.read(3)}
        peer.write(b'{"id":%d,"result":"third"}' % ids["c"])
        peer.write(b'[{"id":%d,"result":2},{"id":%d.0,"result":1}]' % (ids["b"], ids["a"]))
    assert (one.result(), two.result(), three.result()) == (1, 2, "third")


@pytest.mark.requirement("jsonrpc.both-sides-request", "jsonrpc.pending-per-direction")
async def test_both_sides_may_have_the_same_id_open() -> None:
    async def ask_back(request: Request) -> Any:
        return ["back", await near.request("echo", request.params)]

    async with facing_bytes(Handlers(requests={"ask": ask_back})) as (near, peer):
        peer.write(b'{"id":1,"method":"ask","params":["x"]}')
        (question,) = await peer.read(1)
        assert question == {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": ["x"]}
        peer.write(b'{"id":1,"result":"y"}')
        assert (await peer.read(2))[1] == {"jsonrpc": "2.0", "id": 1, "result": ["back", "y"]}


@pytest.mark.requirement("jsonrpc.response-without-result", "jsonrpc.response-twice")
async def test_a_response_without_result_is_null_and_a_second_one_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with facing_bytes(ECHO) as (near, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(near.request("a"))
        await peer.read(1)
        peer.write(b'{"id":1}', b'{"id":1,"result":2}', b'{"id":9,"method":"echo"}')
        assert (await peer.read(2))[1]["id"] == 9
    assert asked.result() is None
    assert not caplog.records


@pytest.mark.requirement("jsonrpc.answers-odd")
async def test_of_a_result_and_an_error_that_is_null_the_result_counts() -> None:
    async with facing_bytes() as (near, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(near.request("a"))
        await peer.read(1)
        peer.write(b'{"id":1,"result":7,"error":null}')
    assert asked.result() == 7


@pytest.mark.requirement("jsonrpc.ids-unknown-response")
@pytest.mark.parametrize("request_id", [b"99", b'"x"', b"-1", b"1" * 5000])
async def test_a_response_to_nothing_is_logged_and_dropped(
    request_id: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with facing_bytes(ECHO) as (_, peer):
        peer.write(b'{"id":%b,"result":1}' % request_id, b'{"id":1,"method":"echo"}')
        await peer.read(1)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert len(record.getMessage()) < 200


@pytest.mark.requirement("jsonrpc.answers-odd")
async def test_a_peer_that_could_not_read_us_is_heard_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with facing_bytes(ECHO) as (_, peer):
        peer.write(b'{"id":null,"error":{"code":-32700,"message":"What?"}}')
        peer.write(b'{"id":1,"method":"echo"}')
        await peer.read(1)
    assert "What?" in caplog.text


@pytest.mark.requirement("jsonrpc.error-relayed")
async def test_error_response_is_raised_unchanged() -> None:
    async with facing_bytes() as (near, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(_error_of(near.request("a")))
        await peer.read(1)
        peer.write(b'{"id":1,"result":null,"error":{"code":5,"message":"M","data":[1]}}')
    error = asked.result()
    assert isinstance(error, RpcError)
    assert error.body() == {"code": 5, "message": "M", "data": [1]}


async def _error_of(asking: Any) -> Exception:
    try:
        await asking
    except Exception as error:  # noqa: BLE001 - the test looks at whatever it is
        return error
    raise AssertionError("no error came")


@pytest.mark.requirement("jsonrpc.line-over-limit-id")
@pytest.mark.parametrize(
    "response",
    [b'{"id":1,"result":1,"error":{}}', b'{"id":1,"result":1e99999999999999999999}',
     b'{"id":1,"result":%b}' % (b"[" * 100_000 + b"]" * 100_000),
     b'{"id":1,"result":"%b"}' % (b"x" * 3000)],
    ids=["both", "number", "deep", "long"],
)  # fmt: skip
async def test_unreadable_answer_fails_its_request(response: bytes) -> None:
    async with facing_bytes(limit=250_000 if b"[" in response else 2000) as (near, peer):
        async with asyncio.TaskGroup() as tasks:
            asked = tasks.create_task(_error_of(near.request("a")))
            await peer.read(1)
            peer.write(response)
        assert isinstance(asked.result(), RpcError)
        assert len(peer.lines.items) == 1


@pytest.mark.requirement("jsonrpc.requests-odd")
async def test_what_cannot_be_written_leaves_no_request_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with facing_bytes() as (near, peer):
        with pytest.raises(TypeError):
            await near.request("a", object())
        near.notify("b")
        assert await peer.read(1) == [{"jsonrpc": "2.0", "method": "b"}]
    assert not caplog.records


@pytest.mark.requirement("jsonrpc.cancel-not-when-detached")
async def test_a_request_posted_without_waiting_is_neither_cancelled_nor_missed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with facing_bytes() as (near, peer):
        near.post("a", [1])
        near.post("b")
        first, _ = await peer.read(2)
        assert first == {"jsonrpc": "2.0", "id": 1, "method": "a", "params": [1]}
        peer.write(b'{"id":1,"result":1}')
    await peer.ends.count(1)
    assert len(peer.lines.items) == 2
    assert not caplog.records


# Order


@pytest.mark.requirement("jsonrpc.order-response-behind-notification")
async def test_a_response_waits_behind_the_notifications_written_before_it() -> None:
    seen: list[Any] = []

    async def work(_: Request) -> str:
        for number in range(100):
            far.notify("update", [number])
        await asyncio.sleep(0)
        far.notify("update", ["last"])
        return "done"

    near_handlers = Handlers(notifications={"update": seen.extend})
    async with connected_pair(near_handlers, Handlers(requests={"work": work})) as (near, far):
        result = await near.request("work", on_result=seen.append)
    assert seen == [*range(100), "last", result]


@pytest.mark.requirement(
    "jsonrpc.order-response-callback-first", "jsonrpc.order-handler-installed-in-time"
)
@pytest.mark.parametrize("form", [b"%b\n%b", b"[%b,%b]"], ids=["read", "batch"])
async def test_on_result_runs_before_the_next_message_is_taken(form: bytes) -> None:
    seen: list[Any] = []
    notifications: dict[str, Any] = {}

    def install(result: Any) -> None:
        seen.append(result)
        notifications["update"] = seen.append

    async with (
        facing_bytes(Handlers(notifications=notifications)) as (near, peer),
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(near.request("session/new", on_result=install))
        await peer.read(1)
        both = form % (b'{"id":1,"result":"session"}', b'{"method":"update","params":["u"]}')
        peer.write(*both.split(b"\n"))
    assert seen == ["session", ["u"]]


@pytest.mark.requirement("jsonrpc.order-callback-takes-later-messages")
async def test_who_got_a_response_may_wait_for_later_messages() -> None:
    received: Recorder[Any] = Recorder()
    async with facing_bytes(Handlers(notifications={"update": received.note})) as (near, peer):

        async def start() -> Any:
            await near.request("session/new")
            return await received.count(2)

        async with asyncio.TaskGroup() as tasks:
            started = tasks.create_task(start())
            await peer.read(1)
            peer.write(b'{"id":1,"result":{}}', b'{"method":"update","params":[1]}')
            peer.write(b'{"method":"update","params":[2]}')
    assert started.result() == [[1], [2]]


@pytest.mark.requirement("jsonrpc.error-awaiter-of-failed-hook")
async def test_a_fault_in_on_result_reaches_who_asked_and_the_next_message_is_taken() -> None:
    def fail(_: Any) -> None:
        raise KeyError("fault")

    async with facing_bytes(ECHO) as (near, peer), asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(_error_of(near.request("a", on_result=fail)))
        await peer.read(1)
        peer.write(b'{"id":1,"result":1}', b'{"id":2,"method":"echo"}')
        assert (await peer.read(2))[1]["id"] == 2
    assert isinstance(asked.result(), KeyError)


@pytest.mark.requirement("jsonrpc.order-handler-starts-first")
async def test_a_handler_has_run_to_its_first_wait_before_the_next_message_is_taken() -> None:
    seen: list[str] = []
    turn_over = asyncio.Event()

    async def prompt(_: Request) -> str:
        seen.append("prompt")
        await turn_over.wait()
        return "cancelled"

    def cancel(_: Any) -> None:
        seen.append("cancel")
        turn_over.set()

    handlers = Handlers(requests={"prompt": prompt}, notifications={"cancel": cancel})
    async with facing_bytes(handlers) as (_, peer):
        peer.write(b'{"id":1,"method":"prompt"}', b'{"method":"cancel"}')
        await peer.read(1)
        peer.write(b'[{"id":2,"method":"prompt"},{"method":"cancel"}]')
        await peer.read(2)
    assert seen == ["prompt", "cancel"] * 2


@pytest.mark.requirement("jsonrpc.reader-never-waits-for-handler")
async def test_a_handler_that_waits_holds_up_nothing_else() -> None:
    released = asyncio.Event()

    async def wait(_: Request) -> None:
        await released.wait()

    async with facing_bytes(Handlers(requests={"wait": wait, "echo": echo})) as (_, peer):
        peer.write(b'{"id":1,"method":"wait"}', b'{"id":2,"method":"echo"}')
        assert [line["id"] for line in await peer.read(1)] == [2]
        released.set()
        assert [line["id"] for line in await peer.read(2)] == [2, 1]


@pytest.mark.requirement("jsonrpc.order-hundred-thousand")
async def test_a_hundred_thousand_notifications_arrive_each_once_and_in_order() -> None:
    last = asyncio.Event()
    seen: list[int] = []

    def note(params: list[int]) -> None:
        seen.extend(params)
        if len(seen) == 100_000:
            last.set()

    async with connected_pair(far=Handlers(notifications={"n": note})) as (near, _):
        for number in range(100_000):
            near.notify("n", [number])
            if number % 1000 == 0:
                await near.drain()
        await last.wait()
    assert seen == list(range(100_000))


@pytest.mark.requirement("jsonrpc.handlers")
async def test_requests_that_come_faster_than_their_handlers_start_are_not_hoarded() -> None:
    near, far = memory_pair()
    answers = 10_000
    async with running(Connection(near, ECHO)):
        peer = LinePeer(far)
        peer.write(*(b'{"id":%d,"method":"echo_later"}' % number for number in range(answers)))
        await peer.lines.count(1000)
        # The first read is being taken, one more is held; the rest is still the peer's.
        assert far.backlog > 100_000
        got = await peer.read(answers)
    assert [answer["id"] for answer in got] == list(range(answers))


# Handlers


@pytest.mark.requirement("jsonrpc.handler-per-method", "jsonrpc.handler-none-claims")
async def test_each_handler_gets_its_own_methods_and_the_rest_is_refused() -> None:
    def name(text: str) -> RequestHandler:
        def answer(_: Request) -> str:
            return text

        return answer

    async with connected_pair(far=Handlers(requests={"a": name("A"), "b": name("B")})) as (near, _):
        assert (await near.request("b"), await near.request("a")) == ("B", "A")
        error = await _error_of(near.request("c"))
    assert isinstance(error, RpcError)
    assert error.body() == {"code": -32601, "message": "Method not found", "data": "c"}


@pytest.mark.requirement("jsonrpc.handlers")
async def test_what_has_no_handler_of_its_own_goes_to_the_other_one() -> None:
    received: Recorder[Any] = Recorder()
    handlers = Handlers(
        requests={"echo": echo},
        other_request=lambda request: [request.method, request.params],
        other_notification=lambda method, params: received.note((method, params)),
    )
    async with connected_pair(far=handlers) as (near, _):
        near.notify("x/y", {"a": 1})
        assert await near.request("z", [1]) == ["z", [1]]
        assert await near.request("echo", [1]) == [1]
    assert received.items == [("x/y", {"a": 1})]


@pytest.mark.requirement("jsonrpc.unit-dynamic-handlers")
async def test_a_handler_that_was_removed_hears_nothing_more() -> None:
    received: Recorder[Any] = Recorder()
    notifications: dict[str, Any] = {"n": received.note}
    handlers = Handlers(requests={"echo": echo}, notifications=notifications)
    async with connected_pair(far=handlers) as (near, _):
        near.notify("n", [1])
        await received.count(1)
        del notifications["n"]
        near.notify("n", [2])
        await near.request("echo")
    assert received.items == [[1]]


@pytest.mark.requirement("jsonrpc.handlers")
async def test_a_handler_may_return_a_future_as_well_as_a_coroutine() -> None:
    def promise(_: Request) -> asyncio.Future[str]:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        future.set_result("kept")
        return future

    async with connected_pair(far=Handlers(requests={"p": promise})) as (near, _):
        assert await near.request("p") == "kept"


# Ids of the peer


@pytest.mark.requirement("jsonrpc.ids-any-type", "acp.t12-numbers")
@pytest.mark.parametrize(
    "request_id",
    [b"null", b"0", b"9007199254740993", b"123456789012345678901234567890", b"1.50", b"-3",
     b'"a\\n\\u00e9\\ud800"', b'""'],
)  # fmt: skip
async def test_an_id_of_any_type_returns_with_the_same_digits(request_id: bytes) -> None:
    async with facing_bytes(ECHO) as (_, peer):
        for method in (b"echo", b"echo_later", b"none"):
            peer.write(b'{"id":%b,"method":"%b"}' % (request_id, method))
        for line in await peer.lines.count(3):
            assert isinstance(line, bytes)
            assert line.startswith(b'{"jsonrpc":"2.0","id":%b,' % request_id)


@pytest.mark.requirement("jsonrpc.ids-reused-after-completion")
async def test_an_id_may_be_used_again_and_shares_nothing_with_its_first_use() -> None:
    released = asyncio.Event()

    async def wait(request: Request) -> bool:
        await released.wait()
        return request.cancellation.is_requested

    async with facing_bytes(Handlers(requests={"wait": wait})) as (_, peer):
        cancel = b'{"method":"$/cancel_request","params":{"requestId":1}}'
        peer.write(b'{"id":1,"method":"wait"}', cancel)
        assert (await peer.read(1))[0]["error"]["code"] == -32800
        peer.write(b'{"id":1,"method":"wait"}')
        peer.write(b'{"id":2,"method":"none"}')
        await peer.read(2)
        released.set()
        assert (await peer.read(3))[2] == {"jsonrpc": "2.0", "id": 1, "result": False}


@pytest.mark.requirement("jsonrpc.requests-bounded")
async def test_more_open_requests_than_can_be_borne_are_refused_at_once() -> None:
    released = asyncio.Event()

    async def wait(_: Request) -> None:
        await released.wait()

    async with facing_bytes(Handlers(requests={"wait": wait})) as (_, peer):
        peer.write(*(b'{"id":%d,"method":"wait"}' % number for number in range(MAX_RUNNING + 1)))
        (refused,) = await peer.read(1)
        assert refused["id"] == MAX_RUNNING
        assert refused["error"]["code"] == -32603
        assert refused["error"]["data"] == {"reason": "too_many_open_requests", "limit": 10_000}
        released.set()
        assert len(await peer.read(MAX_RUNNING + 1)) == MAX_RUNNING + 1


@pytest.mark.requirement("jsonrpc.requests-odd")
async def test_two_open_requests_with_one_id_are_both_answered() -> None:
    released = asyncio.Event()

    async def wait(request: Request) -> Any:
        await released.wait()
        return request.params

    async with facing_bytes(Handlers(requests={"wait": wait})) as (_, peer):
        peer.write(*(b'{"id":1,"method":"wait","params":[%d]}' % n for n in (1, 2)))
        peer.write(b'{"id":2,"method":"none"}')
        await peer.read(1)
        released.set()
        assert [line["result"] for line in (await peer.read(3))[1:]] == [[1], [2]]


@pytest.mark.requirement(
    "jsonrpc.line-over-limit", "jsonrpc.line-limit-configurable", "jsonrpc.line-over-limit-id"
)
async def test_a_line_over_the_limit_is_answered_under_its_id_and_the_next_is_read() -> None:
    async with facing_bytes(ECHO, limit=1000) as (_, peer):
        peer.write(b'{"jsonrpc":"2.0","id":"big","method":"echo","params":["%b"]}' % (b"x" * 1000))
        peer.write(b'["%b"]' % (b"x" * 1000), b'{"id":2,"method":"echo"}')
        first, second, third = await peer.read(3)
    assert (first["id"], second["id"], third["id"]) == ("big", None, 2)
    assert first["error"]["code"] == INVALID_REQUEST
    assert first["error"]["data"] == {"reason": "line_too_long", "limit": 1000}


@pytest.mark.requirement("jsonrpc.line-over-limit-id")
async def test_the_id_of_a_line_over_the_limit_may_stand_at_its_end() -> None:
    splitter = LineSplitter(1000)
    long = b'{"method":"echo","params":["%b"],"id":"end"}\n' % (b"x" * 1000)
    async with facing_bytes(ECHO) as (near, peer):
        near.lines_received(splitter.feed(long))
        assert (await peer.read(1))[0]["id"] == "end"


@pytest.mark.requirement("jsonrpc.requests-odd")
async def test_a_closed_connection_raises_for_a_request_and_is_silent_for_a_notification() -> None:
    async with facing_bytes() as (near, _):
        near.close()
    with pytest.raises(ConnectionClosedError):
        await near.request("a")
    near.notify("b")
