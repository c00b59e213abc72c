"""Hosts that run, by their status sockets."""

import asyncio
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from click.testing import CliRunner

from localio.text import minute_of
from symposium.__main__ import main
from symposium.cli import status_socket
from symposium.cli.status_socket import (
    PARENT,
    hosts_folder,
    make_private,
    running_hosts,
    serve_status,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    found = hosts_folder()
    make_private(found)
    return found


@pytest.fixture
def silent(folder: Path) -> Iterator[Path]:
    """The socket of a host that accepts and says nothing."""
    path = folder / "20.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield path


@pytest.mark.requirement("cli.status-hosts")
def test_silent_host_is_reported_by_its_pid_and_a_leftover_socket_is_removed(
    folder: Path, silent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_socket, "HOST_TIMEOUT", 0.01)
    left = folder / "3.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(left))

    assert running_hosts() == [{"pid": 20, "kind": "silent", "chains": []}]
    assert not left.exists()
    assert silent.exists()


@pytest.mark.requirement("cli.status-hosts")
def test_hosts_are_sorted_by_their_pid(folder: Path) -> None:
    answering: list[socket.socket] = []
    for pid in (9, 100, 20):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(folder / f"{pid}.sock"))
        listening.listen()
        answering.append(listening)

    def answer() -> None:
        for listening, number in ((answering[0], 9), (answering[2], 20), (answering[1], 100)):
            sock, _ = listening.accept()
            sock.sendall(b"no JSON" if number == 20 else json.dumps({"pid": number}).encode())
            sock.close()

    answers = threading.Thread(target=answer, daemon=True)
    answers.start()
    found = running_hosts()
    answers.join()
    for each in answering:
        each.close()

    assert found == [{"pid": 9}, {"pid": 20, "kind": "silent", "chains": []}, {"pid": 100}]


@pytest.mark.requirement("cli.status-hosts")
@pytest.mark.parametrize(("parent", "known"), [("7", 7), ("x", None), ("", None)])
async def test_running_host_serves_its_report_until_its_end(
    folder: Path, monkeypatch: pytest.MonkeyPatch, parent: str, known: int | None
) -> None:
    monkeypatch.setattr(status_socket, "_BEGIN_AFTER", 0)
    monkeypatch.setenv(PARENT, parent)
    server = {"name": "docs", "kind": "http", "reaching": "natively", "why": "it can"}
    chain = {"agent": "eliza", "mods": [], "sessions": [{"id": "s1", "mcp": [server]}]}
    path = folder / f"{os.getpid()}.sock"
    path.write_text("of an earlier process", encoding="utf-8")
    async with asyncio.timeout(20), serve_status("run", lambda: {"chains": [chain]}):
        inherited = os.environ[PARENT]
        while not path.is_socket():  # noqa: ASYNC110 - the host reports nothing
            await asyncio.sleep(0)
        (found,) = await asyncio.to_thread(running_hosts)
        shown, servers = [
            await asyncio.to_thread(CliRunner().invoke, main, ["status", *words])
            for words in ([], ["--mcp"])
        ]
    is_left = path.exists()

    started = datetime.fromisoformat(found["started"])
    assert abs(started.timestamp() - time.time()) < 60
    assert found == {
        "pid": os.getpid(),
        "parent": known,
        "kind": "run",
        "started": found["started"],
        "chains": [chain],
    }
    assert (inherited, is_left, running_hosts()) == (str(os.getpid()), False, [])
    assert shown.stdout.splitlines()[:3] == [
        f"run pid {os.getpid()} since {minute_of(found['started'])}",
        "  editor → eliza",
        "    1 session",
    ]
    assert (shown.stderr, servers.stderr) == ("", "")
    assert servers.stdout == "eliza session s1\n  docs (http): natively, it can\n"


@pytest.mark.requirement("cli.status-hosts")
def test_folder_that_others_can_open_or_that_is_a_link_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with pytest.raises(PermissionError):
        make_private(link)
    folder.chmod(0o755)
    with pytest.raises(PermissionError):
        make_private(folder)


@pytest.mark.requirement("cli.status-hosts")
def test_without_a_folder_there_are_no_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "none"))

    assert running_hosts() == []
