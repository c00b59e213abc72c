"""Land a task, at once or after its agent has resolved the conflicts."""

import asyncio
from dataclasses import dataclass
from typing import Final

import click
from msgspec import to_builtins
from msgspec.structs import replace

from symposium.bus.error_codes import NOT_FOUND
from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import TaskView
from symposium.bus.messages.worktrees import LandingShown, LandTaskspace, ShowLanding
from symposium.cli.agent_views import print_json
from symposium.cli.exit_codes import ExitCode
from symposium.cli.task_agents import offered_environment
from symposium.cli.tasks import ask, echo_plain, find_task
from symposium.planning.chain_spec import check_policy

POLL_INTERVAL: Final = 0.5
"""Seconds between two requests for the state of a landing."""

_STAGES: Final = {
    "asked": "its agent gets the prompt",
    "working": "its agent works; then the checks run",
    "ready": "ready: `symposium inbox` shows the change and waits for your answer",
    "failed": "not resolved: `symposium inbox` shows why and waits for your answer",
}


@dataclass(frozen=True, slots=True)
class LandOrder:
    """The options of `task land`."""

    task: str
    join: str | None
    is_pushed: bool
    is_resolved: bool
    is_awaited: bool
    as_json: bool


async def land_task(order: LandOrder) -> int:
    """Land a task; with `--resolve` let its agent resolve conflicts, and wait if asked to.

    Raises:
        ExplainedError: it cannot be landed now, or its agent takes no prompts.
    """
    if order.is_awaited and not order.is_resolved:
        raise click.UsageError("--wait needs --resolve")
    found = await find_task(order.task)
    message = LandTaskspace(
        taskspace_uuid=found.id,
        join=order.join or "rebase",
        is_pushed=order.is_pushed,
        resolve_conflicts=order.is_resolved,
    )
    if order.is_resolved:
        check_policy()
        async with offered_environment(None) as place:
            landing = await ask(replace(message, environment=place))
    else:
        landing = await ask(message)
    is_resolving = landing.outcome == "resolving"
    shown = to_builtins(landing)
    if not order.as_json:
        echo_plain("\n".join(landing.lines))
    if is_resolving and order.is_awaited:
        landed = await _decided(found)
        shown |= {"outcome": "landed" if landed else "not_landed", "commit": landed or None}
    if order.as_json:
        print_json(shown)
    if shown["outcome"] == "resolving":
        return ExitCode.WAITING
    return ExitCode.OK if shown["outcome"] == "landed" else ExitCode.RUNTIME


async def _decided(task: TaskView) -> str:
    """Wait until the landing is decided; return the landed commit, empty if none."""
    last = ""
    while (shown := await _shown(task)).stage:
        if shown.stage != last:
            last = shown.stage
            click.echo(f"… {_STAGES.get(last, last)}", err=True)
        await asyncio.sleep(POLL_INTERVAL)
    has_landed = bool(shown.landed_at) and shown.landed_at != task.landed_at
    outcome = f"landed as {shown.landed[:12]}" if has_landed else "was not landed"
    click.echo(f"{task.name} {outcome}", err=True)
    return shown.landed if has_landed else ""


async def _shown(task: TaskView) -> LandingShown:
    try:
        return await ask(ShowLanding(taskspace_uuid=task.id))
    except BusRefusedError as error:
        if error.code == NOT_FOUND:
            # The task was deleted without an archive in the meantime.
            return LandingShown()
        raise
