"""The audit log: written, bounded, redacted, and verified (users A-7, E-8)."""

import fcntl
import hashlib
import json
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localio.redaction import Redactor
from symposium.permissions.audit_log import MAX_STORED, AuditLog, Checkpoint, faults, utc_now

NOW = "audit.ndjson"


def log_in(folder: Path, *, largest: int = 10_000, known: tuple[str, ...] = ()) -> AuditLog:
    return AuditLog(folder, Redactor(known), clock=lambda: "then", largest=largest)


def filled(folder: Path, count: int = 5) -> AuditLog:
    log = log_in(folder)
    for number in range(count):
        log.write({"chosen": f"option {number}"})
    return log


def lines(folder: Path) -> list[str]:
    return (folder / NOW).read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.mark.requirement("stories.a-07-record")
def test_what_is_written_can_be_read_and_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "audit"
    log_in(folder).write({"chosen": "y", "by": "user"})
    (entry,) = log_in(folder).entries()
    assert (entry["seq"], entry["ts"], entry["chosen"], entry["by"]) == (1, "then", "y", "user")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert log_in(folder).verify() == []


@pytest.mark.requirement("stories.a-07-record")
def test_a_secret_is_not_written(tmp_path: Path) -> None:
    log = log_in(tmp_path, known=("correct-horse-battery",))
    log.write({"toolCall": {"title": "curl -H correct-horse-battery"}, "api_key": "abcdefgh"})
    text = (tmp_path / NOW).read_text(encoding="utf-8")
    assert "correct-horse" not in text
    assert "abcdefgh" not in text
    assert log.verify() == []


def edited(found: list[str]) -> list[str]:
    return [found[0], found[1].replace("option 1", "option 9"), *found[2:]]


def edited_with_its_hash(found: list[str]) -> list[str]:
    entry: dict[str, Any] = json.loads(found[1])
    other: dict[str, Any] = json.loads(found[2])
    return [found[0], json.dumps(entry | {"hash": other["hash"]}) + "\n", *found[2:]]


def edited_with_a_right_hash(found: list[str]) -> list[str]:
    text = edited(found)[1].partition(',"hash":')[0] + "}"
    own = hashlib.sha256(text.encode()).hexdigest()
    return [found[0], f'{text[:-1]},"hash":"{own}"}}\n', *found[2:]]


CHANGES: dict[str, Callable[[list[str]], list[str]]] = {
    "edited": edited,
    "edited, and its hash": edited_with_its_hash,
    "edited, and a right hash": edited_with_a_right_hash,
    "first dropped": lambda found: found[1:],
    "middle dropped": lambda found: [*found[:2], *found[3:]],
    "last dropped": lambda found: found[:-1],
    "all dropped": lambda found: found[:0],
    "reordered": lambda found: [found[0], found[2], found[1], *found[3:]],
    "doubled": lambda found: [*found[:2], *found[1:]],
    "added": lambda found: [*found, found[-1]],
    "torn": lambda found: [*found[:-1], found[-1][:20]],
}


@pytest.mark.requirement("stories.a-07-verify")
@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_a_line_is_detected(tmp_path: Path, change: str) -> None:
    log = filled(tmp_path)
    assert log.verify() == []
    (tmp_path / NOW).write_text("".join(CHANGES[change](lines(tmp_path))), encoding="utf-8")
    (fault,) = log.verify()
    assert fault.reason


@pytest.mark.requirement("stories.a-07-verify")
def test_completely_rewritten_log_does_not_match_its_mark(tmp_path: Path) -> None:
    log = filled(tmp_path / "old")
    other = log_in(tmp_path / "new")
    for number in range(5):
        other.write({"chosen": f"forged {number}"})
    (tmp_path / "old" / NOW).write_bytes((tmp_path / "new" / NOW).read_bytes())
    (fault,) = log.verify()
    assert "last line that was written" in fault.reason


@pytest.mark.requirement("stories.a-07-verify")
def test_log_without_its_mark_is_incomplete(tmp_path: Path) -> None:
    log = filled(tmp_path)
    (tmp_path / "audit.mark").unlink()
    (fault,) = log.verify()
    assert "missing" in fault.reason


@pytest.mark.requirement("stories.a-07-verify")
def test_a_writer_that_died_before_it_moved_the_mark_has_broken_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    mark = (tmp_path / "audit.mark").read_bytes()
    log.write({"chosen": "last words"})
    (tmp_path / "audit.mark").write_bytes(mark)
    assert log.verify() == []
    log.write({"chosen": "continues"})
    assert log.verify() == []
    assert [entry["seq"] for entry in log.entries()] == [1, 2, 3, 4]


@pytest.mark.requirement("stories.a-07-verify")
def test_a_writer_that_died_among_many_lines_has_broken_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path, 2)
    mark = (tmp_path / "audit.mark").read_bytes()
    log.write(*({"chosen": f"word {number}"} for number in range(30)))
    (tmp_path / "audit.mark").write_bytes(mark)
    with (tmp_path / NOW).open("ab") as file:
        file.write(b'{"seq":33,"ts":"th')
    log.write({"chosen": "continues"})
    assert log.verify() == []
    assert [entry["seq"] for entry in log.entries()] == list(range(1, 34))


@pytest.mark.requirement("stories.a-07-bounded")
def test_a_writer_that_died_as_a_file_was_put_aside_has_broken_nothing(tmp_path: Path) -> None:
    log = log_in(tmp_path, largest=500)
    log.write({"chosen": "first"})
    mark = (tmp_path / "audit.mark").read_bytes()
    log.write(*({"chosen": f"word {number}"} for number in range(5)))
    (tmp_path / "audit.mark").write_bytes(mark)
    log.write({"chosen": "in the next file"})
    (tmp_path / NOW).unlink()
    assert log.verify() != [], "what was put aside and marked is not all"
    log.write({"chosen": "continues"})
    assert [entry["seq"] for entry in log.entries()] == [1, 2, 3, 4, 5, 6, 8]


@pytest.mark.requirement("stories.a-07-bounded")
def test_files_are_put_aside_and_the_oldest_go_while_the_rest_proves_itself(tmp_path: Path) -> None:
    log = log_in(tmp_path, largest=500)
    for number in range(60):
        log.write({"chosen": f"option {number}"})
        assert log.verify() == []
    aside = sorted(tmp_path.glob("audit.0*.ndjson"))
    assert len(aside) == MAX_STORED
    numbers = [entry["seq"] for entry in log.entries()]
    assert numbers == list(range(numbers[0], 61))
    assert numbers[0] > 1
    aside[0].unlink()
    assert len(log.verify()) == 1


@pytest.mark.requirement("stories.a-07-record")
def test_several_writers_make_one_chain(tmp_path: Path) -> None:
    def write() -> None:
        for _ in range(10):
            log_in(tmp_path).write({"chosen": "y"})

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(log_in(tmp_path).entries()) == 40
    assert log_in(tmp_path).verify() == []


@pytest.mark.requirement("stories.a-07-verify")
def test_empty_log_is_intact(tmp_path: Path) -> None:
    log = log_in(tmp_path / "none")
    assert (log.entries(), log.verify()) == ([], [])


@pytest.mark.requirement("stories.a-07-verify")
def test_a_record_whose_only_line_was_dropped_is_not_taken_for_whole(tmp_path: Path) -> None:
    log = filled(tmp_path, 1)
    (tmp_path / NOW).write_bytes(b"")

    (fault,) = log.verify()
    assert "the log ends at line 0; 1 lines were written" in fault.reason


@pytest.mark.requirement("stories.a-07-verify")
def test_a_whole_file_that_was_dropped_is_named_by_the_first_line_after_it(tmp_path: Path) -> None:
    log = log_in(tmp_path, largest=1)
    for number in range(MAX_STORED + 3):
        log.write({"chosen": f"option {number}"})
    oldest, *_ = sorted(tmp_path.glob("audit.0*.ndjson"))
    oldest.unlink()

    (fault,) = log.verify()
    assert fault.reason == "has number 4 instead of 3"


@pytest.mark.requirement("stories.a-07-verify")
def test_a_line_that_is_not_ours_ends_no_writer_and_is_found(tmp_path: Path) -> None:
    log = filled(tmp_path, 1)
    with (tmp_path / NOW).open("ab") as file:
        file.write(b'{"seq":2,"chosen":"forged"}\n')

    log.write({"chosen": "continues"})

    assert log.entries()[-1]["chosen"] == "continues"
    (fault,) = log.verify()
    assert fault.place.endswith(":2")


@pytest.mark.requirement("stories.a-07-order")
def test_the_time_is_read_while_no_other_host_can_write(tmp_path: Path) -> None:
    def clock() -> str:
        with (tmp_path / "audit.lock").open() as another, pytest.raises(BlockingIOError):
            fcntl.flock(another, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return "then"

    filled(tmp_path, 1)
    AuditLog(tmp_path, clock=clock).write({"chosen": "y"}, {"chosen": "n"})

    assert [entry["ts"] for entry in AuditLog(tmp_path).entries()] == ["then"] * 3


@pytest.mark.requirement("stories.a-07-bounded")
def test_file_is_rotated_at_exactly_its_limit(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    size = (tmp_path / NOW).stat().st_size

    log_in(tmp_path, largest=size + 1).write({"chosen": "still fits"})
    assert not list(tmp_path.glob("audit.0*.ndjson"))
    full = (tmp_path / NOW).stat().st_size
    log_in(tmp_path, largest=full).write({"chosen": "in a new file"})
    assert len(list(tmp_path.glob("audit.0*.ndjson"))) == 1


@pytest.mark.requirement("stories.a-07-verify")
def test_a_writer_that_died_after_it_put_a_file_aside_has_broken_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = filled(tmp_path, 2)
    behind = (tmp_path / "audit.mark").read_bytes()
    log.write({"chosen": "its mark was not moved on"})
    (tmp_path / "audit.mark").write_bytes(behind)
    rename = Path.rename

    def rename_and_die(self: Path, target: Path) -> Path:
        rename(self, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", rename_and_die)
        with pytest.raises(KeyboardInterrupt):
            log_in(tmp_path, largest=1).write({"chosen": "never written"})
    log.write({"chosen": "after it"})

    assert log.verify() == []
    assert [entry["seq"] for entry in log.entries()] == [1, 2, 3, 4]


@pytest.mark.requirement("stories.a-07-verify")
def test_only_one_host_writes_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = filled(tmp_path, 1)
    flock = fcntl.flock

    def flock_at_once(file: int, how: int) -> None:
        flock(file, how | fcntl.LOCK_NB)

    monkeypatch.setattr(fcntl, "flock", flock_at_once)
    with (tmp_path / "audit.lock").open() as another:
        flock(another, fcntl.LOCK_SH)
        with pytest.raises(BlockingIOError):
            log.write({"chosen": "while another writes"})

    assert len(log.entries()) == 1


@pytest.mark.requirement("stories.a-07-record")
def test_damaged_lines_hide_no_entry_and_an_empty_folder_is_intact(tmp_path: Path) -> None:
    log = filled(tmp_path, 1)
    (tmp_path / NOW).write_bytes(b"no JSON\n[1]\n" + (tmp_path / NOW).read_bytes())
    (tmp_path / "empty").mkdir()

    assert [entry["chosen"] for entry in log.entries()] == ["option 0"]
    assert log_in(tmp_path / "empty").verify() == []


@pytest.mark.requirement("stories.a-07-record")
def test_a_short_line_that_is_not_ours_ends_no_writer(tmp_path: Path) -> None:
    (tmp_path / NOW).write_bytes(b"no JSON\n")
    log_in(tmp_path).write({"chosen": "continues"})

    assert [entry["chosen"] for entry in log_in(tmp_path).entries()] == ["continues"]


@pytest.mark.requirement("stories.a-07-bounded")
def test_a_copy_beside_the_log_is_neither_read_nor_deleted(tmp_path: Path) -> None:
    copy = tmp_path / "audit.0-copy.ndjson"
    copy.write_bytes(b"no JSON\n")
    log = log_in(tmp_path, largest=1)
    for number in range(MAX_STORED + 3):
        log.write({"chosen": f"option {number}"})

    assert log.verify() == []
    assert copy.read_bytes() == b"no JSON\n"
    assert len(list(tmp_path.glob("audit.0*.ndjson"))) == MAX_STORED + 1


@pytest.mark.requirement("stories.a-07-verify")
def test_a_checkpoint_before_the_first_line_needs_none() -> None:
    assert faults([], Checkpoint(first=1, seq=0)) == []
    assert faults([], Checkpoint(first=5, seq=4)) == []
    (fault,) = faults([], Checkpoint(first=4, seq=4))
    assert fault.place == "the first line"


@pytest.mark.requirement("stories.a-07-record")
def test_times_are_in_utc_with_milliseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", utc_now())


@pytest.mark.requirement("stories.a-07-record")
def test_a_written_log_leaves_no_file_open(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    before = len([*Path("/proc/self/fd").iterdir()])
    filled(tmp_path, 3)

    assert len([*Path("/proc/self/fd").iterdir()]) == before
