"""Any tree of chains, any schedule of messages: in order, exactly once, nothing invented.

Hypothesis searches the invariants 1 to 4 of the architecture (§4); a fuzz test sends broken bytes.
`FUZZ_SECONDS=60` makes the fuzz test last a minute.
"""

import asyncio
import json
import os
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.support.chain_harness import ChainHarness, Peer, bare, chain_harness, inner
from tests.support.random_inputs import random_source

from peerwire.jsonrpc.transport import OversizedLine, Transport
from symposium.chain.blueprint import Component, InProcess
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Deferred, Forward, Mod, Outcome, Reply, from_agent, from_client

SESSIONS = ("a", "b", None)
LAST = 9999
"""Number of the last question."""


class Sync(Mod):
    """Reads all and edits some."""

    @from_client("*")
    def down(self, message: ChainMessage) -> Forward:
        return Forward(message.params) if _number(message) % 2 else Forward()

    @from_agent("*")
    def up(self, message: ChainMessage) -> Forward:
        return self.down(message)


class Async(Mod):
    """Waits some turns for some messages, and handles some responses as slowly."""

    @from_client("*")
    async def down(self, message: ChainMessage) -> Forward:
        for _ in range(_number(message) % 3):
            await asyncio.sleep(0)

        async def look(_: Any) -> None:
            await asyncio.sleep(0)

        return Forward(then=look, catch=look) if _number(message) % 2 else Forward()

    @from_agent("*")
    async def up(self, message: ChainMessage) -> Forward:
        return await self.down(message)


class Raises(Mod):
    """Fails on every notification; none of them may be lost."""

    @from_agent("tell")
    def up(self, _: ChainMessage) -> Outcome:
        raise LookupError("on purpose")

    @from_client("tell")
    async def down(self, _: ChainMessage) -> Outcome:
        raise LookupError("on purpose, later")


class Replies(Mod):
    """Answers some requests instead of the other end."""

    @from_client("mine")
    def now(self, message: ChainMessage) -> Reply:
        return Reply({"answer": message.params})

    @from_agent("mine")
    def later(self, message: ChainMessage) -> Deferred:
        return Deferred(self._later(message.params))

    async def _later(self, params: Any) -> Reply:
        await asyncio.sleep(0)
        return Reply({"answer": params})


class Speaks(Mod):
    """Sends requests and notifications to its neighbors while it holds a message."""

    @from_client("ask")
    async def down(self, message: ChainMessage) -> Forward:
        await self.client.request("of a mod", {"sessionId": message.session_id})
        self.client.notify("by a mod", {})
        return Forward()

    @from_agent("ask")
    async def up(self, message: ChainMessage) -> Forward:
        await self.agent.request("of a mod", {"sessionId": message.session_id})
        self.agent.notify("by a mod", {})
        return Forward()


def _number(message: ChainMessage) -> int:
    match message.params:
        case {"n": int(number)}:
            return number
        case _:
            return 0


LEAVES: list[Any] = [Sync, Async, Raises, Replies, "bare b1", "bare p1", "bare rfd"]
nodes = st.recursive(
    st.sampled_from(LEAVES), lambda inside: st.lists(inside, max_size=3), max_leaves=5
)
in_process = st.sampled_from([Sync, Async, Raises, Replies, Speaks])
# Limit mods that send requests while they hold a message to one where wires lie between: two could
# deadlock, since no wire says what is urgent (docs/design/conductor.md).
trees = st.lists(in_process, max_size=6) | st.tuples(
    st.lists(nodes, max_size=2), st.lists(st.just(Speaks), max_size=1), st.lists(nodes, max_size=2)
).map(lambda parts: [one for part in parts for one in part])


def component(tree: Any) -> Component:
    """Return the component of a drawn tree: a list is a conductor in proxy mode."""
    match tree:
        case [*them]:
            return inner(*(component(one) for one in them))
        case str(name):
            return bare(name, era=name.removeprefix("bare "))[0]
        case _:
            return InProcess(tree.__name__, tree())


acts = st.lists(
    st.tuples(
        st.sampled_from(["client", "agent"]),
        st.sampled_from(["tell", "tell", "ask", "mine", "ask and cancel", "turn"]),
        st.sampled_from(SESSIONS),
    ),
    min_size=1,
    max_size=30,
)


class End:
    """One end: answers requests, some of them late, and records every received message."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.notified: list[tuple[str | None, int]] = []
        self.answers: list[Any] = []
        self.asked = 0
        self.news = asyncio.Event()
        transport.start(self)

    def write(self, message: dict[str, Any]) -> None:
        self.transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def lines_received(self, lines: Sequence[bytes | OversizedLine]) -> None:
        for line in lines:
            assert not isinstance(line, OversizedLine)
            self._take(json.loads(line))
        self.news.set()

    def writing_paused(self) -> None: ...

    def writing_resumed(self) -> None: ...

    def ended(self, error: Exception | None) -> None:
        del error
        self.news.set()

    def _take(self, message: dict[str, Any]) -> None:
        method: str | None = message.get("method")
        params: dict[str, Any] = message.get("params") or {}
        if method is None:
            self.answers.append((message["id"], message))
        elif "id" in message:
            self.asked += 1
            if method != "of a mod":
                # Notifications before the question have arrived by now.
                self.notified.append((params.get("sessionId"), params["n"]))
            self.write({"id": message["id"], "result": {"answer": params}})
        elif method == "tell":
            self.notified.append((params.get("sessionId"), params["n"]))
            assert params["pad"] == {"1.0": [None, "\ud800"]}


def params_of(session: str | None, number: int) -> dict[str, Any]:
    named = {} if session is None else {"sessionId": session}
    return {**named, "n": number, "pad": {"1.0": [None, "\ud800"]}}


@dataclass
class SentMessages:
    """Messages that one end has written, and so those that the other must receive."""

    notified: list[tuple[str | None, int]] = field(default_factory=list[tuple[str | None, int]])
    asked: dict[int, Any] = field(default_factory=dict[int, Any])


async def play(tree: list[Any], schedule: list[tuple[str, str, str | None]]) -> None:
    async with chain_harness(*(component(one) for one in tree)) as it:
        agent = await it.open()
        ends = {"client": End(it.client.transport), "agent": End(agent.transport)}
        sents = {"client": SentMessages(), "agent": SentMessages()}
        for number, (name, act, session) in enumerate(schedule):
            if act == "turn":
                await asyncio.sleep(0)
            else:
                do(act, params_of(session, number), ends[name], sents[name])
        await _all_answered(ends, sents)
        for name, other in (("client", "agent"), ("agent", "client")):
            _check_notifications(ends[name], sents[other])
            _check_answers(ends[name], sents[name])
        _nothing_kept(it)


def do(act: str, params: dict[str, Any], end: End, sent: SentMessages) -> None:
    """Perform one step of a schedule."""
    number = params["n"]
    if act == "tell":
        end.write({"method": "tell", "params": params})
        sent.notified.append((params.get("sessionId"), number))
        return
    sent.asked[number] = params
    end.write({"id": number, "method": "mine" if act == "mine" else "ask", "params": params})
    if act == "ask and cancel":
        end.write({"method": "$/cancel_request", "params": {"requestId": number}})


def _check_answers(end: End, sent: SentMessages) -> None:
    """Check that each request has one response: its own, or that it was canceled."""
    assert sorted(name for name, _ in end.answers) == sorted(sent.asked)
    for name, answer in end.answers:
        if "result" in answer:
            assert answer["result"] == {"answer": sent.asked[name]}
        else:
            assert answer["error"]["code"] == -32800


async def _all_answered(ends: dict[str, End], sents: dict[str, SentMessages]) -> None:
    """Send a last request each way; its response shows that all before it has arrived."""
    for name, end in ends.items():
        do("ask", params_of(None, LAST), end, sents[name])
    async with asyncio.timeout(45):
        for name, end in ends.items():
            while len(end.answers) < len(sents[name].asked):
                end.news.clear()
                await end.news.wait()


def _check_notifications(end: End, written: SentMessages) -> None:
    """Check that notifications arrived once, and in order."""
    notified = [one for one in end.notified if one[1] not in written.asked]
    assert sorted(notified, key=str) == sorted(written.notified, key=str)
    for session in SESSIONS:
        numbers = [number for named, number in end.notified if named == session]
        assert numbers == sorted(numbers)
    # A message without a session keeps its order with all others.
    for at, (session, number) in enumerate(end.notified):
        if session is None:
            assert all(before < number for _, before in end.notified[:at])
            assert all(after > number for _, after in end.notified[at + 1 :])


def _nothing_kept(it: ChainHarness) -> None:
    link = it.conductor.client
    assert (link.asked, link.serving, link.open) == ({}, {}, {})
    route = link.plain
    assert (route.queues.waiting_bytes, route.back.queues.waiting_bytes) == (0, 0)


@pytest.mark.requirement(
    "acp.t4-order",
    "conductor.mod-may-wait",
    "jsonrpc.invariant-order",
    "jsonrpc.invariant-once",
)
@settings(max_examples=200, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(trees, acts)
def test_any_chain_keeps_order_and_answers_once(
    tree: list[Any], schedule: list[tuple[str, str, str | None]]
) -> None:
    asyncio.run(play(tree, schedule))


class Mute(End):
    """Answers every other request, and exits after a number of them."""

    def __init__(self, transport: Transport, requests: int) -> None:
        super().__init__(transport)
        self._left = requests
        self.is_due = asyncio.Event()

    def _take(self, message: dict[str, Any]) -> None:
        if "method" in message and "id" in message:
            self._left -= 1
            if self._left == 0:
                self.is_due.set()
            if self._left % 2:
                return
        super()._take(message)


async def play_until_exit(
    tree: list[Any], schedule: list[tuple[str, str, str | None]], requests: int
) -> None:
    """The agent exits with open requests; each request of the client is answered once."""
    async with chain_harness(*(component(one) for one in tree)) as it:
        agent = await it.open()
        client, mute = End(it.client.transport), Mute(agent.transport, requests)
        sents = {"client": SentMessages(), "agent": SentMessages()}
        for number, (name, act, session) in enumerate(schedule):
            if act == "turn":
                await asyncio.sleep(0)
            elif not mute.is_due.is_set():
                do(
                    act,
                    params_of(session, number),
                    {"client": client}.get(name, mute),
                    sents[name],
                )
        await asyncio.sleep(0)
        await agent.hang_up()
        assert await it.exit_code() == 1
        assert sorted(name for name, _ in client.answers) == sorted(sents["client"].asked)
        for name, answer in client.answers:
            if "result" in answer:
                assert answer["result"] == {"answer": sents["client"].asked[name]}
            else:
                assert answer["error"]["code"] in {-32800, -32603}


@pytest.mark.requirement("jsonrpc.invariant-once")
@settings(max_examples=100, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(trees, acts, st.integers(1, 8))
def test_each_request_is_answered_once_when_the_agent_is_silent_and_dies(
    tree: list[Any], schedule: list[tuple[str, str, str | None]], requests: int
) -> None:
    asyncio.run(play_until_exit(tree, schedule, requests))


NUMBERS = st.integers().map(str) | st.from_regex(
    r"-?(0|[1-9][0-9]{0,3})\.[0-9]{1,3}", fullmatch=True
)
ESCAPES = st.sampled_from(["\\u0041", "\\ud800", "\\/", "\\n", '\\"', "é", "😀", " ", "a"])
STRINGS = st.lists(ESCAPES, max_size=4).map(lambda parts: '"' + "".join(parts) + '"')
GAPS = st.sampled_from(["", " ", "\t", "  "])
BODIES = st.recursive(
    st.sampled_from(["null", "true", "1e2", "-0"]) | NUMBERS | STRINGS,
    lambda inside: (
        st.tuples(GAPS, st.lists(inside, max_size=3), GAPS).map(
            lambda parts: "[" + parts[0] + ("," + parts[2]).join(parts[1]) + "]"
        )
        | st.lists(st.tuples(STRINGS, GAPS, inside), max_size=3).map(
            lambda pairs: (
                "{" + ",".join(f"{name}{gap}:{gap}{value}" for name, gap, value in pairs) + "}"
            )
        )
    ),
    max_leaves=8,
)
"""JSON texts in forms that a reader and a writer would change."""


class Passes(Mod):
    """Reads everything and changes nothing."""

    @from_client("*")
    def down(self, message: ChainMessage) -> Forward:
        _number(message)
        return Forward()

    @from_agent("*")
    def up(self, message: ChainMessage) -> Forward:
        return self.down(message)


readers = st.recursive(st.just(Passes), lambda inside: st.lists(inside, max_size=2), max_leaves=4)


async def pass_bytes(tree: list[Any], params: str, result: str) -> None:
    async with chain_harness(*(component(one) for one in tree)) as it:
        agent = await it.open()
        members = b'{"sessionId":"s","x": %b}' % params.encode()
        for peer, other in ((it.client, agent), (agent, it.client)):
            peer.write(b'{"jsonrpc":"2.0","method":"tell","params":%b}' % members)
            assert members + b"}" in await other.line()
            peer.write(b'{"jsonrpc":"2.0","id":7,"method":"ask","params":%b}' % members)
            asked = await other.line()
            assert members in asked
            answer = (json.dumps(json.loads(asked)["id"]).encode(), result.encode())
            other.write(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % answer)
            assert b'"result":%b}' % result.encode() in await peer.line()


@pytest.mark.requirement("jsonrpc.invariant-unchanged")
@settings(max_examples=150, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.lists(readers, max_size=3), BODIES, BODIES)
def test_any_params_and_results_pass_any_chain_with_equal_bytes(
    tree: list[Any], params: str, result: str
) -> None:
    asyncio.run(pass_bytes(tree, params, result))


FUZZ_SECONDS = float(os.environ.get("FUZZ_SECONDS", "2"))
PIECES = [
    *(b'{"jsonrpc":"2.0"', b',"id":', b',"method":', b',"params":', b',"result":', b',"error":'),
    *(b'"session/update"', b'"initialize"', b'"$/cancel_request"', b'"_proxy/successor"', b"null"),
    *(b"1", b'"x"', b"{}", b"[]", b"}", b"]", b"[", b"{", b'{"method":"m"}', b'{"requestId":1}'),
    *(b'"elicitation/create"', b'"\\ud800"', b"\xff\xfe", b"1e999", b"-", b'"unended', b"\\"),
    *(b'{"sessionId":"s"}', b" ", b","),
]


FUZZED: list[Any] = [[], [Sync, Async], [[Sync, []], Speaks]]


def garbage(source: random.Random) -> bytes:
    """Draw a line that is almost a message, or far from one."""
    if source.random() < 0.2:
        return source.randbytes(source.randrange(1, 60)).replace(b"\n", b"")
    if source.random() < 0.1:
        return b"[" * source.randrange(1, 3000)
    return b"".join(source.choices(PIECES, k=source.randrange(1, 9)))


@pytest.mark.requirement("jsonrpc.fuzz-conductor")
@pytest.mark.fuzz
@pytest.mark.requirement("jsonrpc.fuzz-conductor")
@pytest.mark.timeout(FUZZ_SECONDS + 240)
@pytest.mark.parametrize("tree", FUZZED, ids=["no mod", "mods", "nested"])
async def test_broken_bytes_end_nothing_and_leave_nothing(
    tree: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL")
    source = random_source("conductor", len(tree))
    files = open_files()
    async with chain_harness(*(component(one) for one in tree)) as it:
        agent = await it.open()
        over = time.monotonic() + FUZZ_SECONDS / 3
        count = 0
        while time.monotonic() < over:
            for peer in (it.client, agent):
                peer.write(*(garbage(source) for _ in range(20)))
            count += 1
            await _check_still_running(it, agent, count)
        await it.client.hang_up()
        assert await it.exit_code() == 0
    assert open_files() == files
    assert len(asyncio.all_tasks()) == 1


def open_files() -> int:
    return len([*Path("/dev/fd").iterdir()])


async def _check_still_running(it: ChainHarness, agent: Peer, count: int) -> None:
    """Check that one notification each way passes."""
    for peer, other in ((it.client, agent), (agent, it.client)):
        peer.write(b'{"jsonrpc":"2.0","method":"alive","params":[%d]}' % count)
        while b'"method":"alive"' not in await other.line():
            pass
