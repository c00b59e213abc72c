"""Names and texts of tasks: their longest, and what they may not hold."""

import pytest

from symposium.tasks.model import (
    LONGEST_NAME,
    LONGEST_TEXT,
    RefusedNameError,
    checked_name,
    checked_text,
    required_name,
)


@pytest.mark.requirement("taskspaces.text-bounds")
def test_the_longest_name_and_text_are_taken_and_one_character_more_is_refused() -> None:
    name, text = "n" * LONGEST_NAME, "t" * LONGEST_TEXT

    assert (checked_name(name), required_name(name), checked_text(text, "x")) == (name, name, text)
    with pytest.raises(RefusedNameError, match=f"the name has {LONGEST_NAME + 1} characters"):
        checked_name(f"{name}n")
    with pytest.raises(RefusedNameError, match=f"x of {LONGEST_TEXT + 1} characters"):
        checked_text(f"{text}t", "x")


@pytest.mark.requirement("taskspaces.text-bounds")
@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\x9b", "\udc80"])
def test_control_characters_and_halves_of_characters_are_refused(character: str) -> None:
    with pytest.raises(RefusedNameError, match="the control character"):
        checked_name(f"a{character}b")
    with pytest.raises(RefusedNameError, match="the control character"):
        checked_text(f"a{character}b", "x")


@pytest.mark.requirement("taskspaces.text-bounds")
def test_a_text_has_lines_and_tabs_and_a_name_has_not() -> None:
    assert checked_text("a\n\r\tb", "x") == "a\n\r\tb"
    for character in "\n\r\t":
        with pytest.raises(RefusedNameError):
            checked_name(f"a{character}b")
