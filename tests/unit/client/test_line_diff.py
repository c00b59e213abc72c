"""Changes as diff lines for the user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.client.permissions import MAX_COMPARED, line_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+", "@@"]), max_size=30)


@pytest.mark.requirement("approvals.change-shown")
def test_change_is_shown_with_three_lines_of_context_and_omission_marks() -> None:
    old = "\n".join(f"line {number}" for number in range(1, 31))
    new = old.replace("line 5\n", "five\n").replace("line 25\n", "")

    found = line_diff(old, new)

    assert found.lines == (
        *(" line 2", " line 3", " line 4", "-line 5", "+five", " line 6", " line 7", " line 8"),
        "@@",
        *(" line 22", " line 23", " line 24", "-line 25", " line 26", " line 27", " line 28"),
    )
    assert (found.added, found.removed) == (1, 2)


@pytest.mark.requirement("approvals.change-shown")
def test_new_file_has_only_added_lines() -> None:
    assert line_diff("", "bonjour\n").lines == ("+bonjour",)


@pytest.mark.requirement("approvals.change-shown")
def test_too_long_text_is_shown_as_removed_and_added() -> None:
    many = [f"old {number}" for number in range(MAX_COMPARED + 1)]
    above, below = ["1", "2", "3", "4"], ["5", "6", "7", "8"]
    old, new = ("\n".join([*above, *each, *below, ""]) for each in (many, ["new"]))
    found = line_diff(old, new)

    removed = [f"-{line}" for line in many]
    assert found.lines == (" 2", " 3", " 4", *removed, "+new", " 5", " 6", " 7")
    assert (found.added, found.removed) == (1, MAX_COMPARED + 1)


@pytest.mark.requirement("approvals.change-shown")
@given(LINES, LINES)
def test_diff_transforms_one_text_into_the_other_with_correct_counts(
    old: list[str], new: list[str]
) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    found = line_diff(before, after)

    assert found.added - found.removed == len(new) - len(old)
    assert (old == new) == (found.lines == ())
    kept = [line[1:] for line in found.lines if line[0] == " "]
    added = [line[1:] for line in found.lines if line[0] == "+"]
    removed = [line[1:] for line in found.lines if line[0] == "-"]
    assert (len(added), len(removed)) == (found.added, found.removed)
    if len(kept) + len(removed) == len(old):
        # Nothing is omitted, so both texts can be rebuilt.
        assert [line[1:] for line in found.lines if line[0] != "+"] == old
        assert [line[1:] for line in found.lines if line[0] != "-"] == new


@pytest.mark.requirement("approvals.change-shown")
def test_moved_line_is_added_and_removed() -> None:
    found = line_diff("a\nb\nc\nd\ne\nold\n", "new\ne\nd\nc\nb\na\n")

    assert {"-old", "+new"} < {*found.lines}
    assert (found.added, found.removed) == (5, 5)


@pytest.mark.requirement("approvals.change-shown")
def test_text_that_grows_beyond_the_limit_is_replaced_completely() -> None:
    new = [f"line {number}" for number in range(MAX_COMPARED)]
    found = line_diff("line 5\n", "\n".join(["first", *new, "last"]))

    assert (found.added, found.removed) == (MAX_COMPARED + 2, 1)
