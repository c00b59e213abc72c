"""What the user trusts: what is still to be asked, and what was answered."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symposium.trust.decision_file import Decision, DecisionFile, Verdict, decision_on
from symposium.trust.difference import difference
from symposium.trust.item import Item, TrustError
from symposium.trust.kept_content import KeptContent

MOST_PER_NAME: Final = 20
"""Decisions kept on contents of one name: enough for those who go to and fro between branches."""


@dataclass(frozen=True, slots=True)
class Question:
    """Content that the user has not judged yet.

    Attributes:
        item: what it is.
        before: the newest decision to trust something in its place; None if there was none.
        changes: a unified diff from that content; empty for what is new.
    """

    item: Item
    before: Decision | None = None
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
        self._kept = KeptContent(home / "trust")
        self._now = now

    def decisions(self) -> Sequence[Decision]:
        """All of them, the newest last."""
        self.trouble = None
        try:
            return self._file.read()
        except TrustError as error:
            self.trouble = error.message
            return ()

    def is_trusted(self, item: Item) -> bool:
        """Whether the user has allowed exactly this content in this place."""
        return bool(self.trusted([item]))

    def trusted(self, items: Iterable[Item]) -> list[Item]:
        """Those that may be used, and only as they were read."""
        decisions = self.decisions()
        return [each for each in items if _verdict(each, decisions) == "trusted"]

    def questions(self, items: Iterable[Item]) -> list[Question]:
        """Those that the user has neither allowed nor refused for good, each with what changed."""
        decisions = self.decisions()
        return [
            self._question(each, decisions) for each in items if _verdict(each, decisions) is None
        ]

    def grant(self, items: Iterable[Item]) -> None:
        """Trust exactly these contents from now on.

        Raises:
            TrustError: that cannot be written down.
        """
        self._decide(items, "trusted")

    def refuse(self, items: Iterable[Item]) -> None:
        """Never ask for these contents again, and never use them.

        Raises:
            TrustError: that cannot be written down.
        """
        self._decide(items, "refused")

    def revoke(self, chosen: Callable[[Decision], bool]) -> list[Decision]:
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

    def _question(self, item: Item, decisions: Sequence[Decision]) -> Question:
        for decision in reversed(decisions):
            if decision.place == item.place and decision.verdict == "trusted":
                old = self._kept.get(decision.sha256)
                return Question(item, decision, difference(old, item.content))
        return Question(item)

    def _decide(self, items: Iterable[Item], verdict: Verdict) -> None:
        with self._changing():
            decisions = list(self.decisions())
            if self.trouble is not None:
                self._file.put_aside()
            for item in items:
                self._kept.put(item.digest, item.content)
                decisions = _with(decisions, decision_on(item, verdict, self._now()))
            self._write(decisions)

    def _write(self, decisions: Sequence[Decision]) -> None:
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


def _verdict(item: Item, decisions: Sequence[Decision]) -> Verdict | None:
    found: list[Verdict] = [each.verdict for each in decisions if each.is_on(item)]
    return found[-1] if found else None


def _with(decisions: list[Decision], new: Decision) -> list[Decision]:
    """The list with one more; what was said of the same goes, and the oldest of its place."""
    others = [each for each in decisions if each.place != new.place]
    same = (new.sha256, new.links)
    mine = [
        each for each in decisions if each.place == new.place and (each.sha256, each.links) != same
    ]
    return [*others, *mine[-(MOST_PER_NAME - 1) :], new]
