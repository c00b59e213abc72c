"""What the agent of a session reports, as it comes."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import click

from localio.text import one_line, plain_text
from symposium.agent_sessions.keeper_client import EVENT, WATCH, reach
from symposium.agent_sessions.session import SessionKind
from symposium.agent_sessions.store import SessionStore
from symposium.cli.attaching import show_terminal
from symposium.cli.ending import ExitCode
from symposium.cli.event_words import event_text, note_lines
from symposium.client.events import Text, ToolCall, read_event
from symposium.keepers.event_log import EventLog
from symposium.policy.notes import PolicyNote

_WIDTH = 100

FOLLOW: Final = click.option(
    "--follow/--no-follow",
    default=True,
    help="Look on until it ends, or print what there is and leave.",
)


async def look(store: SessionStore, session: str, since: int, *, as_json: bool) -> int:
    """Print what a session's agent was told and has said or shown so far, also if it has ended.

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
    """Print the events after a number, those to come too, until the session ends or is let go.

    A person at a terminal is told how to leave, and that it goes on.

    Args:
        store: where sessions are.
        session: which.
        since: the number of the last event that is known.
        say: the command that gives the agent a prompt.
        as_json: whether programs read it.

    Raises:
        SessionError: it is not running.
    """
    events = _Events(since, as_json=as_json)
    over = asyncio.Event()
    is_person = sys.stdin.isatty() and not as_json
    last_words = "it has ended"

    def let_go() -> None:
        nonlocal last_words
        last_words = "let go; it goes on"
        over.set()

    async with reach(store, session, {EVENT: events.came}, over.set) as keeper:
        answer = await keeper.ask(WATCH, {"since": since})
        # Who is told how to leave may do so at once.
        with _leaving(let_go if is_person else None):
            if is_person:
                click.echo(f"[Ctrl-C lets go, and it goes on; `{say}` speaks to it]", err=True)
            events.begin(answer["events"])
            await over.wait()
    if is_person:
        click.echo(f"\n[{last_words}]", err=True)
    return ExitCode.OK


@contextmanager
def _leaving(let_go: Callable[[], None] | None) -> Generator[None]:
    """A person lets go by Ctrl-C, and by what lets go of a terminal; programs end as always."""
    signals = () if let_go is None else (signal.SIGINT, signal.SIGQUIT)
    loop = asyncio.get_running_loop()
    for each in signals:
        assert let_go is not None
        loop.add_signal_handler(each, let_go)
    try:
        yield
    finally:
        for each in signals:
            loop.remove_signal_handler(each)


class _Events:
    """Puts those that were missed before those that came meanwhile, each once."""

    def __init__(self, since: int, *, as_json: bool) -> None:
        self._last = since
        self._as_json = as_json
        self._early: list[Any] | None = []

    def came(self, event: Any) -> None:
        """One has come."""
        if self._early is not None:
            self._early.append(event)
        elif event["seq"] > self._last:
            self._last = event["seq"]
            _print(event, as_json=self._as_json)

    def begin(self, missed: Sequence[Any]) -> None:
        """Those that were missed are there."""
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
            told = f"[tool] {call.title or call.id}: {call.status or ''}"
            click.echo(f"\n{one_line(told, width=_WIDTH)}")
        case _:
            pass
