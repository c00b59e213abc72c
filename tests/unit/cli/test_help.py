"""Lists of commands, and `--help`."""

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from symposium.__main__ import main
from symposium.cli.app import OTHERS, SECTIONS, RootGroup


def commands(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command, with its path."""
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        inner = click.Context(found, context, name)
        yield inner.command_path, found
        if isinstance(found, click.Group):
            yield from commands(found, inner)


ROOT = click.Context(main, info_name="symposium", **main.context_settings)
ALL = dict(commands(main, ROOT))
GROUPS = [path for path, each in ALL.items() if isinstance(each, click.Group)]


def said(*words: str) -> str:
    done = CliRunner().invoke(main, list(words), terminal_width=80, prog_name="symposium")
    assert done.exit_code == 0, done.stderr
    return done.stdout


def help_of(path: str) -> str:
    return said(*path.split()[1:], "--help")


@pytest.mark.requirement("front.help-whole")
@pytest.mark.parametrize("path", ["symposium", *GROUPS])
def test_lists_of_commands_do_not_cut_summaries(path: str) -> None:
    listed = said(*path.split()[1:], "--help")

    assert "..." not in listed.replace("[ARGS]...", "")
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.requirement("front.help-whole")
@pytest.mark.parametrize("path", ["symposium", *ALL])
def test_help_has_a_short_name(path: str) -> None:
    words = path.split()[1:]

    assert said(*words, "-h") == said(*words, "--help")


@pytest.mark.requirement("cli.help")
def test_help_of_every_command_and_subcommand_ends_with_an_example_of_it() -> None:
    endings = {path: re.split(r"^ +Example:\n", help_of(path), flags=re.MULTILINE) for path in ALL}

    assert [path for path, parts in endings.items() if len(parts) != 2] == []
    assert [path for path, (_, example) in endings.items() if path not in example] == []
    assert [path for path, (_, example) in endings.items() if example.count("\n") != 1] == []


@pytest.mark.requirement("front.help-whole")
@pytest.mark.parametrize(
    ("path", "explanation"),
    [
        ("inbox later", "ITEM is a number from the last list"),
        ("inbox answer", "ITEM is a number from the last list"),
        ("task land", "TASK is a name, an id,"),
        ("session say", "SESSION is an id"),
        ("walkthrough show", "TARGET is a Markdown file"),
        ("setup", "EDITOR is one of: claude-mcp, codex-mcp, emacs,"),
    ],
)
def test_help_explains_the_argument_once(path: str, explanation: str) -> None:
    shown = said(*path.split(), "--help")

    assert shown.count(explanation) == 1
    assert f"[OPTIONS] {explanation.split(maxsplit=1)[0]}" in shown.replace("[TARGET]", "TARGET")


@pytest.mark.requirement("front.sections")
def test_each_command_is_listed_in_exactly_one_section() -> None:
    listed = said("--help")
    placed = [name for names in SECTIONS.values() for name in names]

    assert sorted(placed) == main.list_commands(ROOT)
    for name in placed:
        assert len(re.findall(rf"^  {name} ", listed, re.MULTILINE)) == 1
    titles = re.findall(r"^(\w.*):$", listed, re.MULTILINE)
    assert titles == ["Options", *SECTIONS]


@pytest.mark.requirement("front.sections")
def test_help_lists_a_command_without_a_section_under_other_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(SECTIONS, "Work on tasks")

    assert re.search(rf"^{OTHERS}:\n(  .*\n)*  task ", said("--help"), re.MULTILINE)


@pytest.mark.requirement("front.sections")
def test_names_are_listed_in_sections_without_arguments() -> None:
    done = CliRunner().invoke(main, [], prog_name="symposium")

    assert (done.exit_code, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    for title, names in SECTIONS.items():
        (line,) = [each for each in lines if each.strip().startswith(title)]
        assert line.split(title)[1].strip() == ", ".join(names)
    assert isinstance(main, RootGroup)
