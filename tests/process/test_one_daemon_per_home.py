"""One home has one daemon, with and without the variables of a login session."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.task_cli import make_clone, until

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True, slots=True)
class Login:
    """Home directory of a user, and a runtime directory of the system."""

    home: Path
    runtime: Path

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run `symposium` with these words, and with these additional variables."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        dropped = {"SYMPOSIUM_HOME", "SYMPOSIUM_SOCKET"}
        kept = {name: value for name, value in ours.items() if name not in dropped}
        return subprocess.run(
            [sys.executable, "-m", "symposium", *words],
            env={**kept, "HOME": str(self.home), **more},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=45,
            check=False,
        )

    @property
    def session(self) -> Mapping[str, str]:
        """Variables that a login session sets, and cron does not."""
        return {"XDG_RUNTIME_DIR": str(self.runtime)}

    def pid(self, **more: str) -> int:
        """Return the daemon's process id, as found with these variables."""
        done = self.run("daemon", "status", "--json", **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["pid"]


@pytest.fixture
def login() -> Iterator[Login]:
    # Not tmp_path: the path of a socket is limited to about a hundred bytes.
    place = Path(tempfile.mkdtemp(prefix="sym-"))
    found = Login(place / "ada", place / "run")
    for each in (found.home, found.runtime):
        each.mkdir(mode=0o700)
    yield found
    for more in ({}, found.session, {"SYMPOSIUM_SOCKET": str(place / "other" / "s")}):
        found.run("daemon", "stop", **more)
    shutil.rmtree(place)


@pytest.mark.requirement("daemon.one-home")
def test_client_without_the_variables_of_the_login_session_finds_the_daemon(login: Login) -> None:
    assert login.run("daemon", "start", **login.session).returncode == 0
    assert (login.runtime / "symposium" / "bus.sock").is_socket()

    tasks = login.run("task", "list", "--json")

    assert (tasks.returncode, json.loads(tasks.stdout)) == (0, [])
    assert login.pid() == login.pid(**login.session)
    assert not (login.home / ".symposium" / "run").exists()


@pytest.mark.requirement("daemon.one-home")
def test_login_session_finds_the_daemon_that_was_started_without_one(login: Login) -> None:
    assert login.run("daemon", "start").returncode == 0

    assert login.pid() == login.pid(**login.session)
    assert not (login.runtime / "symposium").exists()


@pytest.mark.requirement("daemon.one-home")
def test_agent_of_a_task_uses_the_daemon_that_has_the_task(login: Login) -> None:
    socket = login.home.parent / "other" / "s"
    clone = make_clone(login.home / "clone")
    seen = login.home / "seen"
    looks = f"import os; open({str(seen)!r}, 'w').write(os.environ['SYMPOSIUM_SOCKET'] + '\\n')"
    agent = shlex.join([sys.executable, "-c", looks])
    login.run("daemon", "start", "--socket", str(socket))
    words = ("task", "new", "look", "--agent", agent, "--project", str(clone))

    assert login.run(*words, SYMPOSIUM_SOCKET=str(socket)).returncode == 0

    until(lambda: seen.is_file() and seen.read_text().endswith("\n"))
    assert seen.read_text() == f"{socket}\n"


@pytest.mark.requirement("daemon.one-home")
def test_second_daemon_reports_the_owner_of_the_tasks_instead_of_waiting(login: Login) -> None:
    assert login.run("task", "list").returncode == 0
    place = login.home.parent / "other" / "s"

    done = login.run("task", "list", SYMPOSIUM_SOCKET=str(place))

    assert done.returncode == 1
    assert f"process {login.pid()}" in done.stderr
    usual = login.home / ".symposium" / "run" / "bus.sock"
    assert str(usual) in done.stderr
    assert f"SYMPOSIUM_SOCKET={usual}" in done.stderr
