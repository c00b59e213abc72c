"""The user's trust decisions on content: storage, comparison, and questions."""

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
    """Decision on one content.

    Attributes:
        workspace: canonical directory of the content.
        sha256: of the content.
        links: links in its path, as `path -> target`.
        allows: effects shown to the user: `kind: detail`.
        when: time in seconds since 1970.
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
        """Key of the content's location, independent of the content."""
        return self.workspace, self.kind, self.name

    def is_on(self, item: TrustItem) -> bool:
        """Whether it is about exactly this content, reached by the same links."""
        made_on = (*self.place, self.sha256, self.links)
        return made_on == (*item.place, item.digest, tuple(link.text for link in item.links))

    def as_json(self) -> dict[str, Any]:
        """JSON form for programs."""
        return msgspec.to_builtins(self)


def decision_on(item: TrustItem, verdict: Verdict, when: float) -> TrustDecision:
    """New decision on content."""
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
    """Decision file of one home directory; read on each use, replaced atomically."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def read(self) -> list[TrustDecision]:
        """Decisions in the file, newest last.

        Raises:
            TrustError: it is damaged, belongs to another user, or is writable for others.
        """
        try:
            text = self._private_text()
            decisions = [] if text is None else _read(text)
        except (OSError, ValueError, RecursionError) as error:
            reason = f"cannot use {self.path} ({error}), so nothing is trusted"
            raise TrustError(reason, "fix the file, or decide again") from error
        return sorted(decisions, key=lambda each: each.when)

    def write(self, decisions: Sequence[TrustDecision]) -> None:
        """Replace the file.

        Raises:
            OSError: it cannot be written.
        """
        text = msgspec.json.format(msgspec.json.encode({"version": 1, "decisions": decisions}))
        write_whole(self.path, text.decode() + "\n")

    def put_aside(self) -> None:
        """Move a damaged file to another name.

        Raises:
            OSError: it cannot be moved.
        """
        self.path.replace(self.path.with_name(f"{FILE}.damaged"))

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock against other processes of Symposium, for milliseconds.

        Raises:
            OSError: the lock cannot be created.
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
                    raise PermissionError("it is writable for others")
                return file.read()
        except FileNotFoundError:
            return None


class _Written(Struct):
    decisions: list[TrustDecision]


def _read(text: bytes) -> list[TrustDecision]:
    return msgspec.json.decode(text, type=_Written).decisions


_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class ContentCopies:
    """Private directory with copies by digest; needed for diffs only, not for decisions."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, digest: str) -> bytes | None:
        """The content; None if not stored."""
        if not _DIGEST.fullmatch(digest):
            return None
        try:
            content = (self._directory / digest).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def put(self, digest: str, content: bytes) -> None:
        """Store content.

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
        """Delete copies without a decision."""
        if not self._directory.is_dir():
            return
        for each in self._directory.iterdir():
            if each.name not in digests:
                each.unlink(missing_ok=True)


MAX_LINES: Final = 200
"""Maximum number of displayed lines; the rest is counted."""


def difference(old: bytes | None, new: bytes) -> str:
    """Unified diff for display without control characters, or a text if impossible."""
    if old is None:
        return "(the previously trusted content is no longer stored)"
    if old == new:
        return "(the content is unchanged; a link in its path has another target)"
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
"""Stored decisions per name: enough to switch between branches."""


@dataclass(frozen=True, slots=True)
class Question:
    """Content without a decision.

    Attributes:
        item: the content.
        before: newest decision to trust content at its location; None for none.
        changes: unified diff from that content; empty for new content.
    """

    item: TrustItem
    before: TrustDecision | None = None
    changes: str = ""


class TrustStore:
    """Trust decisions of one user.

    Attributes:
        problem: problem of the decision file at its last reading; None if valid. A damaged file
            trusts nothing.
    """

    def __init__(self, home: Path, now: Callable[[], float] = time.time) -> None:
        self.problem: str | None = None
        self._file = DecisionFile(home)
        self._kept = ContentCopies(home / "trust")
        self._now = now

    def decisions(self) -> Sequence[TrustDecision]:
        """All decisions, newest last."""
        self.problem = None
        try:
            return self._file.read()
        except TrustError as error:
            self.problem = str(error)
            return ()

    def is_trusted(self, item: TrustItem) -> bool:
        """Whether the user trusts exactly this content at its location."""
        return bool(self.trusted([item]))

    def trusted(self, items: Iterable[TrustItem]) -> list[TrustItem]:
        """Trusted items; only their content as read may be used."""
        decisions = self.decisions()
        return [each for each in items if _verdict(each, decisions) == "trusted"]

    def questions(self, items: Iterable[TrustItem]) -> list[Question]:
        """Items neither trusted nor refused, with their changes."""
        decisions = self.decisions()
        return [
            self._question(each, decisions) for each in items if _verdict(each, decisions) is None
        ]

    def grant(self, items: Iterable[TrustItem]) -> None:
        """Trust exactly these contents.

        Raises:
            TrustError: the decision cannot be stored.
        """
        self._decide(items, "trusted")

    def refuse(self, items: Iterable[TrustItem]) -> None:
        """Refuse these contents without further questions.

        Raises:
            TrustError: the decision cannot be stored.
        """
        self._decide(items, "refused")

    def revoke(self, chosen: Callable[[TrustDecision], bool]) -> list[TrustDecision]:
        """Delete matching decisions; returns them.

        Raises:
            TrustError: the change cannot be stored.
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
            if self.problem is not None:
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
                f"could not write {self._file.path}: {error}",
                "nothing was decided; fix the permissions of its directory",
            ) from error


def _verdict(item: TrustItem, decisions: Sequence[TrustDecision]) -> Verdict | None:
    found: list[Verdict] = [each.verdict for each in decisions if each.is_on(item)]
    return found[-1] if found else None


def _with(decisions: list[TrustDecision], new: TrustDecision) -> list[TrustDecision]:
    """Add a decision; it replaces one on the same content, or the oldest on its location."""
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
    "text": "instructs the agent",
    "mod": "uses the mod",
}


def consent_text(questions: Iterable[Question]) -> str:
    """All questions as plain lines, with escaped control characters."""
    return "\n\n".join("\n".join(_question_lines(each)) for each in questions)


def effect_line(effect: TrustEffect) -> str:
    return f"{_WORDS[effect.kind]}: {_on_one_line(effect.detail)}"


def _question_lines(question: Question) -> Iterator[str]:
    item = question.item
    state = "changed" if question.before is not None else "new"
    yield f"{_on_one_line(item.name)} ({item.kind}, {state}, sha256 {item.digest[:12]})"
    effects = item.effects
    if item.kind == KIND:
        yield (
            "  Symposium does not use this. Your agent or editor may use it, whatever you answer."
        )
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
