"""Command language of the test agent."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.agents.testy.scenario import (
    COMMAND_NAMES,
    Callbacks,
    CallTool,
    CancelStatus,
    Command,
    Content,
    Echo,
    Elicitations,
    Full,
    Greet,
    ListTools,
    ScenarioError,
    SessionUpdates,
    ToolCalls,
    WaitForCancel,
    parse_command,
    render_command,
)

EVERY_COMMAND: list[tuple[str, Command]] = [
    ('{"command": "greet"}', Greet()),
    ('{"command": "echo", "message": "hi\\n\\u00e9"}', Echo("hi\né")),
    ('{"command": "wait_for_cancel"}', WaitForCancel()),
    ('{"command": "session_updates"}', SessionUpdates()),
    ('{"command": "content"}', Content()),
    ('{"command": "tool_calls"}', ToolCalls()),
    ('{"command": "callbacks"}', Callbacks()),
    ('{"command": "elicitations"}', Elicitations()),
    ('{"command": "cancel_status"}', CancelStatus()),
    ('{"command": "full"}', Full()),
    ('{"command": "list_tools", "server": "s"}', ListTools("s")),
    ('{"command": "call_tool", "server": "s", "tool": "t"}', CallTool("s", "t", {})),
    (
        '{"command": "call_tool", "server": "s", "tool": "t", "params": {"d": 1.10}}',
        CallTool("s", "t", {"d": Decimal("1.10")}),
    ),
]


@pytest.mark.parametrize(("text", "command"), EVERY_COMMAND)
@pytest.mark.requirement("cli.testy-commands")
def test_command_round_trip(text: str, command: Command) -> None:
    assert parse_command(text) == command
    assert parse_command(f"\n  {text} ") == command
    assert parse_command(render_command(command)) == command


@pytest.mark.requirement("cli.testy-commands")
def test_every_command_is_tested() -> None:
    assert {json.loads(text)["command"] for text, _ in EVERY_COMMAND} == {*COMMAND_NAMES}


@pytest.mark.requirement("cli.testy-commands")
@pytest.mark.parametrize(
    "name",
    [
        "session_updates",
        "content",
        "tool_calls",
        "callbacks",
        "elicitations",
        "cancel_status",
        "wait_for_cancel",
        "full",
    ],
)
def test_scenario_can_be_run_by_name(name: str) -> None:
    longer = json.dumps({"command": "run_scenario", "scenario": name})

    assert parse_command(longer) == parse_command(json.dumps({"command": name}))


@pytest.mark.requirement("cli.testy-aliases")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("wait for cancel", WaitForCancel()),
        ("Wait_For_Cancel\n", WaitForCancel()),
        ("elicitations", Elicitations()),
        ("elicitation", Elicitations()),
        ("tool calls", ToolCalls()),
        ("Hello", Greet()),
        ("", Greet()),
        ("echo", Greet()),
        ("[1]", Greet()),
    ],
)
def test_plain_words_name_a_scenario_or_get_a_greeting(text: str, command: Command) -> None:
    assert parse_command(text) == command


@pytest.mark.requirement("testy.wrong-command")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "truncated"),
        ("{}", "missing required field `command`"),
        ('{"command": "dance"}', "Invalid value 'dance' - at `$.command`"),
        ('{"command": 7}', "Expected `str`"),
        ('{"command": "echo"}', "missing required field `message`"),
        ('{"command": "echo", "message": 7}', "Expected `str`, got `int` - at `$.message`"),
        ('{"command": "greet", "loudly": true}', "unknown field `loudly`"),
        ('{"command": "call_tool", "server": "s", "tool": "t", "params": []}', "`$.params`"),
        ('{"command": "run_scenario", "scenario": "dance"}', "'dance' - at `$.scenario`"),
        ('{"command": "run_scenario", "scenario": "greet"}', "'greet' - at `$.scenario`"),
        ('{"command": "echo", "message": "\ud800"}', "half a character"),
        (
            '{"command":"call_tool","server":"s","tool":"t","params":{"a":1e9999999999999999999}}',
            "exponent is out of range",
        ),
        (
            '{"command": "call_tool", "server": "s", "tool": "t", "params": {"a":' + "[" * 9_999,
            "nested too deeply",
        ),
    ],
    ids=range(13),
)
def test_invalid_command_is_explained(text: str, problem: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        parse_command(text)

    assert problem in str(raised.value)
    assert all(name in str(raised.value) for name in COMMAND_NAMES)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
json_prompts = st.one_of(
    st.dictionaries(st.text(), json_values).map(json.dumps),
    st.fixed_dictionaries(
        {"command": st.sampled_from(COMMAND_NAMES) | st.text()},
        optional={
            "message": st.text() | json_values,
            "server": st.text(),
            "tool": st.text(),
            "params": json_values,
        },
    ).map(json.dumps),
)


@given(st.text(st.characters(exclude_categories=[])) | json_prompts)
@pytest.mark.requirement("testy.wrong-command")
def test_any_prompt_is_a_command_or_an_explained_error(text: str) -> None:
    try:
        command = parse_command(text)
    except ScenarioError as error:
        assert text.lstrip().startswith("{")
        assert str(error).encode()  # noqa: PT017 - both outcomes are valid
    else:
        assert parse_command(render_command(command)) == command
