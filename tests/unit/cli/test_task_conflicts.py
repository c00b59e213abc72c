"""Output of `symposium task conflicts`."""

import pytest

from symposium.bus.messages.worktrees import ConflictView, OverlapView
from symposium.cli.tasks import conflict_lines

NAMES = {"1" * 36: "one", "2" * 36: "two"}
ONE, TWO = NAMES


@pytest.mark.requirement("tasks.conflicts-by-file")
def test_files_are_sorted_with_all_conflicting_tasks() -> None:
    found = [
        OverlapView(ONE, "base", (), (ConflictView("b", "content", ((1, 2), (4, 4)), ((9, 8),)),)),
        OverlapView(ONE, TWO, (), (ConflictView("b", "binary"), ConflictView("a", "deleted"))),
    ]

    assert conflict_lines(found, NAMES) == [
        "a",
        "  one and two (deleted)",
        "b",
        "  one:1-2,4 and its base (content)",
        "  one and two (binary)",
    ]


@pytest.mark.requirement("tasks.conflicts-by-file")
def test_names_are_sanitized_and_failed_comparisons_reported() -> None:
    names = {ONE: "on\x1b[2Je", TWO: "two"}
    file = ConflictView("a\x1b]0;b\nc", "added")
    found = [
        OverlapView(ONE, TWO, (), (file,)),
        OverlapView(TWO, "gone", (), (), "no merge\nbase"),
    ]

    lines = conflict_lines(found, names)

    assert lines == [
        "a\u241b]0;b c",
        "  on\u241b[2Je and two (added)",
        "two and gone could not be compared: no merge base",
    ]
