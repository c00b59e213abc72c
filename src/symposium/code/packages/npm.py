"""npm packages: `node_modules` of the project, then the registry."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from peerwire.jsonrpc.values import as_object
from symposium.code.packages.index_requests import ask
from symposium.code.packages.index_settings import NpmSettings
from symposium.code.packages.lock_files import npm_pin
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
)
from symposium.code.packages.project_files import json_of, upward
from symposium.code.packages.versions import (
    SemanticVersions,
    allowed_by,
    parse_npm_range,
    parse_version,
)

_NAME: Final = re.compile(r"(?:@[a-z0-9~_-][a-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*")
_MAX_LENGTH: Final = 214
_SHORT: Final = (("Accept", "application/vnd.npm.install-v1+json, application/json;q=0.8"),)
"""Requests versions without their descriptions; some registries ignore it."""

_STRONG: Final = ("sha512", "sha384", "sha256")


class NpmPackages(SemanticVersions):
    """Find npm packages in node_modules, or in the registry."""

    ecosystem = Ecosystem.NPM

    def __init__(self, settings: NpmSettings) -> None:
        self._settings = settings

    def canonical(self, name: str) -> str:
        """Return the name unchanged, because npm names have one spelling.

        Raises:
            PackageNameError: the name is invalid.
        """
        if len(name) > _MAX_LENGTH or not _NAME.fullmatch(name) or name == "node_modules":
            raise PackageNameError(
                f"{name[:80]!r} is not a valid npm package name", "check the name"
            )
        return name

    def allowed(self, wanted: str) -> Callable[[Sequence[str]], list[str]]:
        """Range in npm's syntax: `1.2` is every `1.2.x`."""
        read = parse_npm_range(wanted)
        if read is None:
            raise RangeError(
                f"{wanted[:80]!r} is not an npm version range", "write 1.2.3, ^1.2 or >=1 <2"
            )

        return allowed_by(read)

    def exact(self, wanted: str) -> str | None:
        """Return the version if the range is one complete version, else None."""
        text = wanted.strip().lstrip("=v ")
        return text if parse_version(text) else None

    def pinned(self, name: str, project: Path) -> Pinned | None:
        """Version in the lock file."""
        return npm_pin(project, lambda other: other == name)

    def here(self, name: str, project: Path) -> Sequence[SourceLocation | Packed]:
        """Installed copies of the package in the project."""
        return list(self._installed(name, project))

    async def published(self, name: str) -> Sequence[Release]:
        """Releases in the registry (npm's registry API, "Package metadata")."""
        what = f"the npm package {name}"
        if self._settings.problem:
            raise OfflineError(f"{what} is not on this machine; {self._settings.problem}", "")
        url = f"{self._settings.registry_of(name)}{quote(name, safe='@')}"
        token = self._settings.authorization(url)
        secret = (("Authorization", token),) if token else ()
        body = await ask(url, what=what, headers=(*_SHORT, *secret))
        try:
            versions = as_object(as_object(msgspec.json.decode(body)).get("versions"))
        except (msgspec.DecodeError, RecursionError) as error:
            raise DamagedError(f"{url} returned invalid package metadata: {error}", "") from error
        found = (self._release(version, as_object(row)) for version, row in versions.items())
        return [each for each in found if each is not None]

    def _installed(self, name: str, project: Path) -> Iterator[SourceLocation]:
        for folder in upward(project):
            root = (folder / "node_modules" / name).resolve()
            manifest = json_of(root / "package.json")
            version = manifest.get("version")
            # Links in a workspace may point outside; accept those to a package with this name.
            is_inside = root.is_relative_to(folder.resolve()) or "node_modules" in root.parts
            if is_inside and manifest.get("name") == name and isinstance(version, str):
                yield SourceLocation(version, root, "project")

    def _release(self, version: str, row: Mapping[str, Any]) -> Release | None:
        dist = as_object(row.get("dist"))
        url = dist.get("tarball")
        if not isinstance(url, str):
            return None
        checksum = _checksum(str(dist.get("integrity") or ""), str(dist.get("shasum") or ""))
        is_old = bool(row.get("deprecated"))
        secret = self._settings.authorization(url)
        return Release(version, url, ".tar.gz", checksum, is_yanked=is_old, authorization=secret)


def _checksum(integrity: str, shasum: str) -> Checksum | None:
    """Strongest given checksum (W3C Subresource Integrity); SHA-1 for old packages."""
    said = dict(each.split("?")[0].split("-", 1) for each in integrity.split() if "-" in each)
    for algorithm in _STRONG:
        if algorithm in said:
            try:
                return Checksum(algorithm, base64.b64decode(said[algorithm], validate=True).hex())
            except binascii.Error:
                break
    return Checksum("sha1", shasum) if shasum else None
