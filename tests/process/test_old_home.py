"""Home of the version before the layout changed, opened with this version."""

import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.old_commands import (
    CHANGES,
    READS,
    lost_members,
    missing,
    output_of,
    prepare,
    recorded_commands,
)
from tests.support.old_home import DATA, environment_of, filled, unpack
from tests.support.session_wire import Line, OldClient, played, shape
from tests.support.surface import listed, members_of_output
from tests.support.task_cli import TIMEOUT, TaskCli, end_processes, git, until

WRITE_COMMANDS = "if it is meant: python -m tests.support.make_old_home --commands"
AGENT = Path(__file__).parent / "agents" / "scripted_agent.py"

pytestmark = [pytest.mark.timeout(120), pytest.mark.xdist_group("old-home")]

WRITTEN_BY_READING = re.compile(
    r"home/(?:run|log|cache)/.*|.*\.(?:db|sqlite)-(?:wal|shm)|.*\.db|home/taskspaces/shadow/.*\.cache"
)
"""Files that a daemon writes while it runs, and caches; databases are compared by rows."""

OBJECTS = re.compile(r"clone/\.git/objects/.*")
"""Files that git rewrites without a change."""


@dataclass(frozen=True)
class Opened:
    """Results of commands of this version on the old home.

    Attributes:
        kept: each file before any command, and after those that only read.
    """

    root: Path
    outputs: list[dict[str, Any]]
    kept: tuple[Mapping[str, Any], Mapping[str, Any]]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    root = tmp_path_factory.mktemp("old")
    task_cli = old_task_cli(root)
    before = files_of(root)
    prepare(root)
    outputs: list[dict[str, Any]] = []
    after: Mapping[str, Any] = {}
    try:
        with chdir(task_cli.clone):
            for number, old in enumerate(recorded_commands()):
                if number == len(READS):
                    after = files_of(root)
                outputs.append(output_of(task_cli, old["words"], root))
        yield Opened(root, outputs, (before, after))
    finally:
        end_processes(task_cli.home)


@pytest.fixture
def old(tmp_path: Path) -> Iterator[TaskCli]:
    # The path of a socket has a limit of 107 bytes.
    task_cli = old_task_cli(tmp_path)
    yield task_cli
    end_processes(task_cli.home)


def old_task_cli(root: Path) -> TaskCli:
    root.mkdir(exist_ok=True)
    unpack(root)
    return TaskCli(root / "clone", environment_of(root, dict(os.environ)))


def files_of(root: Path) -> dict[str, Any]:
    """Return the content and time of each file, and the rows of databases."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_file() and not WRITTEN_BY_READING.fullmatch(name):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            written = path.stat().st_mtime_ns, path.stat().st_ino
            found[name] = content if OBJECTS.fullmatch(name) else (content, *written)
    with closing(sqlite3.connect(root / "home" / "taskspaces.db")) as database:
        found["rows"] = sorted(database.iterdump())
    return found


@pytest.mark.requirement("house.old-home")
def test_reading_commands_find_everything_in_an_old_home(
    opened: Opened,
) -> None:
    lost = [
        f"{' '.join(old['words'])}{each}"
        for old, new in zip(recorded_commands(), opened.outputs, strict=True)
        for each in missing(old, new)
        if old in recorded_commands()[: len(READS)]
    ]

    assert lost == [], "\n".join(lost)


@pytest.mark.requirement("house.old-home")
def test_reading_commands_rewrite_no_file_of_an_old_home(opened: Opened) -> None:
    before, after = opened.kept
    changed = [name for name, each in before.items() if after.get(name) != each]

    assert changed == [], "\n".join(changed)


@pytest.mark.requirement("house.surface-json")
def test_json_outputs_have_every_member_that_scripts_use(opened: Opened) -> None:
    assert len(recorded_commands()) == len(READS) + len(CHANGES)
    lost = [
        f"{' '.join(old['words'])}: exit code {new['code']}, lacks {lost_members(old, new)}"
        for old, new in zip(recorded_commands(), opened.outputs, strict=True)
        if old["code"] != new["code"] or lost_members(old, new)
    ]

    names = {each.rpartition(": ")[0] for each in listed("json")}
    today = [each for new in opened.outputs for each in members_of_output(new)]
    new_names = {each for each in today if ": " in each and each.rpartition(": ")[0] not in names}

    assert lost == [], "\n".join(lost)
    assert new_names == set(), f"not on the list of json: {new_names}; {WRITE_COMMANDS}"


@pytest.mark.requirement("house.old-home")
def test_old_archives_and_snapshots_are_restored(old: TaskCli) -> None:
    old.ok("task", "undo", "archived work")
    archived = Path(old.tasks()["archived work"]["worktree"])
    live = Path(old.tasks()["live work"]["worktree"])
    (live / "a.txt").write_text("changed since\n")
    first = old.json("task", "undo", "live work", "--list")["snapshots"][0]
    old.ok("task", "undo", "live work", "--to", first["ref"])

    assert (archived / "d.txt").read_text() == "archived work\n"
    assert (archived / "e.txt").read_text() == "uncommitted\n"
    assert git(archived, "status", "--porcelain").split() == ["??", "e.txt"]
    assert (live / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert not (live / "b.txt").exists()


@pytest.mark.requirement("house.old-home")
def test_old_editor_settings_are_undone_and_everything_is_removed(old: TaskCli) -> None:
    listed = old.run("uninstall")
    undone = old.run("uninstall", "--yes")

    assert listed.returncode == 2
    assert "zed" in listed.stdout
    assert undone.returncode == 0, undone.stderr
    settings = old.clone.parent / "user" / ".config" / "zed" / "settings.json"
    assert settings.read_text() == '{\n  // mine\n  "theme": "One"\n}\n'
    assert not old.home.exists()
    assert (old.clone.parent / "clone.tasks" / "live-work" / "b.txt").read_text() == "new\n"


def recorded_messages(root: Path, kind: str) -> dict[str, Any]:
    """Return the recorded messages between old session servers and commands."""
    recording = json.loads(filled((DATA / "sessions.json").read_text(encoding="utf-8"), root))[kind]
    talks = [[(who, json.loads(line)) for who, line in talk] for talk in recording["talks"]]
    return {**recording, "talks": talks}


def server_socket(task_cli: TaskCli, session: str) -> Path:
    return task_cli.home / "run" / f"s-{session.replace('-', '')[:12]}.sock"


@pytest.mark.requirement("house.old-session-servers")
def test_commands_understand_an_old_session_server(old: TaskCli) -> None:
    recording = recorded_messages(old.clone.parent, "agent")
    session: str = recording["session"]
    (old.home / "run").mkdir(exist_ok=True)
    lock = old.home / "sessions" / session / "lock"
    watch = [sys.executable, "-m", "symposium", "session", "attach", session, "--json"]

    with played(server_socket(old, session), lock, recording["talks"]) as server:
        listed = {each["id"]: each["status"] for each in old.json("session", "list")}
        printed = [
            (each, old.run("session", *each["words"], "--json")) for each in recording["shown"]
        ]
        watched = subprocess.run(
            watch,
            env=old.environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    assert listed[session] == "running"
    assert [done.stdout for _, done in printed] == [each["stdout"] for each, _ in printed]
    assert watched.stdout == recording["watched"]
    assert server.surprises == []


@pytest.mark.requirement("house.old-session-servers")
def test_session_server_understands_old_commands(old: TaskCli) -> None:
    recording = recorded_messages(old.clone.parent, "agent")
    asking = f"{sys.executable} {AGENT} prompt=ask:edit"
    words = ("session", "start", "--acp", "--prompt", "First", "--cwd", str(old.clone), "--")
    session = old.ok(*words, asking).strip()
    until(lambda: old.json("session", "questions", session)["questions"])
    watching, *others = recording["talks"]
    viewer = OldClient(server_socket(old, session), TIMEOUT)
    viewer.write(watching[0][1])
    seen = [viewer.answer(watching[0][1]["id"])]
    lost = [lost_shapes(watching[1][1], seen[0])]
    for talk in others:
        if talk[0][1]["method"] == "agent/cancel":
            until(lambda: old.json("session", "show", session)["open"])
        lost += ask_again(server_socket(old, session), talk)
    while viewer.read() is not None:
        pass
    viewer.close()

    assert lost == [set()] * len(lost)
    then = [message for who, message in watching[2:] if who == "server"]
    assert kinds_of(then) <= kinds_of(viewer.notified)
    assert viewer.notified[-1]["method"] == "session/ended"


@pytest.mark.requirement("house.old-session-servers")
def test_terminal_understands_old_commands(old: TaskCli) -> None:
    recording = recorded_messages(old.clone.parent, "terminal")
    program = "stty -echo; echo ready; read x; echo got $x"
    session = old.ok("session", "start", "--", "sh", "-c", program).strip()
    until(lambda: "ready" in old.ok("session", "attach", session, "--no-follow"))
    (talk,) = recording["talks"]
    viewer = OldClient(server_socket(old, session), TIMEOUT)
    lost: list[set[str]] = []
    for who, message in talk:
        if who == "client":
            viewer.write(message)
        elif "id" in message:
            lost.append(lost_shapes(message, viewer.answer(message["id"])))
    while viewer.read() is not None:
        pass
    viewer.close()

    assert lost == [set()] * len(lost)
    then = [message for who, message in talk if who == "server" and "method" in message]
    assert kinds_of(then) <= kinds_of(viewer.notified)


def ask_again(path: Path, talk: list[Line]) -> list[set[str]]:
    """Send the requests of an old talk; return the missing members of each response."""
    client = OldClient(path, TIMEOUT)
    lost: list[set[str]] = []
    asked = [message for who, message in talk if who == "client"]
    answers = {
        message["id"]: message for who, message in talk if who == "server" and "id" in message
    }
    for message in asked:
        client.write(message)
        if message["id"] in answers:
            lost.append(lost_shapes(answers[message["id"]], client.answer(message["id"])))
    client.close()
    return lost


def lost_shapes(old_message: Any, new_message: Any) -> set[str]:
    return shape(old_message) - shape(new_message)


def kinds_of(messages: list[Any]) -> set[str]:
    """Return each notification as its method, its type, and its members."""
    found: set[str] = set()
    for message in messages:
        kind = f"{message['method']} {message['params'].get('type', '')}"
        found |= {f"{kind}{each}" for each in shape(message["params"])}
    return found
