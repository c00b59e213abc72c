"""Run agents side by side, each on its own branch in its own worktree."""

from pathlib import Path

import click
from msgspec import to_builtins

from localio.text import second_of
from symposium.bus.messages.agents import LogProgress, ProgressCategory
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    ListTaskspaces,
    RenameTaskspace,
    ShowTaskspace,
)
from symposium.bus.messages.worktrees import (
    FindOverlaps,
    RestoreTaskspace,
    UndoTaskspace,
)
from symposium.cli.agent_views import dated, print_json
from symposium.cli.app import CommandGroup
from symposium.cli.bus import AS_JSON
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example, taking
from symposium.cli.session_view import FOLLOW, look, watch_events
from symposium.cli.task_agents import must_have_agent, named_agent
from symposium.cli.task_changes import (
    NewOptions,
    collect_expired,
    make_task,
    remove_task,
    resume_task,
)
from symposium.cli.task_landing import LandOrder, land_task
from symposium.cli.task_watch import watch_tasks
from symposium.cli.tasks import (
    PAGE,
    ask,
    category_text,
    conflict_lines,
    doing,
    echo_plain,
    find_and_show,
    find_task,
    open_editor,
    sessions,
    show_diff,
    show_snapshots,
    show_task,
    show_tasks,
    task_line,
    undone_lines,
)
from symposium.cli.terminal import attach_terminal
from symposium.sessions.client import SAY, AgentSessions, reach
from symposium.sessions.session import SessionKind

TASK = click.argument("task")

_CLONE = click.option(
    *("--project", "--cwd"),
    type=click.Path(path_type=Path),
    default=".",
    help="Git clone. Default: the current directory.",
)

_EVERY_CLONE = click.option(
    *("--project", "--cwd"),
    type=click.Path(path_type=Path),
    help="Git clone whose tasks to show. Default: all clones.",
)


@click.group(
    name="task",
    cls=CommandGroup,
    epilog=example("symposium task new 'fix the login test' --agent eliza"),
)
def command() -> None:
    """Run agents side by side, each on its own branch in its own worktree.

    TASK is a name, an id, or the beginning of an id.
    """


@command.command(
    cls=taking(NewOptions), epilog=example("symposium task new 'fix the login test' --agent claude")
)
@click.argument("name")
@click.argument("prompt", required=False)
@click.option(
    "--agent",
    metavar="SPEC",
    help="Agent: an id from `symposium agents list`, a command line, or JSON. Default: the agent "
    "of the config. `none` starts no agent; the prompt waits for the agent that you start in the "
    "worktree.",
)
@click.option("--base", metavar="BRANCH", help="Branch to start from. Default: the main branch.")
@click.option("--description", default="", help="Description, for lists.")
@click.option("--budget", metavar="BUDGET", help="Spending limit, such as 3usd,20min,30turns.")
@_CLONE
@click.option("--lock-name", "is_locked", is_flag=True, help="Do not let agents rename the task.")
@AS_JSON
def new(options: NewOptions) -> int:
    """Create the task NAME: a branch, a worktree, and an agent that works on PROMPT.

    Without PROMPT, NAME is the prompt. The agent gets the environment variables of this shell.
    The files of the clone itself do not change.
    """
    message = options.message()

    return doing(lambda: make_task(message, as_json=options.as_json))


@command.command(epilog=example("symposium task adopt ../clone-fix --name 'fix the login'"))
@click.argument("worktree", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", help="Name of the task. Default: the branch.")
@AS_JSON
def adopt(worktree: Path, name: str | None, *, as_json: bool) -> int:
    """Turn the existing git worktree WORKTREE into a task. Its files do not change."""
    message = AdoptTaskspace(worktree=str(worktree.resolve()), name=name)

    async def work() -> int:
        made = (await ask(message)).taskspace
        if as_json:
            print_json(to_builtins(made))
        else:
            click.echo(task_line(made))
        return ExitCode.OK

    return doing(work)


@command.command(name="list", epilog=example("symposium task list --json"))
@_EVERY_CLONE
@click.option("--all", "is_all", is_flag=True, help="Include archived tasks.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    help=f"Maximum number of tasks. Default: {PAGE}; with --json, all.",
)
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Number of tasks to skip.")
@AS_JSON
def list_tasks(
    project: Path | None, limit: int | None, skip: int, *, is_all: bool, as_json: bool
) -> int:
    """List tasks: first those that need you, then the most recently used."""
    message = ListTaskspaces(
        project=None if project is None else str(project.absolute()),
        after=skip,
        limit=limit or (None if as_json else PAGE),
        is_archived=is_all,
        is_urgent_first=True,
    )

    async def work() -> int:
        found = await ask(message)
        show_tasks(found.taskspaces, as_json=as_json)
        left = found.total - skip - len(found.taskspaces)
        if left > 0 and not as_json:
            more = skip + len(found.taskspaces)
            click.echo(f"{left} more; add `--skip {more}` to see them", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task watch"))
@_EVERY_CLONE
@AS_JSON
def watch(project: Path | None, *, as_json: bool) -> int:
    """Show a live board of all tasks, grouped: needs you, failed, working, idle, landed.

    Without a terminal, print the tasks, then one line for each change. With --json, print each
    change as one JSON object per line.
    """
    return doing(lambda: watch_tasks(project and project.absolute(), as_json=as_json))


@command.command(epilog=example("symposium task show fix-login"))
@TASK
@click.option("--log", "lines", default=20, show_default=True, help="Number of progress lines.")
@AS_JSON
def show(task: str, lines: int, *, as_json: bool) -> int:
    """Show the state, agent, worktree, snapshots, and progress of TASK."""

    async def work() -> int:
        shown = await find_and_show(task, lines)
        if as_json:
            snapshots = [dated(to_builtins(each), "at") for each in shown.snapshots]
            print_json({**to_builtins(shown), "snapshots": snapshots})
            return ExitCode.OK
        show_task(shown)
        return ExitCode.OK

    return doing(work)


@command.command(name="open", epilog=example("symposium task open fix-login --editor code"))
@TASK
@click.option("--editor", help="Editor command. Default: $SYMPOSIUM_EDITOR, else $VISUAL.")
def open_(task: str, editor: str | None) -> int:
    """Open the worktree of TASK in an editor, or print its path if no editor is set."""

    async def work() -> int:
        return await open_editor(Path((await find_task(task)).worktree), editor)

    return doing(work)


@command.command(epilog=example("symposium task attach fix-login"))
@TASK
@FOLLOW
@AS_JSON
def attach(task: str, *, follow: bool, as_json: bool) -> int:
    r"""Show the terminal or the messages of TASK's agent as they arrive.

    To leave, press Ctrl-\ in a terminal or Ctrl-C in messages; the agent continues. With
    --no-follow, print the output so far, even if the agent has ended.
    """

    async def work() -> int:
        found = await find_task(task)
        store = sessions()
        must_have_agent(found)
        if not follow:
            return await look(store, found.id, 0, as_json=as_json)
        if store.spec(found.id).kind is SessionKind.TERMINAL:
            return await attach_terminal(store, found.id)
        say = f"symposium task say {found.id[:8]} 'TEXT'"
        return await watch_events(store, found.id, 0, say=say, as_json=as_json)

    return doing(work)


@command.command(epilog=example("symposium task say fix-login 'Now the tests'"))
@TASK
@click.argument("text")
def say(task: str, text: str) -> int:
    """Send the prompt TEXT to the agent of TASK. The agent answers earlier prompts first."""
    if not text.strip():
        raise click.UsageError("the prompt is empty")

    async def work() -> int:
        found = await find_task(task)
        must_have_agent(found)
        async with reach(sessions(), found.id) as server:
            answer = await server.ask(SAY, {"text": text})
        click.echo(f"sent; prompts in the queue: {answer['waiting']}", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task chat fix-login"))
@TASK
def chat(task: str) -> int:
    r"""Chat with the agent of TASK: Enter sends, Ctrl-C cancels its turn, Ctrl-D leaves.

    You can answer its questions here. The agent continues when you leave. For an agent that has
    its own terminal, this shows that terminal; Ctrl-\ leaves.
    """
    from symposium.cli.task_chat import chat_with_task

    async def work() -> int:
        found = await find_task(task)
        must_have_agent(found)
        store = sessions()
        if store.spec(found.id).kind is SessionKind.TERMINAL:
            return await attach_terminal(store, found.id)
        return await chat_with_task(store, found.id)

    return doing(work)


@command.command(epilog=example("symposium task stop fix-login"))
@TASK
def stop(task: str) -> int:
    """Stop the agent of TASK and every process it started. The worktree does not change."""

    async def work() -> int:
        found = await find_task(task)
        must_have_agent(found)
        if not sessions().is_kept(found.id):
            click.echo(f"The agent of {found.name!r} is not running.", err=True)
            return ExitCode.OK
        await AgentSessions(sessions()).stop(found.id)
        again = f"`symposium task resume {found.id[:8]}` restarts it"
        click.echo(f"Stopped the agent of {found.name!r}; {again}.", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task log fix-login"))
@TASK
@click.option("--add", metavar="TEXT", help="Add this line instead of showing the log.")
@click.option(
    "--category",
    type=click.Choice([each.value for each in ProgressCategory]),
    default="info",
    show_default=True,
    help="Category of the added line.",
)
@click.option("-n", "lines", default=100, show_default=True, help="Number of latest lines to show.")
@AS_JSON
def log(task: str, add: str | None, category: str, lines: int, *, as_json: bool) -> int:
    """Show the progress log of TASK, or add a line to it."""

    async def work() -> int:
        if add is not None:
            found, kind = await find_task(task), ProgressCategory(category)
            place = {"project_path": found.project, "taskspace_uuid": found.id}
            await ask(LogProgress(**place, message=add, category=kind))
            return ExitCode.OK
        shown = await find_and_show(task, lines, is_whole=False)
        if as_json:
            print_json([to_builtins(entry) for entry in shown.log])
            return ExitCode.OK
        if not shown.log:
            words = f"symposium task attach --no-follow {shown.taskspace.id[:8]}"
            click.echo(f"The log is empty; `{words}` shows what the agent said.", err=True)
        for entry in shown.log:
            echo_plain(f"{second_of(entry.at)}  {category_text(entry.category):9}  {entry.message}")
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task diff fix-login"))
@TASK
@click.option("--stat", is_flag=True, help="Show a summary of the changed files.")
def diff(task: str, *, stat: bool) -> int:
    """Show the changes of TASK against its base, committed or not."""

    async def work() -> int:
        return await show_diff(await find_task(task), is_stat=stat)

    return doing(work)


@command.command(cls=taking(LandOrder), epilog=example("symposium task land fix-login"))
@TASK
@click.option("--merge", "join", flag_value="merge", help="Merge instead of rebasing.")
@click.option("--push", "is_pushed", is_flag=True, help="Push the base branch afterwards.")
@click.option(
    "--resolve",
    "is_resolved",
    is_flag=True,
    help="Let the agent of TASK resolve conflicts. You approve the result before it lands.",
)
@click.option("--wait", "is_awaited", is_flag=True, help="With --resolve: wait for your decision.")
@AS_JSON
def land(order: LandOrder) -> int:
    """Add the work of TASK to its base branch, after a trial merge and the project's checks.

    A conflict or a failed check leaves the base branch unchanged; exit code 1.

    With --resolve, the agent of TASK resolves conflicts, and the checks run. Then `symposium inbox`
    asks whether to land the result; exit code 10.
    """
    return doing(lambda: land_task(order))


@command.command(epilog=example("symposium task conflicts"))
@_CLONE
@AS_JSON
def conflicts(project: Path, *, as_json: bool) -> int:
    """Show which tasks would conflict with each other or with their base branch."""
    message = FindOverlaps(project=str(project.absolute()))

    async def work() -> int:
        found = (await ask(message)).overlaps
        if as_json:
            print_json([to_builtins(each) for each in found])
            return ExitCode.OK
        tasks = (await ask(ListTaskspaces())).taskspaces
        for line in conflict_lines(found, {each.id: each.name for each in tasks}):
            click.echo(line)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task rm fix-login"))
@TASK
@click.option(
    *("--discard-work", "is_agreed"),
    is_flag=True,
    help="Delete without asking. The archive keeps the work for 14 days, unless you "
    "add --no-archive.",
)
@click.option(
    *("--no-archive", "is_final"),
    is_flag=True,
    help="Do not keep an archive. This cannot be undone.",
)
@click.option(
    "--branch",
    type=click.Choice(["auto", "keep", "drop"]),
    default="auto",
    show_default=True,
    help="Keep or drop the branch; auto keeps a branch with commits that are nowhere else.",
)
@AS_JSON
def rm(task: str, branch: str, *, is_agreed: bool, is_final: bool, as_json: bool) -> int:
    """Delete TASK. `symposium task undo` can restore it for 14 days.

    If work would be lost, the command lists it and asks. Without a terminal, it then deletes
    nothing; exit code 5. Add --discard-work to delete anyway.
    """

    async def work() -> int:
        found = await find_task(task)
        return await remove_task(
            found, branch, is_agreed=is_agreed, is_final=is_final, as_json=as_json
        )

    return doing(work)


@command.command(epilog=example("symposium task undo fix-login"))
@TASK
@click.option("--to", "snapshot", metavar="REF", help="Snapshot to restore, from --list.")
@click.option("--list", "is_listed", is_flag=True, help="List the snapshots; change nothing.")
@AS_JSON
def undo(task: str, snapshot: str | None, *, is_listed: bool, as_json: bool) -> int:
    """Undo the last change in the worktree of TASK, or restore a deleted TASK."""

    async def work() -> int:
        found = await find_task(task)
        if is_listed:
            task_shown = await ask(ShowTaskspace(taskspace_uuid=found.id, log=1))
            show_snapshots(task_shown.snapshots, as_json=as_json)
            return ExitCode.OK
        if found.archived_at is not None:
            restored = await ask(RestoreTaskspace(taskspace_uuid=found.id))
            shown, lines = to_builtins(restored), (task_line(restored.taskspace), *restored.lines)
        else:
            undone = await ask(UndoTaskspace(taskspace_uuid=found.id, snapshot=snapshot))
            both = {"now": undone.now, "before": undone.before}
            states = {name: dated(to_builtins(each), "at") for name, each in both.items()}
            shown, lines = {**to_builtins(undone), **states}, undone_lines(found.id, undone)
        if as_json:
            print_json(shown)
        else:
            echo_plain("\n".join(lines))
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task gc --apply"))
@click.option(
    "--apply", "is_applied", is_flag=True, help="Remove the expired archives and snapshots."
)
@_CLONE
@AS_JSON
def gc(project: Path, *, is_applied: bool, as_json: bool) -> int:
    """List expired archives and snapshots, and orphaned worktrees."""
    clone = str(project.absolute()) if (project / ".git").exists() else None
    return doing(lambda: collect_expired(clone, is_applied=is_applied, as_json=as_json))


@command.command(epilog=example("symposium task resume fix-login"))
@TASK
@click.option(
    "--trust", "is_trusted", is_flag=True, help="Trust the setup files and run their commands."
)
@click.option("--agent", metavar="SPEC", help="Agent for a task that has none yet.")
def resume(task: str, agent: str | None, *, is_trusted: bool) -> int:
    """Retry the setup of TASK, or restart its agent after it ended or was lost.

    The agent gets the environment variables of this shell.
    """
    spec = None if agent is None else named_agent(agent)

    async def work() -> int:
        return await resume_task(await find_task(task), spec, is_trusted=is_trusted)

    return doing(work)


@command.command(epilog=example("symposium task rename fix-login 'Fix the login test'"))
@TASK
@click.argument("name")
def rename(task: str, name: str) -> int:
    """Rename TASK to NAME. Agents can no longer change the name."""

    async def work() -> int:
        found = await find_task(task)
        made = await ask(RenameTaskspace(taskspace_uuid=found.id, name=name))
        click.echo(task_line(made.taskspace))
        return ExitCode.OK

    return doing(work)
