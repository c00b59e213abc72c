"""Walkthroughs of one project or taskspace, with their versions, in a folder.

A version is one file that never changes: a reader during a write sees the previous one.
"""

import hashlib
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from localio.files import write_whole
from symposium.documents.walkthroughs.document import WalkthroughError
from symposium.documents.walkthroughs.grammar import MAX_CHARACTERS
from symposium.documents.walkthroughs.sections import appended, title_of, with_section
from symposium.errors import NotFoundError

Mode: TypeAlias = Literal["replace", "append", "update-section"]

MAX_VERSIONS: Final = 200
"""Maximum number of versions per walkthrough; the oldest are deleted first."""

MAX_WALKTHROUGHS: Final = 500
"""Maximum number of walkthroughs in a list."""

HOW_ONE_COMES: Final = (
    "agents make them with the tool present_walkthrough; "
    "`symposium walkthrough show FILE.md` shows a file"
)

_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_VERSION: Final = re.compile(r"([0-9]{6})\.json")
_ATTEMPTS: Final = 50


class Draft(Struct, frozen=True):
    """A walkthrough to store.

    Attributes:
        markdown: the walkthrough, or the change.
        base_uri: base folder of relative paths.
        mode: effect on an existing walkthrough.
        id: id of the walkthrough; default: a new one, or the newest one for a change.
        section: heading of the section to replace, for `update-section`.
    """

    markdown: str
    base_uri: str
    mode: Mode = "replace"
    id: str | None = None
    section: str | None = None


class StoredWalkthrough(Struct, frozen=True, rename="camel"):
    """One version of a walkthrough.

    Attributes:
        created_at: time of this version, in seconds since 1970.
    """

    id: str
    version: int
    title: str
    base_uri: str
    created_at: float
    mode: Mode
    markdown: str


def project_folder(home: Path, base: Path) -> Path:
    """Folder for the walkthroughs of a project.

    Args:
        home: the user's state directory.
        base: any folder of the project; the root of its git worktree identifies it.
    """
    place = base.resolve()
    top = next((each for each in (place, *place.parents) if (each / ".git").exists()), place)
    name = re.sub(r"[^a-z0-9]+", "-", top.name.lower()).strip("-")[:40] or "project"
    digest = hashlib.sha256(os.fsencode(top)).hexdigest()[:12]
    return home / "walkthroughs" / f"{name}-{digest}"


class WalkthroughStore:
    """Walkthroughs in a folder, which is created with the first one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, draft: Draft) -> StoredWalkthrough:
        """Store a walkthrough, or the next version of one.

        Raises:
            NotFoundError: it does not exist.
            WalkthroughError: it is too long, lacks the section, or cannot be written.
        """
        for _ in range(_ATTEMPTS):
            stored = self._next(draft)
            try:
                self._write(stored)
            except FileExistsError:
                continue  # another writer was faster, so apply the change to its version
            except OSError as error:
                message = f"cannot store the walkthrough in {self._folder}: {error.strerror}"
                raise WalkthroughError(message, "fix its permissions") from error
            self._prune(stored.id)
            return stored
        raise WalkthroughError(f"the walkthrough {draft.id} keeps changing", "try again")

    def newest(self) -> Iterator[StoredWalkthrough]:
        """Newest version of each walkthrough, last changed first."""
        with suppress(OSError):
            names = [each.name for each in self._folder.iterdir() if _ID.fullmatch(each.name)]
            found = (self._newest(name) for name in sorted(names))
            known = [each for each in found if each is not None]
            known.sort(key=lambda each: (each.created_at, each.id), reverse=True)
            yield from known[:MAX_WALKTHROUGHS]

    def versions(self, walkthrough_id: str) -> list[int]:
        """Versions of a walkthrough, oldest first."""
        if not _ID.fullmatch(walkthrough_id):
            return []
        with suppress(OSError):
            names = (each.name for each in (self._folder / walkthrough_id).iterdir())
            return sorted(int(found[1]) for name in names if (found := _VERSION.fullmatch(name)))
        return []

    def load(
        self, walkthrough_id: str | None = None, version: int | None = None
    ) -> StoredWalkthrough:
        """Read a walkthrough; default: the newest version of the last changed one.

        Raises:
            NotFoundError: it does not exist.
            WalkthroughError: it cannot be read.
        """
        if walkthrough_id is None:
            newest = next(self.newest(), None)
            if newest is None:
                raise NotFoundError("no walkthrough is stored here", HOW_ONE_COMES)
            walkthrough_id = newest.id
        known = self.versions(walkthrough_id)
        if not known:
            message = f"unknown walkthrough {walkthrough_id!r}"
            raise NotFoundError(message, "symposium walkthrough list shows all")
        if version is not None and version not in known:
            message = f"{walkthrough_id} has no version {version}"
            raise NotFoundError(message, f"it has {known[0]} to {known[-1]}")
        return self._read(walkthrough_id, known[-1] if version is None else version)

    def _next(self, draft: Draft) -> StoredWalkthrough:
        before: StoredWalkthrough | None = None
        if draft.id is not None or draft.mode != "replace":
            before = self.load(draft.id)
        match draft.mode, before:
            case "append", StoredWalkthrough(markdown=old):
                text = appended(old, draft.markdown)
            case "update-section", StoredWalkthrough(markdown=old):
                if not draft.section:
                    raise WalkthroughError("update-section needs a section", "give a heading")
                text = with_section(old, draft.section, draft.markdown)
            case _:
                text = draft.markdown
        if len(text) > MAX_CHARACTERS:
            message = f"the walkthrough would have {len(text)} characters"
            raise WalkthroughError(message, f"at most {MAX_CHARACTERS} are allowed; make a new one")
        text = text.encode(errors="replace").decode()
        known = uuid.uuid4().hex[:8] if before is None else before.id
        number = 1 if before is None else before.version + 1
        now = time.time()
        return StoredWalkthrough(
            known, number, title_of(text), draft.base_uri, now, draft.mode, text
        )

    def _write(self, stored: StoredWalkthrough) -> None:
        folder = self._folder / stored.id
        draft = folder / f".{uuid.uuid4().hex}"
        try:
            write_whole(draft, msgspec.json.encode(stored).decode())
            # The link fails if the version exists, and publishes a complete file.
            os.link(draft, folder / _name(stored.version))
        finally:
            draft.unlink(missing_ok=True)

    def _read(self, walkthrough_id: str, version: int) -> StoredWalkthrough:
        path = self._folder / walkthrough_id / _name(version)
        try:
            return msgspec.json.decode(path.read_bytes(), type=StoredWalkthrough)
        except (OSError, msgspec.MsgspecError) as error:
            raise WalkthroughError(f"cannot read {path}: {error}", "remove it") from error

    def _newest(self, walkthrough_id: str) -> StoredWalkthrough | None:
        for version in reversed(self.versions(walkthrough_id)):
            with suppress(WalkthroughError):
                return self._read(walkthrough_id, version)
        return None

    def _prune(self, walkthrough_id: str) -> None:
        for version in self.versions(walkthrough_id)[:-MAX_VERSIONS]:
            (self._folder / walkthrough_id / _name(version)).unlink(missing_ok=True)


def _name(version: int) -> str:
    return f"{version:06}.json"
