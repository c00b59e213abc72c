"""What was said between a person and a stranger's client, held against a page of the docs.

A page has a heading for each scene and below it a block with what was said. What differs from one
run to the next (ids, places, times) is named by what it is. `SYMPOSIUM_TRANSCRIPTS=write` writes
the blocks anew; what stands around them is written by people.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

PAGES: Final = Path(__file__).parents[2] / "docs" / "transcripts"

_UUID: Final = r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
SLOW: Final = "FAKE slow 60 ;; FAKE say Soon"
"""Has the scripted model begin at once and take a minute for the rest."""

_VARYING: Final[Sequence[tuple[str, str | Callable[[re.Match[str]], str]]]] = (
    (rf"{_UUID}|\bses_\w+|\bcall_\w+", "<id>"),
    (r"^(pid|uptime|lastPromptTime): .*$", r"\1: ..."),
    (r"p50 [\d.]+ ms, p95 [\d.]+ ms", "p50 <time>, p95 <time>"),
    # Said where a start takes long; Toad may break the line anywhere in it.
    (r"^The agent is being started or installed\..*?chooses another agent\.\n+", ""),
    # The scripted model repeats what the tool said, cut where it gets long.
    (r"\s*\[last\b(?:\s+tool\s+result:)?[^\]]*(?:\]|\Z)", ""),
    # A slow reply is stretched by dots, as many as there was time for.
    (r"(?<=\bSoon)(?<!say Soon)(?:\s*\.)*", " ..."),
    # One of these may come late, behind the end of its turn.
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
    """One conversation, scene by scene.

    Args:
        page: the file name of the page.
        places: what stands on the page for a path of this run.
    """

    def __init__(self, page: str, places: Mapping[str, str]) -> None:
        self._page = PAGES / page
        self._places = places
        self._scenes: dict[str, list[str]] = {}

    def scene(self, title: str) -> None:
        """What follows belongs to the scene of that heading."""
        self._scenes[title] = []

    def add(self, text: str) -> None:
        """Something was said, or done."""
        self._scenes[list(self._scenes)[-1]].append(text)

    def replace(self, text: str) -> None:
        """It goes on from what was added last."""
        self._scenes[list(self._scenes)[-1]] = [text]

    def write_if_asked(self) -> None:
        """Write the blocks anew, where the environment says so."""
        if os.environ.get("SYMPOSIUM_TRANSCRIPTS") == "write":
            page = self._page.read_text(encoding="utf-8")
            self._page.write_text(_SCENE.sub(self._written, page), encoding="utf-8")

    def check(self, *to_come: str) -> None:
        """Hold it against the page, but for blanks: clients break lines where chunks end.

        Args:
            to_come: scenes that have not been played yet.
        """
        self.write_if_asked()
        shown = {title: said for title, said in self.shown().items() if title not in to_come}
        assert list(shown) == list(self._scenes)
        for title, block in shown.items():
            said = self._said(title)
            assert block.split() == said.split(), f"{title}:\n{said}"

    def shown(self) -> dict[str, str]:
        """The blocks of the page, by their headings."""
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
