"""Mods as objects: received, sent, and held messages (architecture D4, performance 4)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.support.chain_harness import ChainHarness, Peer, bare, chain_harness, inner, mods

from peerwire.errors import RpcError
from symposium.chain.blueprint import InProcess
from symposium.chain.messages import Answer, ChainMessage, Direction
from symposium.chain.mod import (
    Deferred,
    Drop,
    Forward,
    Interception,
    Mod,
    Outcome,
    Refuse,
    Reply,
    from_agent,
    from_client,
)

UNWRITABLE: list[Any] = [
    Reply({"x": object()}),
    Forward({"x": object()}),
    Forward(then=lambda _: Reply(object())),
    Refuse(RpcError(-32000, object())),
    Drop(),
    None,
]


class Wants(Mod):
    """Has one handler for one method in one direction."""

    def __init__(
        self,
        direction: Direction,
        method: str,
        handler: Callable[[ChainMessage], Outcome | Awaitable[Outcome]],
    ) -> None:
        self._interception = Interception(direction, method, handler)

    def interceptions(self) -> list[Interception]:
        return [self._interception]


def up(method: str, handler: Callable[[ChainMessage], Any]) -> Wants:
    return Wants(Direction.TO_CLIENT, method, handler)


def down(method: str, handler: Callable[[ChainMessage], Any]) -> Wants:
    return Wants(Direction.TO_AGENT, method, handler)


def noting(seen: list[str], name: str) -> Callable[[ChainMessage], Outcome]:
    def note(message: ChainMessage) -> Outcome:
        seen.append(f"{name} {message.method}")
        return Forward()

    return note


@pytest.mark.requirement("conductor.mod-only-declared-methods")
async def test_mod_sees_only_declared_methods_in_the_declared_direction() -> None:
    seen: list[str] = []
    both = [
        down("a", noting(seen, "down")),
        up("a", noting(seen, "up")),
        up("*", noting(seen, "*")),
    ]
    async with chain_harness(*mods(*both)) as it:
        agent = await it.open()
        for method in ("a", "b"):
            it.client.tell(method)
            agent.tell(method)
        await agent.reads(2)
        await it.client.reads(2)
    assert sorted(seen) == ["* a", "* b", "down a", "up a"]


@pytest.mark.requirement("conductor.mod-handlers")
async def test_handler_that_names_the_method_is_called_instead_of_the_general_one() -> None:
    seen: list[str] = []

    class Two(Mod):
        @from_client("*")
        def others(self, message: ChainMessage) -> Forward:
            seen.append(f"other {message.method}")
            return Forward()

        @from_client("a")
        def named(self, message: ChainMessage) -> Forward:
            seen.append(f"named {message.method}")
            return Forward()

    async with chain_harness(*mods(Two())) as it:
        agent = await it.open()
        it.client.tell("a")
        it.client.tell("b")
        await agent.reads(2)
    assert seen == ["other initialize", "named a", "other b"]


@pytest.mark.requirement("conductor.mod-edit")
async def test_next_mod_sees_the_message_as_edited_by_the_last() -> None:
    def add(name: str) -> Callable[[ChainMessage], Outcome]:
        def handler(message: ChainMessage) -> Outcome:
            message.params["by"].append(name)
            return Forward(message.params)

        return handler

    chain = [down("m", add("one")), down("m", add("two")), down("m", add("three"))]
    async with chain_harness(*mods(*chain)) as it:
        agent = await it.open()
        it.client.tell("m", {"by": []})
        assert (await agent.read())["params"] == {"by": ["one", "two", "three"]}


@pytest.mark.requirement("conductor.mod-edit")
async def test_mod_may_answer_refuse_drop_and_rename() -> None:
    seen: list[str] = []
    chain = [
        down("reply", lambda _: Reply({"mine": True})),
        down("refuse", lambda _: Refuse(RpcError(-32002, "gone"))),
        down("drop", lambda _: Drop()),
        down("old", lambda _: Forward(method="new")),
        down("new", noting(seen, "renamed")),
    ]
    async with chain_harness(*mods(*chain)) as it:
        agent = await it.open()
        it.client.ask(1, "reply")
        it.client.ask(2, "refuse")
        it.client.tell("drop")
        it.client.tell("old", {"k": 1})
        assert (await agent.read()) == {"jsonrpc": "2.0", "method": "new", "params": {"k": 1}}
        assert (await it.client.read())["result"] == {"mine": True}
        assert (await it.client.read())["error"]["code"] == -32002
        it.client.ask(3, "old")
        assert (await agent.read())["method"] == "new"
    assert seen == ["renamed new"] * 2


@pytest.mark.requirement("conductor.mod-edit")
async def test_mods_edit_a_response_from_the_agent_to_the_client() -> None:
    def then(name: str) -> Callable[[ChainMessage], Outcome]:
        return lambda _: Forward(
            then=lambda answer: Reply([*answer.result, name]),
            catch=lambda _: Reply([f"{name} caught"]),
        )

    async with chain_harness(*mods(down("m", then("outer")), down("m", then("inner")))) as it:
        agent = await it.open()
        it.client.ask(1, "m")
        agent.answer(await agent.read(), [])
        assert (await it.client.read())["result"] == ["inner", "outer"]
        it.client.ask(2, "m")
        agent.refuse(await agent.read(), -32000)
        assert (await it.client.read())["result"] == ["inner caught", "outer"]


@pytest.mark.requirement("conductor.mod-edit", "acp.t3-meta")
async def test_edited_notification_keeps_members_beside_its_params() -> None:
    async with chain_harness(
        *mods(up("m", lambda message: Forward({**message.params, "x": 1})))
    ) as it:
        agent = await it.open()
        agent.write(b'{"jsonrpc":"2.0","method":"m","params":{"n":1.0},"traceparent":"00-1"}')
        assert await it.client.line() == (
            b'{"jsonrpc":"2.0","method":"m","params":{"n":1.0,"x":1},"traceparent":"00-1"}'
        )


@pytest.mark.requirement("conductor.mod-raises")
@pytest.mark.parametrize("is_async", [False, True])
async def test_request_gets_an_error_and_a_notification_passes_when_a_mod_raises(
    caplog: pytest.LogCaptureFixture,
    is_async: bool,  # noqa: FBT001 - both kinds of handler
) -> None:
    def fail(_: ChainMessage) -> Outcome:
        raise LookupError("oops")

    async def fail_later(message: ChainMessage) -> Outcome:
        await asyncio.sleep(0)
        return fail(message)

    failing = fail_later if is_async else fail
    components = [InProcess("A", down("m", failing)), InProcess("B", up("m", failing))]
    async with chain_harness(*components) as it:
        agent = await it.open()
        for peer, mod in ((it.client, "A"), (agent, "B")):
            peer.ask(1, "m")
            error = (await peer.read())["error"]
            assert error["code"] == -32603
            assert error["data"] == {
                "reason": "mod_failed",
                "mod": mod,
                "method": "m",
                "fault": "oops",
            }
        it.client.tell("m", {"n": 1})
        assert (await agent.read())["params"] == {"n": 1}
        it.client.tell("after")
        assert (await agent.read())["method"] == "after"
    assert "mod A failed on m" in caplog.text


@pytest.mark.requirement("conductor.mod-handlers")
async def test_error_raised_with_a_code_is_the_response() -> None:
    def fail(_: ChainMessage) -> Outcome:
        raise RpcError(-32002, {"uri": "x"})

    async with chain_harness(*mods(down("m", fail))) as it:
        await it.open()
        it.client.ask(1, "m")
        error = (await it.client.read())["error"]
        assert (error["code"], error["data"]) == (-32002, {"uri": "x"})


@pytest.mark.requirement("conductor.mod-raises")
@pytest.mark.parametrize("outcome", UNWRITABLE)
async def test_unserializable_outcome_of_a_mod_is_an_error_and_the_chain_continues(
    outcome: Any,
) -> None:
    async with chain_harness(*mods(down("m", lambda _: outcome))) as it:
        agent = await it.open()
        it.client.ask(1, "m")
        it.client.tell("next")
        message = await agent.read()
        if message["method"] == "m":
            agent.answer(message, {})
            message = await agent.read()
        assert message["method"] == "next"
        assert (await it.client.read())["error"]["code"] in {-32603, -32000}


@pytest.mark.requirement("conductor.mod-raises")
@pytest.mark.parametrize("outcome", [Forward({"x": object()}), Reply({"x": object()})])
async def test_error_of_an_unserializable_value_names_no_wrong_mod(outcome: Outcome) -> None:
    async with chain_harness(*mods(down("m", lambda _: outcome))) as it:
        await it.open()
        it.client.ask(1, "m")
        data = (await it.client.read())["error"]["data"]
    assert (data["reason"], data["mod"], data["method"]) == ("mod_failed", "unknown", "m")


class Held(Mod):
    """Holds messages of the agent for session "slow" until the test releases them."""

    def __init__(self) -> None:
        self.free = asyncio.Event()
        self.holding = asyncio.Event()

    @from_agent("session/update", "session/request_permission", "ext")
    async def hold(self, message: ChainMessage) -> Forward:
        if message.session_id == "slow" or message.params.get("hold"):
            self.holding.set()
            await self.free.wait()
        return Forward()


def update(session: str, number: int) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": session, "n": number},
    }


@pytest.mark.requirement("conductor.mod-may-wait")
async def test_waiting_mod_delays_only_its_session_including_responses() -> None:
    held = Held()
    async with chain_harness(*mods(held)) as it:
        agent = await it.open()
        it.client.ask("p", "session/prompt", {"sessionId": "slow"})
        it.client.ask("q", "session/prompt", {"sessionId": "quick"})
        slow, quick = await agent.reads(2)
        agent.write(update("slow", 1), update("slow", 2))
        agent.answer(slow, {"stopReason": "end_turn"})
        agent.write(update("quick", 1))
        agent.answer(quick, {"stopReason": "end_turn"})
        first, answer = await it.client.reads(2)
        assert first["params"] == {"sessionId": "quick", "n": 1}
        assert answer["id"] == "q"
        assert not it.client.unread
        held.free.set()
        rest = await it.client.reads(3)
        assert [
            message.get("params", message)["n" if "params" in message else "id"] for message in rest
        ] == [1, 2, "p"]


@pytest.mark.requirement("conductor.mod-may-wait")
async def test_message_without_a_session_keeps_its_order_with_all_others() -> None:
    held = Held()
    async with chain_harness(*mods(held)) as it:
        agent = await it.open()
        agent.write(update("slow", 1))
        agent.tell("ext", {"n": 2})
        agent.write(update("quick", 3))
        await held.holding.wait()
        it.client.ask(9, "x")
        await agent.read()
        assert not it.client.unread
        held.free.set()
        assert [message["params"]["n"] for message in await it.client.reads(3)] == [1, 2, 3]


@pytest.mark.requirement("conductor.mod-may-wait", "conductor.mod-own-requests")
async def test_mod_that_holds_a_message_may_query_both_neighbors_about_it() -> None:
    class Asks(Mod):
        @from_client("session/prompt")
        async def consult(self, message: ChainMessage) -> Forward:
            session = message.session_id
            permit = await self.client.request("session/request_permission", {"sessionId": session})
            self.client.notify("session/update", {"sessionId": session, "say": "asking"})
            more = await self.agent.request("session/list", {"sessionId": session})
            return Forward({**message.params, "permit": permit, "more": more})

    seen: list[str] = []
    chain = mods(Asks(), down("*", noting(seen, "below")), Asks())
    async with chain_harness(*chain) as it:
        agent = await it.open()
        it.client.ask("p", "session/prompt", {"sessionId": "s"})
        it.client.tell("session/cancel", {"sessionId": "s"})
        for _ in range(2):
            asked = await it.client.read()
            assert asked["method"] == "session/request_permission"
            it.client.answer(asked, "yes")
            assert (await it.client.read())["method"] == "session/update"
            listed = await agent.read()
            assert listed["method"] == "session/list"
            agent.answer(listed, "all")
        prompt, cancel = await agent.reads(2)
        assert prompt["params"] == {"sessionId": "s", "permit": "yes", "more": "all"}
        assert cancel["method"] == "session/cancel"
    assert seen[1:] == ["below session/list", "below session/prompt", "below session/cancel"]


@pytest.mark.requirement("conductor.mod-own-requests", "conductor.pressure-no-deadlock")
async def test_response_to_a_waiting_mod_arrives_behind_any_flood() -> None:
    class Continues(Mod):
        @from_client("session/prompt")
        def watch(self, message: ChainMessage) -> Forward:
            async def again(answer: Answer) -> Reply:
                return Reply(await self.agent.request("again", message.params) or answer.result)

            return Forward(then=again)

    async with chain_harness(*mods(Continues())) as it:
        agent = await it.open()
        it.client.ask("p", "session/prompt", {"sessionId": "s"})
        agent.answer(await agent.read(), {"stopReason": "end_turn"})
        again = await agent.read()
        flood = [update("s", number) | {"pad": "x" * 1000} for number in range(500)]
        agent.write(*flood)
        agent.answer(again, {"stopReason": "max_tokens"})
        assert (await it.client.read())["result"] == {"stopReason": "max_tokens"}
        assert [message["params"]["n"] for message in await it.client.reads(500)] == [*range(500)]


@pytest.mark.requirement("conductor.mod-handlers")
async def test_deferred_outcome_delays_nothing() -> None:
    done = asyncio.Event()

    class Tool(Mod):
        @from_agent("mcp/message")
        def call(self, message: ChainMessage) -> Deferred:
            return Deferred(self._work(message.params["n"]))

        async def _work(self, number: int) -> Reply:
            await done.wait()
            return Reply({"n": number})

    async with chain_harness(*mods(Tool())) as it:
        agent = await it.open()
        agent.ask("a", "mcp/message", {"n": 1})
        agent.ask("b", "mcp/message", {"n": 2})
        agent.write(update("s", 1))
        assert (await it.client.read())["params"]["n"] == 1
        agent.tell("$/cancel_request", {"requestId": "a"})
        assert (await agent.read())["error"]["code"] == -32800
        done.set()
        assert (await agent.read())["result"] == {"n": 2}


@pytest.mark.requirement("conductor.mod-own-requests")
async def test_messages_of_a_mod_start_at_its_place() -> None:
    class Speaks(Mod):
        def __init__(self) -> None:
            self.answers: list[Any] = []

        async def run(self) -> None:
            self.client.notify("note/client")
            self.agent.notify("note/agent")
            self.answers.append(await self.client.request("ask/client"))
            self.answers.append(await self.agent.request("ask/agent"))

    above: list[str] = []
    below: list[str] = []
    speaks = Speaks()
    chain = mods(
        down("*", noting(above, "down")),
        up("*", noting(above, "up")),
        speaks,
        down("*", noting(below, "down")),
        up("*", noting(below, "up")),
    )
    async with chain_harness(*chain) as it:
        agent = await it.open()
        assert (await agent.read())["method"] == "note/agent"
        notification, asked = await it.client.reads(2)
        assert (notification["method"], asked["method"]) == ("note/client", "ask/client")
        it.client.answer(asked, 1)
        agent.answer(await agent.read(), 2)
        it.client.tell("sync")
        await agent.read()
        assert speaks.answers == [1, 2]
    assert above == ["down initialize", "up note/client", "up ask/client", "down sync"]
    assert below == ["down initialize", "down note/agent", "down ask/agent", "down sync"]


@pytest.mark.requirement("conductor.mod-own-requests")
async def test_mod_that_stops_waiting_cancels_its_request() -> None:
    gave_up = asyncio.Event()

    class Impatient(Mod):
        @from_client("m")
        async def ask(self, _: ChainMessage) -> Reply:
            try:
                async with asyncio.timeout(0.01):
                    await self.agent.request("slow")
            except TimeoutError:
                gave_up.set()
            return Reply("gave up")

    async with chain_harness(*mods(Impatient())) as it:
        agent = await it.open()
        it.client.ask(1, "m")
        request, cancel = await agent.reads(2)
        assert cancel["params"] == {"requestId": request["id"]}
        assert (await it.client.read())["result"] == "gave up"


@pytest.mark.requirement("conductor.chain-hundreds-of-mods")
async def test_chain_of_three_hundred_mods_does_not_exhaust_the_stack() -> None:
    def count(message: ChainMessage) -> Outcome:
        return Forward({"n": message.params["n"] + 1})

    def then(_: ChainMessage) -> Outcome:
        return Forward(then=lambda answer: Reply(answer.result + 1))

    chain = [one for _ in range(150) for one in (up("m", count), down("q", then))]
    async with chain_harness(*mods(*chain)) as it:
        agent = await it.open()
        agent.tell("m", {"n": 0})
        assert (await it.client.read())["params"] == {"n": 150}
        it.client.ask(1, "q")
        agent.answer(await agent.read(), 0)
        assert (await it.client.read())["result"] == 150


@pytest.mark.requirement("conductor.mod-mixed-with-processes", "conductor.replay-nested")
async def test_mods_and_proxies_on_the_wire_mix_in_any_order() -> None:
    def add(name: str) -> Mod:
        return down("m", lambda message: Forward({"by": [*message.params["by"], name]}))

    dumb, _ = bare()
    chain = [
        *mods(add("a")),
        dumb,
        *mods(add("b"), add("c")),
        inner(*mods(add("d"))),
        *mods(add("e")),
    ]
    async with chain_harness(*chain) as it:
        agent = await it.open()
        it.client.tell("m", {"by": []})
        assert (await agent.read())["params"] == {"by": [*"abcde"]}


@pytest.mark.requirement(
    "conductor.session-helper-updates",
    "conductor.session-new-raw",
    "acp.proxy-parks-early-session-messages",
)
@pytest.mark.parametrize("waits", [False, True])
async def test_mod_that_watches_session_new_has_the_response_before_any_update(
    waits: bool,  # noqa: FBT001 - both kinds of handler
) -> None:
    known: list[str] = []
    seen: list[tuple[str, bool]] = []
    may_continue = asyncio.Event()

    class Watches(Mod):
        @from_client("session/new")
        def new(self, _: ChainMessage) -> Forward:
            return Forward(then=self._later if waits else self._now)

        def _now(self, answer: Answer) -> None:
            known.append(answer.result["sessionId"])

        async def _later(self, answer: Answer) -> None:
            await may_continue.wait()
            self._now(answer)

        @from_agent("session/update")
        def update(self, message: ChainMessage) -> Forward:
            seen.append((message.params["sessionId"], message.params["sessionId"] in known))
            return Forward()

    async with chain_harness(*mods(Watches())) as it:
        agent = await it.open()
        it.client.ask("n", "session/new", {"cwd": "/"})
        request = await agent.read()
        agent.write(
            b'{"jsonrpc":"2.0","id":%d,"result":{ "sessionId":"fresh","x":1.0}}' % request["id"]
        )
        agent.write(update("fresh", 1))
        may_continue.set()
        assert await it.client.line() == (
            b'{"jsonrpc":"2.0","id":"n","result":{ "sessionId":"fresh","x":1.0}}'
        )
        assert (await it.client.read())["params"]["n"] == 1
    assert seen == [("fresh", True)]


@pytest.mark.requirement("conductor.mod-life")
async def test_mods_run_as_long_as_the_chain_and_are_closed_with_it() -> None:
    life: list[str] = []

    class Lives(Mod):
        async def run(self) -> None:
            life.append("runs")
            try:
                await asyncio.Event().wait()
            finally:
                life.append("stops")

        async def aclose(self) -> None:
            life.append("closes")

    async with chain_harness(*mods(Lives())) as it:
        await it.open()
    assert life == ["runs", "stops", "closes"]


@pytest.mark.requirement("conductor.mod-life")
async def test_failed_background_work_of_a_mod_is_logged_and_the_chain_continues(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fails(Mod):
        async def run(self) -> None:
            raise LookupError("oops")

        async def aclose(self) -> None:
            raise LookupError("oops again")

    with caplog.at_level(logging.ERROR):
        async with chain_harness(*mods(Fails())) as it:
            agent = await it.open()
            it.client.tell("m")
            await agent.read()
    assert caplog.text.count("Fails failed") == 2


@pytest.mark.requirement("conductor.mod-life")
async def test_sending_from_a_mod_fails_when_the_chain_has_ended() -> None:
    errors: list[RpcError] = []

    class Last(Mod):
        async def aclose(self) -> None:
            for neighbour in (self.client, self.agent):
                neighbour.notify("bye")
            try:
                await self.agent.request("one more thing")
            except RpcError as error:
                errors.append(error)

    async with chain_harness(*mods(Last())) as it:
        await it.open()
    assert [error.data for error in errors] == [{"reason": "shutting_down"}]


async def reaches(it: ChainHarness, agent: Peer, method: str) -> None:
    it.client.tell(method)
    assert (await agent.read())["method"] == method


@pytest.mark.requirement("conductor.mod-cancel")
async def test_handler_canceled_before_its_first_step_leaves_nothing_behind() -> None:
    async def never(_: ChainMessage) -> Outcome:
        raise AssertionError

    async with chain_harness(*mods(down("m", never))) as it:
        agent = await it.open()
        it.client.ask(1, "m", {"sessionId": "s"})
        it.client.tell("$/cancel_request", {"requestId": 1})
        assert (await it.client.read())["error"]["code"] == -32800
        await reaches(it, agent, "after")


@pytest.mark.requirement("conductor.mod-cancel")
async def test_request_that_waits_behind_another_is_canceled_at_once() -> None:
    free = asyncio.Event()
    held: list[ChainMessage] = []

    async def hold(message: ChainMessage) -> Outcome:
        held.append(message)
        await free.wait()
        return Forward()

    async with chain_harness(*mods(down("m", hold))) as it:
        agent = await it.open()
        it.client.ask(1, "m", {"sessionId": "s"})
        it.client.ask(2, "m", {"sessionId": "s"})
        it.client.tell("$/cancel_request", {"requestId": 2})
        assert (await it.client.read()) == {
            "jsonrpc": "2.0",
            "id": 2,
            "error": {"code": -32800, "message": "Request cancelled"},
        }
        free.set()
        assert (await agent.read())["method"] == "m"
        await reaches(it, agent, "after")
    assert len(held) == 1


@pytest.mark.requirement("conductor.mod-cancel")
async def test_handler_that_continues_after_a_cancel_cannot_send_requests() -> None:
    started = asyncio.Event()

    async def stubborn(_: ChainMessage) -> Outcome:
        started.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return Forward()

    async with chain_harness(*mods(down("m", stubborn))) as it:
        agent = await it.open()
        it.client.ask(1, "m")
        await started.wait()
        it.client.tell("$/cancel_request", {"requestId": 1})
        assert (await it.client.read())["error"]["code"] == -32800
        await reaches(it, agent, "after")


@pytest.mark.requirement("conductor.mod-order")
@pytest.mark.parametrize("name", [{}, {"id": 1}])
async def test_messages_of_a_mod_arrive_before_the_message_it_holds(
    name: dict[str, int],
) -> None:
    class Announces(Mod):
        @from_client("second")
        def announce(self, _: ChainMessage) -> Forward:
            self.agent.notify("first", {"sessionId": "s"})
            return Forward()

    async def slow(_: ChainMessage) -> Outcome:
        await asyncio.sleep(0)
        return Forward()

    async with chain_harness(*mods(Announces(), down("first", slow))) as it:
        agent = await it.open()
        params = {"sessionId": "s"}
        it.client.write({"jsonrpc": "2.0", **name, "method": "second", "params": params})
        assert [one["method"] for one in await agent.reads(2)] == ["first", "second"]


@pytest.mark.requirement("conductor.mod-order")
async def test_response_to_a_mod_does_not_wait_behind_that_mod() -> None:
    class Background(Mod):
        def __init__(self) -> None:
            self.go = asyncio.Event()
            self.answered = asyncio.Event()

        async def run(self) -> None:
            await self.go.wait()
            await self.agent.request("ask", {"sessionId": "slow"})
            self.answered.set()

    held, background = Held(), Background()
    async with chain_harness(*mods(held, background)) as it:
        agent = await it.open()
        agent.write(update("slow", 1))
        await held.holding.wait()
        background.go.set()
        agent.answer(await agent.read(), {})
        await background.answered.wait()


class Forgetful(Mod):
    """Returns None by mistake."""

    @from_agent("session/update")
    def plain(self, _: ChainMessage) -> Any:
        """Return nothing."""

    @from_agent("_later/update")
    async def later(self, _: ChainMessage) -> Any:
        """Return nothing, later."""


@pytest.mark.requirement("conductor.mod-returns-nothing")
@pytest.mark.parametrize("method", ["session/update", "_later/update"])
async def test_notification_passes_and_the_mod_is_named_when_a_handler_returns_nothing(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with chain_harness(*mods(Forgetful())) as it:
        agent = await it.open()
        agent.tell(method, {"sessionId": "s"})
        assert (await it.client.read())["method"] == method
    assert f"mod Forgetful returned nothing for {method}" in caplog.text
