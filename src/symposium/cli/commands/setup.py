"""Add Symposium to an editor: print the settings, write them, or undo that."""

import os
import sys
from inspect import cleandoc
from pathlib import Path

import click

from localio.plugins import module_name, names_in, only_object
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example
from symposium.cli.policy_report import counted, policy_report
from symposium.config.editor_settings import (
    CommandLine,
    Editor,
    EditorEnvironment,
    Receipts,
    SettingsChange,
    carry_out,
    find_launch,
    plan_undo,
    plan_write,
    snippet,
)
from symposium.config.paths import paths
from symposium.errors import NotFoundError

KNOWN = "symposium.editors"
EDITORS = names_in(KNOWN)


@click.command(name="setup", epilog=example("symposium setup zed --write"))
@click.argument("editor", metavar="EDITOR", type=click.Choice(EDITORS))
@click.option(
    "--write", "is_write", is_flag=True, help="Change the settings, after showing the change."
)
@click.option("--undo", "is_undo", is_flag=True, help="Undo the change made by --write.")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask for confirmation.")
def command(editor: str, *, is_write: bool, is_undo: bool, is_agreed: bool) -> int:
    """Add Symposium to an editor, or its MCP tools to an agent.

    Without an option, print the settings to add to the editor; stderr names the file. --undo
    removes only the change made by --write and keeps your later changes.

    The command also runs the tests in your policy.toml. Exit code: 0 done, 1 a policy test failed,
    5 you declined.
    """
    if is_write and is_undo:
        raise click.UsageError("--write and --undo exclude each other")
    known = only_object(f"{KNOWN}.{module_name(editor)}", Editor)
    if is_undo:
        return _undo(editor, known, is_agreed=is_agreed)
    code = _write(editor, known, is_agreed=is_agreed) if is_write else _show(known)
    return code or _test_policy()


_NAMES = f"EDITOR is one of: {', '.join(EDITORS)}. The names with -mcp are agents."
command.help = f"{cleandoc(command.help or '')}\n\n{_NAMES}"


def _test_policy() -> int:
    """Test the user's policy rules: an editor would show little of an error."""
    report = policy_report()
    errors = [text for is_error, text in report.problems() if is_error]
    for text in errors:
        _tell(text if report.error is not None else f"policy.toml: {text}")
    if report.error is not None:
        _tell("No agent starts until that is fixed.")
    elif errors:
        _tell("`symposium policy test` runs these tests again.")
    elif report.policy is not None:
        _tell(f"{counted(len(report.policy.rules), 'rule')} of policy.toml: all tests passed.")
    return ExitCode.RUNTIME if errors else ExitCode.OK


def _show(editor: Editor) -> int:
    click.echo(snippet(editor.setting, find_launch()), nl=False)
    if isinstance(editor.setting, CommandLine):
        _tell("Run this command in a terminal.")
    else:
        _tell(f"Add this to {editor.setting.file(_editor_environment())}")
    _tell_rest(editor)
    return ExitCode.OK


def _write(name: str, editor: Editor, *, is_agreed: bool) -> int:
    setting = editor.setting
    if isinstance(setting, CommandLine):
        raise click.UsageError(
            f"{editor.title} has no settings file for this; run the command that "
            f"`symposium setup {name}` prints"
        )
    receipts = _receipts()
    change = plan_write(setting, find_launch(), _editor_environment(), receipts.read(name))
    if change.before == change.after:
        _tell(f"Nothing to change: {change.file} already starts Symposium.")
        return ExitCode.OK
    if not _agreed(change, is_agreed=is_agreed):
        return ExitCode.DENIED
    carry_out(change, name, receipts)
    _tell(f"Written to {change.file}")
    if change.receipt is not None and change.receipt.original is not None:
        _tell(f"The earlier file is saved as {receipts.backup(name, change.receipt)}")
    _tell_rest(editor)
    return ExitCode.OK


def _undo(name: str, editor: Editor, *, is_agreed: bool) -> int:
    receipts = _receipts()
    receipt = receipts.read(name)
    if receipt is None:
        raise NotFoundError(
            f"`symposium setup --write` has not changed the settings of {editor.title}",
            "--undo only undoes changes made by --write",
        )
    change = plan_undo(editor.setting, receipt)
    if change.before != change.after and not _agreed(change, is_agreed=is_agreed):
        return ExitCode.DENIED
    carry_out(change, name, receipts)
    if change.before == change.after:
        _tell(f"Nothing to undo: {change.file} no longer starts Symposium.")
    else:
        _tell(f"Removed Symposium from {change.file}")
    return ExitCode.OK


def _agreed(change: SettingsChange, *, is_agreed: bool) -> bool:
    click.echo(change.diff(), nl=False)
    if is_agreed:
        return True
    if not is_person_here():
        raise click.UsageError(
            "cannot ask for confirmation here; check the change and rerun with --yes"
        )
    if click.confirm("Make this change?", err=True):
        return True
    _tell("Nothing was changed.")
    return False


def is_person_here() -> bool:
    """Whether a user at a terminal can be asked."""
    return sys.stdin.isatty()


def _tell_rest(editor: Editor) -> None:
    if editor.needs:
        _tell(editor.needs)
    _tell(editor.then)


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _receipts() -> Receipts:
    return Receipts(paths().home / "editors")


def _editor_environment() -> EditorEnvironment:
    return EditorEnvironment(Path.home(), os.environ, sys.platform)
