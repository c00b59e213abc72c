"""Files of session servers: limited, complete after a kill, in order."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.sessions import event_log, server
from symposium.sessions.event_log import EventLog
from symposium.sessions.server import PromptQueue
from symposium.sessions.session import SessionError
from symposium.sessions.terminal_server import Scrollback


@pytest.mark.requirement("agent-sessions.bounded")
@given(st.lists(st.binary(max_size=30)), st.integers(1, 60))
def test_scrollback_is_the_end_of_the_output(pieces: list[bytes], limit: int) -> None:
    scrollback = Scrollback(limit)
    for piece in pieces:
        scrollback.add(piece)
    whole = b"".join(pieces)
    end = scrollback.end()

    assert whole.endswith(end)
    assert len(end) <= limit
    assert end == whole or whole[: len(whole) - len(end)].endswith(b"\n") or b"\n" not in end


@pytest.mark.requirement("agent-sessions.bounded")
def test_event_log_is_limited_and_numbers_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "MAX_EVENT_BYTES", 4000)
    monkeypatch.setattr(event_log, "REMEMBERED", 2000)
    log = EventLog(tmp_path, "s")
    for at in range(150):
        if at % 50 == 0:
            log = EventLog(tmp_path, "s")
        log.add("update", {"text": "x" * 100})

    assert log.seq == 150
    assert [event["seq"] for event in log.since(148)] == [149, 150]
    assert len(log.since(0)) < 12
    assert sum(each.stat().st_size for each in tmp_path.iterdir()) < 10_000


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
@given(st.binary(max_size=30))
def test_truncated_log_continues_after_its_last_complete_line(
    tmp_path_factory: pytest.TempPathFactory, cut: bytes
) -> None:
    directory = tmp_path_factory.mktemp("log")
    EventLog(directory, "s").add("prompt", {"text": "a"})
    with (directory / "events.jsonl").open("ab") as file:
        file.write(cut)

    log = EventLog(directory, "s")
    log.add("prompt", {"text": "b"})
    again = EventLog(directory, "s")

    assert log.seq == 2
    assert [event["data"]["text"] for event in again.since(0)] == ["a", "b"]


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_accepted_prompts_survive_and_sent_ones_are_not_sent_again(
    tmp_path: Path,
) -> None:
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.add("b")
    assert queue.take() == "a"

    after = PromptQueue(tmp_path)
    assert (after.interrupted, after.take()) == ("a", "b")
    after.done()
    assert PromptQueue(tmp_path).interrupted is None


@pytest.mark.requirement("agent-sessions.bounded")
def test_too_many_and_too_long_prompts_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_PROMPTS", 2)
    monkeypatch.setattr(server, "MAX_PROMPT_LENGTH", 5)
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.add("b")

    with pytest.raises(SessionError, match="2 prompts are waiting"):
        queue.add("c")
    queue.take()
    with pytest.raises(SessionError, match="6 characters"):
        queue.add("cccccc")


@pytest.mark.requirement("agent-sessions.bounded")
def test_prompt_of_exactly_the_limit_is_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_PROMPT_LENGTH", 5)
    assert PromptQueue(tmp_path).add("ccccc") == 1


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_interrupted_prompt_is_offered_by_one_server_only(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.take()

    found = [PromptQueue(tmp_path).interrupted for _ in range(2)]
    assert found == ["a", None]


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_requeued_prompt_is_next_even_after_a_kill(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.requeue()
    for text in ("a", "b"):
        queue.add(text)
    queue.take()
    queue.requeue()
    after = PromptQueue(tmp_path)

    assert after.interrupted is None
    assert [after.take(), after.take(), after.take()] == ["a", "b", None]


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_prompt_that_crashed_the_agent_is_offered_once(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.take()

    assert [queue.interrupt(), queue.interrupt()] == ["a", None]
    assert PromptQueue(tmp_path).interrupted is None


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_unsaved_prompt_is_not_sent_later(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path / "folder")
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises((NotADirectoryError, FileExistsError)):
        queue.add("a")

    assert len(queue) == 0


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_complete_log_continues_without_an_empty_line(tmp_path: Path) -> None:
    for _ in range(2):
        EventLog(tmp_path, "s").add("prompt", {"text": "a"})

    assert b"\n\n" not in (tmp_path / "events.jsonl").read_bytes()


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_damaged_queue_is_renamed_and_reported(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text('{"waiting": [')

    with pytest.raises(SessionError, match="was renamed"):
        PromptQueue(tmp_path)

    assert (tmp_path / "prompts.damaged").exists()
    assert PromptQueue(tmp_path).take() is None
