"""Add Symposium to an editor: print the settings, write them, or undo that."""

import os
import sys
from pathlib import Path

import click

from localio.plugins import module_name, names_in, only_object
from symposium.cli.ending import ExitCode
from symposium.cli.options import example
from symposium.cli.policy_report import counted, policy_report
from symposium.config.paths import paths
from symposium.editors.change import Change, carry_out, plan_undo, plan_write
from symposium.editors.editor import CommandLine, Editor, Surroundings, snippet
from symposium.editors.launch import find_launch
from symposium.editors.receipt import Receipts
from symposium.errors import NotFoundError

KNOWN = "symposium.editors.known"


@click.command(name="setup", epilog=example("symposium setup zed --write"))
@click.argument("editor", type=click.Choice(names_in(KNOWN)))
@click.option("--write", "is_write", is_flag=True, help="Show the change, ask, and make it.")
@click.option("--undo", "is_undo", is_flag=True, help="Take back what --write has done.")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask.")
def command(editor: str, *, is_write: bool, is_undo: bool, is_agreed: bool) -> int:
    """Make EDITOR know Symposium.

    Without an option the snippet is printed, and on standard error where it goes. What is written
    is kept in mind, so that exactly that can be taken back, whatever else has changed since.

    Your policy.toml is tested, too. Exit code: 0 done, 1 a rule is wrong, 5 you said no.
    """
    if is_write and is_undo:
        raise click.UsageError("--write and --undo exclude each other")
    known = only_object(f"{KNOWN}.{module_name(editor)}", Editor)
    if is_undo:
        return _undo(editor, known, is_agreed=is_agreed)
    code = _write(editor, known, is_agreed=is_agreed) if is_write else _show(known)
    return code or _test_policy()


def _test_policy() -> int:
    """Run the user's rules against their examples: an editor shows little of what is wrong."""
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
        _tell("Type this line in a terminal.")
    else:
        _tell(f"Put this into {editor.setting.file(_surroundings())}")
    _tell_rest(editor)
    return ExitCode.OK


def _write(name: str, editor: Editor, *, is_agreed: bool) -> int:
    setting = editor.setting
    if isinstance(setting, CommandLine):
        raise click.UsageError(
            f"{editor.title} has no settings for this; type the line that "
            f"`symposium setup {name}` prints"
        )
    receipts = _receipts()
    change = plan_write(setting, find_launch(), _surroundings(), receipts.read(name))
    if change.before == change.after:
        _tell(f"{change.file} says so already.")
        return ExitCode.OK
    if not _agreed(change, is_agreed=is_agreed):
        return ExitCode.DENIED
    carry_out(change, name, receipts)
    _tell(f"Written to {change.file}")
    if change.receipt is not None and change.receipt.original is not None:
        _tell(f"What was there before is in {receipts.backup(name, change.receipt)}")
    _tell_rest(editor)
    return ExitCode.OK


def _undo(name: str, editor: Editor, *, is_agreed: bool) -> int:
    receipts = _receipts()
    receipt = receipts.read(name)
    if receipt is None:
        raise NotFoundError(
            f"nothing of ours is in the settings of {editor.title}",
            "only what --write has done can be taken back",
        )
    change = plan_undo(editor.setting, receipt)
    if change.before != change.after and not _agreed(change, is_agreed=is_agreed):
        return ExitCode.DENIED
    carry_out(change, name, receipts)
    is_gone = change.before == change.after
    _tell(f"{change.file} {'had lost it already' if is_gone else 'is without it again'}.")
    return ExitCode.OK


def _agreed(change: Change, *, is_agreed: bool) -> bool:
    click.echo(change.diff(), nl=False)
    if is_agreed:
        return True
    if not is_person_here():
        raise click.UsageError("nobody is here to be asked; look at the change, then add --yes")
    if click.confirm("Make this change?", err=True):
        return True
    _tell("Nothing has been changed.")
    return False


def is_person_here() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()


def _tell_rest(editor: Editor) -> None:
    if editor.needs:
        _tell(f"It needs {editor.needs}.")
    _tell(editor.then)


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _receipts() -> Receipts:
    return Receipts(paths().home / "editors")


def _surroundings() -> Surroundings:
    return Surroundings(Path.home(), os.environ, sys.platform)
