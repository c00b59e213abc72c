"""What keepers keep: bounded, whole after a kill, in order."""

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
def test_the_scrollback_is_the_end_of_what_was_shown(pieces: list[bytes], longest: int) -> None:
    scrollback = Scrollback(longest)
    for piece in pieces:
        scrollback.add(piece)
    whole = b"".join(pieces)
    end = scrollback.end()

    assert whole.endswith(end)
    assert len(end) <= longest
    assert end == whole or whole[: len(whole) - len(end)].endswith(b"\n") or b"\n" not in end


@pytest.mark.requirement("agent-sessions.bounded")
def test_the_log_of_events_is_bounded_and_numbers_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "LARGEST", 4000)
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
def test_a_log_whose_end_was_cut_goes_on_behind_its_last_whole_line(
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
def test_what_was_promised_is_on_the_disk_and_what_was_said_is_not_said_again(
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
def test_too_many_and_too_long_prompts_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_PROMPTS", 2)
    monkeypatch.setattr(server, "LONGEST", 5)
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.add("b")

    with pytest.raises(SessionError, match="2 prompts wait already"):
        queue.add("c")
    queue.take()
    with pytest.raises(SessionError, match="6 characters"):
        queue.add("cccccc")


@pytest.mark.requirement("agent-sessions.bounded")
def test_a_prompt_of_exactly_the_limit_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LONGEST", 5)
    assert PromptQueue(tmp_path).add("ccccc") == 1


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_an_interrupted_prompt_is_offered_by_one_keeper_only(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.take()

    found = [PromptQueue(tmp_path).interrupted for _ in range(2)]
    assert found == ["a", None]


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_a_prompt_that_was_not_heard_is_the_next_one_also_after_a_kill(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.put_back()
    for text in ("a", "b"):
        queue.add(text)
    queue.take()
    queue.put_back()
    after = PromptQueue(tmp_path)

    assert after.interrupted is None
    assert [after.take(), after.take(), after.take()] == ["a", "b", None]


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_a_prompt_that_an_agent_died_at_is_offered_once(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path)
    queue.add("a")
    queue.take()

    assert [queue.interrupt(), queue.interrupt()] == ["a", None]
    assert PromptQueue(tmp_path).interrupted is None


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_a_prompt_that_cannot_be_saved_is_not_said_later(tmp_path: Path) -> None:
    queue = PromptQueue(tmp_path / "folder")
    (tmp_path / "folder").write_text("in the way")
    with pytest.raises((NotADirectoryError, FileExistsError)):
        queue.add("a")

    assert len(queue) == 0


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_a_log_that_is_whole_goes_on_without_an_empty_line(tmp_path: Path) -> None:
    for _ in range(2):
        EventLog(tmp_path, "s").add("prompt", {"text": "a"})

    assert b"\n\n" not in (tmp_path / "events.jsonl").read_bytes()


@pytest.mark.requirement("agent-sessions.acp-nothing-twice")
def test_a_damaged_queue_is_put_aside_and_said(tmp_path: Path) -> None:
    (tmp_path / "prompts.json").write_text('{"waiting": [')

    with pytest.raises(SessionError, match="was put aside"):
        PromptQueue(tmp_path)

    assert (tmp_path / "prompts.damaged").exists()
    assert PromptQueue(tmp_path).take() is None
