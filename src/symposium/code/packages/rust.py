"""Crates: Cargo's unpacked sources and archives, then the sparse index (bus-mcp §2.3)."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from peerwire.jsonrpc.values import as_object
from symposium.code.packages.index_requests import ask
from symposium.code.packages.index_settings import CargoSettings
from symposium.code.packages.lock_files import cargo_pin
from symposium.code.packages.model import (
    Checksum,
    DamagedError,
    Ecosystem,
    OfflineError,
    PackageNameError,
    Packed,
    Pinned,
    RangeError,
    Release,
    SourceLocation,
    UnknownPackageError,
)
from symposium.code.packages.versions import (
    SemanticVersions,
    allowed_by,
    parse_cargo_range,
    parse_version,
)

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_OK: Final = ".cargo-ok"
"""File that Cargo writes after unpacking a crate completely."""


class Crates(SemanticVersions):
    """Find crates in the files of Cargo, or in its sparse index."""

    ecosystem = Ecosystem.RUST

    def __init__(self, settings: CargoSettings) -> None:
        self._settings = settings

    def canonical(self, name: str) -> str:
        """The name, unchanged: Cargo's files distinguish `serde_json` and `serde-json`."""
        if not _NAME.fullmatch(name):
            raise PackageNameError(f"{name[:80]!r} is not a valid crate name", "check the name")
        return name

    def allowed(self, wanted: str) -> Callable[[Sequence[str]], list[str]]:
        """Requirement in Cargo's syntax: `1.2` is `^1.2`."""
        read = parse_cargo_range(wanted)
        if read is None:
            raise RangeError(
                f"{wanted[:80]!r} is not a Cargo version requirement",
                "write 1.2, =1.2.3 or >=1, <2",
            )

        return allowed_by(read)

    def exact(self, wanted: str) -> str | None:
        """The version after `=`, if complete."""
        if not wanted.strip().startswith("="):
            return None
        text = wanted.strip()[1:].strip()
        return text if parse_version(text) else None

    def pinned(self, name: str, project: Path) -> Pinned | None:
        return cargo_pin(project, lambda other: other == name)

    def here(self, name: str, project: Path) -> Sequence[SourceLocation | Packed]:
        """Unpacked crates, then downloaded archives of Cargo."""
        del project
        return [*self._unpacked(name), *self._archives(name)]

    async def published(self, name: str) -> Sequence[Release]:
        """Releases in the sparse index (Cargo reference, "Index format")."""
        what = f"the crate {name}"
        if self._settings.problem:
            raise OfflineError(f"{what} is not on this machine; {self._settings.problem}", "")
        index = self._settings.index.rstrip("/")
        try:
            config = _decoded(await ask(f"{index}/config.json", what=what), index)
        except UnknownPackageError as error:
            raise OfflineError(f"{index} is not a sparse index of crates", error.message) from error
        lines = await ask(f"{index}/{_index_path(name.lower())}", what=what)
        template = str(config.get("dl", ""))
        rows = [_decoded(line, index) for line in lines.splitlines() if line.strip()]
        return [_release(template, row) for row in rows]

    def _unpacked(self, name: str) -> Iterator[SourceLocation]:
        for folder, version in _named(self._settings.home / "registry" / "src", name):
            mark = folder / _OK
            # A missing or empty marker means that unpacking was interrupted.
            if folder.is_dir() and mark.is_file() and mark.stat().st_size:
                yield SourceLocation(version, folder.resolve(), "tool")

    def _archives(self, name: str) -> Iterator[Packed]:
        for file, version in _named(self._settings.home / "registry" / "cache", name):
            if file.is_file():
                yield Packed(version, file)


def _named(directory: Path, name: str) -> Iterator[tuple[Path, str]]:
    """Files of a crate in the directories of registries, crates.io's first."""
    found = sorted(
        directory.glob(f"*/{name}-*"), key=lambda each: "crates.io" not in each.parent.name
    )
    for each in found:
        version = each.name.removeprefix(f"{name}-").removesuffix(".crate")
        if parse_version(version):
            yield each, version


def _index_path(name: str) -> str:
    match len(name):
        case 1 | 2:
            return f"{len(name)}/{name}"
        case 3:
            return f"3/{name[0]}/{name}"
        case _:
            return f"{name[:2]}/{name[2:4]}/{name}"


def _release(template: str, row: Any) -> Release:
    name, version, digits = str(row.get("name")), str(row.get("vers")), str(row.get("cksum"))
    marks = {
        "{crate}": name,
        "{version}": version,
        "{prefix}": _index_path(name).rpartition("/")[0],
        "{lowerprefix}": _index_path(name.lower()).rpartition("/")[0],
        "{sha256-checksum}": digits,
    }
    url = (
        template
        if any(each in template for each in marks)
        else f"{template}/{{crate}}/{{version}}/download"
    )
    for mark, value in marks.items():
        url = url.replace(mark, value)
    is_yanked = row.get("yanked") is True
    return Release(version, url, ".tar.gz", Checksum("sha256", digits), is_yanked=is_yanked)


def _decoded(line: bytes, index: str) -> Any:
    try:
        return as_object(msgspec.json.decode(line))
    except (msgspec.DecodeError, RecursionError) as error:
        raise DamagedError(f"{index} returned an invalid crate index: {error}", "") from error
