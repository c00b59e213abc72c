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
from symposium.agent_label import agent_label
from symposium.agent_sessions.keeper_client import (
    ANSWER,
    CANCEL,
    DESCRIBE,
    QUESTIONS,
    SAY,
    AgentSessions,
    reach,
)
from symposium.agent_sessions.launch import launch
from symposium.agent_sessions.session import SessionKind, SessionSpec, Status
from symposium.agent_sessions.store import SessionStore
from symposium.chain_spec import check_policy
from symposium.cli.attaching import attach_terminal
from symposium.cli.ending import ExitCode
from symposium.cli.front import CommandGroup
from symposium.cli.options import example
from symposium.cli.policy_report import terminal_warning
from symposium.cli.running import run
from symposium.cli.session_names import (
    ended_sessions,
    find_session,
    is_of_deleted_task,
    whole_id,
)
from symposium.cli.session_words import say_answer
from symposium.cli.task_agents import environment_for
from symposium.cli.watching import FOLLOW, look, watch_events
from symposium.config.paths import paths
from symposium.taskspaces.agent_commands import TERMINAL

_WIDTH = 60

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(
    name="session",
    cls=CommandGroup,
    epilog=example("symposium session start --acp -- claude-code-acp"),
)
def command() -> None:
    """Agents that outlive the terminal, each held by a process of its own."""


@command.command(epilog=example("symposium session start -- claude"))
@click.argument("words", nargs=-1, required=True)
@click.option("--acp", "is_acp", is_flag=True, help="It speaks ACP; else it gets a terminal.")
@click.option("--cwd", type=click.Path(path_type=Path, exists=True, file_okay=False), default=".")
@click.option("--proxy", "mods", multiple=True, metavar="SPEC", help="A mod, for an ACP agent.")
@click.option("--prompt", help="What to say to an ACP agent first.")
@click.option("--title", default="", help="For lists.")
def start(
    words: Sequence[str],
    cwd: Path,
    mods: Sequence[str],
    prompt: str | None,
    title: str,
    *,
    is_acp: bool,
) -> int:
    """Start the agent WORDS, and print the id of its session."""
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
    """Start the agent of SESSION again, after it has ended or the machine has."""
    store = SessionStore(paths())
    return run(_launch(store.spec(find_session(store, session))))


@command.command(name="list", epilog=example("symposium session list --json"))
@click.option("--all", "is_all", is_flag=True, help="Those of deleted tasks, too.")
@_json_option
def list_sessions(*, is_all: bool, as_json: bool) -> int:
    """List the sessions, the oldest first."""
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
        reason = f"  ({state.reason})" if state.reason else ""
        click.echo(f"{spec.id}  {state.status.value:8}  {spec.kind.value:8}  {shown}{reason}")
    if hidden := len(everything) - len(rows):
        click.echo(f"Of deleted tasks there are {hidden} more; --all shows them.", err=True)
    elif not rows:
        click.echo("There are no sessions.", err=True)
    return ExitCode.OK


@command.command(epilog=example("symposium session attach 6f1c…"))
@click.argument("session")
@click.option("--since", default=0, help="For an ACP agent: only events after this number.")
@FOLLOW
@_json_option
def attach(session: str, since: int, *, follow: bool, as_json: bool) -> int:
    r"""Look at SESSION: its terminal, or what its agent reports, until it ends.

    Ctrl-\ lets go of a terminal, Ctrl-C of what an ACP agent reports; the agent goes on.
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
    """Give the ACP agent of SESSION the prompt TEXT, after those that wait already."""
    said = sys.stdin.read() if text == "-" else text
    return run(_ask(session, SAY, {"text": said}, as_json=as_json))


@command.command(epilog=example("symposium session cancel 6f1c…"))
@click.argument("session")
@_json_option
def cancel(session: str, *, as_json: bool) -> int:
    """Cancel the turn that the ACP agent of SESSION is in."""
    return run(_ask(session, CANCEL, {}, as_json=as_json))


@command.command(epilog=example("symposium session questions 6f1c…"))
@click.argument("session")
@_json_option
def questions(session: str, *, as_json: bool) -> int:
    """Show what the ACP agent of SESSION has asked and nobody has answered."""
    return run(_ask(session, QUESTIONS, {}, as_json=as_json))


@command.command(epilog=example("symposium session answer 6f1c… 1 allow"))
@click.argument("session")
@click.argument("question", type=int)
@click.argument("option")
@_json_option
def answer(session: str, question: int, option: str, *, as_json: bool) -> int:
    """Answer QUESTION of SESSION with OPTION."""
    params = {"question": question, "optionId": option, "by": "the command line"}
    return run(_ask(session, ANSWER, params, as_json=as_json))


@command.command(epilog=example("symposium session show 6f1c…"))
@click.argument("session")
@_json_option
def show(session: str, *, as_json: bool) -> int:
    """Show what is known of SESSION."""
    return run(_ask(session, DESCRIBE, {}, as_json=as_json))


@command.command(epilog=example("symposium session kill 6f1c…"))
@click.argument("session")
def kill(session: str) -> int:
    """End the agent of SESSION, gently first, and all that it has started."""
    store = SessionStore(paths())
    return run(_kill(store, whole_id(store, session)))


@command.command(epilog=example("symposium session forget --ended"))
@click.argument("sessions", metavar="[SESSION]...", nargs=-1)
@click.option("--ended", "is_every", is_flag=True, help="All that have ended and are no task's.")
def forget(sessions: Sequence[str], *, is_every: bool) -> int:
    """Remove what is kept of each SESSION, which must have ended.

    That of a task is needed to go on with it; `symposium task gc` removes it with the task.
    """
    store = SessionStore(paths())
    chosen = [whole_id(store, each) for each in sessions]
    if is_every:
        chosen += ended_sessions(store)
    elif not chosen:
        raise click.UsageError("Say which SESSION, or --ended for all that have ended.")
    for each in dict.fromkeys(chosen):
        store.forget(each)
    if is_every:
        click.echo(f"{len(set(chosen))} forgotten", err=True)
    return ExitCode.OK


async def _launch(spec: SessionSpec) -> int:
    check_policy()
    is_acp = spec.kind is SessionKind.ACP
    if not is_acp and (warning := terminal_warning()):
        click.echo(warning, err=True)
    agent = spec.command[0] if is_acp else f"{TERMINAL}{shlex.join(spec.command)}"
    # What is not here is said here, and not in a log that nobody looks for.
    environment = await environment_for(agent)
    await launch(SessionStore(paths()), spec, environment)
    click.echo(spec.id)
    return ExitCode.OK


def _words(spec: SessionSpec) -> list[str]:
    """What was started; the keys that an agent is given by its variables are left out."""
    if spec.kind is SessionKind.TERMINAL:
        return list(spec.command)
    return [agent_label(each) for each in spec.command]


async def _ask(session: str, method: str, params: Mapping[str, object], *, as_json: bool) -> int:
    store = SessionStore(paths())
    async with reach(store, find_session(store, session)) as keeper:
        answer = await keeper.ask(method, params)
    if as_json:
        click.echo(json.dumps(answer))
    else:
        say_answer(method, answer)
    return ExitCode.OK


async def _kill(store: SessionStore, session: str) -> int:
    if store.state(session).status is not Status.RUNNING:
        click.echo(f"It is not running: {store.state(session).status.value}.", err=True)
        return ExitCode.OK
    await AgentSessions(store).stop(session)
    return ExitCode.OK
