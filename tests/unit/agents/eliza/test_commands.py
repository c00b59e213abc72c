"""Commands in a prompt to Eliza, and the texts of their results."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.agents.eliza.commands import (
    ListToolsCommand,
    Talk,
    Unreadable,
    UseTool,
    parse_command,
    render_error,
    render_result,
    render_tools,
)


@pytest.mark.requirement("cli.eliza-list-tools")
@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("list tools from echo", "echo"),
        ("LIST Tools FROM Echo", "Echo"),
        ("  list\ttools  from echo \n", "echo"),
        ("list tools from my server", "my server"),
    ],
)
def test_list_command_names_a_server(text: str, server: str) -> None:
    assert parse_command(text) == ListToolsCommand(server)


@pytest.mark.requirement("cli.eliza-use-tool")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('use tool s::t with {"a": 1}', UseTool("s", "t", {"a": 1})),
        ("USE TOOL S::T WITH {}", UseTool("S", "T", {})),
        (
            'Use tool my server::echo with\n{"text":\n "with  two spaces ::"}',
            UseTool("my server", "echo", {"text": "with  two spaces ::"}),
        ),
        (
            'use tool s::t with {"n": 12345678901234567890123, "d": 1.10}',
            UseTool("s", "t", {"n": 12345678901234567890123, "d": Decimal("1.10")}),
        ),
    ],
)
def test_use_command_has_a_tool_and_arguments(text: str, expected: UseTool) -> None:
    assert parse_command(text) == expected


@pytest.mark.requirement("cli.eliza-use-tool", "cli.eliza-list-tools")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello",
        "list tools",
        "list tools from",
        "list tools of echo",
        "please list tools from echo",
        "use tool",
        "use tool s::t",
        "use tool s::t with",
        "use tool t with {}",
        "use tool ::t with {}",
        "use tool s:: with {}",
        "use tool s::t using {}",
        'use tool s with {"a": "b::c"}',
        "use the tool s::t with {}",
    ],
)
def test_other_text_is_conversation(text: str) -> None:
    assert parse_command(text) == Talk(text)


@pytest.mark.requirement("cli.eliza-use-tool-wrong")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("{a: 1}", "are not JSON: Expecting property name"),
        ('{"a": 1', "are not JSON"),
        ("nonsense", "are not JSON"),
        ("{} {}", "are not JSON"),
        ('{"a": NaN}', "are not JSON: NaN is not JSON"),
        ("[1]", "are JSON, but not an object"),
        ("null", "are JSON, but not an object"),
        ('{"a": "\ud800"}', "it contains a lone surrogate"),
        ('{"a": 1e99999999999999999999}', "are not JSON"),
        ("[" * 200_000, "nested too deeply"),
    ],
    ids=range(10),
)
def test_malformed_arguments_are_explained(arguments: str, problem: str) -> None:
    command = parse_command(f"use tool s::t with {arguments}")

    assert isinstance(command, Unreadable)
    assert command.reply.startswith("ERROR: the arguments for s::t are ")
    assert problem in command.reply
    assert command.reply.endswith('use tool SERVER::TOOL with {"argument": "value"}')


names = st.from_regex(r"[A-Za-z0-9_.-]{1,12}", fullmatch=True)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(server=names, tool=names, arguments=st.dictionaries(st.text(), json_values))
@pytest.mark.requirement("cli.eliza-use-tool")
def test_any_object_is_accepted_unchanged(
    server: str, tool: str, arguments: dict[str, object]
) -> None:
    text = f"use tool {server}::{tool} with {json.dumps(arguments)}"

    assert parse_command(text) == UseTool(server, tool, arguments)


@given(
    st.one_of(
        st.text(st.characters(exclude_categories=[])),
        st.text(st.characters(exclude_categories=[])).map(lambda end: f"use tool s::t with {end}"),
        st.text(st.characters(exclude_categories=[])).map(lambda end: f"use tool {end}"),
    )
)
@pytest.mark.requirement("eliza.any-text")
def test_any_prompt_can_be_parsed(text: str) -> None:
    match parse_command(text):
        case Unreadable(reply):
            assert reply.encode()
        case Talk(said):
            assert said == text
        case ListToolsCommand() | UseTool():
            pass


@pytest.mark.requirement("cli.eliza-list-tools")
def test_tools_are_listed_one_per_line() -> None:
    assert render_tools([("echo", "Says it again"), ("mute", None)]) == (
        "Available tools:\n  - echo: Says it again\n  - mute: (no description)"
    )
    assert render_tools([]) == "Available tools:\n  (none)"


@pytest.mark.requirement("cli.eliza-use-tool")
def test_result_begins_with_its_status() -> None:
    assert render_result("42") == "OK: 42"
    assert render_error("no server is called s") == "ERROR: no server is called s"
