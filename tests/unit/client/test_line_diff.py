"""Changes as lines for a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.client.permissions import MAX_COMPARED, line_diff

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+", "@@"]), max_size=30)


@pytest.mark.requirement("approvals.change-shown")
def test_a_change_is_shown_with_three_lines_around_it_and_a_sign_for_what_is_left_out() -> None:
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
def test_a_new_file_only_has_lines_that_come() -> None:
    assert line_diff("", "bonjour\n").lines == ("+bonjour",)


@pytest.mark.requirement("approvals.change-shown")
def test_of_what_is_too_long_to_compare_all_goes_and_all_comes() -> None:
    old = "same\n" + "".join(f"old {number}\n" for number in range(MAX_COMPARED + 1))
    found = line_diff(old, "same\nnew\n")

    assert (found.added, found.removed) == (1, MAX_COMPARED + 1)


@pytest.mark.requirement("approvals.change-shown")
@given(LINES, LINES)
def test_what_is_shown_makes_the_one_of_the_other_and_counts_right(
    old: list[str], new: list[str]
) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    found = line_diff(before, after)

    assert found.added - found.removed == len(new) - len(old)
    assert (old == new) == (found.lines == ())
    kept = [line[1:] for line in found.lines if line[0] == " "]
    come = [line[1:] for line in found.lines if line[0] == "+"]
    gone = [line[1:] for line in found.lines if line[0] == "-"]
    assert (len(come), len(gone)) == (found.added, found.removed)
    if len(kept) + len(gone) == len(old):
        # Nothing is left out: both texts can be read off.
        assert [line[1:] for line in found.lines if line[0] != "+"] == old
        assert [line[1:] for line in found.lines if line[0] != "-"] == new


@pytest.mark.requirement("approvals.change-shown")
def test_a_line_that_has_moved_comes_and_goes() -> None:
    found = line_diff("a\nb\nc\nd\ne\nold\n", "new\ne\nd\nc\nb\na\n")

    assert {"-old", "+new"} < {*found.lines}
    assert (found.added, found.removed) == (5, 5)


@pytest.mark.requirement("approvals.change-shown")
def test_a_text_that_grows_beyond_what_is_compared_is_replaced_as_a_whole() -> None:
    new = [f"line {number}" for number in range(MAX_COMPARED)]
    found = line_diff("line 5\n", "\n".join(["first", *new, "last"]))

    assert (found.added, found.removed) == (MAX_COMPARED + 2, 1)
