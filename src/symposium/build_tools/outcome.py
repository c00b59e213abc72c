"""What is left of a tool's output: the first problems, the tests, the last lines. Pure."""

import re
from collections import deque
from typing import Final, Literal, Protocol, TypeAlias

import msgspec

MOST_PROBLEMS: Final = 20
MOST_NAMES: Final = 50
TAIL_LINES: Final = 40
TAIL_LENGTH: Final = 6000
MOST_MESSAGE: Final = 500
"""Characters of a problem's message."""

MOST_LINE: Final = 2000
"""Characters of a line that are looked at: patterns of ours meet lines of a stranger."""

_ESCAPES: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")

Stream: TypeAlias = Literal["out", "err"]
Level: TypeAlias = Literal["error", "warning", "failed test"]


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong, and where; lines and columns count from 1."""

    level: Level
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None


class TestCounts(msgspec.Struct, omit_defaults=True):
    """How many tests there were, and which have failed."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failed_names: list[str] = []


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an agent is told of a run.

    Attributes:
        command: as one would type it.
        status: how it went.
        exit_code: None if it was stopped.
        problems: the first ones, errors before warnings.
        more_problems: how many are left out.
        tests: None if none were seen.
        tail: the last lines of the output.
        log: the file that has all of it.
    """

    command: str
    status: Literal["ok", "failed", "timed out"]
    exit_code: int | None
    seconds: float
    problems: list[Problem] = []
    more_problems: int = 0
    tests: TestCounts | None = None
    tail: str = ""
    log: str = ""


class Reading(Protocol):
    """What understands the lines of one tool."""

    def line(self, stream: Stream, text: str) -> str | None:
        """Take a line; what a person would want to see of it, or None."""
        ...

    @property
    def problems(self) -> "Problems":
        """What was seen to be wrong."""
        ...

    @property
    def tests(self) -> TestCounts | None:
        """What was seen of tests."""
        ...


class Problems:
    """Problems as they come up, each once, the first of each level kept."""

    def __init__(self) -> None:
        self._kept: dict[Level, list[Problem]] = {"error": [], "failed test": [], "warning": []}
        self._seen: set[Problem] = set()
        self.count = 0

    def add(self, problem: Problem) -> None:
        """Keep a problem, unless it is known."""
        message = problem.message.strip()[:MOST_MESSAGE]
        problem = msgspec.structs.replace(problem, message=message)
        if problem in self._seen:
            return
        self.count += 1
        kept = self._kept[problem.level]
        if len(kept) < MOST_PROBLEMS:
            self._seen.add(problem)
            kept.append(problem)

    def first(self) -> list[Problem]:
        """The first ones, errors before failed tests before warnings."""
        return [each for kept in self._kept.values() for each in kept][:MOST_PROBLEMS]


class Tail:
    """The last lines of a text."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=TAIL_LINES)

    def add(self, line: str) -> None:
        """Take the next line."""
        self._lines.append(line[:MOST_LINE])

    def text(self) -> str:
        """Those that are left."""
        return "\n".join(self._lines).strip("\n")[-TAIL_LENGTH:]


def named(counts: TestCounts, name: str) -> None:
    """Note that a test has failed."""
    if name not in counts.failed_names and len(counts.failed_names) < MOST_NAMES:
        counts.failed_names.append(name[:MOST_MESSAGE])


def plain(line: str) -> str:
    """A line without what colours it."""
    return _ESCAPES.sub("", line)
