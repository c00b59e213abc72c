"""Create, start again, and delete a task."""

import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import click
from msgspec import to_builtins
from msgspec.structs import replace

from localio.git import GitRunError, open_repository
from localio.text import day_of
from symposium.bus.messages.tasks import CreateTaskspace, RetryTaskspace, ShowTaskspace, TaskView
from symposium.bus.messages.worktrees import (
    CollectTaskspaces,
    RemoveTaskspace,
    ReportTaskspace,
    SafetyReport,
)
from symposium.cli.agent_views import print_json
from symposium.cli.exit_codes import ExitCode
from symposium.cli.policy_report import terminal_warning
from symposium.cli.task_agents import (
    NONE,
    chosen_agent,
    is_terminal,
    missing_tools,
    no_agent,
    offered_environment,
)
from symposium.cli.tasks import ask, echo_plain, is_interactive, task_line
from symposium.cli.terminal import ask_line
from symposium.config.git import stand_ins
from symposium.errors import SpecError
from symposium.planning.chain_spec import check_policy
from symposium.tasks.deletion.archive import ARCHIVE_DAYS
from symposium.tasks.spawning import BUILT_IN

_STATUS: Final = (
    *("status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal"),
    "--ignore-submodules=all",
)


@dataclass(frozen=True, slots=True)
class NewOptions:
    """The options of `task new`, as typed."""

    name: str
    prompt: str | None
    agent: str | None
    base: str | None
    description: str
    budget: str | None
    project: Path
    is_locked: bool
    as_json: bool

    def message(self) -> CreateTaskspace:
        """Make the message for the daemon; without a prompt, the name is the prompt.

        With `--agent none` the prompt waits for an agent that the user starts.

        Raises:
            ExplainedError: no agent has that name, or a prompt is given without an agent.
        """
        agent = chosen_agent(self.agent)
        if agent is not None:
            check_policy()
        is_waiting = self.agent == NONE
        if agent is None and self.prompt is not None and not is_waiting:
            raise SpecError(
                "no agent for the prompt: the config names none, and --agent is missing",
                "add --agent AGENT (`symposium agents list` lists agents), or --agent none to "
                "keep the prompt for an agent that you start yourself",
            )
        return CreateTaskspace(
            project=str(self.project.absolute()),
            name=self.name,
            task=self.prompt if is_waiting else self.prompt or self.name,
            description=self.description,
            agent=agent,
            base=self.base,
            is_name_locked=self.is_locked,
            budget=self.budget,
        )


async def make_task(message: CreateTaskspace, *, as_json: bool) -> int:
    """Create the task; its agent gets the environment of this process.

    Raises:
        NotFoundError: the agent's program is not found; no task is created.
        BusError: the daemon refuses, or cannot be reached.
    """
    async with offered_environment(message.agent) as place:
        made = (await ask(replace(message, environment=place))).taskspace
    if as_json:
        print_json(to_builtins(made))
    else:
        click.echo(task_line(made))
        echo_plain(f"  {made.worktree}  on {made.branch}")
    if made.reason:
        echo_plain(made.reason, err=True)
    if left := await left_behind(Path(message.project), made.base):
        click.echo(left, err=True)
    if made.agent is None:
        click.echo(no_agent(made), err=True)
    if problem := missing_tools(message.agent, Path(made.worktree), os.environ):
        click.echo(problem, err=True)
    if is_terminal(message.agent) and (warning := terminal_warning()):
        click.echo(warning, err=True)
    return ExitCode.RUNTIME if made.standing == "setup-failed" else ExitCode.OK


async def left_behind(checkout: Path, base: str) -> str:
    """Describe commits and changes of the user's checkout that the task starts without."""
    try:
        repository = await open_repository(checkout, stand_ins())
        status = await repository.ask(*_STATUS)
        branch = await repository.ask("symbolic-ref", "-q", "HEAD")
        ahead = await repository.ask("rev-list", "--count", "HEAD", "--not", base, "--")
    except GitRunError:
        return ""
    missing: list[str] = []
    if changes := status.out.count(b"\0"):
        missing.append("1 uncommitted change" if changes == 1 else f"{changes} uncommitted changes")
    if not ahead.code and (commits := int(ahead.text)):
        missing.append("1 commit" if commits == 1 else f"{commits} commits")
    start = base.removeprefix("refs/remotes/").removeprefix("refs/heads/")
    head = " (HEAD is detached)" if branch.code else ""
    if missing:
        return f"the task starts from {start}, without {' and '.join(missing)} of {checkout}{head}"
    return f"the task starts from {start}, not from HEAD of {checkout}{head}" if head else ""


async def resume_task(task: TaskView, agent: str | None, *, is_trusted: bool) -> int:
    """Retry a task's setup, or restart its agent; see `make_task`.

    Args:
        task: its current view.
        agent: SPEC of a new agent; None for the agent it has.
        is_trusted: whether the user trusts the setup files.

    Raises:
        NotFoundError: the agent's program is not found.
        BusError: the daemon refuses, or cannot be reached.
    """
    if agent or task.agent:
        check_policy()
    on_terminal = task.agent if task.agent in BUILT_IN and task.session != "running" else None
    trusted = await _trusted(task) if is_trusted else ""
    message = RetryTaskspace(taskspace_uuid=task.id, trusted=trusted, agent=agent)
    async with offered_environment(agent or on_terminal) as place:
        made = (await ask(replace(message, environment=place))).taskspace
    if problem := missing_tools(agent, Path(made.worktree), os.environ):
        click.echo(problem, err=True)
    click.echo(task_line(made))
    if made.reason:
        echo_plain(made.reason, err=True)
    if made.agent is None:
        click.echo(no_agent(made), err=True)
    return ExitCode.RUNTIME if made.standing == "setup-failed" else ExitCode.OK


async def _trusted(task: TaskView) -> str:
    """Print what is trusted and return its digest: a later change is not trusted."""
    shown = await ask(ShowTaskspace(taskspace_uuid=task.id))
    for line in shown.recipe:
        echo_plain(f"trusted: {line}", err=True)
    return shown.digest


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
        hint = f"--discard-work deletes it anyway and keeps an archive for {ARCHIVE_DAYS} days"
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
        echo_plain("\n".join(removal.lines))
    return ExitCode.OK


async def _remove_archive(
    task: TaskView, archived_at: str, *, is_final: bool, as_json: bool
) -> int:
    lines: tuple[str, ...] = ()
    if is_final:
        message = RemoveTaskspace(taskspace_uuid=task.id, archived_for_good=True)
        lines = (await ask(message)).lines
    else:
        ends = day_of(
            (datetime.fromisoformat(archived_at) + timedelta(days=ARCHIVE_DAYS)).isoformat()
        )
        back = f"`symposium task undo {task.id[:8]}` restores it, until {ends}"
        click.echo(f"{task.name!r} is already deleted; {back}.", err=True)
    if as_json:
        print_json({"removed": True, "report": None, "lines": lines})
    elif lines:
        echo_plain("\n".join(lines))
    return ExitCode.OK


def _show(task: TaskView, report: SafetyReport) -> None:
    echo_plain(
        f"{task.name}: " + ("nothing would be lost" if report.is_safe else "work could be lost")
    )
    for line in report.lines:
        echo_plain(f"- {line}")


async def _agrees(question: str, *, as_json: bool) -> bool:
    """Whether the user says yes; without a terminal, no."""
    if as_json or not is_interactive():
        return False
    try:
        answer = (await ask_line(question)).strip().lower()
    except EOFError:
        return False
    return answer in {"y", "yes"} or (question == _ARCHIVE and answer in {"", "archive"})


async def collect_expired(clone: str | None, *, is_applied: bool, as_json: bool) -> int:
    """List or remove what has expired; with a clone, only what belongs to it."""
    found = await ask(CollectTaskspaces(is_applied=is_applied, project=clone))
    if as_json:
        print_json(to_builtins(found))
        return ExitCode.OK
    for line in (*found.lines, *(f"orphaned worktree: {each}" for each in found.orphans)):
        echo_plain(line)
    if not found.lines:
        click.echo("Nothing to remove.", err=True)
    elif not is_applied:
        click.echo("Nothing was removed; add --apply to remove this.", err=True)
    return ExitCode.OK
