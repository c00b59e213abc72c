"""List what needs your answer, across all tasks."""

import getpass
from collections.abc import Sequence

import click
from msgspec import to_builtins

from localio.text import clipped, minute_of, pieces
from symposium.bus.messages.tasks import AnswerInbox, InboxItem, ListInbox, PutOffInbox
from symposium.cli.agent_views import print_json
from symposium.cli.bus_options import AS_JSON
from symposium.cli.ending import ExitCode
from symposium.cli.front import CommandGroup
from symposium.cli.inbox_items import (
    check_seen,
    find_answer,
    find_item,
    last_shown,
    remember,
    short_ids,
    this_terminal,
)
from symposium.cli.inbox_text import WIDTH, is_whole, short_text
from symposium.cli.options import example
from symposium.cli.task_agents import surroundings_to_start
from symposium.cli.tasks import ask, doing

LINES_SHOWN = 12
"""Lines of a change or a script that a list shows."""

FREE = {"question": ", or any text", "budget": ", or so much more, as in 2usd,10min"}
"""What can be answered besides the choices, by kind."""


@click.group(
    name="inbox",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=example("symposium inbox answer 1 yes"),
)
@AS_JSON
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """Show everything that waits for you, the most urgent first.

    Exit code: 0 nothing waits, 10 something does.
    """
    if context.invoked_subcommand is not None:
        return ExitCode.OK

    async def work() -> int:
        items = (await ask(ListInbox())).items
        if as_json:
            print_json([to_builtins(item) for item in items])
            return ExitCode.WAITING if items else ExitCode.OK
        remember(items, this_terminal())
        for number, (item, id_) in enumerate(zip(items, short_ids(items), strict=True), start=1):
            click.echo(f"{number}  {id_}")
            _print_short(item)
        if not items:
            click.echo("Nothing waits for you.", err=True)
        return ExitCode.WAITING if items else ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium inbox show 1"))
@click.argument("item")
def show(item: str) -> int:
    """Show all of ITEM: a number of the list, an id, its beginning, or the name of its task."""

    async def work() -> int:
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        for each in items:
            if each.id == found:
                click.echo(each.id)
                _print_whole(each)
                return ExitCode.OK
        click.echo(f"{found} does not wait any more.", err=True)
        return ExitCode.NOT_FOUND

    return doing(work)


@command.command(epilog=example("symposium inbox answer permission:6f1c2a77:1 allow"))
@click.argument("item")
@click.argument("answer")
@AS_JSON
def answer(item: str, answer: str, *, as_json: bool) -> int:
    """Answer ITEM with a choice, by its id or name; a question also with any text, for its agent.

    A permission can also be answered with yes or once, always, no or reject.

    ITEM is a number of the last list on this terminal, an id, its beginning, or the name of a task
    in which only one thing waits.
    """

    async def work() -> int:
        by = f"{getpass.getuser()} on the command line"
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        check_seen(item, found, items, last_shown(this_terminal()))
        waiting = next((each for each in items if each.id == found), None)
        said = find_answer(answer, waiting)
        async with surroundings_to_start(waiting) as place:
            message = AnswerInbox(item=found, answer=said, by=by, environment=place)
            told = (await ask(message)).text
        if as_json:
            print_json({"item": found, "answer": said, "text": told})
        else:
            click.echo(told)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium inbox later 1"))
@click.argument("item")
@AS_JSON
def later(item: str, *, as_json: bool) -> int:
    """Not now: ITEM stays, you are not told of it any more, and its agent is not answered."""

    async def work() -> int:
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        told = (await ask(PutOffInbox(item=found))).text
        if as_json:
            print_json({"item": found, "text": told})
        else:
            click.echo(told)
        return ExitCode.OK

    return doing(work)


def _print_short(item: InboxItem) -> None:
    for line in short_text(item):
        click.echo(line)
    lines = _lines(item)
    for line in lines[:LINES_SHOWN]:
        click.echo(clipped(f"    {line}", width=WIDTH))
    if len(lines) > LINES_SHOWN or (len(item.text) > WIDTH and not is_whole(item)):
        click.echo("    [… `symposium inbox show` has all of it]")
    _print_choices(item)


def _print_whole(item: InboxItem) -> None:
    if is_whole(item):
        click.echo("\n".join(short_text(item)))
        _print_choices(item)
        return
    lines = [f"{item.name}: {item.text}", *(f"  {line}" for line in _lines(item))]
    for line in lines:
        for piece in pieces(line, width=WIDTH):
            click.echo(f"  {piece}")
    if item.call is not None and item.call.is_cut:
        click.echo("    [… and more than a question may carry]")
    _print_choices(item)


def _print_choices(item: InboxItem) -> None:
    if item.put_off_at:
        click.echo(f"  put off since {minute_of(item.put_off_at)}")
    choices = ", ".join(f"{each.id} ({each.name})" for each in item.choices)
    click.echo(f"  answer: {choices}{FREE.get(item.kind, '')}")


def _lines(item: InboxItem) -> Sequence[str]:
    """What should be read before one says yes."""
    return () if item.call is None else item.call.lines
