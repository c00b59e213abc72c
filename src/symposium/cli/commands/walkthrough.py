"""Show, check, and export walkthroughs of code."""

import sys
import webbrowser
from collections.abc import Callable, Iterable
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Final, TypeVar

import click
import msgspec

from localio.files import write_whole
from localio.text import minute_of
from symposium.cli.agent_views import dated, print_json, print_table
from symposium.cli.app import CommandGroup
from symposium.cli.options import example, run
from symposium.cli.output import wants_color
from symposium.cli.walkthroughs import WalkthroughChoice, chosen, project_stores, resolved
from symposium.documents.walkthroughs.page import Facts, page
from symposium.documents.walkthroughs.store import HOW_ONE_COMES
from symposium.documents.walkthroughs.terminal import (
    PLAIN,
    Drawing,
    TextLine,
    fault_lines,
    text_lines,
)

_COLORS: Final = {"heading": "cyan", "add": "green", "del": "red", "fault": "yellow"}
_WIDEST: Final = 100
_AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_Command = TypeVar("_Command", bound=Callable[..., Any])


def _choice_options(command: _Command) -> _Command:
    version = click.option(
        "--version", type=int, help="Version of a stored walkthrough. Default: the latest."
    )
    base = click.option(
        "--base",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        help="Directory that paths are relative to. Default: the walkthrough's own directory, or "
        "the current one for a file.",
    )
    servers = click.option(
        "--servers/--no-servers",
        "has_servers",
        default=True,
        help="Find symbols with language servers. Default: --servers.",
    )
    target = click.argument("target", required=False)
    return target(version(base(servers(command))))


@click.group("walkthrough", cls=CommandGroup, epilog=example("symposium walkthrough show"))
def command() -> None:
    """Show, check, and export walkthroughs: guided tours of code that agents write.

    TARGET is a Markdown file, or the id of a stored walkthrough. Default: the latest stored one.
    """


@command.command("list", epilog=example("symposium walkthrough list --json"))
@_AS_JSON
def list_walkthroughs(*, as_json: bool) -> int:
    """List the walkthroughs of this project and its tasks, the latest first."""
    every = [each for store in project_stores() for each in store.newest()]
    found = sorted(every, key=lambda each: each.created_at, reverse=True)
    if as_json:
        print_json([dated(msgspec.to_builtins(each), "createdAt") for each in found])
    elif found:
        rows = [
            (
                each.id,
                str(each.version),
                minute_of(each.created_at),
                Path(each.base_uri).name,
                each.title,
            )
            for each in found
        ]
        print_table([("ID", "VERSION", "CHANGED", "IN", "TITLE"), *rows])
    else:
        click.echo(f"no walkthroughs are stored for this project\n  {HOW_ONE_COMES}", err=True)
    return 0


@command.command(epilog=example("symposium walkthrough show docs/tour.md"))
@_choice_options
@click.option("--markdown", "as_markdown", is_flag=True, help="Print the Markdown source.")
def show(
    target: str | None,
    version: int | None,
    base: Path | None,
    *,
    has_servers: bool,
    as_markdown: bool,
) -> int:
    """Print a walkthrough with its code and its diffs."""
    choice = WalkthroughChoice(target, version, base, has_servers)
    found = chosen(choice)
    if as_markdown:
        click.echo(found.markdown, nl=not found.markdown.endswith("\n"))
        return 0

    async def work() -> int:
        _print(text_lines(await resolved(found, choice), _drawing()))
        return 0

    return run(work())


@command.command(epilog=example("symposium walkthrough check .symposium/tours/start.md"))
@_choice_options
@_AS_JSON
def check(
    target: str | None,
    version: int | None,
    base: Path | None,
    *,
    has_servers: bool,
    as_json: bool,
) -> int:
    """Check that the code of each comment, diff, and link exists; exit code 1 if not.

    An ambiguous location is reported but is not an error.
    """
    choice = WalkthroughChoice(target, version, base, has_servers)
    found = chosen(choice)

    async def work() -> int:
        results = (await resolved(found, choice)).diagnostics
        if as_json:
            print_json(msgspec.to_builtins(results))
        else:
            _print(fault_lines(results))
            faults = sum(each.is_fault for each in results)
            click.echo(f"{len(results)} checked, {faults} not found", err=True)
        return int(any(each.is_fault for each in results))

    return run(work())


@command.command(epilog=example("symposium walkthrough export -o tour.html"))
@_choice_options
@click.option(
    *("-o", "--output"),
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    metavar="OUT",
    help="Page to write or replace. Default: walkthrough.html.",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")
def export(
    target: str | None,
    version: int | None,
    base: Path | None,
    output: Path | None,
    *,
    has_servers: bool,
    is_opened: bool,
) -> int:
    """Write a self-contained HTML page and print its path."""
    choice = WalkthroughChoice(target, version, base, has_servers)
    found = chosen(choice)
    out = output or Path("walkthrough.html")
    if target and out.resolve() == Path(target).resolve():
        raise click.UsageError(f"{out} is the walkthrough itself; name another file with -o")

    async def work() -> int:
        about = [found.about, Path(found.base).name]
        # The page contains code, so it is as private as a source file.
        write_whole(out, page(await resolved(found, choice), Facts(about)))
        click.echo(out)
        return 0

    code = run(work())
    if is_opened and not code:
        webbrowser.open(out.resolve().as_uri())
    return code


def _drawing() -> Drawing:
    width = min(get_terminal_size().columns, _WIDEST) if sys.stdout.isatty() else Drawing().width
    is_wide = (sys.stdout.encoding or "").lower().startswith("utf")
    return Drawing(Drawing().bar if is_wide else PLAIN.bar, width)


def _print(lines: Iterable[TextLine]) -> None:
    is_colored = wants_color()
    for line in lines:
        click.secho(
            line.text,
            fg=_COLORS.get(line.tone),
            bold=line.tone in {"heading", "meant"},
            dim=line.tone == "faint",
            color=is_colored,
        )
