"""Show a recorded message trace in the terminal or a browser."""

import sys
import webbrowser
from pathlib import Path
from shutil import get_terminal_size

import click

from symposium.cli.app import CommandGroup
from symposium.cli.options import example
from symposium.cli.output import wants_color
from symposium.trace_view.trace_events import Damage, TraceReader, TraceSelection, lanes_of
from symposium.trace_view.views import ASCII, DRAWN, TraceLine, TraceListing, write_page

FILE = click.argument("file", type=click.Path(path_type=Path))
EXAMPLE = example("symposium trace show traces/20261121-103300-30957.jsons")


@click.group(name="trace", cls=CommandGroup, epilog=EXAMPLE)
def command() -> None:
    """Show a message trace recorded with --trace-dir."""


@command.command(
    epilog=example("symposium trace show traces/20261121-103300-30957.jsons --method 'session/*'")
)
@FILE
@click.option("--session", "sessions", multiple=True, metavar="ID", help="Show only this session.")
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    help="Show only these methods, such as session/*.",
)
@click.option(
    "--protocol", type=click.Choice(["acp", "mcp"]), default=None, help="Show only this protocol."
)
@click.option("--json", "as_json", is_flag=True, help="Print the recorded events, one per line.")
def show(
    file: Path,
    sessions: tuple[str, ...],
    methods: tuple[str, ...],
    protocol: str | None,
    *,
    as_json: bool,
) -> None:
    """Print the messages of FILE, one per line, with one column for each component.

    A request is a solid arrow, its response a dotted arrow of the same color, a notification a
    double arrow.
    """
    selection = TraceSelection(sessions, methods, protocol or "")
    reader = TraceReader(file)
    if as_json:
        for event in reader.events():
            if selection.has(event):
                click.echo(event.raw)
    else:
        _print_listing(reader, selection)
    _tell(reader.damage)


@command.command(epilog=example("symposium trace view traces/20261121-103300-30957.jsons --open"))
@FILE
@click.option(
    *("-o", "--output"),
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    metavar="OUT",
    help="Page to write or replace. Default: FILE with the suffix .html.",
)
@click.option("--open", "is_opened", is_flag=True, help="Open the page in a browser.")
def view(file: Path, output: Path | None, *, is_opened: bool) -> None:
    """Write FILE as a sequence diagram on a self-contained HTML page and print its path."""
    page = output or file.with_suffix(".html")
    if page.resolve() == file.resolve():
        raise click.UsageError(f"{page} is the trace itself; name another file with -o")
    damage = write_page(file, page)
    _tell(damage)
    click.echo(page)
    if is_opened:
        webbrowser.open(page.resolve().as_uri())


def _print_listing(reader: TraceReader, selection: TraceSelection) -> None:
    is_terminal = sys.stdout.isatty()
    width = get_terminal_size().columns if is_terminal else None
    glyphs = DRAWN if (sys.stdout.encoding or "").lower().startswith("utf") else ASCII
    listing = TraceListing(lanes_of(reader.path), glyphs, width=width)
    is_colored = wants_color()
    for line in listing.heads():
        click.secho(line.text, bold=True, color=is_colored)
    for event in reader.events():
        if selection.has(event):
            _print_line(listing.line(event), is_colored=is_colored)


def _print_line(line: TraceLine, *, is_colored: bool) -> None:
    color = "red" if line.is_error else line.color or None
    click.secho(line.text, fg=color, bold=line.is_error, color=is_colored)


def _tell(damage: Damage) -> None:
    said = str(damage)
    if said:
        click.echo(f"symposium: {said}", err=True)
