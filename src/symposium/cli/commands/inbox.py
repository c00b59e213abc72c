"""Everything that waits for a person, in all taskspaces."""

import getpass

import click
from msgspec import to_builtins

from symposium.bus.messages.answer_inbox import AnswerInbox
from symposium.bus.messages.list_inbox import ListInbox
from symposium.cli.agent_views import print_json
from symposium.cli.bus_options import AS_JSON
from symposium.cli.ending import ExitCode
from symposium.cli.options import example
from symposium.cli.tasks import ask, doing
from symposium.plain_text import one_line

WIDTH = 100

FREE = {"question": ", or any text", "budget": ", or so much more, as in 2usd,10min"}
"""What can be answered besides the choices, by kind."""


@click.group(
    name="inbox",
    invoke_without_command=True,
    epilog=example("symposium inbox answer question:3 yes"),
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
        for item in items:
            click.echo(f"{item.id}\n  {item.name}: {one_line(item.text, width=WIDTH)}")
            choices = ", ".join(f"{each.id} ({each.name})" for each in item.choices)
            free = FREE.get(item.kind, "")
            click.echo(f"  answer: {choices}{free}")
        return ExitCode.WAITING if items else ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium inbox answer permission:6f1c…:1 allow"))
@click.argument("item")
@click.argument("answer")
def answer(item: str, answer: str) -> int:
    """Answer ITEM with the id of a choice; a question also with any text, for its agent."""

    async def work() -> int:
        by = f"{getpass.getuser()} on the command line"
        click.echo((await ask(AnswerInbox(item=item, answer=answer, by=by))).text)
        return ExitCode.OK

    return doing(work)
