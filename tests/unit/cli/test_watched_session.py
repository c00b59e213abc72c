"""Events of a session in this process, as `session attach` prints them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.scripted_session import SESSION, session_server
from tests.support.terminals import at_terminal

from symposium.cli.session_view import watch_events
from symposium.sessions.client import EVENT, WATCH
from symposium.sessions.session import SessionKind

EVENTS = [{"seq": seq, "type": "prompt", "data": {"text": f"number {seq}"}} for seq in range(1, 5)]


@pytest.mark.requirement("agent-sessions.acp-watch", "agent-sessions.leaving")
@pytest.mark.parametrize("as_json", [True, False])
async def test_past_and_new_events_are_each_printed_once_to_the_end_of_the_session(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    as_json: bool,
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    answers: dict[str, Any] = {WATCH: {"events": EVENTS[:3]}}
    async with session_server(SessionKind.ACP, tmp_path, answers) as server:
        with at_terminal() as screen:
            async with asyncio.TaskGroup() as tasks:
                watched = tasks.create_task(
                    watch_events(server.store, SESSION, 1, say="the command", as_json=as_json)
                )
                since = await server.until(WATCH)
                for each in EVENTS[1:]:
                    server.notify(EVENT, each)
                server.close()
            shown = screen.rest()

    lines = [json.dumps(each) for each in EVENTS[1:]]
    words = [line for seq in (2, 3, 4) for line in ("", f"[prompt] number {seq}")]
    hint = "[Ctrl-C detaches; the agent continues. `the command` sends it a prompt]\n"
    assert (watched.result(), since) == (0, {"since": 1})
    assert shown.splitlines() == (lines if as_json else words)
    assert capsys.readouterr().err == ("" if as_json else f"{hint}\n[the session has ended]\n")
