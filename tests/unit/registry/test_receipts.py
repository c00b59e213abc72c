"""Receipts of installed agents: durable and private."""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.synced_files import SyncedFiles

from symposium.registry.index import (
    RECEIPT,
    InstallReceipt,
    installed,
    installed_command,
    installed_versions,
    read_receipt,
    write_receipt,
)

GIVEN = InstallReceipt(
    id="one",
    name="One",
    version="1.0",
    source="npm",
    origin="one@1.0",
    argv=("./bin/one",),
    when=1.0,
)


@pytest.mark.requirement("registry.receipts-synced")
def test_written_receipt_is_synced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = SyncedFiles(monkeypatch)

    write_receipt(GIVEN, tmp_path)

    assert synced.lost(tmp_path) == []
    assert read_receipt(tmp_path) == GIVEN
    assert (tmp_path / RECEIPT).stat().st_mode & 0o077 == 0


@pytest.mark.requirement("registry.receipts", "registry.install-versions")
def test_last_installed_version_is_used(tmp_path: Path) -> None:
    agent = tmp_path / "one"
    for version, when in (("3.0", 1.0), ("1.0", 3.0), ("2.0", 2.0)):
        (agent / version).mkdir(parents=True)
        write_receipt(replace(GIVEN, version=version, when=when), agent / version)
    (agent / "half").mkdir()

    assert [each.version for each in installed_versions(agent)] == ["3.0", "2.0", "1.0"]
    assert {name: each.version for name, each in installed(tmp_path).items()} == {"one": "1.0"}


@pytest.mark.requirement("registry.receipts")
def test_only_the_first_two_words_of_a_command_can_be_relative_paths(
    tmp_path: Path,
) -> None:
    receipt = replace(GIVEN, argv=("./bin/node", "./main.js", "./config", "-x"))
    place = tmp_path / "one" / "1.0"

    assert installed_command(tmp_path, receipt).argv == (
        *(str(place / "bin/node"), str(place / "main.js")),
        *("./config", "-x"),
    )


@pytest.mark.requirement("registry.receipts")
def test_installed_agents_are_sorted_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / name / "1.0").mkdir(parents=True)
        write_receipt(replace(GIVEN, id=name), tmp_path / name / "1.0")
    # A disk lists names in any order.
    listed = os.scandir

    @contextmanager
    def backwards(path: Any = ".") -> Generator[Iterator[os.DirEntry[str]]]:
        with listed(path) as entries:
            yield iter(sorted(entries, key=lambda each: each.name, reverse=True))

    monkeypatch.setattr(os, "scandir", backwards)

    assert list(installed(tmp_path)) == ["a", "b", "c"]
