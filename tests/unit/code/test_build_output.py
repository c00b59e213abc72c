"""Summaries of each tool's output; the outputs are recorded from real runs."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.code.build_output import (
    MAX_MESSAGE,
    MAX_NAMES,
    MAX_PROBLEMS,
    BuildReading,
    CargoReading,
    Problem,
    Problems,
    PytestReading,
    ResultCounts,
    ScriptReading,
    Tail,
    named,
    plain,
)


def read(reading: BuildReading, text: str) -> BuildReading:
    for line in text.splitlines():
        reading.line("out", line)
    return reading


def message(level: str, text: str, line: int, code: str | None = None) -> str:
    diagnostic: dict[str, Any] = {
        "level": level,
        "message": text,
        "code": {"code": code, "explanation": None} if code else None,
        "rendered": f"{level}: {text}\n --> src/lib.rs:{line}:9\n",
        "spans": [
            {"file_name": "src/other.rs", "line_start": 1, "column_start": 1, "is_primary": False},
            {"file_name": "src/lib.rs", "line_start": line, "column_start": 9, "is_primary": True},
        ],
    }
    return json.dumps({"reason": "compiler-message", "message": diagnostic}, separators=(",", ":"))


LIBTEST = """
running 3 tests
test tests::later ... ignored
test tests::adds ... ok
test tests::wrong ... FAILED

failures:

---- tests::wrong stdout ----

thread 'tests::wrong' (26549) panicked at src/lib.rs:13:18:
assertion `left == right` failed: sums differ
  left: 3
 right: 4

failures:
    tests::wrong

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s

running 1 test
test src/lib.rs - add (line 3) ... FAILED
---- src/lib.rs - add (line 3) stdout ----
thread 'main' panicked at src/lib.rs:5:1:
assertion `left == right` failed
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.27s
"""


@pytest.mark.requirement("built-in-mods.cargo")
def test_the_compiler_s_messages_become_problems_each_once_errors_first() -> None:
    reading = CargoReading()
    lines = [
        message("warning", "unused variable: `x`", 6, "unused_variables"),
        message("warning", "unused variable: `x`", 6, "unused_variables"),
        message("error", "cannot find value `c`", 7, "E0425"),
        '{"reason":"compiler-message","message":{"level":"failure-note","message":"see"}}',
        '{"reason":"compiler-message","message":{"level":"warning","message":"1 warning emitted"}}',
        '{"reason":"build-finished","success":false}',
    ]
    shown = [reading.line("out", each) for each in lines]
    assert shown[2] == "error: cannot find value `c`\n --> src/lib.rs:7:9"
    assert shown[5] is None
    assert reading.problems.first() == [
        Problem("error", "cannot find value `c` [E0425]", "src/lib.rs", 7, 9),
        Problem("warning", "unused variable: `x` [unused_variables]", "src/lib.rs", 6, 9),
    ]
    assert reading.tests is None


@pytest.mark.requirement("built-in-mods.cargo")
def test_what_libtest_says_is_added_up_over_all_its_programs() -> None:
    reading = read(CargoReading(), LIBTEST)
    assert reading.tests == ResultCounts(1, 2, 1, ["tests::wrong", "src/lib.rs - add (line 3)"])
    assert reading.problems.first() == [
        Problem(
            "failed test",
            "tests::wrong: assertion `left == right` failed: sums differ",
            "src/lib.rs",
            13,
            18,
        ),
        Problem(
            "failed test",
            "src/lib.rs - add (line 3): assertion `left == right` failed",
            "src/lib.rs",
            5,
            1,
        ),
    ]


PYTEST = """.FsE                                                                     [100%]
==================================== ERRORS ====================================
__________________________ ERROR at setup of test_err __________________________
tests/test_a.py:19: in broken
    raise RuntimeError("broken fixture")
E   RuntimeError: broken fixture
=================================== FAILURES ===================================
___________________________________ test_bad ___________________________________
tests/test_a.py:11: in test_bad
    helper(1)
tests/test_a.py:5: in helper
    assert x == 2, "not two"
E   AssertionError: not two
E   assert 1 == 2
=========================== short test summary info ============================
FAILED tests/test_a.py::test_bad - AssertionError: not two
ERROR tests/test_a.py::test_err - RuntimeError: broken fixture
1 failed, 1 passed, 1 skipped, 1 error in 0.09s
"""
COLLECTION = """==================================== ERRORS ====================================
_______________________ ERROR collecting tests/test_b.py _______________________
tests/test_b.py:1: in <module>
    import nothing
E   ModuleNotFoundError: No module named 'nothing'
=========================== short test summary info ============================
ERROR tests/test_b.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
============================== 1 error in 0.05s ===============================
"""


@pytest.mark.requirement("built-in-mods.uv")
def test_pytest_s_failures_and_errors_have_their_place_and_reason() -> None:
    reading = read(PytestReading(), PYTEST)
    failed = ["tests/test_a.py::test_bad", "tests/test_a.py::test_err"]
    assert reading.tests == ResultCounts(1, 2, 1, failed)
    assert reading.problems.first() == [
        Problem(
            "failed test",
            "ERROR at setup of test_err: RuntimeError: broken fixture",
            "tests/test_a.py",
            19,
        ),
        Problem("failed test", "test_bad: AssertionError: not two", "tests/test_a.py", 5),
    ]


@pytest.mark.requirement("built-in-mods.uv")
def test_tests_that_cannot_be_collected_are_reported() -> None:
    reading = read(PytestReading(), COLLECTION)
    assert reading.tests == ResultCounts(0, 1, 0, ["tests/test_b.py"])
    (problem,) = reading.problems.first()
    assert (problem.file, problem.line) == ("tests/test_b.py", 1)
    assert "No module named 'nothing'" in problem.message


@pytest.mark.requirement("built-in-mods.npm", "built-in-mods.uv")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "a.ts(1,7): error TS2322: No.",
            Problem("error", "TS2322: No.", "a.ts", 1, 7),
        ),
        (
            "\x1b[96ma.ts\x1b[0m:\x1b[93m1\x1b[0m:7 - error TS1: No.",
            Problem("error", "error TS1: No.", "a.ts", 1, 7),
        ),
        ("a.py:1:8: F401 unused", Problem("error", "F401 unused", "a.py", 1, 8)),
        ("src/a.py:3: error: No  [x]", Problem("error", "error: No  [x]", "src/a.py", 3)),
        (
            "  /p/a.py:3:5 - warning: odd (x)",
            Problem("warning", "warning: odd (x)", "/p/a.py", 3, 5),
        ),
        (
            "/p/a.js\n  1:7   warning  'a' is   unused  no-unused-vars",
            Problem("warning", "'a' is unused no-unused-vars", "/p/a.js", 1, 7),
        ),
    ],
)
def test_a_place_is_read_as_each_tool_writes_it(text: str, problem: Problem) -> None:
    assert read(ScriptReading(), text).problems.first() == [problem]


@pytest.mark.requirement("built-in-mods.npm")
@pytest.mark.parametrize("text", ["12:30: lunch", "http://a.b:80/c", "done: a.b", "x.y: 3"])
def test_line_without_a_position_is_not_a_problem(text: str) -> None:
    assert read(ScriptReading(), text).problems.first() == []


SUMS: list[tuple[str, tuple[int, int, int, list[str]]]] = [
    ("not ok 1 - bad one\nok 2 - x\n# pass 1\n# fail 1\n# skipped 2", (1, 1, 2, ["bad one"])),
    ("✖ bad one (1.5ms)\n\u2139 pass 1\n\u2139 fail 1\n\u2139 skipped 0", (1, 1, 0, ["bad one"])),
    ("  ✕ wrong (2 ms)\nTests:       1 failed, 1 passed, 2 total", (1, 1, 0, ["wrong"])),
    ("   \u00d7 wrong too 23ms\n      Tests  1 failed | 1 passed (2)", (1, 1, 0, ["wrong too"])),
    (
        "    1) breaks\n  1 passing (4ms)\n  1 pending\n  1 failing\n\n  1) suite\n",
        (1, 1, 1, ["breaks"]),
    ),
    ("not ok 1 - later # TODO\n# pass 0\n# fail 0", (0, 0, 0, [])),
]


@pytest.mark.requirement("built-in-mods.npm")
@pytest.mark.parametrize(("text", "counts"), SUMS)
def test_the_sums_of_each_test_runner_are_read(
    text: str, counts: tuple[int, int, int, list[str]]
) -> None:
    assert read(ScriptReading(), text).tests == ResultCounts(*counts)


@pytest.mark.requirement("built-in-mods.npm")
def test_crosses_without_sums_are_no_tests() -> None:
    assert read(ScriptReading(), "✖ 2 problems (1 error, 1 warning)").tests is None


@pytest.mark.requirement("built-in-mods.condensed")
@given(
    st.lists(st.text(max_size=80)), st.sampled_from([CargoReading, PytestReading, ScriptReading])
)
def test_arbitrary_line_is_parsed_or_skipped(lines: list[str], kind: type[BuildReading]) -> None:
    reading = kind()
    for line in lines:
        reading.line("out", line)
    assert len(reading.problems.first()) <= MAX_PROBLEMS


@pytest.mark.requirement("built-in-mods.condensed")
@pytest.mark.parametrize("kind", [CargoReading, PytestReading, ScriptReading])
@pytest.mark.parametrize(
    "line",
    [
        '{"reason":' * 5000,
        '{"reason":"compiler-message","message":[1]}',
        '{"reason":"compiler-message","message":{"level":"error","spans":[7],"code":3}}',
        "_" * 500_000,
        "1 a, " * 100_000,
        "a." * 250_000 + ":1:1",
        " " * 500_000 + "✖",
        "thread '" + "'" * 500_000,
        "x" * 500_000 + "(1,1): error",
    ],
    ids=range(9),
)
def test_hostile_line_is_parsed_fast(kind: type[BuildReading], line: str) -> None:
    kind().line("out", line)


@pytest.mark.requirement("built-in-mods.condensed")
def test_stored_output_is_bounded() -> None:
    problems, counts, tail = Problems(), ResultCounts(), Tail()
    for number in range(10_000):
        problems.add(Problem("warning", f"{number} " * 1000))
        named(counts, f"test {number}")
        tail.add(f"{number} " * 1000)
    problems.add(Problem("error", "the last is the worst"))
    first = problems.first()
    assert first[0].message == "the last is the worst"
    assert (len(first), problems.count) == (MAX_PROBLEMS, 10_001)
    assert max(len(each.message) for each in first) <= MAX_MESSAGE
    assert len(counts.failed_names) == MAX_NAMES
    assert len(tail.text()) <= 6000
    assert tail.text().splitlines()[-1].startswith("9999 ")


@pytest.mark.requirement("built-in-mods.condensed")
def test_colors_are_removed() -> None:
    assert plain("\x1b[1;31mred\x1b[0m \x1b]8;;http://a\x1b\\link\x1b]8;;\x07") == "red link"


@pytest.mark.requirement("built-in-mods.condensed")
@pytest.mark.parametrize("kind", [PytestReading, ScriptReading])
def test_problems_hold_no_escape_sequences(kind: type[PytestReading | ScriptReading]) -> None:
    reading = kind()
    for line in ("\x1b[1m____ test_a ____\x1b[0m", "a.py:3: \x1b[31mValueError", "E   \x1b[31mno"):
        reading.line("out", line)
    reading.line("out", "\x1b[1mb.py:4:1: error: \x1b[31mbad\x1b[0m")
    reading.line("out", "____ test_b ____")

    assert reading.problems.count
    assert not [each for each in reading.problems.first() if "\x1b" in str(each)]
