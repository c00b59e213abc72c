"""Hosts that run, by their status sockets."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from symposium.cli.hosts import hosts_folder, make_private, running_hosts


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
    folder: Path, silent: Path
) -> None:
    left = folder / "3.sock"
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(left))

    assert running_hosts() == [{"pid": 20, "kind": "silent", "chains": []}]
    assert not left.exists()
    assert silent.exists()


@pytest.mark.requirement("cli.status-hosts")
def test_hosts_are_sorted_by_their_pid(folder: Path) -> None:
    answering: list[socket.socket] = []
    for pid in (100, 9):
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(folder / f"{pid}.sock"))
        listening.listen()
        answering.append(listening)

    def answer() -> None:
        for listening, number in zip(answering[::-1], (9, 100), strict=True):
            sock, _ = listening.accept()
            sock.sendall(json.dumps({"pid": number}).encode())
            sock.close()

    answers = threading.Thread(target=answer, daemon=True)
    answers.start()
    found = running_hosts()
    answers.join()
    for each in answering:
        each.close()

    assert found == [{"pid": 9}, {"pid": 100}]


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
