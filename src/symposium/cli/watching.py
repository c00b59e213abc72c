"""What the agent of a session reports, as it comes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click

from symposium.agent_sessions.keeper_client import EVENT, WATCH, reach
from symposium.agent_sessions.store import SessionStore
from symposium.cli.ending import ExitCode
from symposium.client.events import Text, ToolCall, read_event
from symposium.plain_text import one_line, plain_text

_WIDTH = 100


async def watch_events(store: SessionStore, session: str, since: int, *, as_json: bool) -> int:
    """Print the events after a number, those to come too, until the session ends.

    Raises:
        SessionError: it is not running.
    """
    events = _Events(since, as_json=as_json)
    async with reach(store, session, {EVENT: events.came}) as keeper:
        answer = await keeper.ask(WATCH, {"since": since})
        events.begin(answer["events"])
        await keeper.gone.wait()
    return ExitCode.OK


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
        told = data.get("text") or ", ".join(f"{key}: {value}" for key, value in data.items())
        click.echo(f"\n[{kind}] {one_line(str(told), width=_WIDTH)}")
        return
    match read_event(data):
        case Text("agent", text):
            click.echo(plain_text(text), nl=False)
        case ToolCall() as call:
            click.echo(f"\n[tool] {call.title or call.id}: {call.status or ''}")
        case _:
            pass
