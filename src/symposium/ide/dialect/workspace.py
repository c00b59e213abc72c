"""The folder that a program is about: what its paths mean, and which files it may see."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from symposium.diffs.git import GitError, open_repository
from symposium.errors import SymposiumError

MOST_FILES: Final = 20_000
"""Files of a folder that are looked through."""

_MOST_ENTRIES: Final = 200_000


class OutsideError(SymposiumError):
    """A path leads out of the workspace."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder, and others that may be seen too.

    Attributes:
        root: what relative paths are relative to; resolved.
        others: folders outside it whose files may be named as well; resolved.
    """

    root: Path
    others: Sequence[Path] = ()

    def find(self, path: str) -> Path:
        """The file or folder that a path means; it need not exist.

        Raises:
            OutsideError: it is outside the workspace, be it through a link.
        """
        try:
            found = (self.root / path).resolve()
            found.exists()  # a name may be too long to be looked for
        except (OSError, ValueError, RuntimeError) as error:
            raise OutsideError(f"no file can be called {path[:200]!r}", "") from error
        if not any(found.is_relative_to(each) for each in (self.root, *self.others)):
            hint = f"name files in {self.root}"
            raise OutsideError(f"{path} is outside the workspace", hint)
        return found

    def shown(self, path: str | Path) -> str:
        """A path as people read it: relative to the root if it is inside."""
        try:
            return Path(self.root / path).resolve().relative_to(self.root).as_posix()
        except (OSError, ValueError, RuntimeError):
            return str(path)

    async def files(self, folder: Path) -> list[Path]:
        """The files of a folder that are not hidden and that git does not ignore."""
        try:
            listed = await _known_to_git(folder)
        except GitError:
            listed = None
        return await asyncio.to_thread(_kept, folder, listed)


def workspace(base_uri: str) -> Workspace:
    """The workspace of a base URI: a path, or a `file` URI.

    Raises:
        ExplainedError: it is no folder.
    """
    path = unquote(urlsplit(base_uri).path) if base_uri.startswith("file:") else base_uri
    try:
        root = Path(path).resolve()
        is_folder = root.is_dir()
    except (OSError, ValueError, RuntimeError):
        root, is_folder = Path(path), False
    if not is_folder:
        raise SymposiumError(f"there is no folder {path}", "give the folder of the project")
    return Workspace(root)


async def _known_to_git(folder: Path) -> list[Path]:
    repository = await open_repository(folder)
    wanted = ["--cached", "--others", "--exclude-standard", "-z", "--", str(folder)]
    answer = await repository.ask("ls-files", *wanted)
    if answer.code:
        raise GitError(f"git ls-files: {answer.said}", "")
    names = answer.output.split(b"\0")[:-1]
    return [repository.top / os.fsdecode(name) for name in names]


def _kept(folder: Path, listed: list[Path] | None) -> list[Path]:
    found = _walk(folder) if listed is None else sorted(set(listed))
    kept: list[Path] = []
    for path in found:
        inside = path.relative_to(folder).parts if path.is_relative_to(folder) else (".",)
        if any(part.startswith(".") for part in inside):
            continue
        # A link may lead anywhere.
        if path.is_symlink() or not path.is_file():
            continue
        if path.parent.resolve().is_relative_to(folder):
            kept.append(path)
        if len(kept) == MOST_FILES:
            break
    return kept


def _walk(folder: Path) -> Iterator[Path]:
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _MOST_ENTRIES:
                return
            yield Path(place, name)
