"""Events of a session as lines for the user."""

from typing import Any

import pytest

from symposium.cli.session_view import LINES_SHOWN, WORDS_SHOWN, event_text, in_words, note_lines
from symposium.documents.task_prompt import prompt_for

ASKED = {
    "question": 3,
    "title": "/w/a",
    "wish": "edit a (+1 -1)",
    "lines": ["-  x", "+  y"],
    "paths": ["/w/a"],
    "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}],
}


@pytest.mark.requirement("showing.user-words")
def test_prompt_is_shown_completely() -> None:
    words = "Fix the test.\n\nThen the docs.\x1b[2K"

    assert event_text("prompt", {"text": prompt_for("proj", words)}) == (
        "[prompt] Fix the test.\n\nThen the docs.␛[2K"
    )
    assert event_text("prompt", {"text": "x" * 9999}).endswith("x […]")
    assert len(event_text("prompt", {"text": "x" * 9999})) < WORDS_SHOWN + 20


@pytest.mark.requirement("showing.events")
def test_question_has_the_same_text_as_in_other_views() -> None:
    assert event_text("question", ASKED).splitlines() == [
        "[question 3] wants to edit a (+1 -1)",
        "    -  x",
        "    +  y",
        "  answer: y (Yes)",
    ]
    odd = {**ASKED, "wish": "go\x1b\n", "lines": ["+\x1b\n  x"]}
    odd["options"] = [{"optionId": "y", "name": "Yes\x1b\n[question 4] and more"}]
    assert event_text("question", odd).splitlines() == [
        "[question 3] wants to go␛",
        "    +␛   x",
        "  answer: y (Yes␛ [question 4] and more)",
    ]
    long = event_text("question", {**ASKED, "lines": ["+"] * 20}).splitlines()
    assert long[-2] == f"    [… {20 - LINES_SHOWN} more lines]"


@pytest.mark.requirement("showing.events")
@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("question", {"question": 1, "title": "go"}, "[question 1] go"),
        ("settled", {"question": 1}, "[question 1] settled"),
        ("permission", {"title": "go", "optionId": "y"}, "[permission] go: y"),
        (
            "permission",
            {"title": "/w/a", "wish": "edit a (+1 -1)", "optionId": "y"},
            "[permission] edit a (+1 -1): y",
        ),
        ("permission", {"title": None, "optionId": None}, "[permission] a tool call: no answer"),
        ("result", {"stopReason": "end_turn"}, "[result] stopReason: end_turn"),
        ("notice", {"text": "fresh\ncontext"}, "[notice] fresh context"),
    ],
)
def test_other_events_are_one_line_each(kind: str, data: dict[str, Any], text: str) -> None:
    assert event_text(kind, data).splitlines()[0] == text


@pytest.mark.requirement("showing.events")
def test_values_are_shown_without_python_syntax() -> None:
    data = {"command": ["npm", "test"], "more": {"a": None}, "empty": "", "ok": True}

    assert in_words(data) == 'command: npm test, more: {"a": null}, ok: true'


@pytest.mark.requirement("showing.events")
def test_rule_note_shows_control_characters_as_symbols() -> None:
    (line,) = note_lines("no-\x1b[2Kpush forbids git\x07 push")

    assert line == "[policy] no-␛[2Kpush forbids git␇ push"


@pytest.mark.requirement("showing.events")
def test_values_that_are_no_text_are_shown_as_json_with_their_letters() -> None:
    assert in_words({"a": {"b": "é"}, "c": ["x", 1], "d": None}) == 'a: {"b": "é"}, c: x 1'
