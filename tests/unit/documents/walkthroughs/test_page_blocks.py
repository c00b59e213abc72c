"""Blocks of a page: every text is escaped, and what is left out is counted."""

import re
from typing import Final

import pytest

from symposium.code.diffs import Changes, DiffLine, FileChange, Hunk
from symposium.code.ide_operations import CodePosition, CodeRange
from symposium.documents.walkthroughs.document import ActionBlock
from symposium.documents.walkthroughs.page import (
    MAX_DIFF_LINES,
    MAX_FILES,
    action_card,
    diagram,
    diff_card,
)
from symposium.documents.walkthroughs.rendering import locations_text

BAD: Final = "<i>&\"'</i>"


def hunk(count: int, text: str = "x") -> Hunk:
    lines = [DiffLine("Added", text, None, number) for number in range(1, count + 1)]
    return Hunk(text, 0, 0, 1, count, lines)


def changed(path: str, *hunks: Hunk, old_path: str | None = None) -> FileChange:
    return FileChange(path, "Modified", 1, 2, list(hunks), old_path)


@pytest.mark.requirement("walkthroughs.page-text")
def test_no_text_of_a_block_is_markup() -> None:
    file = changed(BAD, hunk(1, BAD), old_path=BAD)
    shown = [
        diagram(BAD),
        action_card(ActionBlock(BAD, BAD)),
        diff_card(BAD, Changes([file]), ""),
        diff_card(BAD, None, BAD),
    ]

    assert not [each for each in shown if "<i>" in each]
    assert all("&lt;i&gt;" in each for each in shown)


@pytest.mark.requirement("walkthroughs.page-text")
@pytest.mark.parametrize(
    ("count", "is_cut", "more"),
    [
        (MAX_FILES, False, []),
        (MAX_FILES + 1, False, ["<p>and 1 more files</p>"]),
        (MAX_FILES + 1, True, ["<p>and more files</p>"]),
        (1, True, ["<p>and more files</p>"]),
    ],
)
def test_files_of_a_diff_are_shown_up_to_the_limit(
    count: int, more: list[str], *, is_cut: bool
) -> None:
    files = [changed(f"f{number}") for number in range(count)]
    text = diff_card("r", Changes(files, is_cut), "")

    assert text.count("<details") == min(count, MAX_FILES)
    assert re.findall("<p>and .*?</p>", text) == more


@pytest.mark.requirement("walkthroughs.page-text")
@pytest.mark.parametrize(
    ("hunks", "is_cut"),
    [
        ((MAX_DIFF_LINES,), False),
        ((MAX_DIFF_LINES + 1,), True),
        ((MAX_DIFF_LINES - 1, 1), False),
        ((MAX_DIFF_LINES, 1), True),
        ((MAX_DIFF_LINES - 1, 2), True),
    ],
)
def test_lines_of_a_file_are_shown_up_to_the_limit(hunks: tuple[int, ...], *, is_cut: bool) -> None:
    text = diff_card("r", Changes([changed("f", *map(hunk, hunks))]), "")

    assert text.count('<tr class="add">') == MAX_DIFF_LINES
    assert text.count('<tr class="hunk">') == (2 if hunks[0] < MAX_DIFF_LINES else 1)
    assert ("more changes are not shown" in text) == is_cut


@pytest.mark.requirement("walkthroughs.page-text")
def test_lines_of_a_diff_have_their_numbers_before_and_after() -> None:
    lines = [DiffLine("Context", "a", 3, 4), DiffLine("Removed", "b", 4, None)]
    text = diff_card("r", Changes([changed("f", Hunk("h", 3, 2, 4, 1, lines))]), "")

    cells = re.findall(r'<td class="n">(\d*)</td><td class="n">(\d*)</td>', text)
    assert cells == [("3", "4"), ("4", "")]


@pytest.mark.requirement("walkthroughs.locations")
def test_a_location_is_shown_by_the_line_it_begins_in() -> None:
    where = CodeRange("a.py", CodePosition(3, 1), CodePosition(9, 1))

    assert locations_text([]) == "no location"
    assert locations_text([where]) == "a.py:3"
    assert locations_text([where, where]) == "(2 possible locations) 🔍"
