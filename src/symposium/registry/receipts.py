"""What is installed: one directory for each version, and in it a receipt that says so.

A directory without a receipt is half-made and counts as none: the receipt is written last.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from localio.files import write_whole
from peerwire.transports.command import Command

RECEIPT: Final = ".symposium-receipt.json"


class Receipt(Struct, frozen=True, kw_only=True):
    """How an installed agent came here, and how it is started.

    Attributes:
        source: the way it came by: `binary`, `npx`, `uvx`, `pipx` or `cargo`.
        origin: the archive's URL, or the package as it was asked for.
        version: as the registry says it.
        argv: how it is started; a word that begins with `./` is a path in its directory.
        sha256: of the archive, where there was one.
        is_verified: whether the registry published that sum, and it was the same.
        integrity: the package's own sum, as its registry gives it.
        when: of the installation, in seconds since 1970.
    """

    id: str
    name: str
    version: str
    source: str
    origin: str
    argv: tuple[str, ...]
    when: float
    env: dict[str, str] = {}
    sha256: str | None = None
    is_verified: bool = False
    integrity: str | None = None


def read_receipt(directory: Path) -> Receipt | None:
    """What is installed in a version's directory; None for nothing that can be used."""
    try:
        return msgspec.json.decode((directory / RECEIPT).read_bytes(), type=Receipt)
    except (OSError, msgspec.DecodeError, UnicodeError):
        return None


def write_receipt(receipt: Receipt, directory: Path) -> None:
    """Say that it is installed; lasts when this returns."""
    write_whole(directory / RECEIPT, msgspec.json.format(msgspec.json.encode(receipt)))


def installed(bin_directory: Path) -> Mapping[str, Receipt]:
    """The newest receipt of each installed agent, by id, in order of ids."""
    found: dict[str, Receipt] = {}
    for directory in sorted(bin_directory.glob("[a-z]*")):
        if versions := installed_versions(directory):
            found[directory.name] = versions[-1]
    return found


def installed_versions(agent_directory: Path) -> list[Receipt]:
    """The receipts of one agent, the newest installation last."""
    found = [read_receipt(each) for each in agent_directory.glob("[!.]*")]
    return sorted((each for each in found if each is not None), key=lambda each: each.when)


def installed_command(bin_directory: Path, receipt: Receipt) -> Command:
    """The program itself, without npx or any other go-between."""
    directory = bin_directory / receipt.id / receipt.version
    argv = tuple(
        str(directory / word[2:]) if word.startswith("./") and at < _PATHS else word
        for at, word in enumerate(receipt.argv)
    )
    return Command(argv, dict(receipt.env), receipt.name)


_PATHS: Final = 2
"""Words at the front that may be paths of ours: an interpreter and its script."""
