"""Directories for sockets and state are private, in whichever order programs create them."""

import os
import stat
from collections.abc import Generator
from pathlib import Path

import pytest

from symposium.bus.daemon_start import check_directory, daemon_address
from symposium.cli.status_socket import hosts_folder, make_private
from symposium.config.paths import paths
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore
from symposium.tasks.store import TaskStore

ID = "6f1c2a77-0c0e-4a38-9a5e-2b0d3a1c9f10"

pytestmark = pytest.mark.requirement("daemon.private-whoever-first")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A home directory that does not exist yet, under the usual umask."""
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "one" / "home"))
    monkeypatch.delenv("SYMPOSIUM_SOCKET", raising=False)
    before = os.umask(0o022)
    yield tmp_path / "one" / "home"
    os.umask(before)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_daemon_accepts_the_directory_created_by_a_host(home: Path) -> None:
    make_private(hosts_folder())

    check_directory(daemon_address())
    assert _mode(home) == 0o700


def test_daemon_accepts_the_directory_created_by_a_session(home: Path, tmp_path: Path) -> None:
    spec = SessionSpec(ID, SessionKind.TERMINAL, ("true",), str(tmp_path))
    SessionStore(paths()).add(spec)

    check_directory(daemon_address())
    assert _mode(home / "sessions") == 0o700


def test_taskspace_files_are_private(home: Path) -> None:
    journal = TaskStore(home / "taskspaces.db")
    files = list(home.iterdir())
    modes = {path.name: _mode(path) for path in files}
    journal.close()

    assert len(files) > 1
    assert set(modes.values()) == {0o600}
