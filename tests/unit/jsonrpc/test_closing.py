"""The end of a connection: each request gets its answer, and no task is left."""

import asyncio
import logging
from typing import Any

import pytest

from peerwire.errors import ConnectionClosedError, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.testing import LinePeer, Recorder, connected_pair, facing_bytes, running
from peerwire.transports.memory import memory_pair

ENDS_HERE = {"code": -32603, "message": "Internal error", "data": {"reason": "the connection ends"}}


class Scene:
    """A connection as a task of the test, with a handler that waits and tells how it ended."""

    def __init__(self) -> None:
        self.transport, self.far = memory_pair()
        self.started = asyncio.Event()
        self.ended: Recorder[str] = Recorder()
        handlers = Handlers(requests={"wait": self._wait, "ok": lambda _: "ok", "bye": self._bye})
        self.connection = Connection(self.transport, handlers)
        self.peer = LinePeer(self.far)
        self.run = asyncio.Task(self.connection.run())

    async def _wait(self, _: Request) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.note("ended")

    def _bye(self, _: Request) -> str:
        self.connection.close()
        return "bye"


@pytest.mark.requirement("jsonrpc.close-clean-eof", "jsonrpc.error-leak-check")
async def test_end_of_input_ends_a_connection_cleanly_while_a_handler_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene()
    scene.peer.write(b'{"id":1,"method":"wait"}')
    await scene.started.wait()
    await scene.far.aclose()

    await scene.run

    assert scene.ended.items == ["ended"]
    assert scene.connection.error is None
    assert "0 sent and 1 received requests unanswered" in caplog.text


@pytest.mark.requirement("jsonrpc.close-fails-pending", "jsonrpc.close-request-after")
async def test_end_of_input_fails_every_open_request_and_every_later_one() -> None:
    near, far = memory_pair()
    async with running(Connection(near, Handlers())) as connection, asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(_error_of(connection.request("a"))) for _ in range(3)]
        await LinePeer(far).read(3)
        await far.aclose()
    errors = [task.result() for task in asked]
    assert [str(error) for error in errors] == ["the peer ended the connection"] * 3
    assert len({id(error) for error in errors}) == 3
    with pytest.raises(ConnectionClosedError, match="the peer ended the connection"):
        await connection.request("b")


async def _error_of(asking: Any) -> Exception:
    with pytest.raises(ConnectionClosedError) as caught:
        await asking
    return caught.value


@pytest.mark.requirement("jsonrpc.error-leak-check")
async def test_close_logs_the_requests_of_both_sides_that_got_no_answer_and_not_those_given_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    scene = Scene()
    scene.peer.write(*(b'{"id":%d,"method":"wait"}' % number for number in range(3)))
    await scene.started.wait()
    asked = [asyncio.Task(scene.connection.request("a")) for _ in range(4)]
    await scene.peer.read(4)
    for given_up in asked[2:]:
        given_up.cancel()
    await asyncio.wait(asked[2:])
    await scene.peer.read(6)

    await scene.far.aclose()
    await scene.run

    assert "2 sent and 3 received requests unanswered" in caplog.text
    assert [str(await _error_of(one)) for one in asked[:2]] == ["the peer ended the connection"] * 2


@pytest.mark.requirement("jsonrpc.close-pending-before-callbacks")
async def test_open_requests_fail_before_the_owner_is_notified_of_the_end() -> None:
    scene = Scene()
    told: list[str] = []
    asked = asyncio.Task(_error_of(scene.connection.request("a")))
    asked.add_done_callback(lambda _: told.append("who asked"))
    scene.run.add_done_callback(lambda _: told.append("owner"))
    await scene.peer.read(1)
    await scene.far.aclose()
    await asyncio.wait([asked, scene.run])
    assert told == ["who asked", "owner"]


@pytest.mark.requirement("jsonrpc.close-buffered-response")
async def test_a_response_read_before_the_end_is_delivered() -> None:
    near, far = memory_pair()
    async with running(Connection(near, Handlers())) as connection, asyncio.TaskGroup() as tasks:
        asked = tasks.create_task(connection.request("a"))
        peer = LinePeer(far)
        await peer.read(1)
        peer.write(b'{"id":1,"result":"in time"}')
        await far.aclose()
    assert asked.result() == "in time"


@pytest.mark.requirement("jsonrpc.close-half", "jsonrpc.line-partial-at-eof")
async def test_all_that_came_before_the_end_is_taken_in_order() -> None:
    seen: list[str] = []

    async def note_later(request: Request) -> None:
        seen.append(request.params[0])
        await asyncio.sleep(0)

    near, far = memory_pair()
    handlers = Handlers(
        requests={"later": note_later}, notifications={"n": lambda params: seen.append(params[0])}
    )
    peer = LinePeer(far)
    for number in range(5):
        peer.write(b'{"id":1,"method":"later","params":["r%d"]}' % number)
        peer.write(b'{"method":"n","params":["n%d"]}' % number)
    peer.write(b'{"method":"n","params":["cut o')
    await far.aclose()

    await Connection(near, handlers).run()

    assert seen == [f"{kind}{number}" for number in range(5) for kind in "rn"]


@pytest.mark.requirement("jsonrpc.close-read-error")
async def test_read_error_is_reported_as_one(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    asked = asyncio.Task(_error_of(scene.connection.request("a")))
    await scene.peer.read(1)
    scene.transport.break_off("the cable was cut")

    await scene.run

    assert str(await asked) == "the connection broke: the cable was cut"
    assert str(scene.connection.error) == "the cable was cut"
    assert "the cable was cut" in caplog.text


@pytest.mark.requirement("jsonrpc.close-flushes", "jsonrpc.error-leak-check")
async def test_closing_answers_what_is_open_and_writes_all_that_was_sent() -> None:
    scene = Scene()
    scene.peer.write(b'{"id":1,"method":"wait"}')
    await scene.started.wait()
    for number in range(1000):
        scene.connection.notify("n", [number])
    scene.connection.close()
    await scene.run
    await scene.peer.ends.count(1)

    lines = await scene.peer.read(1001)
    assert [line["params"] for line in lines[:-1]] == [[number] for number in range(1000)]
    assert lines[-1] == {"jsonrpc": "2.0", "id": 1, "error": ENDS_HERE}


@pytest.mark.requirement("jsonrpc.close-answers")
async def test_a_handler_that_closes_the_connection_still_answers() -> None:
    scene = Scene()
    scene.peer.write(b'{"id":1,"method":"bye"}')
    await scene.run
    assert (await scene.peer.read(1))[0]["result"] == "bye"


@pytest.mark.requirement("jsonrpc.close-answers")
async def test_an_owner_that_gives_up_leaves_nothing_running_and_nothing_unanswered() -> None:
    scene = Scene()
    scene.peer.write(b'{"id":1,"method":"wait"}')
    await scene.started.wait()
    scene.run.cancel()
    await asyncio.wait([scene.run])
    await scene.peer.ends.count(1)

    assert scene.run.cancelled()
    assert scene.ended.items == ["ended"]
    assert [line["error"] for line in await scene.peer.read(1)] == [ENDS_HERE]
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.requirement("jsonrpc.close-answers")
async def test_a_handler_cancelled_before_its_first_step_is_answered_too() -> None:
    scene = Scene()
    scene.peer.write(b'{"id":0,"method":"ok"}')
    await scene.peer.read(1)
    scene.run.cancel()
    scene.connection.lines_received([b'{"id":1,"method":"wait"}', b'{"id":2,"method":"wait"}'])
    await asyncio.wait([scene.run])
    await scene.peer.ends.count(1)

    _, answer = await scene.peer.read(2)
    assert (answer["id"], answer["error"]) == (1, ENDS_HERE)
    assert not scene.started.is_set()


@pytest.mark.requirement("jsonrpc.close-answers")
async def test_a_future_that_never_came_to_be_awaited_is_answered_too() -> None:
    near, far = memory_pair()
    promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    connection = Connection(near, Handlers(requests={"p": lambda _: promise}))
    peer = LinePeer(far)
    run = asyncio.Task(connection.run())
    connection.notify("started")
    await peer.read(1)
    run.cancel()
    connection.lines_received([b'{"id":1,"method":"p"}'])
    await asyncio.wait([run])

    assert (await peer.read(2))[1]["error"] == ENDS_HERE


@pytest.mark.requirement("jsonrpc.close-quiet")
async def test_a_caller_cancelled_in_the_turn_of_the_end_is_cancelled_and_nothing_is_sent() -> None:
    scene = Scene()
    asked = asyncio.Task(scene.connection.request("a"))
    await scene.peer.read(1)
    asked.cancel()
    scene.connection.ended(None)
    await scene.run
    await scene.peer.ends.count(1)

    assert asked.cancelled()
    assert len(scene.peer.lines.items) == 1


@pytest.mark.requirement("jsonrpc.close-quiet")
async def test_handler_that_asks_a_closing_peer_gets_an_error_at_once() -> None:
    seen: Recorder[Exception] = Recorder()
    started = asyncio.Event()

    async def ask(_: Request) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.note(await _error_of(far.request("more")))

    async with connected_pair(far=Handlers(requests={"ask": ask})) as (near, far):
        asked = asyncio.Task(near.request("ask"))
        await started.wait()
        far.close()
        await seen.count(1)
        with pytest.raises(RpcError):
            await asked


@pytest.mark.requirement("jsonrpc.close-quiet")
async def test_after_the_end_nothing_is_heard() -> None:
    scene = Scene()
    scene.connection.close()
    await scene.run
    scene.connection.lines_received([b'{"id":1,"method":"wait"}', b"{oops"])
    scene.connection.ended(None)
    assert len(asyncio.all_tasks()) == 1
    assert not scene.started.is_set()


@pytest.mark.requirement("jsonrpc.close-quiet")
async def test_what_is_held_back_when_we_close_is_dropped_without_a_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = Scene()
    resumed: list[int] = []
    resume = scene.transport.resume_reading

    def noted() -> None:
        resumed.append(1)
        resume()

    monkeypatch.setattr(scene.transport, "resume_reading", noted)
    scene.peer.write(b'{"id":0,"method":"wait"}')
    await scene.started.wait()
    for _ in range(3):
        scene.connection.lines_received([b'{"id":1,"method":"wait"}'] * 100)
    scene.connection.close()
    await scene.run
    await scene.peer.ends.count(1)

    answers = await scene.peer.read(2)
    assert [answer["error"] for answer in answers] == [ENDS_HERE] * len(answers)
    assert len(answers) < 300
    assert resumed == []
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.requirement("jsonrpc.outbox-hard-cap")
async def test_a_peer_that_never_reads_is_left_with_an_error_that_names_the_cap() -> None:
    near, _ = memory_pair()
    connection = Connection(near, Handlers(), max_backlog=1000)
    run = asyncio.Task(connection.run())
    for _ in range(100):
        connection.notify("n", ["x" * 100])

    await run

    connection.ended(None)
    assert str(connection.error) == "the peer has left more than 1000 bytes unread"


@pytest.mark.requirement("jsonrpc.outbox-no-cycle-deadlock", "jsonrpc.outbox-responses-pass")
async def test_two_peers_that_flood_each_other_with_requests_finish() -> None:
    big = "x" * 10_000
    echo = Handlers(requests={"echo": lambda request: request.params})

    async def flood(connection: Connection) -> int:
        async with asyncio.TaskGroup() as tasks:
            asked = [tasks.create_task(connection.request("echo", [big])) for _ in range(300)]
        return sum(task.result() == [big] for task in asked)

    async with connected_pair(echo, echo) as (near, far), asyncio.TaskGroup() as tasks:
        floods = [tasks.create_task(flood(connection)) for connection in (near, far)]
    assert [task.result() for task in floods] == [300, 300]


@pytest.mark.requirement("jsonrpc.close-spares-other-work")
async def test_the_end_of_one_connection_leaves_others_alone() -> None:
    ok = Handlers(requests={"ok": lambda _: "ok"})
    async with connected_pair(far=ok) as (near, _):
        async with connected_pair(far=ok) as (other, _):
            assert await other.request("ok") == "ok"
        assert await near.request("ok") == "ok"


@pytest.mark.requirement("jsonrpc.test-recorder")
async def test_a_record_that_waits_in_vain_shows_what_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("peerwire.testing.TEST_TIMEOUT", 0.001)
    async with facing_bytes() as (near, peer):
        near.notify("only")
        with pytest.raises(AssertionError, match="only"):
            await peer.read(2)
