"""Stored session ids for agents that do not know them (acp-host §6.7)."""

import json
import os
from pathlib import Path

import pytest

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.session_names import MAX_NAMES, SessionNames

CLAUDE = Config("claude --acp")


@pytest.mark.requirement("run-mode.names-kept")
def test_both_ids_are_found_for_the_same_agent_with_any_mods(tmp_path: Path) -> None:
    SessionNames(tmp_path, CLAUDE).keep("ours", "theirs")
    again = SessionNames(tmp_path, Config("claude  --acp", (ModEntry("tag"),)))
    assert again.inner("ours") == "theirs"
    assert again.outer() == {"theirs": "ours"}
    other = SessionNames(tmp_path, Config(ComponentSource("registry", "claude")))
    assert (other.inner("ours"), other.outer()) == (None, {})
    assert again.inner("theirs") is None


@pytest.mark.requirement("run-mode.names-kept")
def test_latest_id_is_used_and_a_deleted_session_has_none(tmp_path: Path) -> None:
    names = SessionNames(tmp_path, CLAUDE)
    names.keep("ours", "first")
    names.keep("ours", "second")
    assert names.inner("ours") == "second"
    names.forget("ours")
    names.forget("ours")
    assert names.inner("ours") is None


@pytest.mark.requirement("run-mode.names-kept")
def test_oldest_ids_are_dropped_and_unreadable_ones_ignored(tmp_path: Path) -> None:
    names = SessionNames(tmp_path, CLAUDE)
    names.keep("ours", "theirs")
    (folder,) = tmp_path.iterdir()
    (first,) = folder.iterdir()
    assert first.stat().st_mode & 0o777 == 0o600
    for number in range(MAX_NAMES):
        (folder / f"{number}.json").write_text(json.dumps({"editor": f"e{number}"}))
        later = 2_000_000_000 + number
        os.utime(folder / f"{number}.json", (later, later))
    assert names.outer() == {"theirs": "ours"}
    os.utime(first, (1, 1))
    (folder / "broken.json").write_bytes(b"\xff{")
    names.keep("another", "inner")
    assert len(list(folder.iterdir())) == MAX_NAMES
    assert names.inner("ours") is None
