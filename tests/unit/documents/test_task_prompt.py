"""The user's words in the first prompt of a task's agent."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.documents.task_prompt import prompt_for, user_words, with_own

OWN = ["the ports 20000, 20001 (SYMPOSIUM_PORT)", "the name tree for containers"]


@pytest.mark.requirement("showing.user-words")
@given(st.text(min_size=1), st.booleans())
def test_the_users_words_are_what_comes_out_again(task: str, has_own: bool) -> None:  # noqa: FBT001 - drawn
    assert user_words(with_own(prompt_for("proj", task), OWN if has_own else [])) == task


@pytest.mark.requirement("showing.user-words")
@pytest.mark.parametrize(
    "text", ["", "Fix it", "The task:\n\nfix it\n", "You work in a taskspace of the project x"]
)
def test_other_prompt_consists_of_the_users_words(text: str) -> None:
    assert user_words(text) == text


@pytest.mark.requirement("showing.user-words")
def test_prompt_has_the_task_and_reserved_resources() -> None:
    prompt = with_own(prompt_for("proj", "Fix it"), OWN)

    assert prompt.startswith("You work in a taskspace of the project proj: ")
    assert "`update_taskspace`" in prompt
    assert prompt.endswith(
        "\nThe task:\n\nFix it\n\nOthers work beside you. Yours alone are the ports 20000, 20001 "
        "(SYMPOSIUM_PORT) and the name tree for containers.\n"
    )
