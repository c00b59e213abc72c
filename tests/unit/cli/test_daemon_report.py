"""`symposium daemon`: the state of the process and its log."""

import json
import os
import time
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from tests.support.answering_daemon import answering

from localio.text import second_of
from symposium.__main__ import main
from symposium.bus.messages.broker import Cut, DaemonInfo, LatencyReport
from symposium.cli.commands import daemon as daemon_command
from symposium.cli.commands.daemon import status_rows

INFO = DaemonInfo(
    pid=7,
    protocol=2,
    started=0.0,
    socket="/run/bus.sock",
    compat_socket=None,
    memory=25_400_000,
    connections=3,
    open_requests=2,
    messages=115,
    backlog=0,
    handles=("daemon_status", "stop_daemon"),
    parts=("references", "taskspaces"),
    cuts=(Cut(1.0, "cli", "backlog of 9 bytes"),),
    latencies=(LatencyReport("one", 1, 2.5, 4.0), LatencyReport("two", 2, 1.0, 1.5)),
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    monkeypatch.setenv("SYMPOSIUM_SOCKET", str(tmp_path / "run" / "bus.sock"))
    return tmp_path


def daemon(*words: str) -> Result:
    return CliRunner().invoke(main, ["daemon", *words])


@pytest.mark.requirement("bus.latency", "daemon.status-rows")
def test_status_has_process_memory_response_times_and_closed_connections() -> None:
    rows = status_rows(INFO)

    age = rows.pop(1)
    assert age[0] == "running for"
    assert abs(float(age[1].removesuffix(" s")) - time.time()) < 60
    assert rows == [
        ("process", "7"),
        ("socket", "/run/bus.sock"),
        ("compat socket", "none"),
        ("memory", "25 MB"),
        ("connections", "3"),
        ("open requests", "2"),
        ("messages", "115"),
        ("parts", "references, taskspaces"),
        ("handles", "daemon_status, stop_daemon"),
        ("one", "1 answer, 2.5 ms, 4 ms at most"),
        ("two", "2 answers, 1 ms, 1.5 ms at most"),
        ("disconnected", "cli: backlog of 9 bytes"),
    ]
    many = tuple(f"message_{number:02}" for number in range(8))
    other = replace(INFO, compat_socket="/v1", parts=(), handles=(), cuts=(), latencies=())
    assert status_rows(other)[3:4] + status_rows(other)[8:] == [
        ("compat socket", "/v1"),
        ("parts", "none"),
        ("handles", "none"),
    ]
    assert status_rows(replace(other, handles=many))[9:] == [
        ("handles", f"{', '.join(many[:6])},"),
        ("", ", ".join(many[6:])),
    ]


@pytest.mark.requirement("daemon.status-rows")
@pytest.mark.usefixtures("home")
def test_status_without_a_daemon_has_its_own_exit_code() -> None:
    plain, as_json = daemon("status"), daemon("status", "--json")

    assert (plain.exit_code, plain.stdout) == (4, "")
    assert plain.stderr.startswith("symposium: ")
    assert (as_json.exit_code, json.loads(as_json.stdout)) == (4, {"running": False})


@pytest.mark.requirement("daemon.status-rows")
def test_status_of_a_running_daemon_is_printed_and_stop_ends_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_command, "STOP_TIME", 0)
    with answering({}, home / "daemon") as (_, socket):
        at = ("--socket", str(socket))
        plain, as_json = daemon("status", *at), daemon("status", *at, "--json")
        stopped, again = daemon("stop", *at), daemon("stop", *at)
    found = json.loads(as_json.stdout)

    rows = [line.split("  ", 1) for line in plain.stdout.splitlines()]
    assert [each.exit_code for each in (plain, as_json, stopped, again)] == [0, 0, 0, 0]
    assert (rows[0][0], rows[0][1].strip()) == ("process", str(os.getpid()))
    assert (found["pid"], found["socket"], found["parts"]) == (os.getpid(), str(socket), ["part"])
    assert abs(datetime.fromisoformat(found["started"]).timestamp() - time.time()) < 60
    assert (stopped.stdout, stopped.stderr) == ("", "")
    assert again.stderr == f"symposium: no daemon listens at {socket}\n"


@pytest.mark.requirement("cli.daemon-log-lines")
def test_last_lines_of_the_log_are_shown_with_local_time_and_trace(home: Path) -> None:
    missing = daemon("logs")
    entry = {"ts": 1_800_000_000.0, "level": "info", "logger": "x", "message": "a\x1bb", "pid": 1}
    lines = [json.dumps(each) for each in (entry, {**entry, "message": "m", "trace": "T\nU"})]
    (home / "run").mkdir(exist_ok=True)
    (log,) = {Path(line.split()[1]) for line in missing.stderr.splitlines()[:1]}
    log.parent.mkdir(parents=True, exist_ok=True)
    odd = [b'{"ts": 1}', b'["ts"]', b"bytes \xff", b"no JSON\x07"]
    log.write_bytes(b"\n".join([b"old", *(each.encode() for each in lines), *odd]) + b"\n")

    shown, raw = daemon("logs", "-n", "6"), daemon("logs", "-n", "1", "--json")

    at = second_of(entry["ts"])
    assert (missing.exit_code, missing.stdout) == (4, "")
    assert missing.stderr == f"symposium: {log} does not exist\n  start a daemon first\n"
    assert (shown.exit_code, raw.exit_code) == (0, 0)
    assert shown.stdout == (
        f'{at} info    a␛b\n{at} info    m\nT\nU\n{{"ts": 1}}\n["ts"]\nbytes �\nno JSON␇\n'
    )
    assert raw.stdout == "no JSON\x07\n"
