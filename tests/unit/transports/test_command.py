"""Program specs as users write them, and errors for invalid ones."""

import json
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerwire.transports.command import (
    DIALECTS,
    Command,
    CommandError,
    command_json,
    parse_command,
    without_values,
)

# Texts a program can be given: no NUL, and nothing that is no Unicode.
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
names = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1)


@pytest.mark.requirement("process.spec-simple")
def test_one_word_is_a_program() -> None:
    assert parse_command("claude-agent") == Command(("claude-agent",))


@pytest.mark.requirement("process.spec-args")
def test_more_words_are_its_arguments() -> None:
    assert parse_command("  npx  -y agent --acp ").argv == ("npx", "-y", "agent", "--acp")


@pytest.mark.requirement("process.spec-quotes")
def test_quotes_and_backslashes_group_as_in_a_shell() -> None:
    spec = r"""'/opt/my agent' "a \"b\" c" d\ e '' """

    assert parse_command(spec).argv == ("/opt/my agent", 'a "b" c', "d e", "")


@pytest.mark.requirement("process.spec-env-words")
def test_leading_assignments_are_the_environment() -> None:
    command = parse_command("RUST_LOG=debug EMPTY= KEY='a b=c' agent MODE=x --flag=1")

    assert command.env == {"RUST_LOG": "debug", "EMPTY": "", "KEY": "a b=c"}
    assert command.argv == ("agent", "MODE=x", "--flag=1")


@pytest.mark.requirement("process.spawn-argv")
def test_text_that_a_shell_would_expand_is_unchanged() -> None:
    assert parse_command("agent $HOME *.py a;b '|' #x").argv[1:] == (
        *("$HOME", "*.py", "a;b", "|", "#x"),
    )


@pytest.mark.requirement("process.spec-json-stdio-list-env")
def test_json_as_an_mcp_server_over_stdio() -> None:
    spec = """ {"type": "stdio", "name": "Agent", "command": "run me", "args": ["-a", "b c"],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "=", "_meta": {}}]}"""

    assert parse_command(spec) == Command(("run me", "-a", "b c"), {"A": "1", "B": "="}, "Agent")


@pytest.mark.requirement("process.spec-json-env-map")
def test_json_with_the_environment_as_a_map() -> None:
    spec = '{"command": "agent", "args": ["x"], "env": {"A": "1"}}'

    assert parse_command(spec) == Command(("agent", "x"), {"A": "1"})
    assert parse_command('{"command": "agent"}') == Command(("agent",))


@pytest.mark.requirement("process.spec-json-stdio-list-env")
def test_json_with_meta_of_another_program_is_accepted() -> None:
    assert parse_command('{"command": "agent", "_meta": {"x": 1}}') == Command(("agent",))


@pytest.mark.requirement("process.spec-json-dialect")
def test_json_may_say_which_dialect_a_component_speaks() -> None:
    for dialect in DIALECTS:
        spec = json.dumps({"command": "a", "dialect": dialect})
        assert parse_command(spec).dialect == dialect
    assert parse_command('{"command": "a"}').dialect == "auto"


@pytest.mark.requirement("process.spec-json-directory")
def test_json_may_say_where_a_component_starts() -> None:
    assert parse_command('{"command": "a", "cwd": "/srv"}').cwd == "/srv"
    assert parse_command("a").cwd is None


@pytest.mark.requirement("process.spec-json-round-trip")
@given(
    st.builds(
        Command,
        st.tuples(names) | st.tuples(names, texts) | st.tuples(names, texts, texts),
        st.dictionaries(names, texts),
        st.none() | names,
        st.none() | names,
        st.sampled_from(DIALECTS),
    )
)
def test_what_is_written_as_json_reads_back_the_same(command: Command) -> None:
    assert parse_command(command_json(command)) == command


@pytest.mark.requirement("process.spec-json-round-trip")
def test_what_is_empty_is_left_out_of_the_json() -> None:
    assert command_json(Command(("agent",))) == '{"command":"agent"}'


@pytest.mark.requirement("process.spec-any-text")
@given(st.text())
def test_any_text_is_a_command_or_a_refusal(spec: str) -> None:
    try:
        program = parse_command(spec).argv[0]
    except CommandError as error:
        program = str(error)

    assert program


UNKNOWN = "unknown key 'cmd' in the JSON command; known are command, args, env, name, type, cwd, "
REMOTE = (
    "in the JSON command is 'http', a server reached by its address; a component is a program on "
)

REFUSED = [
    pytest.param(spec, text, marks=pytest.mark.requirement("process.spec-json-types"))
    for spec, text in [
        ("{}", 'has no "command"; add the program to start'),
        ('{"command": ""}', 'has no "command"'),
        ('{"command": 5}', '"command" in the JSON command is 5; it must be text without NUL'),
        ('{"command": "a\\u0000"}', '"command" in the JSON command is '),
        ('{"command": "a", "name": []}', '"name" in the JSON command is []; it must be text'),
        ('{"command": "a", "args": "b"}', "\"args\" in the JSON command is 'b'; it must be a list"),
        ('{"command": "a", "args": ["b", 1]}', '"args"[1] in the JSON command is 1; it must be te'),
        ('{"command": "a", "env": "A=1"}', "\"env\" in the JSON command is 'A=1'; it must be a m"),
        ('{"command": "a", "env": {"A": 1}}', "\"env\".'A' in the JSON command is 1; it must be"),
        ('{"command": "a", "env": {"": "1"}}', "the name of \"env\".'' in the JSON command is ''"),
        ('{"command": "a", "env": {"A=B": "1"}}', "it must be text without = and NUL"),
        ('{"command": "a", "env": ["A=1"]}', "\"env\"[0] in the JSON command is 'A=1'; it must "),
        ('{"command": "a", "env": [{"name": "A"}]}', 'it must be an object with "name" and "value'),
        ('{"command": "a", "env": [{"name": "A", "value": 1}]}', '"env"[0] in the JSON command is'),
        ('{"command": "a", "env": [{"name": "A", "value": "1", "x": 1}]}', "and nothing else"),
    ]
]


@pytest.mark.requirement("process.spec-refusals")
@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            *("", "Arguments cannot be empty: write a program"),
            marks=pytest.mark.requirement("process.spec-empty"),
        ),
        pytest.param(
            *(" \t ", "Arguments cannot be empty"),
            marks=pytest.mark.requirement("process.spec-empty"),
        ),
        pytest.param(
            "A=1 B=2",
            "No command found (only environment variables provided): write a program after 'B=…'",
            marks=pytest.mark.requirement("process.spec-env-only"),
        ),
        pytest.param(
            'agent "oops',
            "'agent \"oops' has a quote that is not closed; close the quote",
            marks=pytest.mark.requirement("process.spec-unbalanced-quote"),
        ),
        pytest.param(
            *("agent \\", "has a backslash at its end"),
            marks=pytest.mark.requirement("process.spec-unbalanced-quote"),
        ),
        ("A=1 '' b", "has an empty word where the program should stand"),
        ("agent\0", "'agent\\x00' holds a NUL character"),
        pytest.param(
            '{"command": "a", "cmd": "b"}',
            UNKNOWN + "dialect",
            marks=pytest.mark.requirement("process.spec-json-unknown-key"),
        ),
        pytest.param(
            '{"type": "http", "name": "x", "url": "http://h", "headers": []}',
            REMOTE + 'this machine: give "command" and "args" instead',
            marks=pytest.mark.requirement("process.spec-json-http"),
        ),
        pytest.param(
            '{"type": "sse", "name": "x", "url": "http://h", "headers": []}',
            "a server reached by its address",
            marks=pytest.mark.requirement("process.spec-json-http"),
        ),
        ('{"type": "pipe", "command": "a"}', 'it must be "stdio" or left out'),
        ('{"type": ["http"], "command": "a"}', 'it must be "stdio" or left out'),
        pytest.param(
            '{"command": "a", "dialect": "v0"}',
            "is 'v0'; it must be one of auto, sacp, rust-sdk, rfd, pacp",
            marks=pytest.mark.requirement("process.spec-json-dialect"),
        ),
        pytest.param(
            '{"command": "é" "args"}',
            "malformed near column 17: expected ',' or '}'",
            marks=pytest.mark.requirement("process.spec-json-malformed"),
        ),
        pytest.param(
            '{\n "command": nul}',
            "malformed near line 2, column ",
            marks=pytest.mark.requirement("process.spec-json-malformed"),
        ),
        pytest.param(
            '{"command": "a"',
            "malformed near column 16: Input data was truncated; fix it, or quote the word",
            marks=pytest.mark.requirement("process.spec-json-malformed"),
        ),
        pytest.param(
            '{"command": "a"} b',
            "malformed near column 19: trailing characters",
            marks=pytest.mark.requirement("process.spec-json-malformed"),
        ),
        ('{"command": "\ud800"}', "malformed"),
        ("'" + "x" * 500, f"\"'{'x' * 77}… has a quote that is not closed"),
        *REFUSED,
    ],
)
def test_error_names_the_problem_the_place_and_the_fix(spec: str, text: str) -> None:
    with pytest.raises(CommandError) as refusal:
        parse_command(spec)

    assert text in str(refusal.value)


@pytest.mark.requirement("process.shown-without-values")
@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("agent --acp 'a b'", "agent --acp 'a b'"),
        ("KEY=sk-secret agent MODE=x", "KEY=… agent MODE=x"),
        ("A=1 KEY='a secret' \"B=b b\" agent 'x y'", "A=… KEY=… B=… agent 'x y'"),
        ("KEY=secret", "KEY=…"),
        ("KEY='secret agent", "KEY=…"),
        ("'/a b' \"unclosed", "'/a b' \"unclosed"),
        ('{"command": "x", "env": {"KEY": "secret"}}', '{"command":"x","env":{"KEY":"…"}}'),
        (
            '{"command":"x","env":[{"name":"K","value":"secret"}]}',
            '{"command":"x","env":[{"name":"K","value":"…"}]}',
        ),
        ('{"command": "x"}', '{"command": "x"}'),
        ('{"command": "x", "env": {"KEY": "secret"', "{…}"),
    ],
)
def test_a_command_is_shown_without_what_its_variables_are_set_to(spec: str, said: str) -> None:
    assert without_values(spec) == said


@pytest.mark.requirement("process.shown-without-values")
@pytest.mark.parametrize(
    "spec", ["KEY=sk-secret", "KEY=sk-secret 'agent", "KEY=sk-secret a\0b", "KEY=sk-secret ''"]
)
def test_an_error_does_not_repeat_what_a_variable_was_set_to(spec: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_command(spec)

    assert "KEY=…" in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.requirement("process.shown-without-values")
@given(names, texts, texts)
def test_no_value_is_ever_shown(name: str, value: str, rest: str) -> None:
    without_values(f"{name}={value} {rest}")
    shown = without_values(f"KEY=s3cr3t-{shlex.quote(value)} {rest}")

    assert "s3cr3t-" not in shown
