"""Show which mods suit a workspace, and why."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from localio.errors import ExplainedError
from localio.text import plain_text
from symposium.cli.agent_views import print_json, print_table
from symposium.cli.app import CommandGroup
from symposium.cli.options import AS_JSON, example, run
from symposium.cli.policy_report import counted
from symposium.config.paths import config_file, paths
from symposium.config.user_config import ModEntry, load
from symposium.planning.mod_advisor import RecommendationAnswers
from symposium.planning.recommendations import (
    AllOf,
    AnyOf,
    FileExists,
    Predicate,
    PredicateUses,
    Recommendation,
    WorkspaceFacts,
    effects_of,
    holds,
    identity,
    reason,
    words,
)
from symposium.run_mode.workspace_offers import adviser_for

CWD = click.option(
    "--cwd",
    "directory",
    metavar="DIR",
    default=".",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Workspace. Default: the current directory.",
)


@click.group("recommendations", cls=CommandGroup, epilog=example("symposium recommendations show"))
def command() -> None:
    """Show which mods suit a workspace, and why.

    To add a recommended mod, type `/symposium:recommendations` in the chat of your editor.
    """


@command.command(epilog=example("symposium recommendations show --json"))
@CWD
@AS_JSON
def show(directory: Path, *, as_json: bool) -> int:
    """List recommended mods, with the conditions that hold in the workspace."""
    adviser = adviser_for(paths(), os.environ)
    advice = adviser.advise(directory)
    mods = _configured()
    answers = adviser.memory.answers(advice.workspace)
    rows = [_described(each, advice.facts, mods, answers) for each in advice.recommendations]
    if as_json:
        waiting = [each.item.as_json() for each in advice.questions]
        workspace = str(advice.workspace)
        problems = list(advice.problems)
        found = {"workspace": workspace, "recommendations": rows}
        print_json({**found, "untrusted": waiting, "problems": problems})
        return 0
    heads = ("", "MOD", "STATE", "FROM", "WHY")
    lines = [line for row in rows for line in _lines(row)]
    if rows:
        print_table([heads, *lines])
    for problem in advice.problems:
        click.echo(plain_text(problem), err=True)
    if advice.questions:
        click.echo(
            "the workspace stores more that needs your decision; `symposium trust show` lists it",
            err=True,
        )
    return 0


@command.command(epilog=example("symposium recommendations update"))
@AS_JSON
def update(*, as_json: bool) -> int:
    """Download the latest public recommendations."""
    adviser = adviser_for(paths(), os.environ)

    async def work() -> int:
        problem = await adviser.remote.refresh()
        count = len(adviser.remote.here().recommendations)
        if as_json:
            print_json({"recommendations": count, "trouble": problem or None})
        else:
            click.echo(plain_text(problem) or counted(count, "recommendation"), err=True)
        return 1 if problem else 0

    return run(work())


@command.command(epilog=example("symposium recommendations forget"))
@AS_JSON
def forget(*, as_json: bool) -> int:
    """Forget declined recommendations, so that they are offered again."""
    count = adviser_for(paths(), os.environ).memory.forget()
    if as_json:
        print_json({"forgotten": count})
    else:
        click.echo(f"forgot {counted(count, 'declined recommendation')}", err=True)
    return 0


def _configured() -> tuple[ModEntry, ...]:
    try:
        loaded = load(config_file(None))
    except ExplainedError as error:
        click.echo(plain_text(str(error)), err=True)
        return ()
    return () if loaded is None else loaded.config.mods


def _described(
    recommendation: Recommendation,
    facts: WorkspaceFacts,
    mods: tuple[ModEntry, ...],
    answers: RecommendationAnswers,
) -> dict[str, Any]:
    mod = recommendation.mod
    known = {identity(each) for each in mods} | {each.name for each in mods}
    suits = holds(recommendation.when, facts)
    if {recommendation.identity, mod.name} & known:
        state = "configured"
    elif recommendation.identity in answers.declined:
        state = "declined"
    else:
        state = "offered" if suits else "does not suit"
    return {
        "name": mod.name,
        "kind": mod.kind,
        "source": None if mod.source is None else mod.source.as_json(),
        "from": recommendation.layer,
        "state": state,
        "suits": suits,
        "because": reason(recommendation.when, facts) if suits else "",
        "conditions": list(_conditions(recommendation.when, facts, 0)),
        "allows": [effect.as_json() for effect in effects_of(mod)],
    }


def _conditions(
    predicate: Predicate, facts: WorkspaceFacts, depth: int
) -> Iterator[dict[str, Any]]:
    """List each condition with its result; those inside `any` and `all` one level deeper."""
    match predicate:
        case FileExists() | PredicateUses():
            text, parts = words(predicate), ()
        case AllOf(parts):
            text = "all of"
        case AnyOf(parts):
            text = "any of"
    if predicate != AllOf():
        yield {"condition": text, "holds": holds(predicate, facts), "depth": depth}
    for part in parts:
        yield from _conditions(part, facts, depth + 1)


def _lines(row: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    mark = "+" if row["suits"] else "-"
    yield (mark, row["name"], row["state"], row["from"], row["because"] or _why_not(row))
    for each in row["conditions"]:
        sign = "yes" if each["holds"] else "no"
        yield ("", "", sign, "", f"{'  ' * each['depth']}{each['condition']}")


def _why_not(row: dict[str, Any]) -> str:
    return "always" if row["suits"] else ""
