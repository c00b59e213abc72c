"""The MCP server as a client sees it, over lines in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.mcp_harness import FakeBus, RawClient, serving, workplace_in

from symposium.bus.messages.agents import TaskspaceInfo
from symposium.documents.guidance import GuidanceChange, GuidanceLibrary
from symposium.mcp_server import line_streams as lines_module
from symposium.mcp_server.offering import all_tools
from symposium.mcp_server.server_context import ServerContext
from symposium.mcp_server.transports import own_server, serve_lines

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
MAIN = "symposium://guidance/main.md"


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def workplace(tmp_path: Path, bus: FakeBus) -> ServerContext:
    made = workplace_in(tmp_path, bus)
    (made.root / "Cargo.toml").touch()
    return made


@pytest.fixture
async def client(workplace: ServerContext) -> AsyncGenerator[RawClient, None]:
    server = own_server(workplace)
    async with serving(server.serve) as made:
        yield made


@pytest.mark.requirement("mcp-server.eras")
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_revision_with_a_handshake_is_supported(
    client: RawClient, revision: str
) -> None:
    greeting = await client.greet(revision)
    capabilities = greeting["capabilities"]

    assert greeting["protocolVersion"] == revision
    assert greeting["serverInfo"]["name"] == "symposium"
    assert capabilities["resources"] == {"subscribe": True, "listChanged": True}
    assert capabilities.keys() == {"resources", "tools", "prompts", "completions"}
    assert len((await client.result("tools/list"))["tools"]) == len(all_tools())


@pytest.mark.requirement("mcp-server.eras")
async def test_revision_without_a_handshake_is_supported_on_the_same_lines(
    client: RawClient,
) -> None:
    found = await client.result("server/discover", {"_meta": MODERN})
    listed = await client.result("tools/list", {"_meta": MODERN})
    params = {"_meta": MODERN, "name": "expand_reference", "arguments": {"id": "main.md"}}
    called = await client.result("tools/call", params)

    assert found["supportedVersions"] == ["2026-07-28"]
    assert listed["resultType"] == "complete"
    assert {"ttlMs", "cacheScope"} <= listed.keys()
    assert called["content"][0]["text"].startswith("---")


@pytest.mark.requirement("mcp-server.t1")
async def test_server_has_the_tools_of_tasks(client: RawClient) -> None:
    await client.greet()
    listed = {tool["name"] for tool in (await client.result("tools/list"))["tools"]}

    assert listed >= {
        *("spawn_taskspace", "delete_taskspace", "update_taskspace"),
        *("log_progress", "signal_user"),
    }


@pytest.mark.requirement("mcp-server.registry")
async def test_instructions_name_the_listed_tools(client: RawClient) -> None:
    instructions = (await client.greet())["instructions"]
    listed = (await client.result("tools/list"))["tools"]
    named = {line.split("`")[1] for line in instructions.splitlines() if line.startswith("- ")}

    assert named == {tool["name"] for tool in listed}
    assert {
        *("present_walkthrough", "get_selection", "ide_operation", "expand_reference"),
        *("spawn_taskspace", "log_progress", "signal_user", "update_taskspace"),
        *("finish_taskspace", "wait_for_taskspaces"),
        *("delete_taskspace", "get_rust_crate_source", "get_package_source", "request_review"),
        *("update_review", "get_review_status", "resolve_symbol_by_name", "find_all_references"),
    } == named


@pytest.mark.requirement("mcp-server.registry")
async def test_every_tool_has_the_metadata_that_clients_need(client: RawClient) -> None:
    await client.greet()
    for tool in (await client.result("tools/list"))["tools"]:
        assert tool["inputSchema"]["type"] == "object", tool["name"]
        assert tool["inputSchema"]["additionalProperties"] is False, tool["name"]
        for name, schema in tool["inputSchema"]["properties"].items():
            assert schema.get("description"), f"{tool['name']}.{name}"
        assert tool["title"], tool["name"]
        assert tool["description"], tool["name"]
        assert tool.get("outputSchema", {"type": "object"})["type"] == "object"
        assert tool["annotations"]["destructiveHint"] is (tool["name"] == "delete_taskspace")


@pytest.mark.requirement("mcp-server.arguments")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing required field `id`"),
        ({"id": 3}, "Expected `str`, got `int`"),
        ({"id": ""}, "length >= 1"),
        ({"id": "a", "other": 1}, "unknown field `other`"),
    ],
)
async def test_error_of_wrong_arguments_includes_the_schema(
    client: RawClient, arguments: dict[str, Any], said: str
) -> None:
    await client.greet()
    result = await client.result("tools/call", {"name": "expand_reference", "arguments": arguments})

    assert result["isError"] is True
    assert said in result["content"][0]["text"]
    assert "Arguments: id " in result["content"][0]["text"]


@pytest.mark.requirement("mcp-server.errors")
@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/call", {"name": "unknown"}, -32602),
        ("prompts/get", {"name": "unknown"}, -32602),
        ("prompts/get", {"name": "hi", "arguments": {"mood": "good"}}, -32602),
        ("tools/list", {"cursor": "nonsense"}, -32602),
        ("tools/list", {"cursor": "after:99999"}, -32602),
        ("tools/list", {"cursor": "after:99"}, -32602),
        ("tools/list", {"cursor": "after:x"}, -32602),
        ("tools/list", {"cursor": "after:\u0663"}, -32602),
        ("resources/read", {"uri": "unknown.md"}, -32002),
        ("resources/subscribe", {"uri": "unknown.md"}, -32002),
        ("no/such/method", {}, -32601),
    ],
)
async def test_unknown_name_is_a_protocol_error(
    client: RawClient, method: str, params: dict[str, Any], code: int
) -> None:
    await client.greet()
    error = (await client.ask(method, params))["error"]

    assert error["code"] == code
    assert error["message"]


@pytest.mark.requirement("mcp-server.errors")
async def test_missing_resource_has_the_error_of_the_later_revision(client: RawClient) -> None:
    response = await client.ask("resources/read", {"_meta": MODERN, "uri": "x:y"})

    assert response["error"]["code"] == -32602
    assert response["error"]["data"] == {"uri": "x:y"}


@pytest.mark.requirement("mcp-server.structured")
async def test_structured_result_accompanies_text(client: RawClient) -> None:
    await client.greet()
    result = await client.result("tools/call", {"name": "get_selection", "arguments": {}})
    (tool,) = [
        each
        for each in (await client.result("tools/list"))["tools"]
        if each["name"] == "get_selection"
    ]

    assert result["structuredContent"]["selectedText"] is None
    assert result["structuredContent"].keys() <= tool["outputSchema"]["properties"].keys()
    assert "no editor" in result["content"][0]["text"]


@pytest.mark.requirement("mcp-server.structured")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_selection", {}),
        ("log_progress", {"message": "half done", "category": "info"}),
        ("signal_user", {"message": "Look at this."}),
        ("present_walkthrough", {"content": "# Hello"}),
        ("get_review_status", {}),
    ],
)
async def test_structured_result_is_valid_against_the_schema_of_its_tool(
    client: RawClient, name: str, arguments: dict[str, Any]
) -> None:
    await client.greet()
    tools = {each["name"]: each for each in (await client.result("tools/list"))["tools"]}
    result = await client.result("tools/call", {"name": name, "arguments": arguments})
    schema = tools[name]["outputSchema"]

    assert not result.get("isError"), result
    assert result["structuredContent"].keys() <= schema["properties"].keys()
    Draft202012Validator(schema).validate(result["structuredContent"])  # pyright: ignore[reportUnknownMemberType]
    assert result["content"][0]["text"]


@pytest.mark.requirement("mcp-server.resources")
async def test_guidance_is_listed_and_read_completely(client: RawClient) -> None:
    await client.greet()
    resources = (await client.result("resources/list"))["resources"]
    templates = (await client.result("resources/templates/list"))["resourceTemplates"]

    assert [each["uri"].rpartition("/")[2] for each in resources] == [
        "main.md",
        "walkthrough-format.md",
        "coding-guidelines.md",
        "mcp-tool-usage-suggestions.md",
        "debugging-tasks.md",
        "node-projects.md",
        "python-projects.md",
        "refactoring-tasks.md",
        "rust-projects.md",
        "socrates.md",
        "conflicts",
    ]
    for resource in resources[:-1]:
        for uri in (resource["uri"], resource["uri"].rpartition("/")[2]):
            (content,) = (await client.result("resources/read", {"uri": uri}))["contents"]
            assert content["uri"] == uri
            assert content["mimeType"] == resource["mimeType"] == "text/markdown"
            assert len(content["text"].encode()) == resource["size"]
            assert content["text"].startswith("---\nname: ")
        assert resource["name"]
        assert resource["description"]
    assert [each["uriTemplate"] for each in templates] == ["symposium://ref/{id}"]


@pytest.mark.requirement("mcp-server.resources")
async def test_attached_value_is_a_resource(client: RawClient, workplace: ServerContext) -> None:
    await client.greet()
    workplace.references.put("abc", {"a": [1]})
    (content,) = (await client.result("resources/read", {"uri": "symposium://ref/abc"}))["contents"]

    assert json.loads(content["text"]) == {"a": [1]}
    assert "error" in await client.ask("resources/read", {"uri": "symposium://ref/other"})


@pytest.mark.requirement("mcp-server.prompts")
@pytest.mark.parametrize("name", ["yiasou", "hi"])
async def test_first_prompt_is_for_the_chosen_collaborator(
    client: RawClient, bus: FakeBus, name: str
) -> None:
    bus.answer("taskspace_state", TaskspaceInfo(name="Import", initial_prompt="Fix it."))
    await client.greet()
    listed = (await client.result("prompts/list"))["prompts"]
    plain = await client.result("prompts/get", {"name": name})
    params = {"name": name, "arguments": {"collaborator": "sparkle"}}
    (other,) = (await client.result("prompts/get", params))["messages"]
    (message,) = plain["messages"]

    assert [each["name"] for each in listed] == ["yiasou", "hi"]
    assert [each["arguments"][0]["name"] for each in listed] == ["collaborator"] * 2
    assert message["role"] == "user"
    assert "`main.md`" in message["content"]["text"]
    assert "Fix it." in message["content"]["text"]
    assert "embody_sparkle" in other["content"]["text"]


@pytest.mark.requirement("mcp-server.completion")
async def test_arguments_are_completed(client: RawClient, workplace: ServerContext) -> None:
    await client.greet()
    workplace.references.put("abc", 1)

    async def values(ref: dict[str, str], name: str, begun: str) -> list[str]:
        params = {"ref": ref, "argument": {"name": name, "value": begun}}
        return (await client.result("completion/complete", params))["completion"]["values"]

    prompt = {"type": "ref/prompt", "name": "hi"}
    template = {"type": "ref/resource", "uri": "symposium://ref/{id}"}
    assert await values(prompt, "collaborator", "s") == ["socrates", "sparkle"]
    assert "claude" in await values(prompt, "collaborator", "")
    assert await values(template, "id", "a") == ["abc"]
    assert await values({"type": "ref/prompt", "name": "other"}, "x", "") == []
    params = {"ref": template, "argument": {"name": "id", "value": "a"}}
    assert (await client.result("completion/complete", params))["completion"] == {
        "values": ["abc"],
        "total": 1,
        "hasMore": False,
    }


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that triggers one more check of the library."""
    due = asyncio.Event()
    original = GuidanceLibrary.changes

    async def pause() -> None:
        await due.wait()
        due.clear()

    def changes(library: GuidanceLibrary) -> AsyncGenerator[GuidanceChange, None]:
        return original(library, pause)

    monkeypatch.setattr(GuidanceLibrary, "changes", changes)
    return due


def override(workplace: ServerContext, id_: str, text: str) -> None:
    folder = workplace.root.parent / "home" / "guidance"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / id_).write_text(text, encoding="utf-8")


@pytest.mark.requirement("mcp-server.resource-changes")
async def test_only_subscribers_are_notified_of_a_changed_text(
    workplace: ServerContext, looks: asyncio.Event
) -> None:
    async with serving(lambda lines: serve_lines(workplace, lines)) as client:
        await client.greet()
        await client.result("resources/subscribe", {"uri": MAIN})
        await client.result("resources/subscribe", {"uri": "coding-guidelines.md"})
        override(workplace, "walkthrough-format.md", "---\nname: W\n---\nother")
        looks.set()
        first = await client.next_unasked()
        override(workplace, "main.md", "shorter")
        looks.set()
        received = [await client.next_unasked() for _ in range(2)]
        await client.result("resources/unsubscribe", {"uri": MAIN})
        override(workplace, "main.md", "changed once more")
        looks.set()
        last = await client.next_unasked()
        read = await client.result("resources/read", {"uri": MAIN})

    assert first["method"] == "notifications/resources/list_changed"
    assert received[0]["params"]["uri"] == MAIN
    assert [each["method"] for each in received] == [
        "notifications/resources/updated",
        "notifications/resources/list_changed",
    ]
    assert last["method"] == "notifications/resources/list_changed"
    assert read["contents"][0]["text"] == "changed once more"


@pytest.mark.requirement("mcp-server.resource-changes")
async def test_later_revision_is_notified_on_the_subscribed_stream(
    workplace: ServerContext, looks: asyncio.Event
) -> None:
    wanted = {"resourcesListChanged": True, "resourceSubscriptions": [MAIN]}
    listen = {"jsonrpc": "2.0", "id": "ear", "method": "subscriptions/listen"}
    listen["params"] = {"_meta": MODERN, "notifications": wanted}  # pyright: ignore[reportArgumentType]  JSON
    async with serving(lambda lines: serve_lines(workplace, lines)) as client:
        client.write(json.dumps(listen).encode())
        acknowledged = await client.next_unasked()
        override(workplace, "main.md", "shorter")
        looks.set()
        received = [await client.next_unasked() for _ in range(2)]

    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert [each["method"] for each in received] == [
        "notifications/resources/updated",
        "notifications/resources/list_changed",
    ]
    assert received[0]["params"]["uri"] == MAIN


@pytest.mark.requirement("mcp-server.lines")
@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no JSON", -32700),
        (b'{"jsonrpc":"2.0","id":1', -32700),
        (b"\xff\xfe{}", -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":3}', -32600),
        (b"[" * 2000, -32700),
    ],
    ids=lambda each: str(each)[:50],
)
async def test_invalid_line_is_answered_with_an_error(
    client: RawClient, line: bytes, code: int
) -> None:
    await client.greet()
    client.write(line)
    answer = await client.next_unasked()

    assert answer["error"]["code"] in {code, -32600}
    assert (await client.result("ping")) == {}


@pytest.mark.requirement("mcp-server.lines")
async def test_blank_lines_are_not_answered(client: RawClient) -> None:
    await client.greet()
    for line in (b"", b" \t", b"\r", b"[]"):
        client.write(line)

    assert (await client.next_unasked())["error"]["code"] == -32600  # for the last line


@pytest.mark.requirement("mcp-server.lines")
async def test_client_that_writes_ahead_is_throttled_without_loss(
    client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "MAX_WAITING", 4)
    await client.greet()
    async with asyncio.timeout(45), asyncio.TaskGroup() as tasks:
        pings = [tasks.create_task(client.result("ping")) for _ in range(100)]

    assert [ping.result() for ping in pings] == [{}] * 100


odd_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=6,
)
odd_messages: st.SearchStrategy[bytes] = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", "1.0", 2]),
        "id": odd_json,
        "method": st.sampled_from(
            ["tools/call", "resources/read", "prompts/get", "initialize", "completion/complete"]
        )
        | odd_json,
        "params": st.fixed_dictionaries(
            {}, optional={"name": odd_json, "arguments": odd_json, "uri": odd_json, "ref": odd_json}
        )
        | odd_json,
        "result": odd_json,
    },
).map(lambda message: json.dumps(message).encode())


@pytest.mark.requirement("mcp-server.lines")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.binary(max_size=40) | odd_messages, max_size=8))
async def test_server_keeps_running_after_any_bytes(
    workplace: ServerContext, written: list[bytes]
) -> None:
    async with serving(own_server(workplace).serve) as client:
        await client.greet()
        for line in written:
            client.write(line.replace(b"\n", b" "))
        response = await client.ask("tools/list")

        assert "result" in response
