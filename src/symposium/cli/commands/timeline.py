"""Show what happened in earlier sessions."""

import json
from pathlib import Path

import click
from msgspec import to_builtins

from localio.text import minute_of, one_line, plain_text, second_of
from symposium.cli.app import CommandGroup
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example
from symposium.cli.session_view import in_words
from symposium.documents.task_prompt import user_words
from symposium.documents.timelines import Summary, TimelineEntry, TimelineStore

WIDTH = 100


@click.group(name="timeline", cls=CommandGroup, epilog=example("symposium timeline list"))
def command() -> None:
    """Show what happened in earlier sessions, as recorded by the mod `timeline`."""


@command.command(name="list", epilog=example("symposium timeline list --cwd ."))
@click.option(
    "--cwd", type=click.Path(path_type=Path), help="List only sessions in this directory."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_timelines(cwd: Path | None, *, as_json: bool) -> int:
    """List recorded sessions, the latest first."""
    found = TimelineStore().summaries(None if cwd is None else cwd.absolute())
    if as_json:
        click.echo(json.dumps([_summary(each) for each in found]))
        return ExitCode.OK
    for each in found:
        about = f"{minute_of(each.started)}  {each.session}  {each.agent}  {each.cwd}"
        click.echo(plain_text(about))
        click.echo(f"    {one_line(each.goal, width=WIDTH)}")
    if not found:
        click.echo("No timelines are recorded; the mod `timeline` records them.", err=True)
    return ExitCode.OK


@command.command(epilog=example("symposium timeline show eliza-1234"))
@click.argument("session")
@click.option("--json", "as_json", is_flag=True, help="Print entries, one JSON object per line.")
def show(session: str, *, as_json: bool) -> int:
    """Show what happened in SESSION."""
    for entry in TimelineStore().read(session):
        click.echo(json.dumps(to_builtins(entry)) if as_json else _line(entry))
    return ExitCode.OK


def _summary(summary: Summary) -> dict[str, str]:
    return {
        "session": summary.session,
        "cwd": summary.cwd,
        "agent": summary.agent,
        "started": summary.started,
        "goal": summary.goal,
        "file": str(summary.file),
    }


def _line(entry: TimelineEntry) -> str:
    match entry.type:
        case "prompt":
            text = plain_text(user_words(str(entry.data.get("text", ""))))
        case "said":
            text = plain_text(str(entry.data.get("text", "")))
        case "plan":
            tasks = entry.data.get("entries", [])
            lines = [f"\n  [{each.get('status')}] {each.get('content')}" for each in tasks]
            text = plain_text("".join(lines))
        case _:
            text = one_line(in_words(entry.data), width=WIDTH)
    return f"{second_of(entry.ts)}  {entry.type}  {text}"
