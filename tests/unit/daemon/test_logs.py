"""Logs of the daemon: JSON lines without secrets, limited in size."""

import json
import logging
import stat
from pathlib import Path

import pytest

from symposium.daemon.process import LOG_FILES, log_file


def record(message: str, *, fails: bool = False) -> logging.LogRecord:
    trace = None
    if fails:
        error = RuntimeError("sk-" + "a1" * 16)
        trace = (type(error), error, error.__traceback__)
    return logging.LogRecord("bus", logging.WARNING, "x", 1, message, None, trace)


@pytest.mark.requirement("daemon.log")
def test_record_is_one_line_without_secrets(tmp_path: Path) -> None:
    file = log_file(tmp_path / "log" / "d.log")
    file.handle(record("line\nbreak", fails=True))
    file.close()

    (line,) = (tmp_path / "log" / "d.log").read_text(encoding="utf-8").splitlines()
    entry = json.loads(line)
    assert entry["message"] == "line\nbreak"
    assert "RuntimeError: [redacted]" in entry["trace"]


@pytest.mark.requirement("daemon.log")
def test_log_is_rotated_and_few_files_are_kept(tmp_path: Path) -> None:
    file = log_file(tmp_path / "log" / "d.log", max_bytes=1000)
    for number in range(100):
        file.handle(record(f"number {number}"))
    file.close()

    found = sorted((tmp_path / "log").iterdir())
    assert len(found) == LOG_FILES + 1
    assert all(each.stat().st_size <= 1000 for each in found)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (*found, tmp_path / "log")} == {
        0o600,
        0o700,
    }
    assert "number 99" in (tmp_path / "log" / "d.log").read_text(encoding="utf-8")


@pytest.mark.requirement("daemon.log")
def test_a_message_with_a_secret_of_the_environment_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "only words here")
    file = log_file(tmp_path / "log" / "d.log")
    file.handle(record("with only words here"))
    file.close()

    entry = json.loads((tmp_path / "log" / "d.log").read_text(encoding="utf-8"))
    assert entry["message"] == "with [redacted]"
