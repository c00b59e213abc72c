"""The answers and events of a session as text."""

import asyncio
import json
import signal
import sys
import textwrap
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, cast

import click

from localio.text import clipped, one_line, plain_text
from peerwire.jsonrpc.values import as_object
from symposium.cli.exit_codes import ExitCode
from symposium.cli.terminal import show_terminal
from symposium.client.events import Text, ToolCall, read_event
from symposium.documents.task_prompt import user_words
from symposium.permissions.policy_notes import PolicyNote
from symposium.sessions.client import CANCEL, DESCRIBE, EVENT, QUESTIONS, SAY, WATCH, reach
from symposium.sessions.event_log import EventLog
from symposium.sessions.session import (
    OF_TASK,
    ServerSessionState,
    SessionKind,
    SessionNotFoundError,
    SessionSpec,
    SessionStore,
    Status,
)

WIDTH: Final = 100
LINES_SHOWN: Final = 12
"""Lines of a change or a script that are shown below a question."""

SUMMARY_WIDTH: Final = 70
"""Width of a requested action: the decision follows in the same line."""

WORDS_SHOWN: Final = 4000
"""Maximum length of a shown prompt."""


def event_text(kind: str, data: Mapping[str, Any]) -> str:
    """Format an event other than `update`, without a newline at its end."""
    match kind:
        case "prompt" | "interrupted":
            words = plain_text(user_words(str(data.get("text", "")))).strip()
            cut = " […]" if len(words) > WORDS_SHOWN else ""
            return f"[{kind}] {words[:WORDS_SHOWN]}{cut}"
        case "question":
            return "\n".join(_question(data))
        case "settled":
            return f"[question {data.get('question')}] settled"
        case "permission":
            # An event of an earlier version has only the agent's title.
            asked = data.get("wish") or data.get("title") or "a tool call"
            shown = one_line(str(asked), width=SUMMARY_WIDTH)
            return _line(kind, f"{shown}: {data.get('optionId') or 'no answer'}")
        case _:
            return _line(kind, str(data.get("text") or in_words(data)))


def note_lines(text: str) -> list[str]:
    """Wrap a note of the policy at words."""
    return textwrap.wrap(plain_text(f"[policy] {text}"), WIDTH)


def in_words(data: Mapping[str, Any]) -> str:
    """Format members with a value."""
    return ", ".join(f"{name}: {_value(value)}" for name, value in data.items() if value)


def _question(data: Mapping[str, Any]) -> Sequence[str]:
    summary = data.get("wish")
    asked = str(data.get("title") or "a tool call") if summary is None else f"wants to {summary}"
    lines = [str(each) for each in cast("list[Any]", data.get("lines") or [])]
    more = len(lines) - LINES_SHOWN
    options = [as_object(each) for each in cast("list[Any]", data.get("options") or [])]
    choices = ", ".join(f"{each.get('optionId')} ({each.get('name')})" for each in options)
    return (
        _line(f"question {data.get('question')}", asked),
        *(clipped(f"    {line}", width=WIDTH) for line in lines[:LINES_SHOWN]),
        *([f"    [… {more} more lines]"] if more > 0 else []),
        one_line(f"  answer: {choices}", width=WIDTH),
    )


def _line(kind: str, text: str) -> str:
    return one_line(f"[{kind}] {text}", width=WIDTH)


def _value(value: Any) -> str:
    match value:
        case str():
            return value
        case list():
            return " ".join(_value(each) for each in cast("list[Any]", value))
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)


_WIDTH = 100

FOLLOW: Final = click.option(
    "--follow/--no-follow",
    default=True,
    help="Follow until the agent ends, or print the output so far and exit.",
)


async def look(store: SessionStore, session: str, since: int, *, as_json: bool) -> int:
    """Print the output of a session so far, also if it has ended.

    Raises:
        SessionError: there is no such session.
    """
    if store.spec(session).kind is SessionKind.TERMINAL:
        return await show_terminal(store, session)
    for event in EventLog(store.directory(session), session).since(since):
        _print(event, as_json=as_json)
    if not as_json:
        click.echo()
    return ExitCode.OK


async def watch_events(
    store: SessionStore, session: str, since: int, *, say: str, as_json: bool
) -> int:
    """Print past and new events until the session ends or the user leaves.

    Args:
        store: the store of sessions.
        session: the id of the session.
        since: the number of the last known event.
        say: the command that sends the agent a prompt, for the hint on a terminal.
        as_json: whether to print JSON.

    Raises:
        SessionError: it is not running.
    """
    events = _Events(since, as_json=as_json)
    over = asyncio.Event()
    is_person = sys.stdin.isatty() and not as_json
    last_words = "the session has ended"

    def leave() -> None:
        nonlocal last_words
        last_words = "detached; the agent continues"
        over.set()

    async with reach(store, session, {EVENT: events.came}, over.set) as server:
        answer = await server.ask(WATCH, {"since": since})
        # Install the handler first: the user may press the key as soon as the hint is shown.
        with _leaving(leave if is_person else None):
            if is_person:
                click.echo(
                    f"[Ctrl-C detaches; the agent continues. `{say}` sends it a prompt]", err=True
                )
            events.begin(answer["events"])
            await over.wait()
    if is_person:
        click.echo(f"\n[{last_words}]", err=True)
    return ExitCode.OK


@contextmanager
def _leaving(leave: Callable[[], None] | None) -> Generator[None]:
    r"""Detach on Ctrl-C and Ctrl-\; without a function to call, the signals keep their effect."""
    signals = () if leave is None else (signal.SIGINT, signal.SIGQUIT)
    loop = asyncio.get_running_loop()
    for each in signals:
        assert leave is not None
        loop.add_signal_handler(each, leave)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


class _Events:
    """Print past events before those that arrive in the meantime, each once."""

    def __init__(self, since: int, *, as_json: bool) -> None:
        self._last = since
        self._as_json = as_json
        self._early: list[Any] | None = []

    def came(self, event: Any) -> None:
        """Print an event, or hold it until `begin`."""
        if self._early is not None:
            self._early.append(event)
        elif event["seq"] > self._last:
            self._last = event["seq"]
            _print(event, as_json=self._as_json)

    def begin(self, missed: Sequence[Any]) -> None:
        """Print the past events and the held ones."""
        early, self._early = self._early or [], None
        for event in [*missed, *early]:
            self.came(event)


def _print(event: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(event))
        return
    kind, data = event["type"], event["data"]
    if kind != "update":
        click.echo(f"\n{event_text(kind, data)}")
        return
    match read_event(data):
        case Text("agent", text):
            click.echo(plain_text(text), nl=False)
        case PolicyNote(text):
            click.echo("\n".join(["", *note_lines(text)]))
        case ToolCall() as call:
            shown = f"[tool] {call.title or call.id}: {call.status or ''}"
            click.echo(f"\n{one_line(shown, width=_WIDTH)}")
        case _:
            pass


def say_answer(method: str, answer: Mapping[str, Any]) -> None:
    """Print requested data to stdout, and the outcome of an action to stderr."""
    if method == QUESTIONS:
        _questions(answer)
    elif method == DESCRIBE:
        _description(answer)
    else:
        click.echo(_done(method, answer), err=True)


def _done(method: str, answer: Mapping[str, Any]) -> str:
    if method == SAY:
        return f"sent; prompts in the queue: {answer.get('waiting')}"
    if method == CANCEL:
        return (
            "canceled the turn" if answer.get("cancelled") else "the agent has no turn in progress"
        )
    return "answered"


def _questions(answer: Mapping[str, Any]) -> None:
    asked = _listed(answer)
    for each in asked:
        click.echo(event_text("question", each))
    if not asked:
        click.echo("no open questions", err=True)


def _description(answer: Mapping[str, Any]) -> None:
    for name, value in answer.items():
        if name != "questions":
            click.echo(f"{name:12} {_word(value)}")
    for each in _listed(answer):
        click.echo(event_text("question", each))


def _word(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case _:
            return one_line(str(value), width=WIDTH)


def _listed(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [as_object(each) for each in cast("list[Any]", answer.get("questions") or [])]


SHORTEST: Final = 4
"""Minimum length of a shortened id."""

_LIVES: Final = frozenset({Status.STARTING, Status.RUNNING})

_HINT: Final = "`symposium session list` lists the ids"


def find_session(store: SessionStore, named: str) -> str:
    """Return the id of the one session whose id begins with this text.

    Raises:
        SessionNotFoundError: no session matches, or several do.
    """
    found = _beginning(store, named)
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(found)
        raise SessionNotFoundError(f"several sessions match {named!r}: {several}", _HINT)
    # The store raises its own error for an unknown id.
    return store.spec(named).id


def whole_id(store: SessionStore, named: str) -> str:
    """Return the id of a session to stop or remove, which must be given in full.

    See bus-mcp-taskspaces §3.9.

    Raises:
        SessionNotFoundError: no session has exactly that id.
    """
    found = [each for each in _beginning(store, named) if each != named.lower()]
    if found:
        hint = "to stop or remove a session, give its full id"
        raise SessionNotFoundError(f"{named!r} is the beginning of {', '.join(found)}", hint)
    return store.spec(named).id


def is_of_deleted_task(spec: SessionSpec, state: ServerSessionState) -> bool:
    """Whether it belongs to a task whose worktree was deleted; the archive may need it."""
    is_over = state.status not in _LIVES
    return is_over and spec.env.get(OF_TASK) == spec.id and not Path(spec.cwd).exists()


def ended_sessions(store: SessionStore) -> list[str]:
    """List sessions that ended or were lost and belong to no task."""
    specs = [store.spec(each) for each in store.ids()]
    own = [spec.id for spec in specs if spec.env.get(OF_TASK) != spec.id]
    return [each for each in own if store.state(each).status not in _LIVES]


def _beginning(store: SessionStore, named: str) -> list[str]:
    if len(named) < SHORTEST:
        return []
    return sorted(each for each in store.ids() if each.startswith(named.lower()))
