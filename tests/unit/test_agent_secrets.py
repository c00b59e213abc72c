"""Secrets in an agent's environment are redacted from all records."""

import os
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from localio import redaction
from localio.redaction import REDACTED, Redactor, agent_secrets
from peerwire.jsonrpc.values import decode_value
from symposium.config.paths import Paths
from symposium.documents.timelines import TimelineStore
from symposium.planning.chain_spec import read_chain
from symposium.sessions.event_log import EventLog
from symposium.sessions.session import SessionKind, SessionSpec, SessionStore, secrets_of
from symposium.sessions.terminal_server import TerminalSessionServer
from symposium.tasks.handlers import task_agents
from symposium.tasks.handlers.task_agents import Environments, TaskSecrets

SECRET = "correct horse battery"  # noqa: S105 - of these tests
RANDOM = "Zq8xV2mKp0Lw7RtYb3Nd"
ID = "3f2504e0-4f89-41d3-9a0c-0305e82c3301"


def spec(*command: str, **env: str) -> SessionSpec:
    return SessionSpec(ID, SessionKind.ACP, command or ("agent",), "/tmp", env)


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start each test without known secrets."""
    monkeypatch.setattr(redaction, "_learned", set[str]())


@pytest.mark.requirement("approvals.agent-secrets")
@pytest.mark.parametrize(
    ("name", "value", "is_secret"),
    [
        ("ACME_API_KEY", SECRET, True),
        ("ACME_TOKEN", "12345678", True),
        ("ACME_TOKEN", "1234567", False),
        ("ACME", RANDOM, True),
        ("ACME", "0123456789abcdef" * 2, True),
        ("ACME", RANDOM[:19], False),
        ("MODEL", "claude-sonnet-4-20250514-preview", False),
        ("BASE", "https://Example.com/V1/models", False),
        ("PLACE", "/home/Me/Projects/thing1", False),
        ("MODE", "development", False),
        ("PWD", "/home/me/somewhere", False),
        ("TASK", ID, False),
    ],
)
def test_secrets_are_recognized_by_name_and_form(name: str, value: str, *, is_secret: bool) -> None:
    assert (value in agent_secrets({name: value})) is is_secret


@pytest.mark.requirement("approvals.agent-secrets")
def test_variables_before_the_program_of_a_session_are_redacted(tmp_path: Path) -> None:
    del tmp_path
    assert secrets_of(spec(f"ACME_KEY='{SECRET}' agent --acp")) == {SECRET}
    assert secrets_of(spec("agent 'unclosed", ACME_KEY=SECRET)) == {SECRET}


@pytest.mark.requirement("approvals.agent-secrets")
def test_events_of_a_session_are_redacted_and_stay_json(tmp_path: Path) -> None:
    hard = 'quo"te\\and\nline'
    log = EventLog(tmp_path, ID, secrets_of(spec(ACME_KEY=SECRET, OTHER_TOKEN=hard)))
    event = log.add("update", {"text": f"it is {SECRET}, or {hard}!", "count": 3})

    assert event["data"]["text"].startswith(f"it is {SECRET}"), "live viewers see the original text"
    lines = (tmp_path / "events.jsonl").read_bytes().splitlines()
    assert SECRET.encode() not in lines[0]
    kept = decode_value(lines[0])["data"]
    assert kept == {"text": f"it is {REDACTED}, or {REDACTED}!", "count": 3}
    assert log.since(0) == [decode_value(lines[0])]


@pytest.mark.requirement("approvals.agent-secrets")
async def test_terminal_log_is_redacted(tmp_path: Path) -> None:
    words = ("sh", "-c", 'printf "%s and \\377\\n" "$ACME_KEY"')
    terminal = SessionSpec(ID, SessionKind.TERMINAL, words, str(tmp_path), {"ACME_KEY": SECRET})
    await TerminalSessionServer(terminal, tmp_path).run(lambda _: None)

    shown = (tmp_path / "terminal.log").read_bytes()
    assert shown.startswith(f"{REDACTED} and ".encode() + b"\xff")


@pytest.mark.requirement("approvals.agent-secrets")
def test_log_of_a_task_is_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SessionStore(Paths(tmp_path, tmp_path, tmp_path))
    store.add(spec(ACME_KEY=SECRET))
    monkeypatch.setitem(os.environ, "OURS_TOKEN", "of-the-daemon")
    secrets = TaskSecrets(store, Environments())

    assert secrets.redact(ID, f"{SECRET} of-the-daemon x") == f"{REDACTED} {REDACTED} x"
    assert secrets.redact("3f2504e0-4f89-41d3-9a0c-0305e82c3302", SECRET) == SECRET
    store.add(spec(OTHER_KEY="second-secret"))
    assert secrets.redact(ID, f"{SECRET} second-secret") == f"{SECRET} {REDACTED}"
    shutil.rmtree(store.directory(ID))
    assert secrets.redact(ID, "second-secret") == "second-secret"


@pytest.mark.requirement("approvals.agent-secrets")
async def test_log_of_a_task_is_redacted_after_a_change_of_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environments = Environments()
    secrets = TaskSecrets(SessionStore(Paths(tmp_path, tmp_path, tmp_path)), environments)
    assert secrets.redact(ID, SECRET) == SECRET
    for value in (SECRET, "second-secret"):

        async def take(_: str, value: str = value) -> dict[str, str]:
            return {"ACME_KEY": value}

        monkeypatch.setattr(task_agents, "take_environment", take)
        await environments.take(ID, "/socket")
        assert secrets.redact(ID, f"{value} x") == f"{REDACTED} x"
    environments.forget(ID)
    assert secrets.redact(ID, "second-secret") == "second-secret"


class CountingStore(SessionStore):
    """Counts how often a definition is read."""

    reads = 0

    def spec(self, id_: str) -> SessionSpec:
        self.reads += 1
        return super().spec(id_)


@pytest.mark.requirement("approvals.agent-secrets")
def test_secrets_are_read_once_and_remembered_for_a_limited_number_of_tasks(
    tmp_path: Path,
) -> None:
    store = CountingStore(Paths(tmp_path, tmp_path, tmp_path))
    secrets = TaskSecrets(store, Environments())
    for _ in range(3):
        secrets.redact(ID, "text")
    assert store.reads == 1
    for number in range(100):
        secrets.redact(str(UUID(int=number)), "text")
    secrets.redact(ID, "text")
    assert store.reads == 102


@pytest.mark.requirement("approvals.agent-secrets")
def test_timeline_is_redacted(tmp_path: Path) -> None:
    store = TimelineStore(tmp_path)
    read_chain((), f"ACME_KEY='{SECRET}' agent --acp")
    timeline = store.open("s")
    timeline.add("said", {"text": f"it is {SECRET}"})

    written = b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())
    assert b"it is" in written
    assert SECRET.encode() not in written


@pytest.mark.requirement("approvals.agent-secrets")
def test_bytes_without_text_are_unchanged() -> None:
    data = b"\xff\x1b[0m plain \xc3"

    assert Redactor([SECRET]).raw(data) == data
    assert Redactor([SECRET]).raw(data + SECRET.encode()) == data + REDACTED.encode()
