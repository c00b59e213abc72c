"""Choose which guidance applies to a session, and fit it into a budget of bytes.

A text says with `applies_to` in its front matter when it applies; one without it always does:

    applies_to: "file:pyproject.toml, file:*.py, word:test"

A text with conditions on files applies if one of its patterns matches a file of the workspace, a
text with conditions on words if one of them begins a word of the task; with both kinds, both must.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Final

from symposium.guidance.text import GuidanceText

MAX_ENTRIES: Final = 5000
"""Files and folders of a workspace that patterns are compared with."""

MAX_DEPTH: Final = 3
"""Levels of folders, the root included, that patterns are compared with."""

SKIPPED_FOLDERS: Final = frozenset({"node_modules", "target", "venv", "build", "dist"})
"""Folders of generated files; hidden folders are skipped too."""

MAX_SENTENCE: Final = 200
"""Characters of one sentence in an outline."""


class Workspace:
    """The files of one workspace, listed when the first pattern asks for them."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def has(self, pattern: str) -> bool:
        """Whether a file or folder matches, by its path if the pattern has a slash."""
        names = self._paths if "/" in pattern else self._names
        return any(fnmatchcase(name, pattern) for name in names)

    @cached_property
    def _paths(self) -> Sequence[str]:
        return list(_paths_below(self._root))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[2] for path in self._paths)


def applicable(
    texts: Iterable[GuidanceText], workspace: Workspace, words: str
) -> list[GuidanceText]:
    """The texts that apply, in their order.

    Args:
        texts: all there are.
        workspace: where the agent works.
        words: name, description, and prompt of the task; empty if it has none.
    """
    return [text for text in texts if _applies(text, workspace, words)]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text as a session is given it: whole, or its summary.

    Attributes:
        text: the text that it stands for.
        body: what the agent reads.
        is_whole: whether that is all of it.
    """

    text: GuidanceText
    body: str
    is_whole: bool


def fit(texts: Iterable[GuidanceText], budget: int) -> list[Excerpt]:
    """Give each text whole while the budget lasts, then by its summary, then by its name alone.

    The same content under two names is given once.

    Args:
        texts: the most important first.
        budget: bytes for all bodies together.
    """
    excerpts: list[Excerpt] = []
    seen: set[str] = set()
    left = budget
    for text in texts:
        body = text.body.strip()
        if body in seen:
            continue
        seen.add(body)
        for candidate in (body, summary_of(text), text.description):
            size = len(candidate.encode())
            if size <= left:
                excerpts.append(Excerpt(text, candidate, candidate == body))
                left -= size
                break
        else:
            excerpts.append(Excerpt(text, "", is_whole=False))
    return excerpts


def summary_of(text: GuidanceText) -> str:
    """The summary that the author wrote, else each heading with its first sentence."""
    return text.summary or "\n".join(_outline(text.body))


def _applies(text: GuidanceText, workspace: Workspace, words: str) -> bool:
    patterns = [value for kind, value in text.conditions if kind == "file"]
    wanted = [value for kind, value in text.conditions if kind == "word"]
    if wanted and not any(_begins_a_word(each, words) for each in wanted):
        return False
    return not patterns or any(workspace.has(each) for each in patterns)


def _begins_a_word(wanted: str, words: str) -> bool:
    return re.search(rf"\b{re.escape(wanted)}", words, re.IGNORECASE) is not None


def _outline(body: str) -> Iterator[str]:
    heading = ""
    for block in re.split(r"\n\s*\n", body.strip()):
        line = " ".join(block.split())
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line and not line.startswith((">", "```", "|")):
            sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0][:MAX_SENTENCE]
            if heading:
                yield f"- {heading}: {sentence}"
            heading = ""


def _paths_below(root: Path) -> Iterator[str]:
    """Paths relative to the root, the nearest first, within the bounds above."""
    count = 0
    folders = [("", 1)]
    for folder, depth in folders:
        try:
            with os.scandir(root / folder) as found:
                entries = sorted((each.name, each.is_dir(follow_symlinks=False)) for each in found)
        except OSError:
            continue
        for name, is_folder in entries:
            if (count := count + 1) > MAX_ENTRIES:
                return
            path = f"{folder}/{name}" if folder else name
            yield path
            is_skipped = name.startswith(".") or name in SKIPPED_FOLDERS
            if is_folder and depth < MAX_DEPTH and not is_skipped:
                folders.append((path, depth + 1))
