"""The session store: files, and whether the session server runs."""

import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from symposium.__main__ import main
from symposium.config.paths import Paths, paths
from symposium.sessions import session
from symposium.sessions.session import (
    ServerSessionState,
    SessionError,
    SessionKind,
    SessionNotFoundError,
    SessionSpec,
    SessionStore,
    Status,
)

ID = "6f1c2a77-0c0e-4a38-9a5e-2b0d3a1c9f10"
SPEC = SessionSpec(
    ID, SessionKind.ACP, ("agent --acp",), "/w", {"A": "b"}, "Begin", ("arrow",), "t", "2026"
)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(Paths(tmp_path / "home", tmp_path / "cache", tmp_path / "run"))


@pytest.mark.requirement("agent-sessions.p1")
def test_empty_store_has_no_sessions(store: SessionStore) -> None:
    assert store.ids() == []
    with pytest.raises(SessionNotFoundError, match="session list"):
        store.spec(ID)


@pytest.mark.requirement("agent-sessions.p3")
def test_saved_session_is_read_completely(store: SessionStore) -> None:
    store.add(SPEC)
    state = ServerSessionState(Status.EXITED, 7, 3, "ended", "acp-1", is_fresh=True)
    store.write_state(ID, state)

    assert store.ids() == [ID]
    assert store.spec(ID.upper()) == SPEC
    assert store.state(ID) == state


@pytest.mark.requirement("agent-sessions.lost")
@pytest.mark.parametrize("status", [Status.STARTING, Status.RUNNING])
def test_running_session_is_lost_when_its_lock_is_free(status: Status, store: SessionStore) -> None:
    store.add(SPEC)
    store.write_state(ID, ServerSessionState(status, 7))
    lock = store.lock(ID)

    assert store.is_kept(ID)
    assert store.state(ID).status is status
    with pytest.raises(SessionError, match="already running"):
        store.add(SPEC)
    with pytest.raises(SessionError, match="another server runs the session"):
        store.lock(ID)
    os.close(lock)
    assert store.state(ID).status is Status.LOST


@pytest.mark.requirement("agent-sessions.lost")
def test_damaged_state_is_lost(store: SessionStore) -> None:
    directory = store.add(SPEC)
    (directory / "state.json").write_text('{"status": "flying"}')

    assert store.state(ID).status is Status.LOST


@pytest.mark.requirement("agent-sessions.exact-ids")
@pytest.mark.parametrize("text", ["", "x", ID[:-1], ID + "0", "{" + ID + "}", "../" + ID])
def test_incomplete_id_is_not_found(text: str, store: SessionStore) -> None:
    for look in (store.directory, store.socket, store.spec, store.state):
        with pytest.raises(SessionNotFoundError):
            look(text)


@pytest.mark.requirement("agent-sessions.start-errors")
def test_forget_removes_all_files_of_a_session(store: SessionStore) -> None:
    directory = store.add(SPEC)
    store.forget(ID)

    assert not directory.exists()
    assert store.ids() == []


@pytest.mark.requirement("agent-sessions.start-errors")
def test_running_session_cannot_be_removed_or_replaced(store: SessionStore) -> None:
    directory = store.add(SPEC)
    store.socket(ID).touch()
    lock = store.lock(ID)
    for refused in (lambda: store.forget(ID), lambda: store.add(SPEC)):
        with pytest.raises(SessionError, match=r"is (already )?running"):
            refused()
    assert (directory.is_dir(), store.socket(ID).exists()) == (True, True)

    os.close(lock)
    store.forget(ID)
    assert (directory.exists(), store.socket(ID).exists()) == (False, False)


@pytest.mark.requirement("agent-sessions.private")
def test_session_and_socket_directories_are_private(store: SessionStore) -> None:
    before = os.umask(0)
    try:
        directory = store.add(SPEC)
    finally:
        os.umask(before)

    for each in (directory, store.socket(ID).parent):
        assert each.stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("agent-sessions.p1")
def test_session_without_a_state_has_not_changed(store: SessionStore) -> None:
    store.add(SPEC)
    assert store.changed_at(ID) == 0.0
    store.write_state(ID, ServerSessionState(Status.RUNNING))
    assert store.changed_at(ID) > 0.0


@pytest.mark.requirement("agent-sessions.forget-ending")
def test_forget_waits_for_the_server_of_an_ended_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    directory = store.add(SPEC)
    lock = store.lock(ID)
    environment = {"SYMPOSIUM_HOME": str(tmp_path / "home")}

    def exits(seconds: float) -> None:
        del seconds
        os.close(lock)

    monkeypatch.setattr(time, "sleep", exits)

    store.write_state(ID, ServerSessionState(Status.RUNNING))
    runs = CliRunner().invoke(main, ["session", "forget", ID], env=environment)
    store.write_state(ID, ServerSessionState(Status.EXITED))
    ends = CliRunner().invoke(main, ["session", "forget", ID], env=environment)

    assert (runs.exit_code, "is running" in runs.stderr) == (1, True)
    assert ends.exit_code == 0, ends.stderr
    assert not directory.exists()


@pytest.mark.requirement("agent-sessions.lost")
def test_wait_for_a_hanging_server_times_out(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_EXIT_TIME", 0.02)
    store.add(SPEC)
    store.write_state(ID, ServerSessionState(Status.EXITED, 7))
    lock = store.lock(ID)
    store.wait_for_exit(ID)
    assert store.is_kept(ID)
    os.close(lock)
    store.wait_for_exit(ID)
    assert not store.is_kept(ID)
