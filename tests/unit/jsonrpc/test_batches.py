"""Batches: each entry by itself, the answers in one array when the last is there (§1.7)."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.errors import RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.replies import BatchReply, SingleReply
from peerwire.testing import LinePeer, Recorder, facing_bytes, running
from peerwire.transports.memory import MemoryTransport, memory_pair


class Gate:
    """Handlers of which one waits until the test opens it."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.received: Recorder[Any] = Recorder()
        self.handlers = Handlers(
            requests={"ok": lambda request: request.params, "wait": self._wait, "give_up": give_up},
            notifications={"n": self.received.note},
        )

    async def _wait(self, request: Request) -> Any:
        await self.opened.wait()
        return request.params


class Recorded:
    """A transport of which the test sees each line at the moment it is sent."""

    def __init__(self, inner: MemoryTransport, sent: list[bytes]) -> None:
        self._inner = inner
        self._sent = sent
        self.start = inner.start
        self.pause_reading = inner.pause_reading
        self.resume_reading = inner.resume_reading
        self.drain = inner.drain
        self.aclose = inner.aclose

    @property
    def backlog(self) -> int:
        return self._inner.backlog

    def send(self, line: bytes) -> None:
        self._sent.append(line)
        self._inner.send(line)


async def give_up(_: Request) -> Any:
    raise asyncio.CancelledError


async def lines_for(gate: Gate, batch: bytes) -> list[Any]:
    """Answers to a batch, up to the answer to a request sent after it."""
    async with facing_bytes(gate.handlers) as (_, peer):
        peer.write(batch, b'{"id":"after","method":"ok"}')
        await peer.lines.until(lambda lines: any(b'"after"' in _bytes(line) for line in lines))
        found = await peer.read(1)
    return [line for line in found if isinstance(line, list) or line["id"] != "after"]


def _bytes(line: object) -> bytes:
    assert isinstance(line, bytes)
    return line


def outcome(answer: Any) -> Any:
    return (answer["id"], answer["result"] if "result" in answer else answer["error"]["code"])


@pytest.mark.requirement("jsonrpc.batch-mixed", "jsonrpc.batch-v1-agent")
async def test_a_mixed_batch_is_answered_with_one_array_of_its_requests() -> None:
    gate = Gate()
    batch = b"""[{"id":1,"method":"ok","params":[1]},{"method":"n","params":["x"]},
        {"id":"b","method":"none"}, {"id":3,"method":"ok","params":[3]}]""".replace(b"\n", b"")
    (answers,) = await lines_for(gate, batch)
    assert [outcome(answer) for answer in answers] == [(1, [1]), ("b", -32601), (3, [3])]
    assert gate.received.items == [["x"]]


@pytest.mark.requirement("jsonrpc.batch-waits-for-notifications")
async def test_the_array_comes_after_the_notifications_of_the_batch_were_heard() -> None:
    received: list[Any] = []
    sent: list[bytes] = []
    near, far = memory_pair()
    handlers = Handlers(
        requests={"ok": lambda _: None}, notifications={"n": lambda _: received.append(list(sent))}
    )
    connection = Connection(Recorded(near, sent), handlers)
    async with running(connection):
        peer = LinePeer(far)
        peer.write(b'[{"id":1,"method":"ok"},{"method":"n"},{"method":"n"}]')
        await peer.read(1)
    assert received == [[], []]
    assert len(sent) == 1


@pytest.mark.requirement("jsonrpc.batch-incomplete-withheld", "jsonrpc.batch-overlapping-ids")
async def test_open_batch_delays_only_its_own_answers() -> None:
    gate = Gate()
    async with facing_bytes(gate.handlers) as (_, peer):
        for name in (b"x", b"y"):
            peer.write(b'[{"id":1,"method":"ok","params":["%b"]},' % name +
                       b'{"id":2,"method":"wait","params":["%b"]}]' % name)  # fmt: skip
        peer.write(b'{"id":1,"method":"ok","params":["alone"]}')
        assert [outcome(answer) for answer in await peer.read(1)] == [(1, ["alone"])]
        gate.opened.set()
        _, first, second = await peer.read(3)
    assert [outcome(answer) for answer in first] == [(1, ["x"]), (2, ["x"])]
    assert [outcome(answer) for answer in second] == [(1, ["y"]), (2, ["y"])]


@pytest.mark.requirement("jsonrpc.batch-dropped-responder")
async def test_an_entry_whose_handler_gives_up_leaves_the_others_theirs() -> None:
    batch = b'[{"id":1,"method":"give_up"},{"id":2,"method":"ok","params":[2]}]'
    (answers,) = await lines_for(Gate(), batch)
    assert [outcome(answer) for answer in answers] == [(1, -32603), (2, [2])]


@pytest.mark.requirement("jsonrpc.batch-handler-error-wins")
async def test_an_error_raised_while_an_entry_is_given_up_is_the_one_that_is_sent() -> None:
    async def refuse_in_the_end(_: Request) -> Any:
        try:
            await give_up(_)
        finally:
            raise RpcError(-32000)

    handlers = Handlers(requests={"refuse": refuse_in_the_end, "ok": lambda _: "ok"})
    async with facing_bytes(handlers) as (_, peer):
        peer.write(b'[{"id":1,"method":"refuse"},{"id":2,"method":"ok"}]')
        (answers,) = await peer.read(1)
    assert [outcome(answer) for answer in answers] == [(1, -32000), (2, "ok")]


@pytest.mark.requirement("jsonrpc.batch-all-invalid")
async def test_a_batch_of_nothing_valid_is_answered_entry_by_entry() -> None:
    (answers,) = await lines_for(Gate(), b"[1,true,[],{}]")
    assert [outcome(answer) for answer in answers] == [(None, -32600)] * 4


@pytest.mark.requirement(
    "jsonrpc.batch-scalar-beside-response", "jsonrpc.batch-response-shaped-ignored"
)
async def test_what_looks_like_a_response_gets_none_beside_a_scalar_that_does() -> None:
    (answers,) = await lines_for(Gate(), b'[1,{"result":2},{"id":8,"result":1,"error":{}}]')
    assert [outcome(answer) for answer in answers] == [(None, -32600)]
    assert await lines_for(Gate(), b'[{"result":2},{"id":8,"error":{},"method":5}]') == []


@pytest.mark.requirement("jsonrpc.batch-duplicate-ids")
async def test_two_entries_with_one_id_each_get_an_answer() -> None:
    batch = b'[{"id":1,"method":"ok","params":[1]},{"id":1,"method":"ok","params":[2]}]'
    (answers,) = await lines_for(Gate(), batch)
    assert [outcome(answer) for answer in answers] == [(1, [1]), (1, [2])]


@pytest.mark.requirement("jsonrpc.batch-empty")
async def test_an_empty_batch_is_answered_with_one_error_and_no_array() -> None:
    (answer,) = await lines_for(Gate(), b" [ ] ")
    assert outcome(answer) == (None, -32600)


@pytest.mark.requirement("jsonrpc.batch-notifications-only")
async def test_a_batch_of_notifications_is_answered_with_nothing() -> None:
    gate = Gate()
    batch = b'[{"method":"n"},{"method":"none"},{"method":"n","params":7}]'
    assert await lines_for(gate, batch) == []
    assert gate.received.items == [None]


@pytest.mark.requirement("jsonrpc.batch-entries")
async def test_a_batch_inside_a_batch_is_one_invalid_entry() -> None:
    (answers,) = await lines_for(Gate(), b'[[{"id":1,"method":"ok"}],{"id":2,"method":"ok"}]')
    assert [outcome(answer) for answer in answers] == [(None, -32600), (2, None)]


@pytest.mark.requirement("jsonrpc.batch-entries")
async def test_an_entry_can_be_cancelled_by_its_id() -> None:
    gate = Gate()
    async with facing_bytes(gate.handlers) as (_, peer):
        peer.write(b'[{"id":1,"method":"wait"},{"id":2,"method":"ok"}]')
        peer.write(b'{"method":"$/cancel_request","params":{"requestId":1}}')
        (answers,) = await peer.read(1)
    assert [outcome(answer) for answer in answers] == [(1, -32800), (2, None)]


@pytest.mark.requirement("jsonrpc.batch-late-completion", "jsonrpc.batch-second-completion")
def test_an_entry_is_settled_once_and_what_comes_later_is_nothing() -> None:
    sent: list[bytes] = []
    reply = BatchReply(2, sent.append)
    first, second = reply.slot(0), reply.slot(1)

    second.send(b"2")
    second.done()
    assert sent == []
    first.send(b"1")
    first.send(b"again")
    second.send(b"again")

    assert sent == [b"[1,2]"]


@pytest.mark.requirement("jsonrpc.batch-entries")
def test_a_message_by_itself_is_answered_straight() -> None:
    sent: list[bytes] = []
    place = SingleReply(sent.append)

    place.send(b"1")
    place.done()

    assert sent == [b"1"]


ENTRIES = st.sampled_from(
    ["ok", "wait", "give_up", "none", "n", "scalar", "list", "response", "params", "id"]
)
FORMS = {
    "scalar": b"17", "list": b"[1]", "response": b'{"id":%d,"result":1}',
    "params": b'{"id":%d,"method":"ok","params":3}', "id": b'{"id":{},"method":"ok"}',
    "n": b'{"method":"n"}',
}  # fmt: skip
UNANSWERED = {"n", "response"}


@pytest.mark.requirement("jsonrpc.batch-mixed")
@given(st.lists(st.lists(ENTRIES, min_size=1, max_size=8), min_size=1, max_size=6))
def test_whatever_is_in_batches_each_is_answered_once(batches: list[list[str]]) -> None:
    asyncio.run(_answered_once(batches))


async def _answered_once(batches: list[list[str]]) -> None:
    gate = Gate()
    async with facing_bytes(gate.handlers) as (_, peer):
        ids = [_write(peer, batch, number * 100) for number, batch in enumerate(batches)]
        gate.opened.set()
        expected = [found for found in ids if found]
        await peer.lines.count(len(expected))
        peer.write(b'{"id":"after","method":"ok"}')
        lines = await peer.read(len(expected) + 1)
    *arrays, _ = lines
    got = [[answer["id"] for answer in array] for array in arrays]
    assert sorted(got, key=repr) == sorted(expected, key=repr)


def _write(peer: LinePeer, batch: list[str], first: int) -> list[Any]:
    entries: list[bytes] = []
    ids: list[Any] = []
    for number, name in enumerate(batch, first):
        form = FORMS.get(name, b'{"id":%%d,"method":"%b"}' % name.encode())
        entries.append(form % number if b"%d" in form else form)
        if name not in UNANSWERED:
            ids.append(number if b"%d" in form else None)
    peer.write(b"[" + b",".join(entries) + b"]")
    return ids
