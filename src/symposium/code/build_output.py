"""Parsers for the output of cargo, pytest, and scripts.

Sources: the Cargo book, "External tools: JSON messages"; rustc, "JSON output"; libtest's output.

Positions: `a.ts(3,5): error TS1: …` and `a.ts:3:5 - error …` (tsc), `a.py:3:5: …` (most others),
and eslint's lines below a file name. Tests: totals of node, TAP, Jest, Vitest, and Mocha.
"""

import re
from collections import deque
from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from peerwire.jsonrpc.values import as_list, as_object

MAX_PROBLEMS: Final = 20
MAX_NAMES: Final = 50
TAIL_LINES: Final = 40
TAIL_LENGTH: Final = 6000
MAX_MESSAGE: Final = 500
"""Maximum length of a problem's message, in characters."""

MAX_LINE: Final = 2000
"""Maximum parsed length of a line, in characters: patterns run on untrusted output."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")

Stream: TypeAlias = Literal["out", "err"]
Level: TypeAlias = Literal["error", "warning", "failed test"]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """A problem with its position; lines and columns start at 1."""

    level: Level
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


class ResultCounts(msgspec.Struct, omit_defaults=True):
    """Numbers of tests, and the names of failed ones."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failed_names: list[str] = []


class BuildOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Summary of a run for an agent.

    Attributes:
        command: command line.
        status: result.
        exit_code: None if the run was stopped.
        problems: first problems, errors before warnings.
        more_problems: number of omitted problems.
        tests: None if there were no tests.
        tail: last lines of the output.
        log: file with the complete output.
    """

    command: str
    status: Literal["ok", "failed", "timed out"]
    exit_code: int | None
    seconds: float
    problems: list[Problem] = []
    more_problems: int = 0
    tests: ResultCounts | None = None
    tail: str = ""
    log: str = ""


class BuildReading(Protocol):
    """Parser for the output of one tool."""

    def line(self, stream: Stream, text: str) -> str | None:
        """Parse a line; returns the text for the user, or None."""
        ...

    @property
    def problems(self) -> "Problems":
        """Problems found so far."""
        ...

    @property
    def tests(self) -> ResultCounts | None:
        """Test results so far."""
        ...


class Problems:
    """Distinct problems; the first of each level are stored."""

    def __init__(self) -> None:
        self._kept: dict[Level, list[Problem]] = {"error": [], "failed test": [], "warning": []}
        self._seen: set[Problem] = set()
        self.count = 0

    def add(self, problem: Problem) -> None:
        """Add a problem unless it is already stored."""
        message = problem.message.strip()[:MAX_MESSAGE]
        problem = msgspec.structs.replace(problem, message=message)
        if problem in self._seen:
            return
        self.count += 1
        kept = self._kept[problem.level]
        if len(kept) < MAX_PROBLEMS:
            self._seen.add(problem)
            kept.append(problem)

    def first(self) -> list[Problem]:
        """First problems: errors, then failed tests, then warnings."""
        return [each for kept in self._kept.values() for each in kept][:MAX_PROBLEMS]


class Tail:
    """Last lines of a text."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)

    def add(self, line: str) -> None:
        self._lines.append(line[:MAX_LINE])

    def text(self) -> str:
        """Last lines of the output, at most `TAIL_LENGTH` characters."""
        return "\n".join(self._lines).strip("\n")[-TAIL_LENGTH:]


def named(counts: ResultCounts, name: str) -> None:
    """Add a failed test."""
    if name not in counts.failed_names and len(counts.failed_names) < MAX_NAMES:
        counts.failed_names.append(name[:MAX_MESSAGE])


def plain(line: str) -> str:
    """A line without color codes."""
    return _ESCAPES.sub("", line)


_RESULT: Final = re.compile(
    r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
)
_TEST: Final = re.compile(r"test (.+?)(?: - should panic)? \.\.\. FAILED")
_SECTION: Final = re.compile(r"---- (.+) stdout ----")
_PANIC: Final = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at (.+?):(\d+):(\d+):?")
_LEVELS: Final = {"error": "error", "error: internal compiler error": "error", "warning": "warning"}


class CargoReading:
    """Parser for one run of cargo."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: ResultCounts | None = None
        self._section: str | None = None
        self._panic: tuple[str, int, int] | None = None

    def line(self, stream: Stream, text: str) -> str | None:
        """Parse a line; messages of the compiler are converted to text."""
        if stream == "out" and text.startswith('{"reason":'):
            try:
                said: Any = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                return text
            return self._message(as_object(said))
        self._tested(text[:MAX_LINE])
        return text

    def _message(self, said: Mapping[str, Any]) -> str | None:
        if said.get("reason") == "compiler-message":
            diagnostic = as_object(said.get("message"))
            level = _LEVELS.get(str(diagnostic.get("level")))
            spans = [as_object(each) for each in as_list(diagnostic.get("spans"))]
            if level is not None and (spans or level == "error"):
                self._found("warning" if level == "warning" else "error", diagnostic, spans)
            return str(diagnostic.get("rendered") or "").rstrip("\n") or None
        return None

    def _found(
        self, level: Any, diagnostic: Mapping[str, Any], spans: list[Mapping[str, Any]]
    ) -> None:
        primary = (each for each in spans if each.get("is_primary") is True)
        span: Mapping[str, Any] = next(primary, as_object(None))
        code = as_object(diagnostic.get("code")).get("code")
        message = str(diagnostic.get("message"))
        file = span.get("file_name")
        self.problems.add(
            Problem(
                level,
                f"{message} [{code}]" if code else message,
                file if isinstance(file, str) else None,
                _number(span.get("line_start")),
                _number(span.get("column_start")),
            )
        )

    def _tested(self, text: str) -> None:
        if self._panic is not None:
            # The message is on the line after the position.
            name = f"{self._section}: " if self._section else ""
            self.problems.add(Problem("failed test", f"{name}{text}", *self._panic))
            self._panic = None
        elif found := _PANIC.match(text):
            self._panic = (found[1], int(found[2]), int(found[3]))
        elif found := _SECTION.fullmatch(text):
            self._section = found[1]
        elif found := _TEST.match(text):
            named(self._counts(), found[1])
        elif found := _RESULT.match(text):
            counts = self._counts()
            counts.passed += int(found[1])
            counts.failed += int(found[2])
            counts.skipped += int(found[3])
            self._section = None

    def _counts(self) -> ResultCounts:
        self.tests = self.tests or ResultCounts()
        return self.tests


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


_PYTEST_FAILED: Final = re.compile(r"(FAILED|ERROR) (\S.*?)(?: - (.*))?")
_COUNTS: Final = re.compile(r"=*\s*((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s.*")
_COUNT: Final = re.compile(r"(\d+) ([a-z]+)")
_HEADER: Final = re.compile(r"_{3,} (.+?) _{3,}")
_PYTEST_PLACE: Final = re.compile(r"(\S[^:]*\.\w+):(\d+): (?:in .*|\w[\w.]*)")
_REASON: Final = re.compile(r"E\s{3}(.*)")
_SKIPPED: Final = frozenset({"skipped", "deselected", "xfailed"})


class PytestReading:
    """Parser for one run of pytest."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: ResultCounts | None = None
        self._header: str | None = None
        self._place: tuple[str, int] | None = None
        self._reason = ""

    def line(self, stream: Stream, text: str) -> str | None:
        del stream
        said = plain(text)[:MAX_LINE]
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
        """End the section of a failure."""
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

    def _counts(self) -> ResultCounts:
        self.tests = self.tests or ResultCounts()
        return self.tests


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
    """Parser for one run of a script."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: ResultCounts | None = None
        self._file: str | None = None
        self._failed: list[str] = []

    def line(self, stream: Stream, text: str) -> str | None:
        del stream
        said = plain(text)[:MAX_LINE].rstrip()
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
        counts = self.tests = self.tests or ResultCounts()
        # Names printed before the totals are only now known to be tests.
        for name in self._failed:
            named(counts, name)
        kind = _KINDS[what]
        setattr(counts, kind, getattr(counts, kind) + count)

    def _named(self, said: str) -> None:
        found = next((found for each in _FAILED if (found := each.fullmatch(said))), None)
        if found is not None and len(self._failed) < MAX_NAMES:
            self._failed.append(found[1])
