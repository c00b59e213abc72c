"""Restart task agents that were running before a reboot."""

import asyncio
from typing import Final

import click
from msgspec import to_builtins

from localio.errors import ExplainedError
from symposium.agent_sessions.keeper_client import DESCRIBE, LOOK_AGAIN, reach
from symposium.agent_sessions.session import SessionError, SessionKind
from symposium.bus.messages.tasks import ListInbox, ListTaskspaces, RetryTaskspace, TaskView
from symposium.cli.agent_views import print_json
from symposium.cli.bus_options import AS_JSON
from symposium.cli.ending import ExitCode
from symposium.cli.inbox_text import short_text
from symposium.cli.options import example
from symposium.cli.task_agents import surroundings_for
from symposium.cli.tasks import ask, doing, sessions, task_line

PATIENCE: Final = 5.0
"""Seconds for an agent to go on with its session, or to say that it cannot."""


@click.command("up", epilog=example("symposium up"))
@click.option("--dry-run", "is_dry", is_flag=True, help="Only show; start nothing.")
@AS_JSON
def command(*, is_dry: bool, as_json: bool) -> int:
    """Show every task with its last state and what waits for you; start lost agents again.

    An agent goes on with its session if it can; "fresh context" stands beside one that cannot.
    One that runs is left alone: nothing runs twice.
    """

    async def work() -> int:
        before = [each for each in (await ask(ListTaskspaces())).taskspaces if _is_live(each)]
        outcomes = {} if is_dry else {each.id: await _begin(each) for each in before}
        after = {each.id: each for each in (await ask(ListTaskspaces())).taskspaces}
        waiting = (await ask(ListInbox())).items
        if as_json:
            tasks = [
                {"before": each.state, "outcome": outcomes.get(each.id, "")}
                | to_builtins(after.get(each.id, each))
                for each in before
            ]
            print_json({"tasks": tasks, "inbox": [to_builtins(item) for item in waiting]})
            return ExitCode.OK
        for each in before:
            click.echo(then_and_now(each, after.get(each.id)))
            if outcomes.get(each.id):
                click.echo(f"  {outcomes[each.id]}")
        for item in waiting:
            click.echo("\n".join([item.id, *short_text(item)]))
        return ExitCode.OK

    return doing(work)


def then_and_now(before: TaskView, now: TaskView | None) -> str:
    """The line of a task with the state that it had before; `now` is None if it was deleted."""
    if now is None:
        return f"{task_line(before)}  (deleted meanwhile)"
    was = "" if now.state == before.state else f"  (was: {before.state})"
    return task_line(now) + was


def _is_live(task: TaskView) -> bool:
    return task.archived_at is None


async def _begin(task: TaskView) -> str:
    """Start its agent again if that was lost; what came of it, for people."""
    if task.session != "lost" or task.standing != "ready":
        return ""
    try:
        async with surroundings_for(None) as place:
            await ask(RetryTaskspace(taskspace_uuid=task.id, environment=place))
    except ExplainedError as error:
        return f"its agent does not start: {error.message}"
    return f"its agent was started again{await _context(task.id)}"


async def _context(id_: str) -> str:
    """Whether an agent knows what was before; it may take a moment to say so."""
    store = sessions()
    if store.spec(id_).kind is not SessionKind.ACP:
        return ""
    try:
        async with reach(store, id_) as keeper:
            for _ in range(round(PATIENCE / LOOK_AGAIN)):
                if (await keeper.ask(DESCRIBE))["open"]:
                    return "; fresh context" if store.state(id_).is_fresh else ""
                await asyncio.sleep(LOOK_AGAIN)
    except SessionError as error:
        return f"; {error.message}"
    return "; it has not opened a session yet"
