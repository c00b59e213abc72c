"""The user's decisions on content: stored, compared, and asked for."""

import difflib
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from localio.files import PRIVATE_FILE_MODE, write_whole
from localio.text import plain_text
from symposium.permissions.trusted_content import (
    KIND,
    EffectKind,
    TrustEffect,
    TrustError,
    TrustItem,
)

FILE: Final = "trust.json"

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH

Verdict: TypeAlias = Literal["trusted", "refused"]


class TrustDecision(Struct, frozen=True, kw_only=True):
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

    def is_on(self, item: TrustItem) -> bool:
        """Whether it was made on exactly this content, reached in this way."""
        made_on = (*self.place, self.sha256, self.links)
        return made_on == (*item.place, item.digest, tuple(link.text for link in item.links))

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return msgspec.to_builtins(self)


def decision_on(item: TrustItem, verdict: Verdict, when: float) -> TrustDecision:
    """A new decision."""
    workspace, kind, name = item.place
    return TrustDecision(
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

    def read(self) -> list[TrustDecision]:
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

    def write(self, decisions: Sequence[TrustDecision]) -> None:
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
    decisions: list[TrustDecision]


def _read(text: bytes) -> list[TrustDecision]:
    return msgspec.json.decode(text, type=_Written).decisions


_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class ContentCopies:
    """A private directory with one file for each digest; losing it loses diffs, and no decision."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, digest: str) -> bytes | None:
        """The content; None if it is not kept."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            content = (self._directory / digest).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def put(self, digest: str, content: bytes) -> None:
        """Keep it.

        Raises:
            OSError: it cannot be written.
        """
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._directory / f".{digest}.{os.getpid()}"
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        beside.replace(self._directory / digest)

    def keep_only(self, digests: AbstractSet[str]) -> None:
        """Take away what no decision speaks of any more."""
        if not self._directory.is_dir():
            return
        for each in self._directory.iterdir():
            if each.name not in digests:
                each.unlink(missing_ok=True)


MAX_LINES: Final = 200
"""Lines that are shown; how many more there are is said."""


def difference(old: bytes | None, new: bytes) -> str:
    """A unified diff for people, without control characters; words where there can be none."""
    if old is None:
        return "(the content that was trusted before is not kept any more)"
    if old == new:
        return "(the content is the same; a link on the way to it leads elsewhere)"
    before, after = _text_lines(old), _text_lines(new)
    if before is None or after is None:
        return f"(not text: {len(old)} bytes before, {len(new)} now)"
    lines = list(difflib.unified_diff(before, after, "trusted before", "now", lineterm=""))
    shown = lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        shown.append(f"(and {len(lines) - MAX_LINES} more lines)")
    return "\n".join(shown)


def _text_lines(content: bytes) -> list[str] | None:
    try:
        return plain_text(content.decode()).split("\n")
    except UnicodeDecodeError:
        return None


MAX_PER_NAME: Final = 20
"""Decisions kept on contents of one name: enough for those who go to and fro between branches."""


@dataclass(frozen=True, slots=True)
class Question:
    """Content that the user has not judged yet.

    Attributes:
        item: what it is.
        before: the newest decision to trust something in its place; None if there was none.
        changes: a unified diff from that content; empty for what is new.
    """

    item: TrustItem
    before: TrustDecision | None = None
    changes: str = ""


class TrustStore:
    """The decisions of one user.

    Attributes:
        trouble: what was wrong with the file when it was last read, in words; None for nothing. A
            damaged file trusts nothing.
    """

    def __init__(self, home: Path, now: Callable[[], float] = time.time) -> None:
        self.trouble: str | None = None
        self._file = DecisionFile(home)
        self._kept = ContentCopies(home / "trust")
        self._now = now

    def decisions(self) -> Sequence[TrustDecision]:
        """All of them, the newest last."""
        self.trouble = None
        try:
            return self._file.read()
        except TrustError as error:
            self.trouble = error.message
            return ()

    def is_trusted(self, item: TrustItem) -> bool:
        """Whether the user has allowed exactly this content in this place."""
        return bool(self.trusted([item]))

    def trusted(self, items: Iterable[TrustItem]) -> list[TrustItem]:
        """Those that may be used, and only as they were read."""
        decisions = self.decisions()
        return [each for each in items if _verdict(each, decisions) == "trusted"]

    def questions(self, items: Iterable[TrustItem]) -> list[Question]:
        """Those that the user has neither allowed nor refused for good, each with what changed."""
        decisions = self.decisions()
        return [
            self._question(each, decisions) for each in items if _verdict(each, decisions) is None
        ]

    def grant(self, items: Iterable[TrustItem]) -> None:
        """Trust exactly these contents from now on.

        Raises:
            TrustError: that cannot be written down.
        """
        self._decide(items, "trusted")

    def refuse(self, items: Iterable[TrustItem]) -> None:
        """Never ask for these contents again, and never use them.

        Raises:
            TrustError: that cannot be written down.
        """
        self._decide(items, "refused")

    def revoke(self, chosen: Callable[[TrustDecision], bool]) -> list[TrustDecision]:
        """Forget the decisions that are chosen; those that were.

        Raises:
            TrustError: that cannot be written down.
        """
        with self._changing():
            before = self.decisions()
            gone = [each for each in before if chosen(each)]
            if gone:
                self._write([each for each in before if not chosen(each)])
        return gone

    def _question(self, item: TrustItem, decisions: Sequence[TrustDecision]) -> Question:
        for decision in reversed(decisions):
            if decision.place == item.place and decision.verdict == "trusted":
                old = self._kept.get(decision.sha256)
                return Question(item, decision, difference(old, item.content))
        return Question(item)

    def _decide(self, items: Iterable[TrustItem], verdict: Verdict) -> None:
        with self._changing():
            decisions = list(self.decisions())
            if self.trouble is not None:
                self._file.put_aside()
            for item in items:
                self._kept.put(item.digest, item.content)
                decisions = _with(decisions, decision_on(item, verdict, self._now()))
            self._write(decisions)

    def _write(self, decisions: Sequence[TrustDecision]) -> None:
        self._file.write(decisions)
        self._kept.keep_only({each.sha256 for each in decisions})

    @contextmanager
    def _changing(self) -> Generator[None]:
        try:
            with self._file.locked():
                yield
        except OSError as error:
            raise TrustError(
                f"{self._file.path} cannot be written: {error}",
                "nothing has been decided; mend the permissions of its directory",
            ) from error


def _verdict(item: TrustItem, decisions: Sequence[TrustDecision]) -> Verdict | None:
    found: list[Verdict] = [each.verdict for each in decisions if each.is_on(item)]
    return found[-1] if found else None


def _with(decisions: list[TrustDecision], new: TrustDecision) -> list[TrustDecision]:
    """The list with one more; what was said of the same goes, and the oldest of its place."""
    others = [each for each in decisions if each.place != new.place]
    same = (new.sha256, new.links)
    mine = [
        each for each in decisions if each.place == new.place and (each.sha256, each.links) != same
    ]
    return [*others, *mine[-(MAX_PER_NAME - 1) :], new]


_WORDS: Final[dict[EffectKind, str]] = {
    "command": "runs",
    "server": "reaches",
    "variable": "sets",
    "link": "follows",
    "text": "tells the agent",
    "mod": "uses the mod",
}


def consent_text(questions: Iterable[Question]) -> str:
    """All questions as plain lines; nothing in them can pass for anything but text."""
    return "\n\n".join("\n".join(_question_lines(each)) for each in questions)


def effect_line(effect: TrustEffect) -> str:
    """One effect on one line, in words."""
    return f"{_WORDS[effect.kind]}: {_on_one_line(effect.detail)}"


def _question_lines(question: Question) -> Iterator[str]:
    item = question.item
    state = "changed" if question.before is not None else "new"
    yield f"{_on_one_line(item.name)} ({item.kind}, {state}, sha256 {item.digest[:12]})"
    effects = item.effects
    if item.kind == KIND:
        yield "  Symposium uses none of this; your agent or your editor may, whatever you answer."
    for effect in effects:
        yield from _of_effect(effect)
    if not effects:
        yield "  starts nothing"
    if question.before is not None:
        yield "  changed since you trusted it:"
        yield from (f"    {line}" for line in question.changes.split("\n"))


def _of_effect(effect: TrustEffect) -> Iterator[str]:
    if effect.kind != "text":
        yield f"  {effect_line(effect)}"
        return
    lines = plain_text(effect.detail.strip("\n")).split("\n")
    yield f"  {_WORDS[effect.kind]}:"
    yield from (f"    | {line}" for line in lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        yield f"    (and {len(lines) - MAX_LINES} more lines)"


def _on_one_line(text: str) -> str:
    return plain_text(text).replace("\n", "␊").replace("\t", "␉")
