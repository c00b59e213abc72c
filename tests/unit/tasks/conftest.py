"""A clone for each test, copied from a template."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.task_harness import (
    Prepared,
    Scene,
    copy_template,
    make_template,
    open_scene,
    prepare,
    settings_file,
)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An upstream and a clone."""
    directory = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(directory)))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        return make_template(directory)


@pytest.fixture(scope="session")
def prepared(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """A taskspace of the template's clone."""
    directory = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(directory / "home"))
        patch.setenv("GIT_CONFIG_GLOBAL", str(template / "gitconfig"))
        return asyncio.run(prepare(template, directory / "place"))


@pytest.fixture
def place(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with an upstream and a clone, and git without other settings."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(template / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return copy_template(template, tmp_path / "place")


@pytest.fixture
def scene(place: Path, prepared: Prepared) -> Iterator[Scene]:
    """An engine over `place`."""
    made = open_scene(place)
    made.prepared = prepared
    yield made
    made.engine.close()
