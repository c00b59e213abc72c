"""Directories that `symposium uninstall` finds."""

import os
from pathlib import Path
from uuid import UUID

import pytest

from symposium.cli.chat_input import history_file
from symposium.cli.uninstalling import Installation, find_installation, remove_installation
from symposium.config.paths import Paths, paths
from symposium.sessions import client
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore


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
