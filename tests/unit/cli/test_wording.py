"""Counts, aliases of options, and messages of empty results."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from tests.support.terminals import TerminalText

from symposium.__main__ import main
from symposium.cli.options import print_stdio_hint
from symposium.tasks.budget import Usage


def leaves(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Every command except groups, with its path."""
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        assert found is not None
        inner = click.Context(found, context, name)
        if isinstance(found, click.Group):
            yield from leaves(found, inner)
        else:
            yield inner.command_path, found


LEAVES = list(leaves(main, click.Context(main, info_name="symposium", **main.context_settings)))


@pytest.mark.requirement("front.one-name")
def test_directory_option_has_the_same_name_in_every_command() -> None:
    named = {
        path: {*option.opts}
        for path, each in LEAVES
        for option in each.params
        if {"--cwd", "--project", "--directory"} & {*option.opts}
    }

    assert len(named) > 5
    assert [path for path, names in named.items() if "--cwd" not in names] == []


@pytest.mark.requirement("front.one-name")
def test_handoff_target_is_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))

    both = CliRunner().invoke(main, ["handoff", "--to", "eliza", "-a", "testy"])
    none = CliRunner().invoke(main, ["handoff"])
    one = CliRunner().invoke(main, ["handoff", "-a", "eliza", "--cwd", str(tmp_path)])

    assert (both.exit_code, none.exit_code, one.exit_code) == (2, 2, 4)
    assert "give one" in both.stderr
    assert "--to" in none.stderr
    assert "no session of" in one.stderr


@pytest.mark.requirement("front.wording")
def test_counts_of_one_are_singular() -> None:
    assert Usage(turns=1).text == "0.00 usd, 0.0 min, 1 turn"
    assert Usage(turns=2).text == "0.00 usd, 0.0 min, 2 turns"


@pytest.mark.requirement("front.wording")
@pytest.mark.parametrize(("speaks", "whom"), [("ACP", "an editor"), ("MCP", "an agent")])
def test_stdio_command_explains_itself_on_a_terminal(
    speaks: str, whom: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_stdio_hint("Do this", speaks=speaks)
    assert capsys.readouterr() == ("", "")

    monkeypatch.setattr(sys, "stdin", TerminalText())
    print_stdio_hint("Do this", speaks=speaks)

    said = capsys.readouterr()
    assert said.out == ""
    assert f"This command speaks {speaks} " in said.err
    assert f"for {whom}. " in said.err
    assert "\nDo this. Ctrl-D" in said.err


@pytest.mark.requirement("front.wording")
@pytest.mark.parametrize("words", [["list"], ["show"]])
def test_empty_walkthrough_list_names_how_to_create_one(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(main, ["walkthrough", *words])

    assert "present_walkthrough" in done.stderr
