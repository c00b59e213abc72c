"""Limits of names and texts of tasks: length and characters."""

import pytest

from symposium.tasks.model import (
    MAX_NAME,
    MAX_TEXT,
    RefusedNameError,
    checked_name,
    checked_text,
    required_name,
)


@pytest.mark.requirement("taskspaces.text-bounds")
def test_names_and_texts_are_accepted_up_to_their_maximum_length() -> None:
    name, text = "n" * MAX_NAME, "t" * MAX_TEXT

    assert (checked_name(name), required_name(name), checked_text(text, "x")) == (name, name, text)
    with pytest.raises(RefusedNameError, match=f"the name has {MAX_NAME + 1} characters"):
        checked_name(f"{name}n")
    with pytest.raises(RefusedNameError, match=f"x of {MAX_TEXT + 1} characters"):
        checked_text(f"{text}t", "x")


@pytest.mark.requirement("taskspaces.text-bounds")
@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\x9b", "\udc80"])
def test_control_characters_and_lone_surrogates_are_refused(character: str) -> None:
    with pytest.raises(RefusedNameError, match="the control character"):
        checked_name(f"a{character}b")
    with pytest.raises(RefusedNameError, match="the control character"):
        checked_text(f"a{character}b", "x")


@pytest.mark.requirement("taskspaces.text-bounds")
def test_line_breaks_and_tabs_are_accepted_in_texts_and_not_in_names() -> None:
    assert checked_text("a\n\r\tb", "x") == "a\n\r\tb"
    for character in "\n\r\t":
        with pytest.raises(RefusedNameError):
            checked_name(f"a{character}b")
