"""Delete a task: show what would be lost, and let the user decide (users B-8)."""

from datetime import datetime, timedelta
from typing import Final

import click
from msgspec import to_builtins

from localio.text import day_of
from symposium.bus.messages.tasks import TaskView
from symposium.bus.messages.worktrees import RemoveTaskspace, ReportTaskspace, SafetyReport
from symposium.cli.agent_views import print_json
from symposium.cli.ending import ExitCode
from symposium.cli.stdin_lines import ask_line
from symposium.cli.tasks import ask, is_interactive
from symposium.taskspaces.deletion.archive import DAYS

_ARCHIVE: Final = "Archive and delete it? `symposium task undo` restores it. [Y/n] "
_FOR_GOOD: Final = "Delete it without an archive? This cannot be undone. [y/N] "


async def remove_task(
    task: TaskView, branch: str, *, is_agreed: bool, is_final: bool, as_json: bool
) -> int:
    """Show the report, ask on a terminal, and delete. An archive is deleted without one."""
    if task.archived_at is not None:
        return await _remove_archive(task, task.archived_at, is_final=is_final, as_json=as_json)
    question = _FOR_GOOD if is_final else _ARCHIVE
    report = await ask(ReportTaskspace(taskspace_uuid=task.id))
    if not as_json:
        _show(task, report)
    if not report.is_safe and not is_agreed and not await _agrees(question, as_json=as_json):
        if as_json:
            print_json({"removed": False, "report": to_builtins(report)})
        hint = "--discard-work deletes it anyway and keeps an archive for 14 days"
        click.echo(f"Nothing was changed; {hint}.", err=True)
        return ExitCode.DENIED
    message = RemoveTaskspace(
        taskspace_uuid=task.id,
        # The agent or the user may have changed files since the report.
        only_if_safe=report.is_safe and not is_agreed,
        branch=branch,
        archived_for_good=is_final,
    )
    removal = await ask(message)
    if as_json:
        print_json({"removed": True, "report": to_builtins(report), "lines": removal.lines})
    else:
        click.echo("\n".join(removal.lines))
    return ExitCode.OK


async def _remove_archive(
    task: TaskView, archived_at: str, *, is_final: bool, as_json: bool
) -> int:
    lines: tuple[str, ...] = ()
    if is_final:
        message = RemoveTaskspace(taskspace_uuid=task.id, archived_for_good=True)
        lines = (await ask(message)).lines
    else:
        ends = day_of((datetime.fromisoformat(archived_at) + timedelta(days=DAYS)).isoformat())
        back = f"`symposium task undo {task.id[:8]}` restores it, until {ends}"
        click.echo(f"{task.name!r} is already deleted; {back}.", err=True)
    if as_json:
        print_json({"removed": True, "report": None, "lines": lines})
    elif lines:
        click.echo("\n".join(lines))
    return ExitCode.OK


def _show(task: TaskView, report: SafetyReport) -> None:
    click.echo(f"{task.name}: " + ("nothing would be lost" if report.is_safe else "not safe"))
    for line in report.lines:
        click.echo(f"- {line}")


async def _agrees(question: str, *, as_json: bool) -> bool:
    """Whether the user says yes; without a terminal, no."""
    if as_json or not is_interactive():
        return False
    try:
        answer = (await ask_line(question)).strip().lower()
    except EOFError:
        return False
    return answer in {"y", "yes"} or (question == _ARCHIVE and answer in {"", "archive"})
