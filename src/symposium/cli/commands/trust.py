"""Show what a workspace wants to run; grant or revoke trust."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from localio.text import day_of, plain_text
from symposium.cli.agent_views import dated, print_json, print_table
from symposium.cli.app import CommandGroup
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import AS_JSON, example
from symposium.config.paths import paths
from symposium.errors import NotFoundError
from symposium.permissions.trust_store import Question, TrustDecision, consent_text
from symposium.permissions.trusted_content import TrustItem, canonical
from symposium.planning.mod_advisor import Advice, Advisor
from symposium.run_mode.workspace_offers import adviser_for

NAMES = click.argument("names", metavar="[NAME]...", nargs=-1)
CWD = click.option(
    "--cwd",
    "directory",
    metavar="DIR",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Workspace. Default: the current directory.",
)


@click.group("trust", cls=CommandGroup, epilog=example("symposium trust show"))
def command() -> None:
    """Show what a workspace wants to run; grant or revoke trust.

    A workspace is the directory that you open. It can contain mods, servers, guidance, and
    setup commands. Symposium uses them only after you grant trust. If they change, you are asked
    again.
    """


@command.command("list", epilog=example("symposium trust list --json"))
@AS_JSON
def list_decisions(*, as_json: bool) -> int:
    """List your decisions for all workspaces."""
    adviser = _adviser()
    decisions = adviser.trust.decisions()
    _warn(adviser)
    if as_json:
        print_json([dated(each.as_json(), "when") for each in decisions])
    elif decisions:
        heads = ("WHEN", "VERDICT", "KIND", "NAME", "SHA256", "WORKSPACE")
        print_table([heads, *map(_row, decisions)])
    else:
        click.echo("no decisions yet", err=True)
    return 0


@command.command(epilog=example("symposium trust show"))
@CWD
@AS_JSON
def show(directory: Path, *, as_json: bool) -> int:
    """List the items of the workspace that need your decision."""
    adviser = _adviser()
    advice = adviser.advise(directory)
    _warn(adviser)
    if as_json:
        print_json([_question_json(each) for each in advice.questions])
    elif advice.questions:
        click.echo(consent_text(advice.questions))
    else:
        click.echo("nothing to decide", err=True)
    return 0


@command.command(epilog=example("symposium trust grant"))
@NAMES
@CWD
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask for confirmation.")
@AS_JSON
def grant(names: Sequence[str], *, directory: Path, is_agreed: bool, as_json: bool) -> int:
    """Trust what the workspace contains now: everything, or only the named items."""
    adviser = _adviser()
    advice = adviser.advise(directory)
    _warn(adviser)
    questions = _named(advice, names)
    if questions:
        click.echo(consent_text(questions), err=True)
    if questions and not is_agreed:
        if not sys.stdin.isatty():
            raise click.UsageError(
                "cannot ask for confirmation here; check the list and rerun with --yes"
            )
        if not click.confirm("Allow this?", err=True):
            return ExitCode.DENIED
    adviser.trust.grant(each.item for each in questions)
    if as_json:
        print_json([each.item.as_json() for each in questions])
    else:
        click.echo(f"granted: {len(questions)}", err=True)
    return 0


@command.command(epilog=example("symposium trust revoke --all"))
@NAMES
@CWD
@click.option("--all", "is_everywhere", is_flag=True, help="Revoke in every workspace.")
@AS_JSON
def revoke(names: Sequence[str], *, directory: Path, is_everywhere: bool, as_json: bool) -> int:
    """Revoke your decisions for the workspace, or only those for the named items.

    Symposium asks you again.
    """
    adviser = _adviser()
    workspace = str(canonical(directory))

    def is_meant(decision: TrustDecision) -> bool:
        return (is_everywhere or decision.workspace == workspace) and (
            not names or decision.name in names
        )

    gone = adviser.trust.revoke(is_meant)
    _warn(adviser)
    if as_json:
        print_json([dated(each.as_json(), "when") for each in gone])
    else:
        click.echo(f"revoked: {len(gone)}", err=True)
    return 0


def _adviser() -> Advisor:
    return adviser_for(paths(), os.environ)


def _warn(adviser: Advisor) -> None:
    if adviser.trust.problem:
        click.echo(plain_text(adviser.trust.problem), err=True)


def _named(advice: Advice, names: Sequence[str]) -> Sequence[Question]:
    if not names:
        return advice.questions
    known = {item.name for item in advice.items}
    for name in names:
        if name not in known:
            stored = ", ".join(sorted(known)) or "nothing"
            raise NotFoundError(
                f"the workspace does not store {name!r}", f"the workspace stores: {stored}"
            )
    return [each for each in advice.questions if each.item.name in names]


def _row(decision: TrustDecision) -> tuple[str, ...]:
    day = day_of(decision.when)
    what = (decision.verdict, decision.kind, decision.name, decision.sha256[:12])
    return (day, *what, decision.workspace)


def _question_json(question: Question) -> dict[str, object]:
    item: TrustItem = question.item
    return {**item.as_json(), "changed": question.before is not None, "changes": question.changes}
