"""`symposium status`: running hosts and their chains (users A-10, A-12)."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from tests.support.editor import Start, started_editor

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Spec: TypeAlias = Callable[..., str]

TOKEN = "correct-horse-battery"  # noqa: S105 - of this test alone
HEADER = {"name": "Authorization", "value": f"Bearer {TOKEN}"}
SERVERS = [
    {"type": "http", "name": "web", "url": "http://127.0.0.1:1/mcp", "headers": [HEADER]},
    {"type": "sse", "name": "old", "url": "http://127.0.0.1:1/sse", "headers": [HEADER]},
    {"name": "program", "command": "true", "args": [], "env": [HEADER]},
]


def hosts(symposium: Run, count: int) -> list[dict[str, Any]]:
    """Return the status of this many hosts, once they answer."""
    until = time.monotonic() + 8
    while True:
        found: list[dict[str, Any]] = json.loads(symposium("status", "--json").stdout)["hosts"]
        if len(found) == count or time.monotonic() > until:
            assert len(found) == count, found
            return found


def configured(tmp_path: Path, agent: str, *mods: str) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    config = {"agent": agent, "proxies": [{"name": name} for name in mods]}
    (tmp_path / "home" / "config.jsonc").write_text(json.dumps(config))


@pytest.mark.requirement("stories.a-10-status", "stories.a-10-secrets")
def test_table_shows_how_each_server_reaches_the_agent_and_no_token(
    start: Start, symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    configured(tmp_path, scripted())
    it = started_editor(start, "--log", "debug", "--log-dir", "logs", "--trace-dir", "traces")
    answer = it.ask("session/new", {"cwd": "/", "mcpServers": SERVERS})
    session = answer["result"]["sessionId"]
    hosts(symposium, 1)
    output = symposium("status", "--mcp").stdout
    assert (
        "web (http): bridged, the agent does not support http, so Symposium offers it as a program"
        in output
    )
    assert (
        "old (sse): unavailable, the agent lacks sse, and Symposium does not bridge sse" in output
    )
    assert "program (stdio): direct" in output
    in_chat = it.say(session, "/symposium:status")
    assert "`web` (http): bridged" in in_chat

    lines = [path.read_text() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert it.end() == 0
    everywhere = [output, in_chat, symposium("status", "--json").stdout, *lines]
    everywhere += [path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    everywhere += [path.read_text() for path in (tmp_path / "logs").iterdir()]
    everywhere += [path.read_text() for path in (tmp_path / "traces").iterdir()]
    assert it.process.stderr is not None
    everywhere.append(it.process.stderr.read())
    assert not any(TOKEN in text for text in everywhere)


@pytest.mark.requirement("stories.a-12-nested", "stories.a-12-latency")
def test_host_inside_a_host_is_shown_below_it_with_the_additions_of_each_mod(
    start: Start,
    symposium: Run,
    symposium_spec: Spec,
    marking: Callable[[str], str],
    tmp_path: Path,
) -> None:
    inner = symposium_spec("run-with", "--proxy", marking("A"), "--agent", "eliza")
    configured(tmp_path, inner, "arrow")
    it = started_editor(start)
    one, two = it.session(), it.session()
    assert (
        it.say(one, "Hello")
        == it.say(two, "Hello")
        == ">AHow do you do. Please state your problem."
    )
    assert one != two
    outside, inside = sorted(hosts(symposium, 2), key=lambda host: host["parent"] is not None)
    assert (outside["kind"], outside["pid"]) == ("run", it.process.pid)
    assert (inside["kind"], inside["parent"]) == ("run-with", it.process.pid)
    for host, name in ((outside, "arrow"), (inside, "python")):
        (chain,) = host["chains"]
        (mod,) = chain["mods"]
        assert mod["name"].startswith(name)
        assert 0 < mod["latencyMs"]["p50"] <= mod["latencyMs"]["p95"]
        assert len(chain["sessions"]) == 2
    output = symposium("status").stdout.splitlines()
    (above,) = [line for line in output if line.startswith("run pid")]
    (below,) = [line for line in output if line.startswith("    run-with pid")]
    assert output.index(above) < output.index(below)
    assert "arrow: p50" in "".join(output)
    assert symposium("status", "--short").stdout == "2 hosts, 4 sessions\n"
    assert "`arrow`: p50" in it.say(one, "/symposium:status")
    assert it.end() == 0


@pytest.mark.requirement("stories.a-12-stale")
def test_killed_host_is_not_shown_and_removed(start: Start, symposium: Run, tmp_path: Path) -> None:
    configured(tmp_path, "eliza")
    it = started_editor(start)
    hosts(symposium, 1)
    folder = tmp_path / "home" / "run" / "hosts"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
    os.kill(it.process.pid, signal.SIGKILL)
    it.process.wait()
    ended = symposium("status")
    assert (ended.stdout.count("\n"), ended.stderr) == (1, "no host is running\n")
    assert ended.stdout.startswith("policy  none")
    assert list(folder.iterdir()) == []


@pytest.mark.requirement("stories.a-12-stale")
def test_hanging_host_is_shown_as_silent(start: Start, symposium: Run, tmp_path: Path) -> None:
    configured(tmp_path, "eliza")
    it = started_editor(start)
    hosts(symposium, 1)
    os.kill(it.process.pid, signal.SIGSTOP)
    try:
        assert f"silent pid {it.process.pid}" in symposium("status").stdout
    finally:
        os.kill(it.process.pid, signal.SIGCONT)
    assert it.end() == 0


@pytest.mark.requirement("stories.a-12-stale")
def test_directory_of_another_user_is_not_used(
    start: Start, symposium: Run, tmp_path: Path
) -> None:
    configured(tmp_path, "eliza")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o777)
    (tmp_path / "home" / "run").mkdir()
    (tmp_path / "home" / "run" / "hosts").symlink_to(elsewhere)
    it = started_editor(start)
    assert it.say(it.session(), "Hello")
    assert json.loads(symposium("status", "--json").stdout)["hosts"] == []
    assert list(elsewhere.iterdir()) == []
    assert it.end() == 0


@pytest.mark.requirement("front.status-besides")
def test_agents_without_a_host_are_named_and_nothing_is_started(
    symposium: Run, tmp_path: Path
) -> None:
    nothing = json.loads(symposium("status", "--json").stdout)
    rules = {"file": str(tmp_path / "home" / "policy.toml"), "rules": None, "error": None}
    assert nothing == {"hosts": [], "daemon": None, "agents": [], "policy": rules}
    (line,) = symposium("status").stdout.splitlines()
    assert line.startswith("policy  none")
    assert not (tmp_path / "home" / "run" / "bus.sock").exists()

    session = symposium("session", "start", "--", "cat").stdout.strip()
    symposium("daemon", "start")
    output = json.loads(symposium("status", "--json").stdout)
    shown = symposium("status").stdout.splitlines()
    symposium("session", "kill", session)
    symposium("daemon", "stop")

    assert output["agents"] == [session]
    assert f"daemon  pid {output['daemon']}  " in shown[1]
    assert shown[2].startswith("1 agent of tasks and sessions")
