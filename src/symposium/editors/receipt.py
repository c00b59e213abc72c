"""What was changed in an editor's settings, kept until it is taken back."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from localio.files import read_text, write_whole
from symposium.errors import SymposiumError


class SettingsError(SymposiumError):
    """An editor's settings cannot be changed, or not be changed back."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One change to one file.

    Attributes:
        file: the absolute path of the file.
        wrote: what the text was right after the change, as a hash.
        original: the text before the change; None if there was no file.
        value: the member or the block that was written.
        previous: what the member was before, in a list; empty if there was none.
        made: how many objects on the way to the member had to be made.
    """

    file: str
    wrote: str
    original: str | None
    value: Any
    previous: tuple[Any, ...] = ()
    made: int = 0


def digest(text: str) -> str:
    """What a text is known by later."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of one user, a file for each editor.

    Attributes:
        directory: where they are; made when it is needed.
    """

    directory: Path

    def read(self, editor: str) -> Receipt | None:
        """The receipt for an editor; None if nothing of ours is in its settings.

        Raises:
            SettingsError: it cannot be read.
        """
        path = self._path(editor)
        try:
            text = read_text(path)
            return None if text is None else msgspec.json.decode(text, type=Receipt)
        except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
            raise SettingsError(
                f"{path}: this receipt cannot be read: {error}",
                "look at the editor's settings and take Symposium out by hand",
            ) from error

    def write(self, editor: str, receipt: Receipt) -> None:
        """Keep a receipt, and the text before the change as a file of its own beside it."""
        if receipt.original is not None:
            write_whole(self.backup(editor, receipt), receipt.original)
        write_whole(
            self._path(editor), msgspec.json.format(msgspec.json.encode(receipt)).decode() + "\n"
        )

    def remove(self, editor: str) -> None:
        """Forget a change that has been taken back."""
        self._path(editor).unlink(missing_ok=True)

    def backup(self, editor: str, receipt: Receipt) -> Path:
        """Where the text before the change is."""
        return self.directory / f"{editor}.{Path(receipt.file).name}.bak"

    def _path(self, editor: str) -> Path:
        return self.directory / f"{editor}.json"
