"""Receipts of installed agents: on the disk, and private."""

from pathlib import Path

import pytest
from tests.support.synced_files import SyncedFiles

from symposium.registry.receipts import RECEIPT, Receipt, read_receipt, write_receipt

GIVEN = Receipt(
    id="one",
    name="One",
    version="1.0",
    source="npm",
    origin="one@1.0",
    argv=("./bin/one",),
    when=1.0,
)


@pytest.mark.requirement("registry.receipts-synced")
def test_a_receipt_survives_a_power_failure_once_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = SyncedFiles(monkeypatch)

    write_receipt(GIVEN, tmp_path)

    assert synced.lost(tmp_path) == []
    assert read_receipt(tmp_path) == GIVEN
    assert (tmp_path / RECEIPT).stat().st_mode & 0o077 == 0
