"""Recorder of permission requests: timing and content of entries."""

import atexit
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from tests.support.set_clock import SetClock, on_set_clock

from localio.redaction import Redactor
from peerwire.errors import RpcError
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import Forward
from symposium.permissions.audit_entries import (
    FLUSH_DELAY,
    POLICY_META,
    PermissionObserver,
    with_audit,
)
from symposium.permissions.audit_log import AuditLog

QUESTION = b'{"sessionId":"s","toolCall":{"title":"rm x"},"options":[{"optionId":"y"}]}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path))
    return tmp_path


def ask(witness: PermissionObserver, answer: Answer) -> None:
    message = ChainMessage("session/request_permission", Raw(QUESTION), is_request=True)
    waiting: Forward = witness.asked(message)
    react = waiting.catch if answer.error else waiting.then
    assert react is not None
    react(answer)


def selected(**more: Any) -> Answer:
    return Answer(value={"outcome": {"outcome": "selected", "optionId": "y"}, **more})


def written(folder: Path) -> list[Mapping[str, Any]]:
    found = list(folder.rglob("audit.ndjson"))
    return [line for each in found for line in AuditLog(each.parent, Redactor(())).entries()]


@pytest.mark.requirement("stories.a-07-record")
def test_decisions_are_on_the_disk_soon_and_each_once(folder: Path) -> None:
    async def run(clock: SetClock) -> None:
        (component,) = with_audit("agent", ["hunter2-secret"])()
        witness = component.mod
        assert isinstance(witness, PermissionObserver)
        ask(witness, selected())
        ask(witness, selected())
        assert written(folder) == []
        await clock.advance(FLUSH_DELAY)
        assert [each["by"] for each in written(folder)] == ["user", "user"]
        ask(witness, selected(_meta={POLICY_META: {"rule": "hunter2-secret"}}))
        await clock.advance(FLUSH_DELAY)

    on_set_clock(run)
    found = written(folder)
    assert len(found) == 3
    assert "hunter2" not in str(found[2])
    assert {each["host"] for each in found} == {os.getpid()}


@pytest.mark.requirement("stories.a-07-record")
def test_secrets_of_the_environment_are_redacted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "correct-horse-battery")

    record_one(selected(_meta={POLICY_META: {"rule": "a correct-horse-battery b"}}))

    (entry,) = written(folder)
    assert entry["outcome"] == "selected"
    assert "correct-horse" not in str(entry)


@pytest.mark.requirement("stories.a-07-record")
def test_an_unwritable_log_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "file"))

    record_one(selected())

    (line,) = caplog.messages
    assert line.startswith("could not record a permission: ")


def record_one(answer: Answer) -> None:
    async def run(clock: SetClock) -> None:
        (component,) = with_audit("agent", [])()
        observer = component.mod
        assert isinstance(observer, PermissionObserver)
        ask(observer, answer)
        await clock.advance(FLUSH_DELAY)

    on_set_clock(run)


def taken(answer: Answer) -> Mapping[str, Any]:
    entries: list[Mapping[str, Any]] = []
    ask(PermissionObserver("agent", lambda entry: entries.append(entry())), answer)
    (entry,) = entries
    return entry


@pytest.mark.requirement("stories.a-07-record")
@pytest.mark.parametrize(
    ("answer", "outcome", "chosen", "by"),
    [
        (selected(), "selected", "y", "user"),
        (selected(_meta={POLICY_META: {"rule": "r"}}), "selected", "y", "rule:r"),
        (selected(_meta={POLICY_META: {"effect": "ask"}}), "selected", "y", "rule:policy"),
        (Answer(value={"outcome": {"outcome": "cancelled"}}), "cancelled", None, "user"),
        (Answer(error=RpcError(-32000)), "unanswered", None, "nobody"),
        (Answer(value=None), "unanswered", None, "nobody"),
        (Answer(value={"outcome": "yes"}), "unanswered", None, "nobody"),
    ],
)
def test_an_entry_says_what_was_chosen_and_who_decided(
    answer: Answer, outcome: str, chosen: str | None, by: str
) -> None:
    entry = taken(answer)

    assert (entry["outcome"], entry["chosen"], entry["by"]) == (outcome, chosen, by)
    assert (entry["agent"], entry["sessionId"]) == ("agent", "s")
    assert entry["toolCall"] == {"title": "rm x"}


@pytest.mark.requirement("stories.a-07-record")
def test_pending_decisions_are_written_when_the_process_ends(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_exit: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)

    async def run(_: SetClock) -> None:
        (component,) = with_audit("agent", [])()
        assert isinstance(component.mod, PermissionObserver)
        ask(component.mod, selected())

    on_set_clock(run)
    assert written(folder) == []
    at_exit[0]()
    assert [each["by"] for each in written(folder)] == ["user"]


@pytest.mark.requirement("stories.a-07-record")
def test_nothing_is_created_for_a_process_without_a_decision(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_exit: list[Callable[[], None]] = []
    monkeypatch.setattr(atexit, "register", at_exit.append)
    with_audit("agent", [])
    at_exit[0]()

    assert list(folder.iterdir()) == []
