"""Messages that pass a chain unchanged (acp-host §7, and the behavior of real peers)."""

import json
from typing import Any

import pytest
from tests.support.chain_harness import Peer, bare, chain_harness, inner, mods

from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward, Mod, from_agent, from_client


class Looks(Mod):
    """Reads everything in both directions, and forwards it."""

    @from_client("*")
    def down(self, message: ChainMessage) -> Forward:
        assert message.method
        return Forward()

    @from_agent("*")
    def up(self, message: ChainMessage) -> Forward:
        assert message.method
        return Forward()


def chains() -> list[Any]:
    """Return chains in which nothing is edited."""
    return [
        pytest.param(list, id="no proxy"),
        pytest.param(lambda: mods(Looks(), Looks(), Looks()), id="three mods"),
        pytest.param(lambda: [inner(*mods(Looks())), inner(inner())], id="nested"),
    ]


TO_AGENT: dict[str, tuple[Any, list[Any]]] = {
    "authenticate": ({"methodId": "m"}, [{}]),
    "logout": ({}, [{}]),
    "session/new": (
        {"cwd": "/", "mcpServers": [], "additionalDirectories": ["/b"]},
        [{"sessionId": "s", "modes": {"currentModeId": "https://m/1"}, "configOptions": []}],
    ),
    "session/load": ({"sessionId": "s", "cwd": "/", "mcpServers": []}, [{"modes": None}]),
    "session/resume": ({"sessionId": "s", "cwd": "/"}, [{"configOptions": [1]}]),
    "session/fork": ({"sessionId": "s", "cwd": "/"}, [{"sessionId": "t"}]),
    "session/list": ({"cwd": "/", "cursor": "c"}, [{"sessions": [{}], "nextCursor": "d"}]),
    "session/close": ({"sessionId": "s"}, [{}]),
    "session/delete": ({"sessionId": "s"}, [{}]),
    "session/prompt": (
        {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}, {"type": "unheard-of"}]},
        [
            {"stopReason": reason, "usage": {"inputTokens": 1}}
            for reason in ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
        ],
    ),
    "session/set_mode": ({"sessionId": "s", "modeId": "https://agent/mode#a"}, [{}]),
    "session/set_config_option": (
        {"sessionId": "s", "configId": "c", "type": "boolean", "value": True},
        [{"configOptions": [{"id": "c"}]}],
    ),
    "auth/login": ({"methodId": "m"}, [{"accepted": True}]),
    "providers/list": ({}, [{"providers": []}]),
    "nes/start": ({"x": 1}, [{}]),
    "document/open": ({"uri": "u"}, [{}]),
    "mcp/message": ({"connectionId": "c", "method": "tools/list"}, [{"tools": []}]),
    "a/b/unheard-of": ([1, {"two": None}], [None, 5, "text", [1], True]),
}

TO_CLIENT: dict[str, tuple[Any, list[Any]]] = {
    "session/request_permission": (
        {
            "sessionId": "s",
            "toolCall": {"toolCallId": "only here"},
            "options": [
                {"optionId": "a", "kind": "allow_once"},
                {"optionId": "b", "kind": "allow_once"},
                {"optionId": "c", "kind": "reject_once"},
                {"optionId": "d", "kind": "odd"},
            ],
        },
        [
            {"outcome": {"outcome": "selected", "optionId": "b"}},
            {"outcome": {"outcome": "cancelled"}},
        ],
    ),
    "fs/read_text_file": ({"sessionId": "s", "path": "/f", "line": 1}, [{"content": "x"}]),
    "fs/write_text_file": ({"sessionId": "s", "path": "/f", "content": ""}, [{}, None]),
    "terminal/create": ({"sessionId": "s", "command": "ls"}, [{"terminalId": "t"}]),
    "terminal/output": (
        {"sessionId": "s", "terminalId": "t"},
        [{"output": "", "truncated": False}],
    ),
    "terminal/wait_for_exit": ({"sessionId": "s", "terminalId": "t"}, [{"exitCode": 0}]),
    "terminal/kill": ({"sessionId": "s", "terminalId": "t"}, [{}]),
    "terminal/release": ({"sessionId": "s", "terminalId": "t"}, [{}]),
    "elicitation/create": (
        {"sessionId": "s", "message": "?", "mode": "form", "requestedSchema": {}},
        [{"action": "accept", "content": {"a": 1}}, {"action": "decline"}, {"action": "cancel"}],
    ),
    "mcp/connect": ({"serverId": "x"}, [{"connectionId": "c"}]),
    "craft/drainMidTurnQueue": ({"sessionId": "s"}, [{"queue": []}]),
}

UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": kind, "content": {"type": "text", "text": "x"}, "messageId": "m"}
    for kind in ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
] + [
    {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x"},
    {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "the same again"},
    {"sessionUpdate": "tool_call_update", "toolCallId": "unannounced"},
    {"sessionUpdate": "plan", "entries": []},
    {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "/x"}]},
    {"sessionUpdate": "current_mode_update", "currentModeId": "https://agent/mode#a"},
    {"sessionUpdate": "config_option_update", "configOptions": []},
    {"sessionUpdate": "session_info_update", "title": None},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 1.5}},
    {"sessionUpdate": "plan_removed", "unstable": True},
    {"sessionUpdate": "state_update", "state": "running"},
    {"sessionUpdate": "from the future", "with": [{"all": "sorts"}]},
]

META = {"traceparent": "00-1-2-03", "tracestate": "a=b", "baggage": "c=d", "own": {"x": None}}


async def asks(asker: Peer, asked: Peer, method: str, params: Any, result: Any) -> None:
    """Send one request and its response; check that both arrive as written."""
    match params:
        case {}:
            params = {**params, "_meta": META}
        case _:
            pass
    asker.write({"jsonrpc": "2.0", "id": "q", "method": method, "params": params})
    request = await asked.read()
    assert (request["method"], request["params"]) == (method, params)
    asked.answer(request, result)
    assert await asker.read() == {"jsonrpc": "2.0", "id": "q", "result": result}


@pytest.mark.requirement(
    "acp.method-authenticate",
    "acp.method-logout",
    "acp.method-session-new",
    "acp.method-session-resume",
    "acp.method-session-list",
    "acp.method-session-close",
    "acp.method-session-delete",
    "acp.method-session-prompt",
    "acp.method-session-set-mode",
    "acp.method-session-set-config-option",
    "acp.method-unstable",
    "acp.t2-no-allow-list",
    "acp.t3-meta",
    "acp.t13-no-timeouts",
    "conductor.session-fork-passes",
    "conductor.chain-meta",
    "peers.session-methods-all",
    "peers.mode-ids-are-urls",
)
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("chain", chains())
async def test_every_client_request_and_its_response_pass(chain: Any, version: int) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open({"protocolVersion": version}, {"protocolVersion": version})
        for method, (params, results) in TO_AGENT.items():
            for result in results:
                await asks(it.client, agent, method, params, result)


@pytest.mark.requirement(
    "acp.method-request-permission",
    "acp.method-fs",
    "acp.method-terminal",
    "acp.method-elicitation-create",
    "acp.t2-no-allow-list",
    "peers.gemini-permission-only",
    "peers.qwen-own-request",
    "peers.unknown-agent-methods",
    "peers.fastagent-client-tools",
    "peers.permission-options",
)
@pytest.mark.parametrize("chain", chains())
async def test_every_agent_request_and_its_response_pass(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        for method, (params, results) in TO_CLIENT.items():
            for result in results:
                await asks(agent, it.client, method, params, result)


@pytest.mark.requirement(
    "acp.method-session-update",
    "acp.method-session-cancel",
    "acp.method-elicitation-complete",
    "acp.v2-passes",
    "acp.t8-declared-edits",
    "peers.vibe-user-chunks",
    "peers.tool-call-update-alone",
    "peers.unknown-agent-methods",
    "stories.a-13-unknown",
)
@pytest.mark.parametrize("chain", chains())
async def test_every_notification_passes_with_equal_bytes(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        notification = [
            ("session/update", {"sessionId": "s", "update": update}) for update in UPDATES
        ]
        notification += [
            ("elicitation/complete", {"elicitationId": "e"}),
            ("qwen/notify/x", {"a": [1]}),
        ]
        for method, params in notification:
            line = b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (
                json.dumps(method).encode(),
                json.dumps(params).encode(),
            )
            agent.write(line)
            assert await it.client.line() == line
        for method in ("session/cancel", "_x/y", "mcp/message"):
            line = b'{"jsonrpc":"2.0","method":"%b","params":{"sessionId" : "s"}}' % method.encode()
            it.client.write(line)
            assert await agent.line() == line


CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": None, "new": {}},
    "sessionCapabilities": {"fork": {}, "list": None},
    "auth": {"logout": {}},
    "_meta": {"vendor": [1]},
}


@pytest.mark.requirement(
    "acp.capabilities-pass",
    "acp.auth-methods-pass",
    "acp.method-initialize",
    "acp.t9-version-pinned",
)
@pytest.mark.parametrize("chain", chains())
async def test_capabilities_of_both_sides_pass_unchanged(chain: Any) -> None:
    params: dict[str, Any] = {
        "protocolVersion": 1,
        "clientCapabilities": {
            "fs": {"readTextFile": True},
            "session": {"configOptions": {"boolean": {}}},
            "auth": {"terminal": True},
            "elicitation": {"form": {}, "url": None},
        },
        "clientInfo": {"name": "x", "version": "1"},
    }
    result: dict[str, Any] = {
        "protocolVersion": 1,
        "agentCapabilities": CAPABILITIES,
        "authMethods": [{"id": "a", "name": "A"}, {"id": "t", "type": "terminal", "args": ["x"]}],
        "agentInfo": {"name": "y"},
    }
    async with chain_harness(*chain()) as it:
        it.client.ask(0, "initialize", params)
        agent = await it.agent()
        initialize = await agent.read()
        assert initialize["params"] == params
        agent.answer(initialize, result)
        assert (await it.client.read())["result"] == result


NUMBERS = (
    b'{"big":123456789012345678901234567890,"decimal":1.0,"exponent":1e2,"small":-0.10E-7,'
    b'"lone":"\\ud800","null":null, "spaced" : [ 1 , 2 ]}'
)


@pytest.mark.requirement(
    "acp.t1-raw",
    "acp.t12-numbers",
    "acp.t12-lone-surrogates",
    "conductor.chain-nesting-no-byte",
    "stories.a-13-unknown",
)
@pytest.mark.parametrize("chain", chains())
async def test_params_results_and_errors_pass_with_equal_bytes(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        for asker, asked in ((it.client, agent), (agent, it.client)):
            asker.write(b'{"jsonrpc":"2.0","id":"q","method":"m","params":%b}' % NUMBERS)
            line = await asked.line()
            assert b'"params":%b' % NUMBERS in line
            name = json.dumps(json.loads(line)["id"]).encode()
            asked.write(b'{"jsonrpc":"2.0","id":%b,"result":%b,"root":1.0}' % (name, NUMBERS))
            back = await asker.line()
            assert back == b'{"jsonrpc":"2.0","id":"q","result":%b,"root":1.0}' % NUMBERS
            for number in (b"5", b'"q"'):
                head = b'{"jsonrpc":"2.0","id":%b,"method":"m",' % number
                asker.write(head + b'"params":{},"traceparent":"00-1"}')
                request = await asked.line()
                assert request.endswith(b'"params":{},"traceparent":"00-1"}')
                asked.answer(json.loads(request), None)
                await asker.line()
            asker.write(b'{"jsonrpc":"2.0","id":"q","method":"m"}')
            name = json.dumps((await asked.read())["id"]).encode()
            error = b'{"code":-32002,"message":"no \\ud800","data":%b}' % NUMBERS
            asked.write(b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (name, error))
            assert await asker.line() == b'{"jsonrpc":"2.0","id":"q","error":%b}' % error


@pytest.mark.requirement(
    "acp.t12-numbers", "acp.t12-lone-surrogates", "acp.t12-duplicate-keys", "stories.a-13-unknown"
)
async def test_mod_that_edits_one_member_keeps_the_others() -> None:
    class Edits(Mod):
        @from_agent("m")
        def edit(self, message: ChainMessage) -> Forward:
            return Forward({**message.params, "edited": True})

    async with chain_harness(*mods(Edits(), Edits())) as it:
        agent = await it.open()
        agent.write(
            b'{"jsonrpc":"2.0","method":"m","params":{"big":123456789012345678901234567890,'
            b'"decimal":1.0,"lone":"\\ud800","twice":1,"twice":2}}'
        )
        assert await it.client.line() == (
            b'{"jsonrpc":"2.0","method":"m","params":{"big":123456789012345678901234567890,'
            b'"decimal":1.0,"lone":"\\ud800","twice":2,"edited":true}}'
        ).replace(b" ", b"")


IDS = [
    b"0",
    b"-1",
    b"9007199254740993",
    b'"text"',
    b'"7"',
    b"7",
    b'""',
    b"null",
    b"1.5",
    b'"\\u0061"',
]


@pytest.mark.requirement("acp.t5-ids", "peers.ids-from-zero", "peers.old-adapters-string-ids")
@pytest.mark.parametrize("name", IDS, ids=lambda name: name.decode())
async def test_ids_of_any_kind_return_and_hops_use_separate_ids(name: bytes) -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open()
        for asker, asked in ((it.client, agent), (agent, it.client)):
            for _ in range(2):
                asker.write(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % name)
                request = await asked.read()
                assert isinstance(request["id"], int)
                asked.answer(request, 1)
                assert await asker.line() == b'{"jsonrpc":"2.0","id":%b,"result":1}' % name


@pytest.mark.requirement("peers.ids-both-directions", "acp.t5-ids")
async def test_same_id_open_in_both_directions_gives_each_side_its_own_response() -> None:
    async with chain_harness(bare()[0], *mods(Looks())) as it:
        agent = await it.open()
        it.client.ask(0, "session/prompt", {"sessionId": "s"})
        prompt = await agent.read()
        agent.ask(prompt["id"], "fs/read_text_file", {})
        agent.ask(0, "fs/read_text_file", {})
        first, second = await it.client.reads(2)
        it.client.answer(second, "second")
        it.client.answer(first, "first")
        assert [one["result"] for one in await agent.reads(2)] == ["second", "first"]
        agent.answer(prompt, "done")
        assert await it.client.read() == {"jsonrpc": "2.0", "id": 0, "result": "done"}


@pytest.mark.requirement("conductor.same-id-twice")
async def test_two_open_requests_with_one_id_are_both_answered() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "a")
        it.client.ask(1, "b")
        first, second = await agent.reads(2)
        agent.answer(second, "b")
        agent.answer(first, "a")
        assert [one["result"] for one in await it.client.reads(2)] == ["b", "a"]
        it.client.ask(1, "a")
        it.client.ask(1, "b")
        await agent.reads(2)
        await agent.hang_up()
        answers = await it.client.reads(2)
        assert [one["error"]["data"]["reason"] for one in answers] == ["component_exited"] * 2


@pytest.mark.requirement(
    "acp.t4-order", "acp.method-session-load", "conductor.session-resume-replay"
)
@pytest.mark.parametrize("chain", chains())
async def test_updates_written_before_a_response_arrive_before_it(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        for method in ("session/load", "session/resume"):
            it.client.ask("q", method, {"sessionId": "s"})
            request = await agent.read()
            for number in range(50):
                agent.tell("session/update", {"sessionId": "s", "n": number})
            agent.answer(request, {})
            agent.tell("session/update", {"sessionId": "s", "n": 50})
            messages = await it.client.reads(52)
            seen = [one["params"]["n"] if "params" in one else "answer" for one in messages]
            assert seen == [*range(50), "answer", 50]


@pytest.mark.requirement("peers.auth-status-before-new")
async def test_notifications_before_the_session_new_response_arrive_before_it() -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open()
        it.client.ask("n", "session/new", {})
        request = await agent.read()
        agent.tell("_auth/status_update", {"ok": True})
        agent.answer(request, {"sessionId": "s"})
        notification, answer = await it.client.reads(2)
        assert notification["method"] == "_auth/status_update"
        assert answer["id"] == "n"


@pytest.mark.requirement("acp.t10-errors", "peers.errors-are-control-flow")
@pytest.mark.parametrize("chain", chains())
async def test_errors_pass_unchanged(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        for method, code in (("session/resume", -32002), ("session/load", -32603)):
            it.client.ask(1, method, {"sessionId": "gone"})
            request = await agent.read()
            error = {"code": code, "message": "Resource not found", "data": {"uri": "gone"}, "x": 1}
            agent.write({"jsonrpc": "2.0", "id": request["id"], "error": error})
            assert (await it.client.read())["error"] == error
        await asks(it.client, agent, "session/new", {"cwd": "/"}, {"sessionId": "s"})


@pytest.mark.requirement("peers.opencode-uninvited-write")
async def test_unannounced_write_passes_and_the_clients_error_returns() -> None:
    async with chain_harness(*mods(Looks())) as it:
        agent = await it.open()
        agent.ask(0, "fs/write_text_file", {"sessionId": "s", "path": "/f", "content": ""})
        it.client.refuse(await it.client.read(), -32601, "fs/write_text_file")
        error = (await agent.read())["error"]
        assert (error["code"], error["data"]) == (-32601, "fs/write_text_file")
        agent.tell("session/update", {"sessionId": "s"})
        await it.client.read()


@pytest.mark.requirement("peers.notification-answered", "conductor.peer-errors-on-notification")
async def test_responses_to_notifications_are_dropped() -> None:
    async with chain_harness(bare()[0]) as it:
        agent = await it.open()
        error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "no"}}
        for peer, other in ((it.client, agent), (agent, it.client)):
            peer.write(*[error] * 12)
            peer.tell("next", {})
            assert (await other.read())["method"] == "next"
            assert not peer.unread


@pytest.mark.requirement("peers.old-adapters-silent-after-error")
async def test_agent_silent_after_an_error_leaves_one_request_that_a_cancel_settles() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "session/prompt", {"sessionId": "s"})
        prompt = await agent.read()
        agent.ask(0, "session/request_permission", {})
        it.client.refuse(await it.client.read(), -32603)
        assert "error" in await agent.read()
        it.client.tell("$/cancel_request", {"requestId": 1})
        assert (await agent.read())["params"] == {"requestId": prompt["id"]}
        await it.client.hang_up()
        assert await it.exit_code() == 0


@pytest.mark.requirement("peers.cancelled-prompt-merged", "acp.v2-prompt-accepted")
async def test_prompt_after_a_canceled_one_is_a_separate_turn() -> None:
    async with chain_harness(inner()) as it:
        agent = await it.open()
        for reason in ("cancelled", "end_turn"):
            it.client.ask(reason, "session/prompt", {"sessionId": "s"})
            prompt = await agent.read()
            if reason == "cancelled":
                it.client.tell("session/cancel", {"sessionId": "s"})
                assert (await agent.read())["method"] == "session/cancel"
            agent.answer(prompt, {"stopReason": reason})
            agent.tell("session/update", {"sessionId": "s", "after": reason})
            answer, update = await it.client.reads(2)
            assert (answer["id"], answer["result"]["stopReason"]) == (reason, reason)
            assert update["params"]["after"] == reason


@pytest.mark.requirement("peers.qwen-long-line", "peers.line-half-megabyte")
@pytest.mark.parametrize("chain", chains())
async def test_line_of_half_a_megabyte_passes_unchanged(chain: Any) -> None:
    line = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","x":"'
    line += b"x" * (564_421 - len(line) - 3) + b'"}}'
    async with chain_harness(*chain()) as it:
        agent = await it.open()
        agent.write(line)
        assert await it.client.line() == line


@pytest.mark.requirement("acp.t11-batches", "acp.v2-batches")
@pytest.mark.parametrize("chain", chains())
async def test_batch_is_answered_by_one_array_in_order(chain: Any) -> None:
    async with chain_harness(*chain()) as it:
        agent = await it.open({"protocolVersion": 2}, {"protocolVersion": 2})
        it.client.write(
            [
                {"jsonrpc": "2.0", "id": 1, "method": "a"},
                {"jsonrpc": "2.0", "method": "note"},
                {"jsonrpc": "2.0", "id": 1, "method": "b"},
                5,
                [],
                {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {}},
            ]
        )
        first, notification, second = await agent.reads(3)
        assert (first["method"], notification["method"], second["method"]) == ("a", "note", "b")
        agent.answer(second, "b")
        it.client.ask("alone", "c")
        agent.answer(await agent.read(), "c")
        assert (await it.client.read())["id"] == "alone"
        agent.answer(first, "a")
        answers = await it.client.read()
        assert [answer.get("result") for answer in answers[:2]] == ["a", "b"]
        assert [answer["error"]["code"] for answer in answers[2:]] == [-32600, -32600, -32600]


@pytest.mark.requirement("acp.t11-batches")
async def test_unusual_batches_are_answered_by_the_rules_of_json_rpc() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.write([])
        assert (await it.client.read())["error"]["code"] == -32600
        it.client.write([{"jsonrpc": "2.0", "method": "note"}])
        assert (await agent.read())["method"] == "note"
        agent.ask(1, "a")
        agent.ask(2, "b")
        first, second = await it.client.reads(2)
        results = [
            {"jsonrpc": "2.0", "id": one["id"], "result": one["method"]} for one in (second, first)
        ]
        it.client.write(results)
        assert [answer["result"] for answer in await agent.reads(2)] == ["b", "a"]
        it.client.tell("next")
        await agent.read()
        assert not it.client.unread


@pytest.mark.requirement("conductor.batch-agent-gone")
async def test_batch_is_answered_when_the_agent_has_exited() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        entries = [{"jsonrpc": "2.0", "id": name, "method": "m"} for name in (1, 1, 2)]
        it.client.write(entries)
        await agent.reads(3)
        await agent.hang_up()
        answers = await it.client.read()
        assert [answer["error"]["data"]["reason"] for answer in answers] == ["component_exited"] * 3


@pytest.mark.requirement("acp.t14-line-length")
async def test_too_long_line_fails_the_request_that_waits_for_it() -> None:
    async with chain_harness() as it:
        agent = await it.open()
        it.client.ask(1, "a")
        request = await agent.read()
        big = b'"%b"' % (b"x" * (64 * 1024 * 1024))
        agent.write(b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (request["id"], big))
        assert (await it.client.read())["error"]["data"]["reason"] == "line_too_long"
        it.client.write(b'{"jsonrpc":"2.0","id":2,"method":"m","params":{"x":%b}}' % big)
        answer = await it.client.read()
        assert (answer["id"], answer["error"]["data"]["reason"]) == (2, "line_too_long")
        it.client.tell("next")
        assert (await agent.read())["method"] == "next"
