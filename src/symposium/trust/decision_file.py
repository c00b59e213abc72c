"""The file of what the user has decided: private, whole at every moment, useless when damaged."""

import fcntl
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from localio.files import PRIVATE_FILE_MODE, write_whole
from symposium.trust.item import Item, TrustError

FILE: Final = "trust.json"

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

Verdict: TypeAlias = Literal["trusted", "refused"]


class Decision(Struct, frozen=True, kw_only=True):
    """What the user said of one content.

    Attributes:
        workspace: the directory it is stored in, canonical.
        sha256: of the content.
        links: those on the way to it, as `path -> target`.
        allows: everything it allows, as it was shown then: `kind: detail`.
        when: in seconds since 1970.
    """

    workspace: str
    kind: str
    name: str
    sha256: str
    links: tuple[str, ...] = ()
    verdict: Verdict = "trusted"
    allows: tuple[str, ...] = ()
    when: float = 0.0

    @property
    def place(self) -> tuple[str, str, str]:
        """What is the same for every content that stands there."""
        return self.workspace, self.kind, self.name

    def is_on(self, item: Item) -> bool:
        """Whether it was made on exactly this content, reached in this way."""
        made_on = (*self.place, self.sha256, self.links)
        return made_on == (*item.place, item.digest, tuple(link.text for link in item.links))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return msgspec.to_builtins(self)


def decision_on(item: Item, verdict: Verdict, when: float) -> Decision:
    """A new decision."""
    workspace, kind, name = item.place
    return Decision(
        workspace=workspace,
        kind=kind,
        name=name,
        sha256=item.digest,
        links=tuple(link.text for link in item.links),
        verdict=verdict,
        allows=tuple(f"{effect.kind}: {effect.detail}" for effect in item.effects),
        when=when,
    )


class DecisionFile:
    """The file of one home; read each time, replaced in one step."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def read(self) -> list[Decision]:
        """What it says, the newest last.

        Raises:
            TrustError: it is damaged, belongs to another user, or others can write it.
        """
        try:
            text = self._private_text()
            decisions = [] if text is None else _read(text)
        except (OSError, ValueError, RecursionError) as error:
            reason = f"{self.path} cannot be used ({error}): nothing is trusted"
            raise TrustError(reason, "fix it, or answer again") from error
        return sorted(decisions, key=lambda each: each.when)

    def write(self, decisions: Sequence[Decision]) -> None:
        """Replace it.

        Raises:
            OSError: it cannot be written.
        """
        text = msgspec.json.format(msgspec.json.encode({"version": 1, "decisions": decisions}))
        write_whole(self.path, text.decode() + "\n")

    def put_aside(self) -> None:
        """Keep what is damaged under another name.

        Raises:
            OSError: it cannot be moved.
        """
        self.path.replace(self.path.with_name(f"{FILE}.damaged"))

    @contextmanager
    def locked(self) -> Generator[None]:
        """Nobody else of ours changes it meanwhile; each holds it for milliseconds.

        Raises:
            OSError: there can be no lock.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self.path.with_name(f".{FILE}.lock")
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE_FILE_MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _private_text(self) -> bytes | None:
        try:
            with self.path.open("rb") as file:
                seen = os.fstat(file.fileno())
                if seen.st_uid != os.geteuid():
                    raise PermissionError(f"it belongs to user {seen.st_uid}, not to you")
                if seen.st_mode & _OTHERS_WRITE:
                    raise PermissionError("others can write it")
                return file.read()
        except FileNotFoundError:
            return None


class _Written(Struct):
    decisions: list[Decision]


def _read(text: bytes) -> list[Decision]:
    return msgspec.json.decode(text, type=_Written).decisions
