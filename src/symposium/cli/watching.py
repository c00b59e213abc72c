"""Show the events of a session as they come."""

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
from symposium.permissions.notes import PolicyNote

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

    async with reach(store, session, {EVENT: events.came}, over.set) as keeper:
        answer = await keeper.ask(WATCH, {"since": since})
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
