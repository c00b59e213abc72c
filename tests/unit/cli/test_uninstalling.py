"""Directories that `symposium uninstall` finds."""

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from click.testing import CliRunner

from symposium.__main__ import main
from symposium.cli.chat_input import history_file
from symposium.cli.uninstalling import Installation, find_installation, remove_installation
from symposium.config.editor_settings import EditorReceipt, Receipts, digest
from symposium.config.paths import Paths, paths
from symposium.sessions import client
from symposium.sessions.session import (
    ServerSessionState,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.model import Layout, Taskspace, TaskState
from symposium.tasks.store import TaskStore
from symposium.tasks.tables import save

STORED = Taskspace(
    str(UUID(int=9)), "/p", Layout.BESIDE, "a", "/p.tasks/a", "a", "2026-01-01T00:00:00Z"
)


@pytest.mark.requirement("cli.uninstall-outside-home")
async def test_every_directory_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home, runtime = tmp_path / "home", tmp_path / "home" / "run"
    cache, missing = tmp_path / "cache", tmp_path / "none"
    history = history_file()
    for each in (runtime, cache, history.parent):
        each.mkdir(parents=True)
    history.write_text("", encoding="utf-8")

    inside = await find_installation(Paths(home, cache, runtime))
    apart = await find_installation(Paths(missing, missing, runtime))

    assert inside.files == [home, cache, history]
    assert apart.files == [runtime, history]
    assert not apart.is_empty


@pytest.mark.requirement("cli.uninstall-agent-runs")
async def test_nothing_is_removed_while_an_agent_cannot_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(client, "STOP_TIMEOUT", 0)
    places = paths()
    store, id_ = SessionStore(places), str(UUID(int=7))
    store.add(SessionSpec(id_, SessionKind.ACP, ("eliza",), str(tmp_path)))
    file = tmp_path / "home" / "config.jsonc"
    file.write_text("{}", encoding="utf-8")
    metadata = tmp_path / "tasks" / ".symposium"
    metadata.mkdir(parents=True)
    found = Installation([], [id_], [], [], [metadata], [places.home])

    handle = store.lock(id_)
    failures = await remove_installation(found, places)
    os.close(handle)
    was_kept = file.exists() and metadata.exists()
    repeated = await remove_installation(found, places)

    assert [line.partition(":")[0] for line in failures] == [f"the agent {id_} is still running"]
    assert (was_kept, repeated) == (True, [])
    assert [each.exists() for each in (places.home, metadata)] == [False, False]


@pytest.mark.requirement("cli.uninstall-agent-runs", "cli.uninstall")
def test_failed_removal_is_named_and_has_its_own_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SYMPOSIUM_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(client, "STOP_TIMEOUT", 0)
    store, id_ = SessionStore(paths()), str(UUID(int=7))
    for each in (id_, str(UUID(int=8))):
        store.add(SessionSpec(each, SessionKind.ACP, ("eliza",), str(tmp_path)))
        store.write_state(each, ServerSessionState(Status.RUNNING))

    handle = store.lock(id_)
    failed = CliRunner().invoke(main, ["uninstall", "--yes"])
    os.close(handle)

    assert (failed.exit_code, failed.stdout.splitlines()[0]) == (1, f"running agent     {id_}")
    assert failed.stdout.count("running agent") == 1
    error, hint = failed.stderr.splitlines()
    assert error.startswith(f"the agent {id_} is still running: ")
    assert hint == "Fix this and rerun `symposium uninstall`."
    assert id_ in store.ids()


@pytest.mark.requirement("cli.uninstall")
def test_each_found_thing_is_one_line() -> None:
    task = replace(STORED, worktree="/p.tasks/a", branch="symposium/a")
    found = Installation(["zed"], ["one"], [task], [Path("/p")], [Path("/m")], [Path("/h")])
    only_work = Installation([], [], [task], [Path("/p")], [], [])

    assert found.lines() == [
        "editor settings   zed",
        "running agent     one",
        "refs in clone     /p (refs/symposium/*, if any)",
        "files of tasks    /m",
        "Symposium's files /h",
        "stays: worktree   /p.tasks/a, branch symposium/a",
    ]
    assert [found.is_empty, only_work.is_empty] == [False, True]


@pytest.mark.requirement("cli.uninstall")
async def test_clones_files_and_live_worktrees_of_tasks_are_found(tmp_path: Path) -> None:
    home, beside, clone = tmp_path / "home", tmp_path / "p.tasks", tmp_path / "p"
    for each in (home, beside / ".symposium", clone, tmp_path / "seed" / ".symposium"):
        each.mkdir(parents=True)
    live = replace(STORED, project=str(clone), worktree=str(beside / "a"), standing=TaskState.READY)
    tasks = [
        live,
        replace(live, id="b", worktree=str(beside / "b"), standing=TaskState.ARCHIVED),
        replace(live, id="c", project=str(tmp_path / "gone"), standing=TaskState.MISSING),
        replace(live, id="d", layout=Layout.PROJECT, worktree=str(tmp_path / "seed" / "d")),
        replace(live, id="e", worktree=str(tmp_path / "none" / "e")),
    ]
    with closing(TaskStore(home / "taskspaces.db")) as store:
        for each in tasks:
            await store.write(lambda connection, task=each: save(connection, task))

    found = await find_installation(Paths(home, tmp_path / "cache", tmp_path / "run"))

    assert (found.clones, found.metadata) == ([clone], [beside / ".symposium"])
    assert {each.id for each in found.kept} == {live.id, "c", "d", "e"}


@pytest.mark.requirement("cli.uninstall", "cli.uninstall-repeatable")
async def test_files_stay_after_a_failure_and_links_are_removed_without_their_targets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    alone, shared = tmp_path / "alone" / ".symposium", tmp_path / "shared" / ".symposium"
    target, link, file = tmp_path / "target", tmp_path / "link", tmp_path / "file"
    for each in (alone, shared, target, tmp_path / "shared" / "work"):
        each.mkdir(parents=True)
    file.write_text("", encoding="utf-8")
    link.symlink_to(target)
    gone, inside = tmp_path / "gone", file / "inside"
    files = [link, gone, file]

    failures = [
        await remove_installation(
            Installation([], [], [], [gone], [alone, shared], files), paths()
        ),
        await remove_installation(Installation([], [], [], [], [inside], files), paths()),
    ]
    was_kept = [each.exists() for each in (link, file)]
    done = await remove_installation(Installation([], [], [], [], [], files), paths())

    assert [line.partition(": ")[0] for line in failures[0]] == [str(gone)]
    assert failures[1] == [f"{inside}: Not a directory"]
    assert [each.exists() for each in (alone.parent, shared, shared.parent)] == [False, False, True]
    assert (was_kept, done) == ([True, True], [])
    assert [each.exists() for each in (target, link, file)] == [True, False, False]


@pytest.mark.requirement("cli.uninstall", "cli.uninstall-repeatable")
async def test_files_stay_while_settings_of_an_editor_cannot_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    places, settings = paths(), tmp_path / "settings.json"
    written = '{"agent_servers": {"Symposium": {"command": "symposium"}}}'
    settings.write_text(written.replace("symposium", "mine"), encoding="utf-8")
    receipt = EditorReceipt(str(settings), digest(written), "{}", {"command": "symposium"})
    Receipts(places.home / "editors").write("zed", receipt)
    found = Installation(["zed"], [], [], [], [], [places.home])

    (failure,) = await remove_installation(found, places)
    was_kept = places.home.exists()
    settings.write_text(written, encoding="utf-8")
    repeated = await remove_installation(found, places)

    assert failure.startswith(f"settings of zed: {settings}: ")
    assert (was_kept, repeated, places.home.exists()) == (True, [], False)
    assert settings.read_text(encoding="utf-8") == "{}"
