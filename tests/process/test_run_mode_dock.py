"""`symposium run` as a dock starts it: with a PATH without any agent (users A-9)."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.editor import Start, started_editor

Spec: TypeAlias = Callable[..., str]

Ask: TypeAlias = tuple[str, dict[str, Any]]

INITIALIZE: Ask = ("initialize", {"protocolVersion": 1})
NEW: Ask = ("session/new", {"cwd": "/", "mcpServers": []})
HELLO: Ask = ("session/prompt", {"prompt": [{"type": "text", "text": "Hello"}]})


@pytest.fixture
def dock(environment: dict[str, str], tmp_path: Path) -> Path:
    """Create a home whose shell prints text; return the directory that only the shell adds."""
    place = tmp_path / "only in the shell"
    place.mkdir()
    shell = tmp_path / "shell"
    text = f'#!/bin/sh\necho hello; echo ouch >&2\nPATH="$PATH:{place}"\nNOISE=1\nexport NOISE\n'
    program(shell, f'{text}eval "$4"\n')
    environment |= {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "SHELL": str(shell)}
    (tmp_path / "home").mkdir()
    return place


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def conversation(process: subprocess.Popen[str], *requests: Ask) -> list[Any]:
    """Send one request after the other with the session's id; return the responses."""
    assert process.stdin is not None
    assert process.stdout is not None
    answers: list[Any] = []
    session = ""
    for number, (method, params) in enumerate(requests):
        whole = {**params, "sessionId": session} if session else params
        line = {"jsonrpc": "2.0", "id": number, "method": method, "params": whole}
        process.stdin.write(json.dumps(line) + "\n")
        process.stdin.flush()
        while "method" in (message := json.loads(process.stdout.readline())):
            pass
        answers.append(message)
        session = message.get("result", {}).get("sessionId", session)
    return answers


@pytest.mark.requirement("registry.gui-launch", "registry.path-login-shell", "stories.a-09-dock")
@pytest.mark.parametrize("place", [".nvm/versions/node/v20.1.0/bin", ".local/bin", "the shell's"])
def test_agent_outside_path_answers(
    place: str, dock: Path, start: Start, scripted: Spec, tmp_path: Path
) -> None:
    where = dock if place == "the shell's" else tmp_path / place
    noted = tmp_path / "noted"
    program(where / "dock-agent", f'#!/bin/sh\nenv > "{noted}"\nexec {scripted()}\n')
    (tmp_path / "home" / "config.jsonc").write_text('{"agent": "dock-agent --any"}')

    answers = conversation(start("run", "--no-registry"), INITIALIZE, NEW, HELLO)

    assert answers[2]["result"]["stopReason"] == "end_turn", answers
    variables: dict[str, str] = {}
    for line in noted.read_text().splitlines():
        name, _, value = line.partition("=")
        variables[name] = value
    assert str(where) in variables["PATH"].split(os.pathsep)
    assert "NOISE" not in variables


@pytest.mark.requirement("registry.path-not-found", "stories.a-09-dock")
def test_missing_agent_is_named_with_the_searched_places(
    dock: Path, start: Start, tmp_path: Path
) -> None:
    (tmp_path / "home" / "config.jsonc").write_text('{"agent": "no-such-agent --any"}')

    it = started_editor(start)
    text = it.notices(it.session())
    assert it.end() == 0
    for part in ("no-such-agent", "/usr/bin", str(dock), "install no-such-agent"):
        assert part in text
