"""Restart task agents that were running before a reboot."""

import asyncio
from typing import Final

import click
from msgspec import to_builtins

from localio.errors import ExplainedError
from symposium.bus.messages.tasks import ListInbox, ListTaskspaces, RetryTaskspace, TaskView
from symposium.cli.agent_views import print_json
from symposium.cli.bus import AS_JSON
from symposium.cli.exit_codes import ExitCode
from symposium.cli.inbox_names import short_text
from symposium.cli.options import example
from symposium.cli.task_agents import offered_environment
from symposium.cli.tasks import ask, doing, echo_plain, sessions, task_line
from symposium.sessions.client import DESCRIBE, POLL_INTERVAL, reach
from symposium.sessions.session import SessionError, SessionKind

RESUME_TIMEOUT: Final = 5.0
"""Seconds for an agent to resume its session, or to report that it cannot."""


@click.command("up", epilog=example("symposium up"))
@click.option("--dry-run", "is_dry", is_flag=True, help="List the tasks; start nothing.")
@AS_JSON
def command(*, is_dry: bool, as_json: bool) -> int:
    """Restart task agents that were lost, for example in a reboot.

    Then list every task and the inbox.

    An agent resumes its session if it can; otherwise it starts over, marked "fresh context".
    Running agents are not restarted.
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
                echo_plain(f"  {outcomes[each.id]}")
        for item in waiting:
            click.echo("\n".join([item.id, *short_text(item)]))
        return ExitCode.OK

    return doing(work)


def then_and_now(before: TaskView, now: TaskView | None) -> str:
    """Format a task with its earlier state; `now` is missing if it was deleted."""
    if now is None:
        return f"{task_line(before)}  (deleted in the meantime)"
    was = "" if now.state == before.state else f"  (was: {before.state})"
    return task_line(now) + was


def _is_live(task: TaskView) -> bool:
    return task.archived_at is None


async def _begin(task: TaskView) -> str:
    """Restart the agent if it was lost; describe the outcome for the user."""
    if task.session != "lost" or task.standing != "ready":
        return ""
    try:
        async with offered_environment(None) as place:
            await ask(RetryTaskspace(taskspace_uuid=task.id, environment=place))
    except ExplainedError as error:
        return f"could not restart its agent: {error.message}"
    return f"restarted its agent{await _context(task.id)}"


async def _context(id_: str) -> str:
    """Describe whether the agent kept its context; waits until its session is open."""
    store = sessions()
    if store.spec(id_).kind is not SessionKind.ACP:
        return ""
    try:
        async with reach(store, id_) as server:
            for _ in range(round(RESUME_TIMEOUT / POLL_INTERVAL)):
                if (await server.ask(DESCRIBE))["open"]:
                    return "; fresh context" if store.state(id_).is_fresh else ""
                await asyncio.sleep(POLL_INTERVAL)
    except SessionError as error:
        return f"; {error.message}"
    return "; it has not opened a session yet"
