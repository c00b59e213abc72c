"""Run agents that keep going when the terminal closes."""

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import click

from localio.text import one_line
from symposium.catalog import agent_label
from symposium.cli.app import CommandGroup
from symposium.cli.exit_codes import ExitCode
from symposium.cli.options import example, run
from symposium.cli.policy_report import counted, terminal_warning
from symposium.cli.session_view import (
    FOLLOW,
    ended_sessions,
    find_session,
    is_of_deleted_task,
    look,
    say_answer,
    watch_events,
    whole_id,
)
from symposium.cli.task_agents import environment_for
from symposium.cli.terminal import attach_terminal
from symposium.config.paths import paths
from symposium.planning.chain_spec import check_policy
from symposium.sessions.client import (
    ANSWER,
    CANCEL,
    DESCRIBE,
    QUESTIONS,
    SAY,
    AgentSessions,
    launch,
    reach,
)
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore, Status
from symposium.tasks.spawning import TERMINAL

_WIDTH = 60
_REASON_WIDTH = 200

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    name="session",
    cls=CommandGroup,
    epilog=example("symposium session start --acp -- claude-code-acp"),
)
def command() -> None:
    """Run agents that keep going when the terminal closes.

    SESSION is an id or the beginning of an id; `kill` and `forget` need the full id.
    """


@command.command(epilog=example("symposium session start -- claude"))
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--acp", "is_acp", is_flag=True, help="WORDS starts an ACP agent. Default: a terminal program."
)
@click.option(
    "--cwd",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=".",
    help="Working directory. Default: the current directory.",
)
@click.option(
    "--proxy",
    "mods",
    multiple=True,
    metavar="SPEC",
    help="Mod for an ACP agent: a name, a command line, or JSON. Repeatable.",
)
@click.option("--prompt", help="First prompt for an ACP agent.")
@click.option("--title", default="", help="Title for lists.")
def start(
    words: Sequence[str],
    cwd: Path,
    mods: Sequence[str],
    prompt: str | None,
    title: str,
    *,
    is_acp: bool,
) -> int:
    """Start an agent in a new session and print the session id.

    WORDS is the agent's command line.
    """
    command_words = (shlex.join(words) if len(words) > 1 else words[0],) if is_acp else words
    spec = SessionSpec(
        id=str(uuid4()),
        kind=SessionKind.ACP if is_acp else SessionKind.TERMINAL,
        command=tuple(command_words),
        cwd=str(cwd.absolute()),
        prompt=prompt,
        mods=tuple(mods),
        title=title,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return run(_launch(spec))


@command.command(epilog=example("symposium session resume 6f1c…"))
@click.argument("session")
def resume(session: str) -> int:
    """Restart the agent of SESSION after it ended or the machine restarted."""
    store = SessionStore(paths())
    return run(_launch(store.spec(find_session(store, session))))


@command.command(name="list", epilog=example("symposium session list --json"))
@click.option("--all", "is_all", is_flag=True, help="Include sessions of deleted tasks.")
@_json_option
def list_sessions(*, is_all: bool, as_json: bool) -> int:
    """List sessions, the oldest first."""
    store = SessionStore(paths())
    found = sorted((store.spec(each) for each in store.ids()), key=lambda spec: spec.created_at)
    everything = [(spec, store.state(spec.id)) for spec in found]
    rows = [row for row in everything if is_all or not is_of_deleted_task(*row)]
    if as_json:
        listed = [
            {
                "id": spec.id,
                "kind": spec.kind.value,
                "status": state.status.value,
                "reason": state.reason,
                "command": _words(spec),
                "cwd": spec.cwd,
                "title": spec.title,
                "created": spec.created_at,
                "deleted": is_of_deleted_task(spec, state),
            }
            for spec, state in everything
        ]
        click.echo(json.dumps(listed))
        return ExitCode.OK
    for spec, state in rows:
        shown = one_line(spec.title or shlex.join(_words(spec)), width=_WIDTH)
        reason = f"  ({one_line(state.reason, width=_REASON_WIDTH)})" if state.reason else ""
        click.echo(f"{spec.id}  {state.status.value:8}  {spec.kind.value:8}  {shown}{reason}")
    if hidden := len(everything) - len(rows):
        click.echo(f"{hidden} more of deleted tasks; --all lists them.", err=True)
    elif not rows:
        click.echo("There are no sessions.", err=True)
    return ExitCode.OK


@command.command(epilog=example("symposium session attach 6f1c…"))
@click.argument("session")
@click.option("--since", default=0, help="For an ACP agent: show only events after this number.")
@FOLLOW
@_json_option
def attach(session: str, since: int, *, follow: bool, as_json: bool) -> int:
    r"""Show the terminal of SESSION, or the messages of its ACP agent, until it ends.

    To leave, press Ctrl-\ in a terminal or Ctrl-C in messages; the agent continues.
    """
    store = SessionStore(paths())
    found = find_session(store, session)
    if not follow:
        return run(look(store, found, since, as_json=as_json))
    if store.spec(found).kind is SessionKind.TERMINAL:
        return run(attach_terminal(store, found))
    words = f"symposium session say {found} 'TEXT'"
    return run(watch_events(store, found, since, say=words, as_json=as_json))


@command.command(epilog=example("symposium session say 6f1c… 'Now the tests'"))
@click.argument("session")
@click.argument("text")
@_json_option
def say(session: str, text: str, *, as_json: bool) -> int:
    """Send the prompt TEXT to the ACP agent of SESSION.

    The agent answers earlier prompts first. With - as TEXT, read it from stdin.
    """
    said = sys.stdin.read() if text == "-" else text
    return run(_ask(session, SAY, {"text": said}, as_json=as_json))


@command.command(epilog=example("symposium session cancel 6f1c…"))
@click.argument("session")
@_json_option
def cancel(session: str, *, as_json: bool) -> int:
    """Cancel the current turn of SESSION's ACP agent."""
    return run(_ask(session, CANCEL, {}, as_json=as_json))


@command.command(epilog=example("symposium session questions 6f1c…"))
@click.argument("session")
@_json_option
def questions(session: str, *, as_json: bool) -> int:
    """List unanswered questions of SESSION's ACP agent."""
    return run(_ask(session, QUESTIONS, {}, as_json=as_json))


@command.command(epilog=example("symposium session answer 6f1c… 1 allow"))
@click.argument("session")
@click.argument("question", type=int)
@click.argument("option")
@_json_option
def answer(session: str, question: int, option: str, *, as_json: bool) -> int:
    """Answer a question of SESSION's ACP agent.

    `symposium session questions` lists the number QUESTION and the id of each OPTION.
    """
    params = {"question": question, "optionId": option, "by": "the command line"}
    return run(_ask(session, ANSWER, params, as_json=as_json))


@command.command(epilog=example("symposium session show 6f1c…"))
@click.argument("session")
@_json_option
def show(session: str, *, as_json: bool) -> int:
    """Show the state of SESSION."""
    return run(_ask(session, DESCRIBE, {}, as_json=as_json))


@command.command(epilog=example("symposium session kill 6f1c…"))
@click.argument("session")
def kill(session: str) -> int:
    """Stop the agent of SESSION and every process it started; kill processes that do not stop."""
    store = SessionStore(paths())
    return run(_kill(store, whole_id(store, session)))


@command.command(epilog=example("symposium session forget --ended"))
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option(
    "--ended", "is_every", is_flag=True, help="Remove every ended session that belongs to no task."
)
def forget(sessions: Sequence[str], *, is_every: bool) -> int:
    """Remove the stored data of each SESSION, which must have ended.

    A task cannot resume without its session. `symposium task gc` removes expired tasks with their
    sessions.
    """
    store = SessionStore(paths())
    chosen = [whole_id(store, each) for each in sessions]
    if is_every:
        chosen += ended_sessions(store)
    elif not chosen:
        raise click.UsageError("Missing SESSION; name one, or give --ended for all ended ones.")
    for each in dict.fromkeys(chosen):
        store.wait_for_exit(each)
        store.forget(each)
    if is_every:
        click.echo(f"removed {counted(len(set(chosen)), 'session')}", err=True)
    return ExitCode.OK


async def _launch(spec: SessionSpec) -> int:
    check_policy()
    is_acp = spec.kind is SessionKind.ACP
    if not is_acp and (warning := terminal_warning()):
        click.echo(warning, err=True)
    agent = spec.command[0] if is_acp else f"{TERMINAL}{shlex.join(spec.command)}"
    # Report a missing program here, and not only in the log of the session server.
    environment = await environment_for(agent)
    await launch(SessionStore(paths()), spec, environment)
    click.echo(spec.id)
    return ExitCode.OK


def _words(spec: SessionSpec) -> list[str]:
    """List the words of the command, without the variables, which may hold keys."""
    if spec.kind is SessionKind.TERMINAL:
        return list(spec.command)
    return [agent_label(each) for each in spec.command]


async def _ask(session: str, method: str, params: Mapping[str, object], *, as_json: bool) -> int:
    store = SessionStore(paths())
    async with reach(store, find_session(store, session)) as server:
        answer = await server.ask(method, params)
    if as_json:
        click.echo(json.dumps(answer))
    else:
        say_answer(method, answer)
    return ExitCode.OK


async def _kill(store: SessionStore, session: str) -> int:
    if store.state(session).status is not Status.RUNNING:
        click.echo(f"The session is not running: {store.state(session).status.value}.", err=True)
        return ExitCode.OK
    await AgentSessions(store).stop(session)
    return ExitCode.OK
