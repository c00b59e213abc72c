"""The sources that we keep: each whole, or not there.

A package is unpacked beside its place and moved there in one step, with a receipt in it. What lies
in a place without one was not put there by us in full, and is replaced.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from symposium.package_sources.archives import unpack_sources
from symposium.package_sources.model import DamagedError, Ecosystem, Place

RECEIPT: Final = "receipt.json"
TREE: Final = "source"


class _Receipt(msgspec.Struct, frozen=True):
    version: str
    files: int


class SourceStore:
    """What is kept of one user.

    Args:
        directory: where; made when first needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def places(self, ecosystem: Ecosystem, name: str) -> list[Place]:
        """Every version of a package that is kept."""
        folder = self._folder(ecosystem, name)
        try:
            versions = sorted(each for each in folder.iterdir() if each.is_dir())
        except OSError:
            return []
        found = ((each, _receipt(each)) for each in versions)
        return [
            Place(receipt.version, (each / TREE).resolve(), "cache")
            for each, receipt in found
            if receipt
        ]

    def keep(
        self, ecosystem: Ecosystem, name: str, version: str, packed: tuple[Path, str]
    ) -> Place:
        """Unpack an archive, whose kind stands beside it, and keep what is in it.

        Raises:
            DamagedError: it is refused or damaged, or holds nothing.
        """
        folder = self._folder(ecosystem, name)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        place = folder / file_name(version)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as beside:
            made = Path(beside) / "made"
            tree = made / TREE
            tree.mkdir(parents=True)
            unpack_sources(*packed, tree)
            _lift(tree)
            count = sum(1 for each in tree.rglob("*") if each.is_file())
            if not count:
                raise DamagedError(f"the archive of {name} {version} holds no file", "")
            receipt = msgspec.json.encode(_Receipt(version, count))
            (made / RECEIPT).write_bytes(receipt)
            if place.exists() and _receipt(place) is None:
                shutil.rmtree(place)
            # Whoever came first has put the same there.
            with suppress(OSError):
                made.rename(place)
        if _receipt(place) is None:
            raise DamagedError(f"{name} {version} could not be kept in {place}", "is there room?")
        return Place(version, (place / TREE).resolve(), "cache")

    def _folder(self, ecosystem: Ecosystem, name: str) -> Path:
        return self._directory / ecosystem.value / file_name(name)


def file_name(name: str) -> str:
    """A name that no other has, and that no file system minds: it may differ in case alone."""
    plain = "".join(each if each.isalnum() or each in "-_.@" else "+" for each in name)
    if plain == name and name == name.lower() and not name.startswith("."):
        return name
    return f"{plain.lstrip('.')[:100]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _receipt(place: Path) -> _Receipt | None:
    try:
        receipt = msgspec.json.decode((place / RECEIPT).read_bytes(), type=_Receipt)
    except (OSError, msgspec.DecodeError):
        return None
    return receipt if (place / TREE).is_dir() else None


def _lift(tree: Path) -> None:
    """Where all lies in one directory, make it the tree."""
    entries: Sequence[Path] = list(tree.iterdir())
    if len(entries) != 1 or not entries[0].is_dir():
        return
    (only,) = entries
    # Beside the tree: what is lifted may hold a name as its own.
    inner = only.rename(tree.with_name("lifted"))
    tree.rmdir()
    inner.rename(tree)
