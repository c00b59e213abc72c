"""Address of the daemon, and rejected directories."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from symposium.bus.daemon_start import (
    DaemonAddress,
    PlaceError,
    check_directory,
    daemon_address,
    make_directory,
    reach,
)
from symposium.daemon.server import CACHE_SECONDS, RealPaths


@pytest.mark.requirement("daemon.place")
@pytest.mark.parametrize(
    ("environment", "socket_"),
    [
        ({"HOME": "/h"}, "/h/.symposium/run/bus.sock"),
        ({"HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1"}, "/run/user/1/symposium/bus.sock"),
        ({"HOME": "/h", "XDG_RUNTIME_DIR": "/r", "SYMPOSIUM_HOME": "/s"}, "/s/run/bus.sock"),
        ({"HOME": "/h", "SYMPOSIUM_SOCKET": "/x/y"}, "/x/y"),
    ],
)
def test_environment_determines_the_socket(environment: dict[str, str], socket_: str) -> None:
    assert daemon_address(None, environment).socket == Path(socket_)
    assert daemon_address(Path("/z"), environment).socket == Path("/z"), "who names one means it"


@pytest.mark.requirement("daemon.place")
def test_each_socket_has_its_own_locks_and_log() -> None:
    one, two = (daemon_address(Path(each), {"HOME": "/h"}) for each in ("/x/a", "/x/b"))

    assert (
        len({one.start_lock, one.life_lock, one.log, two.start_lock, two.life_lock, two.log}) == 6
    )


@pytest.mark.requirement("daemon.private")
@pytest.mark.parametrize(
    ("kind", "says"), [("link", "is a link"), ("file", "is not a directory"), ("open", "chmod 700")]
)
def test_directory_that_is_not_private_is_rejected(kind: str, says: str, tmp_path: Path) -> None:
    place = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log")
    if kind == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        place.directory.symlink_to(tmp_path / "elsewhere")
    elif kind == "file":
        place.directory.touch(mode=0o600)
    else:
        place.directory.mkdir()
        place.directory.chmod(0o750)

    with pytest.raises(PlaceError) as error:
        check_directory(place)
    assert says in f"{error.value}; {error.value.hint}"


@pytest.mark.requirement("daemon.private")
def test_directory_of_another_user_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log")
    make_directory(place)
    monkeypatch.setattr(os, "getuid", lambda: 4242)

    with pytest.raises(PlaceError, match="belongs to user"):
        check_directory(place)


@pytest.mark.requirement("daemon.private")
def test_daemon_in_a_directory_of_another_user_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log")
    make_directory(place)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.socket))
        listening.listen()
        listening.settimeout(0)
        monkeypatch.setattr(os, "getuid", lambda: 4242)
        with pytest.raises(PlaceError, match="belongs to user"):
            reach(place)
        with pytest.raises(BlockingIOError):
            listening.accept()


@pytest.mark.requirement("daemon.private")
def test_error_names_a_directory_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(PlaceError, match="could not create"):
        make_directory(DaemonAddress(tmp_path / "file" / "run" / "s", tmp_path / "log"))


OTHER_USER = 65534


def listen_as_another_user(listening: socket.socket) -> None:
    """Listen in a child of another user: the kernel says that it is the one who listens."""
    number = listening.fileno()
    listen = f"os.setuid({OTHER_USER}); socket.socket(fileno={number}).listen()"
    command = [sys.executable, "-c", f"import os, socket; {listen}"]
    subprocess.run(command, pass_fds=[number], check=True)


@pytest.mark.requirement("daemon.private")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can play another user")
async def test_a_daemon_of_another_user_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    place = DaemonAddress(tmp_path / "run" / "s", tmp_path / "log")
    make_directory(place)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place.socket))
        listen_as_another_user(listening)
        with pytest.raises(PlaceError, match=f"belongs to user {OTHER_USER}, not to you"):
            reach(place)
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(1) == b""


@pytest.mark.requirement("bus.route-directory")
def test_canonical_path_has_no_links_or_dots(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert RealPaths()(f"{tmp_path}/link/./x/..") == tuple((tmp_path / "real").resolve().parts[1:])
    assert RealPaths()("relative") is None
    assert RealPaths()("/a\0b") is None
    assert RealPaths()("/") == ()


@pytest.mark.requirement("bus.route-directory")
def test_cached_path_expires(tmp_path: Path) -> None:
    now = [0.0]
    real = RealPaths(lambda: now[0])
    link = tmp_path / "link"
    found: list[str] = []
    for target, at in (("one", 0.0), ("two", CACHE_SECONDS - 0.1), ("two", CACHE_SECONDS)):
        (tmp_path / target).mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(tmp_path / target)
        now[0] = at
        found.append((real(str(link)) or ("",))[-1])

    assert found == ["one", "one", "two"]
