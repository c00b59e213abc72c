"""What compilers, linters and test runners of several languages say, as far as they agree. Pure.

Places: `a.ts(3,5): error TS1: …` and `a.ts:3:5 - error …` (tsc), `a.py:3:5: …` (most others), and
eslint's lines below a file's name. Tests: the sums of node, TAP, Jest, Vitest and Mocha.
"""

import re
from typing import Final

from symposium.build_tools.outcome import (
    MOST_LINE,
    MOST_NAMES,
    Level,
    Problem,
    Problems,
    Stream,
    TestCounts,
    named,
    plain,
)

_TSC: Final = re.compile(r"(\S[^()]*)\((\d+),(\d+)\): (error|warning) (.*)")
_PLACE: Final = re.compile(r"\s*(\S[^:]*\.\w+):(\d+)(?::(\d+))?(?::| -) (.*)")
_ESLINT_FILE: Final = re.compile(r"(/\S.*|[\w./-]+)\.(?:[cm]?[jt]sx?|vue|svelte|json)")
_ESLINT: Final = re.compile(r"\s+(\d+):(\d+)\s+(error|warning)\s+(.*)")
_WARNS: Final = re.compile(r"(?i)warn|note|info")
_SUMS: Final = (
    re.compile(r"[#\u2139] (?P<what>pass|fail|skipped|todo) (?P<count>\d+)"),
    re.compile(r"\s*(?P<count>\d+) (?P<what>passing|failing|pending)(?: \(.*\))?"),
)
_JEST: Final = re.compile(r"\s*Tests:?\s+(?=\d)(.*)")
_JEST_COUNT: Final = re.compile(r"(\d+) (passed|failed|skipped|todo)")
_FAILED: Final = (
    re.compile(r"\s*not ok \d+ (?:- )?(?!.*# (?:TODO|SKIP))(.+)"),
    re.compile(r"\s*[\u2716\u2715\u00d7\u2717] (.+?)(?: \([\d.]+ ?m?s\)| \d+m?s)?"),
    re.compile(r"\s{2,}\d+\) (.+)"),
)
_KINDS: Final = {
    **dict.fromkeys(("pass", "passing", "passed"), "passed"),
    **dict.fromkeys(("fail", "failing", "failed"), "failed"),
    **dict.fromkeys(("skipped", "todo", "pending"), "skipped"),
}


class ScriptReading:
    """Reads one run of a script."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: TestCounts | None = None
        self._file: str | None = None
        self._failed: list[str] = []

    def line(self, stream: Stream, text: str) -> str | None:
        """Take a line."""
        del stream
        said = plain(text)[:MOST_LINE].rstrip()
        if not (self._placed(said) or self._counted(said)):
            self._named(said)
        return text

    def _placed(self, said: str) -> bool:
        if found := _TSC.fullmatch(said):
            file, line, column, level, message = found.groups()
            self._add(level, message, file, (line, column))
        elif found := _PLACE.fullmatch(said):
            file, line, column, message = found.groups()
            self._add(message[:20], message, file, (line, column))
        elif self._file is not None and (found := _ESLINT.fullmatch(said)):
            line, column, level, message = found.groups()
            self._add(level, " ".join(message.split()), self._file, (line, column))
        elif _ESLINT_FILE.fullmatch(said):
            self._file = said
        else:
            return False
        return True

    def _add(self, said: str, message: str, file: str, at: tuple[str, str | None]) -> None:
        level: Level = "warning" if _WARNS.search(said) else "error"
        line, column = at
        self.problems.add(Problem(level, message, file, int(line), int(column) if column else None))

    def _counted(self, said: str) -> bool:
        for pattern in _SUMS:
            if found := pattern.fullmatch(said):
                self._count(found["what"], int(found["count"]))
                return True
        if found := _JEST.fullmatch(said):
            for count, what in _JEST_COUNT.findall(found[1]):
                self._count(what, int(count))
            return True
        return False

    def _count(self, what: str, count: int) -> None:
        counts = self.tests = self.tests or TestCounts()
        # Before the sums nobody knows that these are tests; what comes after them tells why.
        for name in self._failed:
            named(counts, name)
        kind = _KINDS[what]
        setattr(counts, kind, getattr(counts, kind) + count)

    def _named(self, said: str) -> None:
        found = next((found for each in _FAILED if (found := each.fullmatch(said))), None)
        if found is not None and len(self._failed) < MOST_NAMES:
            self._failed.append(found[1])
