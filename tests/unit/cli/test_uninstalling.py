"""Directories that `symposium uninstall` finds."""

from pathlib import Path

import pytest

from symposium.cli.chat_input import history_file
from symposium.cli.uninstalling import find_installation
from symposium.config.paths import Paths


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
