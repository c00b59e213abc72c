"""Conversation between a user and a third-party client, compared with a page of the docs.

A page has a heading for each part, followed by a block with the conversation. Placeholders replace
values that differ between runs (ids, paths, times). `SYMPOSIUM_TRANSCRIPTS=write` writes the blocks
again; the text between them is written by hand.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

PAGES: Final = Path(__file__).parents[2] / "docs" / "transcripts"

_UUID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
SLOW: Final = "FAKE slow 60 ;; FAKE say Soon"
"""Lets the scripted model start at once and take a minute for the rest."""

_VARYING: Final[Sequence[tuple[str, str | Callable[[re.Match[str]], str]]]] = (
    (rf"{_UUID}|\bses_\w+|\bcall_\w+", "<id>"),
    (r"^(pid|uptime|lastPromptTime): .*$", r"\1: ..."),
    (r"p50 [\d.]+ ms, p95 [\d.]+ ms", "p50 <time>, p95 <time>"),
    # Printed when a start takes long; Toad may break the line anywhere in it.
    (r"^The agent is being started or installed\..*?chooses another agent\.\n+", ""),
    # The scripted model repeats the result of the tool, cut if it is long.
    (r"\s*\[last\b(?:\s+tool\s+result:)?[^\]]*(?:\]|\Z)", ""),
    # Dots stretch a slow reply, as many as there was time for.
    (r"(?<=\bSoon)(?<!say Soon)(?:\s*\.)*", " ..."),
    # One of these may arrive late, after the end of its turn.
    (r"^[ .]*\.[ .]*$", ""),
    # Some clients break the line after each chunk of a stream.
    (r"^(?:\S+\n)+\S+$", lambda words: " ".join(words[0].split())),
    (r"[ \t]+$", ""),
    (r"\n{3,}", "\n\n"),
)
_SCENE: Final = re.compile(
    r"(?P<before>^## (?P<title>[^\n]+)\n.*?^~~~text\n)(?P<said>.*?)(?P<after>\n~~~$)",
    re.MULTILINE | re.DOTALL,
)


class Transcript:
    """One conversation, part by part.

    Args:
        page: the file name of the page.
        places: replacements for the paths of this run.
    """

    def __init__(self, page: str, places: Mapping[str, str]) -> None:
        self._page = PAGES / page
        self._places = places
        self._scenes: dict[str, list[str]] = {}

    def scene(self, title: str) -> None:
        """Start the part with this heading."""
        self._scenes[title] = []

    def add(self, text: str) -> None:
        """Add a line of the conversation."""
        self._scenes[list(self._scenes)[-1]].append(text)

    def replace(self, text: str) -> None:
        """Continue the last line."""
        self._scenes[list(self._scenes)[-1]] = [text]

    def write_if_asked(self) -> None:
        """Write the blocks again, if the environment asks for it."""
        if os.environ.get("SYMPOSIUM_TRANSCRIPTS") == "write":
            page = self._page.read_text(encoding="utf-8")
            self._page.write_text(_SCENE.sub(self._written, page), encoding="utf-8")

    def check(self, *to_come: str) -> None:
        """Compare it with the page, except for blanks: clients break lines between chunks.

        Args:
            to_come: parts that have not been played yet.
        """
        self.write_if_asked()
        shown = {title: said for title, said in self.shown().items() if title not in to_come}
        assert list(shown) == list(self._scenes)
        for title, block in shown.items():
            said = self._said(title)
            assert block.split() == said.split(), f"{title}:\n{said}"

    def shown(self) -> dict[str, str]:
        """The blocks of the page, by heading."""
        page = self._page.read_text(encoding="utf-8")
        return {scene["title"]: scene["said"] for scene in _SCENE.finditer(page)}

    def _said(self, title: str) -> str:
        text = "\n".join(self._scenes[title])
        for place, name in self._places.items():
            text = text.replace(place, name)
        for pattern, name in _VARYING:
            text = re.sub(pattern, name, text, flags=re.MULTILINE)
        return text.strip("\n")

    def _written(self, scene: re.Match[str]) -> str:
        if scene["title"] not in self._scenes:
            return scene[0]
        return scene["before"] + self._said(scene["title"]) + scene["after"]
