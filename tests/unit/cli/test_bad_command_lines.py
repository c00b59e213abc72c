"""Errors for wrong command lines, SPECs, and JSON forms: the problem, its place, and the fix."""

from dataclasses import dataclass
from typing import Final

import click
import pytest

from symposium.__main__ import main
from symposium.cli.app import CommandGroup

RUN = "run-with"
PROMPT = "prompt"


@dataclass(frozen=True)
class Case:
    """A wrong command line and the texts that its error must contain."""

    words: tuple[str, ...]
    says: tuple[str, ...]
    code: int = 2


def case(line: str, *says: str, code: int = 2) -> Case:
    return Case(tuple(line.split()), says, code)


def spec(text: str, *says: str) -> Case:
    """A SPEC that names no component of either kind."""
    return Case((RUN, "--agent", text), ("--agent: ", *says))


def json_form(text: str, *says: str) -> Case:
    return Case((RUN, "--proxy", "pass", "--proxy", text), ("--proxy 2: ", *says))


COMMAND_LINES: Final = [
    case("", "Usage: symposium", "run-with"),
    case("rnu-with", "'rnu-with'", "Did you mean run-with?", "prompt"),
    case("runs", "'runs'", "Did you mean"),
    case("RUN-WITH", "'RUN-WITH'", "Did you mean run-with?"),
    case("chta", "'chta'", "Did you mean chat?"),
    case("frobnicate", "'frobnicate'", "Known commands: "),
    case("run_with", "'run_with'", "Did you mean run-with?"),
    case("--frob", "No such option", "--frob"),
    case("--versionn", "--versionn", "--version"),
    case("-x", "No such option", "-x"),
    case("run-with --agnet eliza", "--agnet", "--agent"),
    case("run-with --proxi pass", "--proxi", "--proxy"),
    case("run-with --agent", "--agent", "requires an argument"),
    case("run-with --proxy", "--proxy", "requires an argument"),
    case("run-with --trace-dir", "--trace-dir", "requires an argument"),
    case("run-with --log", "--log", "requires an argument"),
    case("run-with --log loud", "loud", "error", "warning", "info", "debug"),
    case("run-with --log 3", "'3'", "error", "warning"),
    case("run-with eliza", "unexpected extra argument", "eliza"),
    case("run-with --agent eliza pass tag", "unexpected extra arguments", "pass tag"),
    case("run-with --trace-dir pyproject.toml", "--trace-dir", "is a file"),
    case("run-with --log-dir README.md", "--log-dir", "is a file"),
    case("run-with --json", "No such option", "--json"),
    case("eliza --deterministicc", "--deterministicc", "--deterministic"),
    case("eliza chat", "unexpected extra argument", "chat"),
    case("prompt", "Missing argument", "TEXT"),
    case("prompt hello there", "unexpected extra argument", "there"),
    case("prompt --agent eliza", "Missing argument", "TEXT"),
    case("prompt --timeout x hello", "--timeout", "'x'"),
    case("prompt --timeout 0 hello", "--timeout", "0"),
    case("prompt --timeout -1 hello", "--timeout", "-1"),
    case("prompt --timeout", "--timeout", "requires an argument"),
    case("prompt --approve hello", "--approve", "--approve-all"),
    case("prompt --non-interactive-permissions maybe hello", "maybe", "deny", "fail"),
    case("prompt --josn hello", "--josn", "--json"),
    case("prompt --cwd /no/such/place hello", "/no/such/place", "is not a directory", code=4),
    case("prompt --cwd pyproject.toml hello", "pyproject.toml", "is not a directory", code=4),
    case("prompt -dash", "No such option"),
    case("chat hello", "unexpected extra argument", "hello"),
    case("chat --agentt eliza", "--agentt", "--agent"),
    case("chat --timeout soon", "--timeout", "'soon'"),
]

GROUPS: Final = [
    case(
        "task delete x", "'delete'", "Did you mean rm?", "Known commands: adopt, attach", "rename"
    ),
    case("task remove x", "Did you mean rm"),
    case("task crate x", "'crate'", "Known commands: "),
    case("task create x", "Did you mean new"),
    case("task renam", "Did you mean rename"),
    case("task SHOW x", "Did you mean show"),
    case("task frobnicate", "'frobnicate'. Known commands: adopt"),
    case("session rm x", "Did you mean forget?"),
    case("session stop x", "Did you mean cancel or kill"),
    case("agents install x", "Did you mean add"),
    case("registry ls", "Did you mean list"),
    case("daemon tail", "Did you mean logs"),
    case("bus log", "Did you mean tail"),
    case("trust delete x", "Did you mean revoke"),
    case("policy ls", "Did you mean list"),
    case("recommendations rm x", "Did you mean forget"),
    case("walkthrough validate x", "Did you mean check"),
    case("timeline view x", "Did you mean show"),
    case("audit check", "Did you mean verify"),
    case("trace inspect x", "Did you mean show or view"),
    case("inbox approve 1", "Did you mean answer"),
    case("inbox --frob", "No such option", "--frob"),
]

SPECS: Final = [
    spec("", "Arguments cannot be empty", "a SPEC is"),
    spec("   ", "Arguments cannot be empty"),
    spec("\t\n", "Arguments cannot be empty"),
    spec("'unclosed", "quote that is not closed", "close the quote"),
    spec('say "hello', "quote that is not closed"),
    spec("agent \\", "backslash at its end"),
    spec("A=1", "No command found", "A=…"),
    spec("A=1 B=2", "No command found", "B=…"),
    spec("''", "empty word"),
    spec("A=1 ''", "empty word"),
    spec("a\0b", "NUL"),
    spec("eliz", "'eliz'", "did you mean eliza?"),
    spec("Eliza", "'Eliza'", "did you mean eliza?"),
    spec("nosuchagent", "neither a built-in agent", "nor a program on PATH", "a SPEC is"),
    spec("arrow", "arrow is a mod", "--proxy arrow"),
    spec("pass", "pass is a mod", "--proxy pass"),
    spec("defaults", "'defaults'", "neither a built-in agent"),
    Case((RUN, "--proxy", "eliza"), ("--proxy: eliza is an agent", "--agent eliza")),
    Case((RUN, "--proxy", "arow"), ("--proxy: 'arow'", "did you mean arrow")),
    Case((RUN, "--proxy", "ARROW"), ("--proxy: 'ARROW'", "did you mean arrow")),
    Case((RUN, "--proxy", "defualts"), ("'defualts'", "did you mean defaults?")),
    Case((RUN, "--proxy", "arrow", "--proxy", ""), ("--proxy 2: ", "cannot be empty")),
    Case((RUN, "--proxy", "x y", "--proxy", "tga"), ("--proxy 2: 'tga'", "did you mean tag?")),
    Case((PROMPT, "--agent", "", "hello"), ("--agent: ", "Arguments cannot be empty")),
    Case((PROMPT, "--agent", "eliz", "hello"), ("--agent: 'eliz'", "did you mean eliza?")),
    Case((PROMPT, "--proxy", "'", "hello"), ("--proxy: ", "close the quote")),
    Case(("chat", "--agent", "A=1"), ("--agent: ", "No command found")),
]

JSON_FORMS: Final = [
    json_form("{", "malformed", "column"),
    json_form("{]", "malformed", "column 2"),
    json_form('{"command": "x",}', "malformed", "column"),
    json_form("{'command': 'x'}", "malformed"),
    json_form('{"command": "x"} y', "malformed"),
    json_form("{}", 'no "command"', "add the program"),
    json_form('{"command": ""}', 'no "command"'),
    json_form('{"command": null}', 'no "command"'),
    json_form('{"command": 7}', '"command"', "7", "text"),
    json_form('{"command": ["x"]}', '"command"', "text"),
    json_form('{"args": ["x"]}', 'no "command"'),
    json_form('{"command": "x", "args": "y"}', '"args"', "a list of texts"),
    json_form('{"command": "x", "args": [1]}', '"args"[0]', "put a number in quotes"),
    json_form('{"command": "x", "args": ["a", null]}', '"args"[1]'),
    json_form('{"command": "x", "env": "A=1"}', '"env"', "a map"),
    json_form('{"command": "x", "env": {"A": 1}}', "put a number in quotes"),
    json_form('{"command": "x", "env": {"": "1"}}', "the name of", '"env"'),
    json_form('{"command": "x", "env": {"A=B": "1"}}', "the name of", "without ="),
    json_form('{"command": "x", "env": [{"name": "A"}]}', '"env"[0]', '"value"'),
    json_form('{"command": "x", "env": ["A=1"]}', '"env"[0]', "an object"),
    json_form('{"command": "x", "cwd": 1}', '"cwd"', "text"),
    json_form('{"command": "x", "name": {}}', '"name"', "text"),
    json_form('{"command": "x", "dialect": "old"}', '"dialect"', "rust-sdk"),
    json_form('{"command": "x", "comand": "y"}', "unknown key", "comand", "known are"),
    json_form('{"type": "http", "url": "http://x"}', "http", "a program on this machine"),
    json_form('{"type": "sse", "url": "http://x"}', "sse", "a program on this machine"),
    json_form('{"type": "carrier-pigeon", "command": "x"}', '"stdio"'),
]


def said_to(wrong: Case, capsys: pytest.CaptureFixture[str]) -> str:
    """Output on stderr, after a check that stdout is empty."""
    with pytest.raises(SystemExit) as ended:
        main(list(wrong.words), prog_name="symposium")
    written = capsys.readouterr()

    assert ended.value.code == wrong.code
    assert written.out == ""
    assert "Traceback" not in written.err
    assert 1 <= len(written.err.splitlines()) <= 30
    return written.err


def name_of(wrong: Case) -> str:
    return " ".join(wrong.words) or "(nothing)"


@pytest.mark.requirement("cli.bad-command-line", "cli.exit-usage", "cli.errors-what-where-how")
@pytest.mark.parametrize("wrong", COMMAND_LINES, ids=name_of)
def test_error_of_a_wrong_command_line_suggests_the_fix(
    wrong: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said_to(wrong, capsys)

    assert [part for part in wrong.says if part not in text] == []


@pytest.mark.requirement("cli.unknown-subcommand")
@pytest.mark.parametrize("wrong", GROUPS, ids=name_of)
def test_error_of_an_unknown_subcommand_suggests_similar_ones(
    wrong: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said_to(wrong, capsys)

    assert [part for part in wrong.says if part not in text] == []


@pytest.mark.requirement("cli.unknown-subcommand")
def test_every_group_of_subcommands_suggests_names() -> None:
    context = click.Context(main, **main.context_settings)
    commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    groups = {name: each for name, each in commands.items() if isinstance(each, click.Group)}

    assert len(groups) >= 14
    assert [name for name, each in groups.items() if not isinstance(each, CommandGroup)] == []


@pytest.mark.requirement("cli.bad-spec", "cli.specs-unknown-name", "cli.specs-name")
@pytest.mark.parametrize("wrong", SPECS, ids=name_of)
def test_error_of_a_wrong_spec_names_its_place_and_the_fix(
    wrong: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said_to(wrong, capsys)

    assert [part for part in wrong.says if part not in text] == []


@pytest.mark.requirement("cli.bad-json-form")
@pytest.mark.parametrize("wrong", JSON_FORMS, ids=name_of)
def test_error_of_a_wrong_json_form_names_the_member_and_its_type(
    wrong: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said_to(wrong, capsys)

    assert [part for part in wrong.says if part not in text] == []


@pytest.mark.requirement("cli.bad-cases-hundred")
def test_tables_of_bad_input_have_a_hundred_cases_in_total() -> None:
    # The other half is in tests/process/test_cli_bad_programs.py, which needs real programs.
    assert len(COMMAND_LINES) >= 40
    assert len(SPECS) >= 25
    assert len(JSON_FORMS) >= 25
