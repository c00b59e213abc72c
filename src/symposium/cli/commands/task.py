"""Run agents side by side, each on its own branch in its own worktree."""

from pathlib import Path

import click
from msgspec import to_builtins

from localio.text import second_of
from symposium.agent_sessions.keeper_client import SAY, AgentSessions, reach
from symposium.agent_sessions.session import SessionKind
from symposium.bus.messages.agents import LogProgress, ProgressCategory
from symposium.bus.messages.tasks import (
    AdoptTaskspace,
    ListTaskspaces,
    RenameTaskspace,
    ShowTaskspace,
)
from symposium.bus.messages.worktrees import (
    CollectTaskspaces,
    FindOverlaps,
    RestoreTaskspace,
    UndoTaskspace,
)
from symposium.cli.agent_views import dated, print_json
from symposium.cli.attaching import attach_terminal
from symposium.cli.bus_options import AS_JSON
from symposium.cli.ending import ExitCode
from symposium.cli.front import CommandGroup
from symposium.cli.options import example, taking
from symposium.cli.task_agents import must_have_agent, named_agent
from symposium.cli.task_conflicts import conflict_lines
from symposium.cli.task_landing import LandOrder, land_task
from symposium.cli.task_making import NewOptions, make_task, resume_task
from symposium.cli.task_opening import open_editor, show_diff
from symposium.cli.task_removing import remove_task
from symposium.cli.task_watching import watch_tasks
from symposium.cli.tasks import (
    PAGE,
    ask,
    category_text,
    doing,
    find_and_show,
    find_task,
    sessions,
    show_snapshots,
    show_task,
    show_tasks,
    task_line,
    undone_lines,
)
from symposium.cli.watching import FOLLOW, look, watch_events

TASK = click.argument("task")

_CLONE = click.option(
    "--project", "--cwd", type=click.Path(path_type=Path), default=".", help="The clone."
)


@click.group(
    name="task",
    cls=CommandGroup,
    epilog=example("symposium task new 'fix the login test' --agent eliza"),
)
def command() -> None:
    """Tasks side by side, each in a worktree of its own with its own agent.

    TASK is an id, enough of one, or a name.
    """


@command.command(
    cls=taking(NewOptions), epilog=example("symposium task new 'fix the login test' --agent claude")
)
@click.argument("name")
@click.argument("prompt", required=False)
@click.option(
    "--agent",
    metavar="SPEC",
    help="`claude` and the like, or a SPEC that speaks ACP; the config's if not given. With `none` "
    "the prompt waits for an agent that you start in the worktree.",
)
@click.option("--base", metavar="BRANCH", help="Where to start from; the project's own branch.")
@click.option("--description", default="", help="What people see.")
@click.option("--budget", metavar="BUDGET", help="What it may spend, as in 3usd,20min,30turns.")
@_CLONE
@click.option("--lock-name", "is_locked", is_flag=True, help="Agents do not rename it.")
@AS_JSON
def new(options: NewOptions) -> int:
    """Make a taskspace NAME: a branch, a worktree, and an agent that is given PROMPT.

    Without PROMPT the agent is given NAME. It is started with the environment that you have here.
    The clone itself stays as it is.
    """
    message = options.message()

    return doing(lambda: make_task(message, as_json=options.as_json))


@command.command(epilog=example("symposium task adopt ../clone-fix --name 'fix the login'"))
@click.argument("worktree", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--name", help="What it is called; its branch if not given.")
@AS_JSON
def adopt(worktree: Path, name: str | None, *, as_json: bool) -> int:
    """Make a WORKTREE that is there a taskspace; nothing in it is changed."""
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
@click.option("--project", "--cwd", type=click.Path(path_type=Path), help="Only of this clone.")
@click.option("--all", "is_all", is_flag=True, help="Include archived tasks.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(min=1),
    help=f"Most tasks to list. Default: {PAGE}, and all with --json.",
)
@click.option("--skip", type=click.IntRange(min=0), default=0, help="Tasks to leave out at first.")
@AS_JSON
def list_tasks(
    project: Path | None, limit: int | None, skip: int, *, is_all: bool, as_json: bool
) -> int:
    """List the tasks: those that need you first, then the one used last."""
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
            click.echo(f"{left} more; `symposium task list --skip {more}` continues", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task watch"))
@click.option("--project", "--cwd", type=click.Path(path_type=Path), help="Only of this clone.")
@AS_JSON
def watch(project: Path | None, *, as_json: bool) -> int:
    """Show a live board of all tasks: needs you, failed, working, idle, landed.

    Without a terminal, print the tasks, then a line for each change. With --json, print each
    announcement of the daemon as one JSON object on a line.
    """
    return doing(lambda: watch_tasks(project and project.absolute(), as_json=as_json))


@command.command(epilog=example("symposium task show fix-login"))
@TASK
@click.option("--log", "lines", default=20, show_default=True, help="Lines of progress.")
@AS_JSON
def show(task: str, lines: int, *, as_json: bool) -> int:
    """Show all that is known of TASK."""

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
@click.option("--editor", help="The command; $SYMPOSIUM_EDITOR or $VISUAL if not given.")
def open_(task: str, editor: str | None) -> int:
    """Open the worktree of TASK in an editor; print where it is if there is none."""

    async def work() -> int:
        return await open_editor(Path((await find_task(task)).worktree), editor)

    return doing(work)


@command.command(epilog=example("symposium task attach fix-login"))
@TASK
@FOLLOW
@AS_JSON
def attach(task: str, *, follow: bool, as_json: bool) -> int:
    r"""Look at the agent of TASK: its terminal (Ctrl-\ lets go), or what it reports (Ctrl-C does).

    The agent goes on. With --no-follow, what was told and said so far, also once it has ended.
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
    """Give the agent of TASK a prompt, after those that wait already."""
    if not text.strip():
        raise click.UsageError("the prompt is empty")

    async def work() -> int:
        found = await find_task(task)
        must_have_agent(found)
        async with reach(sessions(), found.id) as keeper:
            answer = await keeper.ask(SAY, {"text": text})
        click.echo(f"{answer['waiting']} waiting", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task chat fix-login"))
@TASK
def chat(task: str) -> int:
    r"""Talk with the agent of TASK: Enter sends, Ctrl-C cancels its turn, Ctrl-D leaves.

    Questions are answered where they are shown. The agent continues when you leave. An agent on a
    terminal of its own is shown there, and Ctrl-\ leaves.
    """
    from symposium.cli.task_chatting import chat_with_task  # noqa: PLC0415 - see IMPORTS_LATE

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
    """End the agent of TASK and all that it has started; the worktree stays as it is."""

    async def work() -> int:
        found = await find_task(task)
        must_have_agent(found)
        if not sessions().is_kept(found.id):
            click.echo(f"The agent of {found.name!r} is not running.", err=True)
            return ExitCode.OK
        await AgentSessions(sessions()).stop(found.id)
        again = f"`symposium task resume {found.id[:8]}` starts it again"
        click.echo(f"The agent of {found.name!r} has ended; {again}.", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task log fix-login"))
@TASK
@click.option("--add", metavar="TEXT", help="Add a line in place of showing them.")
@click.option(
    "--category",
    type=click.Choice([each.value for each in ProgressCategory]),
    default="info",
    help="Of the line that is added.",
)
@click.option("-n", "lines", default=100, show_default=True, help="How many of the last.")
@AS_JSON
def log(task: str, add: str | None, category: str, lines: int, *, as_json: bool) -> int:
    """Show the progress of TASK, or add a line to it."""

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
            click.echo(f"No progress was logged. `{words}` shows what was said.", err=True)
        for entry in shown.log:
            click.echo(f"{second_of(entry.at)}  {category_text(entry.category):9}  {entry.message}")
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task diff fix-login"))
@TASK
@click.option("--stat", is_flag=True, help="Only which files, and how much.")
def diff(task: str, *, stat: bool) -> int:
    """Show what TASK has changed against its base, committed or not."""

    async def work() -> int:
        return await show_diff(await find_task(task), is_stat=stat)

    return doing(work)


@command.command(cls=taking(LandOrder), epilog=example("symposium task land fix-login"))
@TASK
@click.option("--merge", "join", flag_value="merge", help="Merge; else it is rebased.")
@click.option("--push", "is_pushed", is_flag=True, help="Push the base afterwards.")
@click.option(
    "--resolve",
    "is_resolved",
    is_flag=True,
    help="Let the agent of TASK resolve conflicts. Nothing lands before you approve it.",
)
@click.option(
    "--wait", "is_awaited", is_flag=True, help="With --resolve: wait until you have decided."
)
@AS_JSON
def land(order: LandOrder) -> int:
    """Bring the work of TASK into its base: tried first, checked, and never by force.

    What does not fit, or fails a check, leaves the base as it was: exit code 1.

    With --resolve the agent of TASK resolves conflicts, the checks run, and `symposium inbox` asks
    you whether the result lands: exit code 10.
    """
    return doing(lambda: land_task(order))


@command.command(epilog=example("symposium task conflicts"))
@_CLONE
@AS_JSON
def conflicts(project: Path, *, as_json: bool) -> int:
    """Show which live taskspaces would conflict, with each other and with their base."""
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
@click.option("--discard-work", "is_agreed", is_flag=True, help="Also where work would go.")
@click.option("--no-archive", "is_final", is_flag=True, help="Leave no way back.")
@click.option("--branch", type=click.Choice(["auto", "keep", "drop"]), default="auto")
@AS_JSON
def rm(task: str, branch: str, *, is_agreed: bool, is_final: bool, as_json: bool) -> int:
    """Delete TASK; it can be brought back for 14 days.

    What would be lost is shown first. Without a terminal to ask on, a TASK with unsaved work is
    refused with exit code 5, unless --discard-work is given.
    """

    async def work() -> int:
        found = await find_task(task)
        return await remove_task(
            found, branch, is_agreed=is_agreed, is_final=is_final, as_json=as_json
        )

    return doing(work)


@command.command(epilog=example("symposium task undo fix-login"))
@TASK
@click.option("--to", "snapshot", metavar="REF", help="A snapshot, as --list shows them.")
@click.option("--list", "is_listed", is_flag=True, help="List the snapshots, and change nothing.")
@AS_JSON
def undo(task: str, snapshot: str | None, *, is_listed: bool, as_json: bool) -> int:
    """Restore TASK: a deleted one whole, else its worktree as it was before the last change."""

    async def work() -> int:
        found = await find_task(task)
        if is_listed:
            shown = await ask(ShowTaskspace(taskspace_uuid=found.id, log=1))
            show_snapshots(shown.snapshots, as_json=as_json)
            return ExitCode.OK
        if found.archived_at is not None:
            restored = await ask(RestoreTaskspace(taskspace_uuid=found.id))
            told, lines = to_builtins(restored), (task_line(restored.taskspace), *restored.lines)
        else:
            undone = await ask(UndoTaskspace(taskspace_uuid=found.id, snapshot=snapshot))
            both = {"now": undone.now, "before": undone.before}
            states = {name: dated(to_builtins(each), "at") for name, each in both.items()}
            told, lines = {**to_builtins(undone), **states}, undone_lines(found.id, undone)
        if as_json:
            print_json(told)
        else:
            click.echo("\n".join(lines))
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task gc --apply"))
@click.option("--apply", "is_applied", is_flag=True, help="Do it; else it is only shown.")
@_CLONE
@AS_JSON
def gc(project: Path, *, is_applied: bool, as_json: bool) -> int:
    """Clear away archives and snapshots that are too old; name worktrees that nobody has."""
    place = str(project.absolute()) if (project / ".git").exists() else None
    message = CollectTaskspaces(is_applied=is_applied, project=place)

    async def work() -> int:
        found = await ask(message)
        if as_json:
            print_json(to_builtins(found))
            return ExitCode.OK
        for line in (*found.lines, *(f"no taskspace: {each}" for each in found.orphans)):
            click.echo(line)
        if not found.lines:
            click.echo("There is nothing to clear away.", err=True)
        elif not is_applied:
            click.echo("Nothing was changed; --apply does it.", err=True)
        return ExitCode.OK

    return doing(work)


@command.command(epilog=example("symposium task resume fix-login"))
@TASK
@click.option("--trust", "is_trusted", is_flag=True, help="Do what its set-up files ask for.")
@click.option("--agent", metavar="SPEC", help="Give it this one, if none has worked on it yet.")
def resume(task: str, agent: str | None, *, is_trusted: bool) -> int:
    """Try the set-up of TASK again, or start its agent again after it has ended or was lost.

    The agent is started with the environment that you have here.
    """
    spec = None if agent is None else named_agent(agent)

    async def work() -> int:
        return await resume_task(await find_task(task), spec, is_trusted=is_trusted)

    return doing(work)


@command.command(epilog=example("symposium task rename fix-login 'Login, once more'"))
@TASK
@click.argument("name")
def rename(task: str, name: str) -> int:
    """Call TASK NAME; agents leave that alone from now on."""

    async def work() -> int:
        found = await find_task(task)
        made = await ask(RenameTaskspace(taskspace_uuid=found.id, name=name))
        click.echo(task_line(made.taskspace))
        return ExitCode.OK

    return doing(work)
