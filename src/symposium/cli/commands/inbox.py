"""List what needs your answer, across all tasks."""

import getpass
from collections.abc import Sequence

import click
from msgspec import to_builtins

from localio.text import clipped, minute_of, one_line, pieces
from symposium.bus.messages.tasks import AnswerInbox, InboxItem, ListInbox, PutOffInbox
from symposium.cli.agent_views import print_json
from symposium.cli.app import CommandGroup
from symposium.cli.bus import AS_JSON
from symposium.cli.exit_codes import ExitCode
from symposium.cli.inbox_names import (
    WIDTH,
    check_seen,
    find_answer,
    find_item,
    is_whole,
    last_shown,
    remember,
    short_ids,
    short_text,
    this_terminal,
)
from symposium.cli.options import example
from symposium.cli.task_agents import environment_to_start
from symposium.cli.tasks import ask, doing, echo_plain

LINES_SHOWN = 12
"""Lines of a change or a script that the list shows."""

FREE = {"question": ", or any text", "budget": ", or an amount to add, such as 2usd,10min"}
"""Further answers, beside the choices, by kind of item."""


@click.group(
    name="inbox",
    cls=CommandGroup,
    invoke_without_command=True,
    epilog=example("symposium inbox answer 1 yes"),
)
@AS_JSON
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> int:
    """List what needs your answer, across all tasks, the most urgent first.

    Exit code: 0 if nothing waits, 10 if something waits.

    ITEM is a number from the last list on this terminal, an id, or the beginning of an id. The
    name of a task also works if only one of its items is waiting.
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
    """Show all details of ITEM."""

    async def work() -> int:
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        for each in items:
            if each.id == found:
                click.echo(each.id)
                _print_whole(each)
                return ExitCode.OK
        click.echo(f"no item {found} is waiting; `symposium inbox` lists all items", err=True)
        return ExitCode.NOT_FOUND

    return doing(work)


@command.command(epilog=example("symposium inbox answer permission:6f1c2a77:1 allow"))
@click.argument("item")
@click.argument("answer")
@AS_JSON
def answer(item: str, answer: str, *, as_json: bool) -> int:
    """Answer ITEM with the id or name of a choice.

    A question takes `seen` or any text; a budget takes `more` or an amount.

    A permission request also accepts yes (or once), always, and no (or reject).
    """

    async def work() -> int:
        by = f"{getpass.getuser()} on the command line"
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        check_seen(item, found, items, last_shown(this_terminal()))
        waiting = next((each for each in items if each.id == found), None)
        said = find_answer(answer, waiting)
        async with environment_to_start(waiting) as place:
            message = AnswerInbox(item=found, answer=said, by=by, environment=place)
            outcome = (await ask(message)).text
        if as_json:
            print_json({"item": found, "answer": said, "text": outcome})
        else:
            echo_plain(outcome)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium inbox later 1"))
@click.argument("item")
@AS_JSON
def later(item: str, *, as_json: bool) -> int:
    """Snooze ITEM: it stays in the list without notifications, and its agent keeps waiting."""

    async def work() -> int:
        items = (await ask(ListInbox())).items
        found = find_item(item, items, last_shown(this_terminal()))
        outcome = (await ask(PutOffInbox(item=found))).text
        if as_json:
            print_json({"item": found, "text": outcome})
        else:
            echo_plain(outcome)
        return ExitCode.OK

    return doing(work)


def _print_short(item: InboxItem) -> None:
    for line in short_text(item):
        click.echo(line)
    lines = _lines(item)
    for line in lines[:LINES_SHOWN]:
        click.echo(clipped(f"    {line}", width=WIDTH))
    if len(lines) > LINES_SHOWN or (len(item.text) > WIDTH and not is_whole(item)):
        click.echo("    [… `symposium inbox show` shows all of it]")
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
        click.echo("    [… the rest is too long to show]")
    _print_choices(item)


def _print_choices(item: InboxItem) -> None:
    if item.put_off_at:
        click.echo(f"  snoozed since {minute_of(item.put_off_at)}")
    choices = ", ".join(one_line(f"{each.id} ({each.name})", width=WIDTH) for each in item.choices)
    click.echo(f"  answer: {choices}{FREE.get(item.kind, '')}")


def _lines(item: InboxItem) -> Sequence[str]:
    """Lines to read before saying yes."""
    return () if item.call is None else item.call.lines
