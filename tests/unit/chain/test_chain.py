"""The pure parts of a chain: where a message goes next, and in which order."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from msgspec import Raw

from peerwire.acp.names import ERAS, Dialect, unwrap, wrap
from peerwire.errors import RpcError
from peerwire.jsonrpc.messages import Message
from symposium.chain.calls import ModCall
from symposium.chain.ends import cancelled_id
from symposium.chain.handshake import (
    HIGHEST_VERSION,
    flagged,
    is_flagged,
    pin_version,
    select_version,
    unflagged,
)
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import Deferred, Forward, Interception, Reply
from symposium.chain.ordering import OrderedQueues, QueuedItem, session_key
from symposium.chain.routing import Route, join


class FakeTask:
    """A task that runs when a test says so."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self._callbacks: list[Callable[[Any], None]] = []
        self._was_cancelled = False

    def cancel(self) -> None:
        self._was_cancelled = True
        self.finish()

    def cancelled(self) -> bool:
        return self._was_cancelled

    def add_done_callback(self, callback: Callable[[Any], None], /) -> None:
        self._callbacks.append(callback)

    def finish(self) -> None:
        if not self._was_cancelled:
            with pytest.raises(StopIteration):
                self._work.send(None)
        for callback in self._callbacks:
            callback(self)


class FakeEnd:
    """Notes what arrives, and can answer it."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.calls: list[ModCall] = []

    def forward(self, message: Message, line: bytes) -> None:
        raise AssertionError(message, line)

    def notify(self, message: ChainMessage) -> None:
        self.came.append(message.method)

    def ask(self, call: ModCall) -> None:
        self.came.append(call.message.method)
        self.calls.append(call)

    def cancel(self, call: ModCall) -> None:
        self.came.append(f"cancel {call.message.method}")


class FakeAsker:
    """Notes what it is answered."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def on_answer(self, call: ModCall, answer: Answer) -> None:
        assert call.is_settled
        self.answers.append(answer)


class Span:
    """A span with these interceptions, and both its ends."""

    def __init__(self, *mods: list[Interception]) -> None:
        self.tasks: list[FakeTask] = []
        self.agent, self.client = FakeEnd(), FakeEnd()
        self.down = Route(Direction.TO_AGENT, mods, self.agent, self._queues())
        self.up = Route(Direction.TO_CLIENT, mods[::-1], self.client, self._queues())
        join(self.down, self.up)

    def _queues(self) -> OrderedQueues:
        return OrderedQueues(self._spawn, lambda _: None)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> FakeTask:
        self.tasks.append(FakeTask(work))
        return self.tasks[-1]

    def ask(self, method: str) -> FakeAsker:
        asker = FakeAsker()
        message = ChainMessage(method, Raw(b"{}"), is_request=True)
        self.down.take(message, ModCall(message, asker, b"1", self.down))
        return asker

    def tell(self, method: str, session: str = "") -> None:
        params = Raw(b'{"sessionId":"%b"}' % session.encode() if session else b"{}")
        self.down.take(ChainMessage(method, params, is_request=False))


async def waits(_: ChainMessage) -> Forward:
    return Forward()


def replies(_: ChainMessage) -> Reply:
    return Reply(1)


def renames(_: ChainMessage) -> Forward:
    return Forward(method="renamed")


def down(method: str, handler: Any) -> list[Interception]:
    return [Interception(Direction.TO_AGENT, method, handler)]


@pytest.mark.requirement("conductor.route-pure")
def test_message_is_routed_without_a_loop_or_a_connection() -> None:
    span = Span(down("reply", replies), down("on", renames))
    answered, passed = span.ask("reply"), span.ask("on")
    span.tell("notified")

    assert span.agent.came == ["renamed", "notified"]
    assert [answer.result for answer in answered.answers] == [1]
    span.agent.calls[0].settle(Answer(value=2))
    span.agent.calls[0].settle(Answer(value=3))
    assert [answer.result for answer in passed.answers] == [2]


@pytest.mark.requirement("conductor.route-pure", "conductor.mod-may-wait")
def test_held_message_is_overtaken_only_by_other_sessions() -> None:
    span = Span(down("held", waits))
    for method, session in (("held", "a"), ("next", "a"), ("other", "b"), ("none", ""), ("b", "b")):
        span.tell(method, session)

    assert span.agent.came == ["other"]
    assert span.down.queues.waiting_bytes > 0
    span.tasks[0].finish()
    assert span.agent.came == ["other", "held", "next", "none", "b"]
    assert (span.down.queues.idle, span.down.queues.waiting_bytes) == (True, 0)


@pytest.mark.requirement("conductor.lanes")
def test_mod_holds_only_messages_that_reach_it() -> None:
    span = Span(down("early", waits), down("late", waits))
    span.tell("late", "a")
    span.tell("early", "a")
    span.tell("behind", "a")

    assert len(span.tasks) == 2
    span.tasks[1].finish()
    assert span.agent.came == []
    span.tasks[0].finish()
    assert span.agent.came == ["late", "early", "behind"]


@pytest.mark.requirement("conductor.lanes")
def test_a_task_cancelled_before_its_first_step_frees_its_lane() -> None:
    span = Span(down("held", waits))
    asker = span.ask("held")
    span.tell("next")
    span.tasks[0].cancel()

    assert span.agent.came == ["next"]
    assert [answer.error and answer.error.code for answer in asker.answers] == [-32800]


@pytest.mark.requirement("conductor.lanes")
def test_flood_behind_one_held_message_is_released_in_one_pass() -> None:
    span = Span(down("held", waits))
    span.tell("held", "a")
    for number in range(5000):
        span.tell(f"m{number}", "a")
    span.tasks[0].finish()

    assert span.agent.came == ["held", *(f"m{number}" for number in range(5000))]


@pytest.mark.requirement("conductor.lanes")
def test_message_that_comes_during_a_release_follows_the_released_ones() -> None:
    tasks: list[FakeTask] = []
    gone: list[str] = []

    def spawn(work: Coroutine[Any, Any, None]) -> FakeTask:
        tasks.append(FakeTask(work))
        return tasks[-1]

    async def nothing() -> None: ...

    queues = OrderedQueues(spawn, lambda _: None)

    def first() -> None:
        gone.append("first")
        queues.run_in_order(0, b"s", nothing())
        queues.queue_if_blocked(0, QueuedItem(b"s", 0, lambda: gone.append("latecomer")))

    queues.run_in_order(0, b"s", nothing())
    queues.queue_if_blocked(0, QueuedItem(b"s", 0, first))
    queues.queue_if_blocked(0, QueuedItem(b"s", 0, lambda: gone.append("second")))
    tasks[0].finish()
    tasks[1].finish()

    assert gone == ["first", "second", "latecomer"]


@pytest.mark.requirement("conductor.lanes")
def test_queues_without_stops_are_idle() -> None:
    queues = OrderedQueues(FakeTask, lambda _: None)

    assert not queues.queue_if_blocked(0, QueuedItem(b"s", 1, lambda: None))
    assert not queues.holds(0)


async def looks(_: Answer) -> None: ...


async def replies_slowly() -> Reply:
    return Reply({})


def answers_later(_: ChainMessage) -> Deferred:
    return Deferred(replies_slowly())


def looks_later(_: ChainMessage) -> Forward:
    return Forward(then=looks)


@pytest.mark.requirement("conductor.end-asks-no-mod")
@pytest.mark.parametrize("handler", [waits, answers_later])
def test_a_stopped_chain_cancels_a_request_that_a_mod_would_hold(handler: Any) -> None:
    span = Span(down("held", handler))
    span.down.queues.is_over = True
    asker = span.ask("held")
    span.tell("held")

    assert span.tasks == []
    assert [answer.error and answer.error.code for answer in asker.answers] == [-32800]
    assert span.agent.came == []


@pytest.mark.requirement("conductor.end-asks-no-mod")
@pytest.mark.parametrize("idle", [True, False])
def test_a_stopped_chain_returns_an_answer_that_a_mod_would_hold(*, idle: bool) -> None:
    span = Span(down("held", looks_later))
    asker = span.ask("held")
    span.up.queues.is_over = True
    span.up.queues.idle = idle
    span.agent.calls[0].settle(Answer(value=1))

    assert span.tasks == []
    assert [answer.result for answer in asker.answers] == [1]


@pytest.mark.requirement("conductor.envelopes")
@pytest.mark.parametrize(
    ("params", "key"),
    [
        (b'{"sessionId":"s"}', b'"s"'),
        (b'{"x":[1],"sessionId" : 5}', b"5"),
        (b"{}", None),
        (b"[1]", None),
        (b'"\xff"', None),
        (b"[" * 5000, None),
    ],
)
def test_the_session_of_a_message_is_read_from_its_params(params: bytes, key: bytes | None) -> None:
    assert session_key(ChainMessage("m", params, is_request=False)) == key


@pytest.mark.requirement("conductor.envelopes")
def test_the_session_of_edited_params_is_read_too() -> None:
    message = ChainMessage("m", Raw(b"{}"), is_request=False)
    message.replace(method=None, params={"sessionId": "s"})

    assert session_key(message) == b'"s"'
    message.replace(method=None, params={"sessionId": "\ud800"})
    assert session_key(message) == b'"\\ud800"'
    assert session_key(ChainMessage("m", b'{"sessionId":"s"}', is_request=False)) == b'"s"'


@pytest.mark.requirement("conductor.envelopes")
@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("extra", [b"", b',"peer":[1, 2]', b',"_meta":{"k":1.0},"peer":null'])
def test_envelope_survives_wrapping_and_unwrapping(dialect: Dialect, extra: bytes) -> None:
    for params in (Raw(b'{ "x":1e2}'), Raw(b"null"), Raw(b"[1]")):
        envelope = unwrap(wrap(dialect, "a/\ud800b", params, extra), dialect)
        assert envelope is not None
        assert (envelope.method, envelope.params) == ("a/\ud800b", params)
        assert envelope.extra == extra


@pytest.mark.requirement("acp.dialect-one-meta-key")
@pytest.mark.parametrize("dialect", list(Dialect))
def test_exactly_one_key_for_metadata_is_written(dialect: Dialect) -> None:
    both = b'{"method":"m","meta":{"old":1},"_meta":{"new":1}}'
    envelope = unwrap(both, Dialect.RUST_SDK)
    assert envelope is not None

    written = wrap(dialect, envelope.method, envelope.params, envelope.extra)
    key = ERAS[dialect].meta or "_meta"
    assert written.count(b'meta":') == 1
    assert b'"%b":{"new":1}' % key.encode() in written


@pytest.mark.requirement("conductor.envelopes")
@pytest.mark.parametrize(
    "params", [b"{}", b"[]", b"null", b'{"method":1}', b'{"message":{}}', b"\xff", b"[" * 9999]
)
@pytest.mark.parametrize("dialect", list(Dialect))
def test_other_params_are_no_envelope(params: bytes, dialect: Dialect) -> None:
    assert unwrap(params, dialect) is None


@pytest.mark.requirement("conductor.init-version-future", "conductor.init-version-missing")
def test_version_is_unchanged_up_to_the_highest_known() -> None:
    assert select_version({"protocolVersion": 1}) == 1
    assert select_version({"protocolVersion": 10**30}) == HIGHEST_VERSION
    odd: list[Any] = [None, [], {}, {"protocolVersion": "1"}, {"protocolVersion": False}]
    for wrong in odd:
        with pytest.raises(RpcError) as caught:
            select_version(wrong)
        assert caught.value.code == -32602


@pytest.mark.requirement("conductor.init-raw")
def test_request_for_the_same_version_is_unchanged() -> None:
    message = ChainMessage("initialize", Raw(b'{ "protocolVersion":1 }'), is_request=True)
    pin_version(message, 1)

    assert message.encoded() == Raw(b'{ "protocolVersion":1 }')
    pin_version(message, 2)
    assert message.encoded() == b'{"protocolVersion":2}'


@pytest.mark.requirement("conductor.envelopes")
def test_old_flag_is_added_and_removed_without_other_changes() -> None:
    params = {"a": 1, "_meta": {"b": 2}}

    assert not is_flagged(params)
    assert is_flagged(flagged(params))
    assert unflagged(flagged(params)) == params
    assert unflagged(flagged({})) == {}
    assert not is_flagged([])
    assert not is_flagged({"_meta": {"proxy": 1}})


@pytest.mark.requirement("conductor.cancel-without-request")
def test_cancellation_without_an_id_has_an_unused_key() -> None:
    assert cancelled_id(b'{"requestId":7}') == b"7"
    assert cancelled_id(b'{"requestId":"\\u0061"}') == b'"a"'
    for odd in (b"{}", b"[]", b"\xff", b'{"requestId":'):
        assert cancelled_id(odd) == b""
