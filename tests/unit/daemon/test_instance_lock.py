"""One daemon for an address: only the leftovers of a crashed one are removed."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from symposium.bus.daemon_options import DaemonOptions
from symposium.bus.daemon_start import DaemonAddress
from symposium.bus.errors import BusError
from symposium.daemon.instance_lock import (
    RunningError,
    acquire_instance_lock,
    claim_compat,
    starting,
)
from symposium.daemon.process import RUNNING, serve


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DaemonAddress:
    # A socket's path is limited to about 100 bytes.
    tmp_path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    return DaemonAddress(tmp_path / "s", tmp_path / "log")


def stale_socket(path: Path) -> Path:
    """Create a socket whose daemon has crashed."""
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path.name)
    return path


@pytest.mark.requirement("daemon.stale")
def test_socket_and_stop_mark_of_a_crashed_daemon_are_removed(place: DaemonAddress) -> None:
    stale_socket(place.socket)
    place.stopped.touch()
    place.life_lock.touch(mode=0o600)
    place.life_lock.write_text("1234567\n")
    with starting(place):
        handle = acquire_instance_lock(place)
    os.close(handle)

    assert not place.socket.exists()
    assert not place.stopped.exists()
    assert place.life_lock.read_text() == f"{os.getpid()}\n"


@pytest.mark.requirement("daemon.one")
def test_running_daemon_without_its_socket_is_reported_with_its_process(
    place: DaemonAddress,
) -> None:
    handle = acquire_instance_lock(place)
    with pytest.raises(BusError, match=f"process {os.getpid()}") as error:
        acquire_instance_lock(place)
    os.close(handle)

    assert error.value.hint == f"kill {os.getpid()}"
    os.close(acquire_instance_lock(place))


def claim_old_socket(place: DaemonAddress) -> None:
    claim_compat(place.socket, place)


@pytest.mark.requirement("daemon.one")
@pytest.mark.parametrize("claims", [acquire_instance_lock, claim_old_socket])
def test_socket_with_a_listener_is_kept(
    place: DaemonAddress, claims: Callable[[DaemonAddress], object]
) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(place.socket.name)
        sock.listen()
        with pytest.raises(BusError, match="listens at") as error:
            claims(place)

    assert place.socket.is_socket()
    assert isinstance(error.value, RunningError) is (claims is acquire_instance_lock)


@pytest.mark.requirement("daemon.stale")
@pytest.mark.parametrize("kind", ["file", "link", "directory"])
def test_other_files_are_not_removed(place: DaemonAddress, kind: str) -> None:
    if kind == "file":
        place.socket.write_text("x")
    elif kind == "link":
        place.socket.symlink_to(stale_socket(place.socket.with_name("other")))
    else:
        place.socket.mkdir()

    with pytest.raises(BusError, match="is not a socket"):
        claim_compat(place.socket, place)
    assert place.socket.lstat()


@pytest.mark.requirement("daemon.stale")
def test_socket_of_another_user_is_not_removed(
    place: DaemonAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale_socket(place.socket)
    monkeypatch.setattr(os, "getuid", lambda: 4242)

    with pytest.raises(BusError, match="belongs to user"):
        claim_compat(place.socket, place)
    assert place.socket.is_socket()


@pytest.mark.requirement("daemon.stale")
def test_stale_compat_socket_is_removed_and_may_be_missing(
    place: DaemonAddress,
) -> None:
    claim_compat(place.socket, place)
    claim_compat(stale_socket(place.socket), place)

    assert not place.socket.exists()


@pytest.mark.requirement("daemon.one", "daemon.place")
def test_daemon_that_finds_another_one_at_its_socket_reports_it(
    place: DaemonAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(place.socket.parent / "home"))
    monkeypatch.setenv("SYMPOSIUM_SOCKET", "/the/usual/one")
    reports: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(place.socket.name)
        place.socket.chmod(0o600)
        other.listen()
        serve(DaemonOptions(place.socket), reports.append)

    assert reports == [RUNNING]
    assert os.environ["SYMPOSIUM_SOCKET"] == str(place.socket), "for the agents that it starts"
