"""What the user has answered to recommendations: kept beside the config, private, whole."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from localio.files import read_text, write_whole
from symposium.errors import SymposiumError
from symposium.recommendations.comparison import Answers

FILE: Final = "recommendation-answers.json"


class _Kept(Struct, forbid_unknown_fields=False):
    declined: set[str] = msgspec.field(default_factory=set[str])
    kept: set[str] = msgspec.field(default_factory=set[str])
    added: dict[str, set[str]] = msgspec.field(default_factory=dict[str, set[str]])
    """By workspace."""


class AnswerMemory:
    """The answers of one user; a damaged file counts as none, and is replaced by the next one.

    Attributes:
        trouble: what was wrong with the file when it was last read; None for nothing.
    """

    def __init__(self, home: Path) -> None:
        self.trouble: str | None = None
        self._file = home / FILE

    def answers(self, workspace: Path) -> Answers:
        """What matters in a workspace."""
        kept = self._read()
        elsewhere = {
            each for place, added in kept.added.items() if place != str(workspace) for each in added
        }
        here = kept.added.get(str(workspace), set[str]()) - elsewhere
        return Answers(frozenset(kept.declined), frozenset(here), frozenset(kept.kept))

    def decline(self, identities: Iterable[str]) -> None:
        """Never offer these again.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.declined |= set(identities)
        self._write(kept)

    def keep(self, identities: Iterable[str]) -> None:
        """Never offer to take these away again.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.kept |= set(identities)
        self._write(kept)

    def added(self, workspace: Path, identities: Iterable[str]) -> None:
        """These were added for a workspace.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        kept.added.setdefault(str(workspace), set()).update(identities)
        self._write(kept)

    def forget(self) -> int:
        """Offer everything again that was declined; how many there were.

        Raises:
            ExplainedError: it cannot be written.
        """
        kept = self._read()
        count = len(kept.declined) + len(kept.kept)
        kept.declined, kept.kept = set(), set()
        self._write(kept)
        return count

    def _read(self) -> _Kept:
        self.trouble = None
        try:
            text = read_text(self._file)
            return _Kept() if text is None else msgspec.json.decode(text, type=_Kept)
        except (OSError, ValueError) as error:
            self.trouble = f"{self._file} cannot be read ({error}): nothing is remembered"
            return _Kept()

    def _write(self, kept: _Kept) -> None:
        try:
            text = msgspec.json.format(msgspec.json.encode(kept, order="sorted"))
            write_whole(self._file, text.decode() + "\n")
        except OSError as error:
            raise SymposiumError(f"{self._file} cannot be written: {error}", "") from error
