"""What pytest says with `-q --tb=short -rfE`. Pure."""

import re
from typing import Final

from symposium.build_tools.outcome import (
    MOST_LINE,
    Problem,
    Problems,
    Stream,
    TestCounts,
    named,
    plain,
)

_PYTEST_FAILED: Final = re.compile(r"(FAILED|ERROR) (\S.*?)(?: - (.*))?")
_COUNTS: Final = re.compile(r"=*\s*((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s.*")
_COUNT: Final = re.compile(r"(\d+) ([a-z]+)")
_HEADER: Final = re.compile(r"_{3,} (.+?) _{3,}")
_PYTEST_PLACE: Final = re.compile(r"(\S[^:]*\.\w+):(\d+): (?:in .*|\w[\w.]*)")
_REASON: Final = re.compile(r"E\s{3}(.*)")
_SKIPPED: Final = frozenset({"skipped", "deselected", "xfailed"})


class PytestReading:
    """Reads one run of pytest."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: TestCounts | None = None
        self._header: str | None = None
        self._place: tuple[str, int] | None = None
        self._reason = ""

    def line(self, stream: Stream, text: str) -> str | None:
        """Take a line."""
        del stream
        said = plain(text)[:MOST_LINE]
        if found := _HEADER.fullmatch(said):
            self._close()
            self._header = found[1]
        elif self._header is not None and (found := _PYTEST_PLACE.fullmatch(said)):
            self._place = found[1], int(found[2])
        elif self._header is not None and (found := _REASON.match(said)):
            self._reason = self._reason or found[1]
        elif found := _PYTEST_FAILED.fullmatch(said):
            self._close()
            named(self._counts(), found[2])
        elif found := _COUNTS.fullmatch(said):
            self._close()
            self._add_up(found[1])
        return text

    def _close(self) -> None:
        """End the section of one failure."""
        if self._header is not None:
            file, line = self._place or (None, None)
            reason = f"{self._header}: {self._reason}" if self._reason else self._header
            self.problems.add(Problem("failed test", reason, file, line))
        self._header, self._place, self._reason = None, None, ""

    def _add_up(self, text: str) -> None:
        counts = self._counts()
        for number, what in _COUNT.findall(text):
            if what in {"passed", "xpassed"}:
                counts.passed += int(number)
            elif what in {"failed", "error", "errors"}:
                counts.failed += int(number)
            elif what in _SKIPPED:
                counts.skipped += int(number)

    def _counts(self) -> TestCounts:
        self.tests = self.tests or TestCounts()
        return self.tests
