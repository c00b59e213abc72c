"""What cargo says: JSON of the compiler, lines of libtest, and its own words. Pure.

Shapes: the Cargo book, "External tools: JSON messages"; rustc's "JSON output"; libtest's as it is.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from symposium.build_tools.outcome import (
    MOST_LINE,
    Problem,
    Problems,
    Stream,
    TestCounts,
    named,
)

_RESULT: Final = re.compile(
    r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; \d+ measured; \d+ filtered out"
)
_TEST: Final = re.compile(r"test (.+?)(?: - should panic)? \.\.\. FAILED")
_SECTION: Final = re.compile(r"---- (.+) stdout ----")
_PANIC: Final = re.compile(r"thread '.*' (?:\(\d+\) )?panicked at (.+?):(\d+):(\d+):?")
_LEVELS: Final = {"error": "error", "error: internal compiler error": "error", "warning": "warning"}


class CargoReading:
    """Reads one run of cargo."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.tests: TestCounts | None = None
        self._section: str | None = None
        self._panic: tuple[str, int, int] | None = None

    def line(self, stream: Stream, text: str) -> str | None:
        """Take a line: the compiler's messages become what it would have printed."""
        if stream == "out" and text.startswith('{"reason":'):
            try:
                said: Any = msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                return text
            return self._message(_members(said))
        self._tested(text[:MOST_LINE])
        return text

    def _message(self, said: Mapping[str, Any]) -> str | None:
        if said.get("reason") == "compiler-message":
            diagnostic = _members(said.get("message"))
            level = _LEVELS.get(str(diagnostic.get("level")))
            spans = [_members(each) for each in _elements(diagnostic.get("spans"))]
            if level is not None and (spans or level == "error"):
                self._found("warning" if level == "warning" else "error", diagnostic, spans)
            return str(diagnostic.get("rendered") or "").rstrip("\n") or None
        return None

    def _found(
        self, level: Any, diagnostic: Mapping[str, Any], spans: list[Mapping[str, Any]]
    ) -> None:
        primary = (each for each in spans if each.get("is_primary") is True)
        span: Mapping[str, Any] = next(primary, _members(None))
        code = _members(diagnostic.get("code")).get("code")
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
            # What went wrong stands on the line below where it did.
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

    def _counts(self) -> TestCounts:
        self.tests = self.tests or TestCounts()
        return self.tests


def _members(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _elements(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None
