"""Content blocks for files that a prompt names as `@path`."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from localio.files import regular_content
from symposium.errors import SymposiumError

MAX_ATTACHMENT_BYTES: Final = 512 * 1024
"""Maximum bytes of an attached file."""

MAX_OFFERED: Final = 200
"""Maximum completions of one directory."""

# After a space or at the start: the @ of a mail address is inside a word.
_NAMED: Final = re.compile(r"(?<!\S)@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_CLOSING: Final = ".,;:!?)]}'"


class AttachmentError(SymposiumError):
    """A named file cannot be attached."""


class Attachments:
    """Read the files that prompts name.

    Args:
        root: directory of the files.
        is_embedded: whether to embed the content; otherwise blocks are links.
    """

    def __init__(self, root: Path, *, is_embedded: bool = False) -> None:
        self._root = root.resolve()
        self.is_embedded = is_embedded

    def blocks(self, text: str) -> list[Mapping[str, Any]]:
        """One content block for each file in the text.

        Raises:
            AttachmentError: one of them is missing, outside, too large, or not text.
        """
        places = dict.fromkeys(self._places(text))
        return [self._block(place) for place in places]

    def completions(self, typed: str) -> list[str]:
        """Paths that start with the text after the `@`; directories end in `/`."""
        lead, _, begin = typed.rpartition("/")
        try:
            directory = self._inside(lead or ".")
            with os.scandir(directory) as entries:
                found = sorted(
                    f"{each.name}/" if each.is_dir() else each.name
                    for each in entries
                    if each.name.startswith(begin) and (begin or not each.name.startswith("."))
                )
        except (OSError, AttachmentError):
            return []
        return [f"{lead}/{name}" if lead else name for name in found[:MAX_OFFERED]]

    def _places(self, text: str) -> Iterator[Path]:
        for quoted, bare in _NAMED.findall(text):
            if quoted:
                yield self._existing(quoted)
                continue
            # `@a.py,` names a.py, unless a file of the longer name exists.
            trimmed = bare.rstrip(_CLOSING)
            named = bare if _is_file(self._root / bare) else trimmed
            # `@property` and `@alice` are words: a path has a slash, a dot, or a file.
            if named and ("/" in named or "." in named or _exists(self._root / named)):
                yield self._existing(named)

    def _existing(self, named: str) -> Path:
        place = self._inside(named)
        if not _exists(place):
            raise _refused(named, f"does not exist in {self._root}")
        if not _is_file(place):
            raise _refused(named, "is not a regular file")
        return place

    def _inside(self, named: str) -> Path:
        try:
            place = (self._root / Path(named).expanduser()).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise _refused(named, f"is not a path: {error}") from error
        if not place.is_relative_to(self._root):
            raise _refused(named, f"is outside of {self._root}")
        return place

    def _block(self, place: Path) -> Mapping[str, Any]:
        named = str(place.relative_to(self._root))
        try:
            content = regular_content(place, MAX_ATTACHMENT_BYTES).decode()
        except OSError as error:
            raise _refused(named, f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise _refused(named, "is not UTF-8 text") from error
        except ValueError as error:
            raise _refused(named, f"is larger than {MAX_ATTACHMENT_BYTES // 1024} KiB") from error
        if "\0" in content:
            raise _refused(named, "is a binary file")
        if self.is_embedded:
            return {"type": "resource", "resource": {"uri": place.as_uri(), "text": content}}
        return {"type": "resource_link", "uri": place.as_uri(), "name": named}


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:
        # The name is too long, or a directory cannot be searched.
        return False


def _is_file(place: Path) -> bool:
    try:
        return place.is_file()
    except OSError:
        return False


def _refused(named: str, reason: str) -> AttachmentError:
    return AttachmentError(f"@{named} {reason}", "omit the @ to mention it without the file")
