"""Sessions that the engine starts for the agents of tasks."""

import os
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from symposium.config.paths import config_file, paths
from symposium.registry.index import registry_context
from symposium.sessions.client import hand_over_environment
from symposium.sessions.session import (
    AS_ASKED,
    OF_TASK,
    Login,
    ServerSessionState,
    SessionError,
    SessionKind,
    SessionSpec,
    SessionStore,
    Status,
)
from symposium.tasks.handlers.live_sessions import LiveSessions
from symposium.tasks.handlers.task_agents import (
    ELSEWHERE,
    Environments,
    TaskAgents,
    session_of,
    task_mods,
)
from symposium.tasks.model import Layout, Taskspace, TaskState

TASK = Taskspace(
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    *("/p", Layout.BESIDE, "Fix login", "/p.tasks/fix-login", "symposium/fix-login"),
    "2026-01-01T00:00:00Z",
    standing=TaskState.READY,
    initial_prompt="Fix it.",
)
ENV = {"SYMPOSIUM_PORT_1": "20001", "SYMPOSIUM_PORT": "20000", "COMPOSE_PROJECT_NAME": "fix"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.requirement("tasks.session-of-agent")
def test_acp_agent_gets_the_prompt_its_resources_and_the_timeline() -> None:
    spec = session_of(replace(TASK, agent="opencode"), ENV)

    assert spec is not None
    assert (spec.id, spec.cwd, spec.title) == (TASK.id, TASK.worktree, TASK.name)
    assert (spec.kind, spec.command, spec.env) == (SessionKind.ACP, ("opencode",), ENV)
    assert spec.mods == ("timeline",)
    assert spec.prompt is not None
    assert "Fix it." in spec.prompt
    assert "the ports 20000, 20001 (" in spec.prompt
    assert "the name fix for containers" in spec.prompt


@pytest.mark.requirement("tasks.session-of-agent")
def test_program_of_a_terminal_gets_its_words_and_neither_prompt_nor_timeline() -> None:
    spec = session_of(replace(TASK, agent="terminal:vi 'a b'"), ENV)

    assert spec is not None
    assert (spec.kind, spec.command) == (SessionKind.TERMINAL, ("vi", "a b"))
    assert (spec.prompt, spec.mods, spec.env) == (None, (), ENV)


@pytest.mark.requirement("tasks.session-of-agent")
def test_task_without_an_agent_has_no_session() -> None:
    assert session_of(TASK, ENV) is None


@pytest.mark.requirement("tasks.session-of-agent")
def test_acp_agent_without_a_task_gets_no_prompt() -> None:
    spec = session_of(replace(TASK, agent="opencode", initial_prompt=None), ENV)

    assert spec is not None
    assert spec.prompt is None


@pytest.mark.requirement("tasks.session-of-agent")
@pytest.mark.parametrize(
    ("text", "mods"),
    [
        ("{}", ("timeline",)),
        ('{"tasks": {"timeline": true}}', ("timeline",)),
        ('{"tasks": {"timeline": false}}', ()),
        ("not JSON", ("timeline",)),
    ],
)
def test_timeline_is_in_the_chain_unless_the_config_excludes_it(
    text: str, mods: tuple[str, ...]
) -> None:
    file = config_file(None)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")

    assert task_mods(file) == mods


@pytest.mark.requirement("tasks.session-of-agent", "daemon.one-home")
async def test_agent_is_started_with_the_home_and_socket_of_its_daemon(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interpreter of the session server finds no library, and exits at once.
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "nowhere"))
    places = {"SYMPOSIUM_HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path)}
    store, registry = SessionStore(paths(places)), registry_context(places)
    live = LiveSessions(store)
    agents = TaskAgents(store, registry, live, tmp_path / "socket")
    with pytest.raises(SessionError, match="did not start"):
        await agents.start(replace(TASK, agent="opencode"), {**ENV, "SYMPOSIUM_HOME": "/other"})

    own = {"SYMPOSIUM_HOME": str(registry.home), "SYMPOSIUM_SOCKET": str(tmp_path / "socket")}
    assert store.spec(TASK.id).env == {**ENV, **own}


@pytest.mark.requirement("tasks.environment")
async def test_agent_gets_the_environment_of_its_caller_with_the_home_of_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    own = {"HOME": "/daemon", "SYMPOSIUM_HOME": "/own", "XDG_RUNTIME_DIR": "/run/own"}
    for name, value in {**own, "PATH": "/bin", "PWD": "/", "GIT_DIR": "/g"}.items():
        monkeypatch.setenv(name, value)
    caller = {
        "PATH": "/theirs",
        "LANG": "C",
        "TEXT": "a=b\nc",
        "EMPTY": "",
        "HOME": "/other",
        "SYMPOSIUM_HOME": "/other",
        "XDG_CACHE_HOME": "/cache",
        **dict.fromkeys(ELSEWHERE, "/elsewhere"),
    }
    child = replace(TASK, id="child", parent=TASK.id)
    environments = Environments()

    before = environments.of(TASK)
    await environments.take(TASK.id, None)
    async with hand_over_environment(caller, tmp_path / "run") as path:
        await environments.take(TASK.id, path)
    found = environments.of(TASK), environments.of(child)
    redacted = environments.lent(TASK.id)
    environments.forget(TASK.id)

    assert before == {**own, "PATH": "/bin"}
    assert found == ({**own, "PATH": "/theirs", "LANG": "C", "TEXT": "a=b\nc", "EMPTY": ""},) * 2
    assert (redacted, environments.lent(TASK.id)) == (caller, {})
    assert environments.of(TASK) == before
    assert environments.of(child) == found[1], "the environment of a child is its own"


@pytest.mark.requirement("tasks.session-of-agent", "tasks.login")
async def test_sessions_of_agents_are_known_by_their_records(tmp_path: Path) -> None:
    places = {"SYMPOSIUM_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    store = SessionStore(paths(places))
    agents = TaskAgents(store, registry_context(places), LiveSessions(store), tmp_path / "socket")
    ids = [str(UUID(int=number)) for number in range(1, 6)]
    logs_in, worked, terminal, alone, none = ids
    states = {
        logs_in: ServerSessionState(Status.EXITED, reason="login", login=Login("no key")),
        worked: ServerSessionState(Status.EXITED, reason=AS_ASKED, acp_session="one"),
        terminal: ServerSessionState(Status.EXITED, exit_code=1, reason="exit code 1"),
        alone: ServerSessionState(Status.EXITED, reason="it crashed"),
    }
    for id_, state in states.items():
        kind = SessionKind.TERMINAL if id_ == terminal else SessionKind.ACP
        env = {} if id_ == alone else {OF_TASK: id_}
        store.add(SessionSpec(id_, kind, ("agent",), "/", env))
        store.write_state(id_, state)

    assert [agents.status(id_) for id_ in ids] == [*[Status.EXITED] * 4, None]
    assert [agents.has_worked(id_) for id_ in ids] == [False, True, False, False, False]
    assert [agents.has_terminal(id_) for id_ in ids] == [False, False, True, False, False]
    assert [agents.wants_login(id_) for id_ in ids[:4]] == [True, False, False, False]
    assert [agents.why_ended(id_) for id_ in ids] == ["login", "", "", "it crashed", ""]
    left = agents.leftovers({worked})
    assert sorted(each.id for each in left) == [logs_in, terminal], "one belongs to no task"
    lock = store.lock(terminal)
    assert [each.id for each in agents.leftovers({worked})] == [logs_in]
    with pytest.raises(SessionError, match="is running"):
        agents.forget(terminal)
    os.close(lock)
    for id_ in (logs_in, none):
        agents.forget(id_)
    assert (agents.status(logs_in), agents.leftovers({worked, terminal})) == (None, [])
