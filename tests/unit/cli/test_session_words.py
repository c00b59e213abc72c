"""Output for answers of a session server."""

import pytest

from symposium.cli.session_view import say_answer
from symposium.sessions.client import ANSWER, CANCEL, DESCRIBE, QUESTIONS, SAY

QUESTION = {
    "question": 3,
    "title": "edit",
    "wish": "edit a.txt",
    "options": [{"optionId": "y", "name": "Allow once"}],
}


@pytest.mark.requirement("front.json-asked-for")
@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        (SAY, {"waiting": 2}, "sent; prompts in the queue: 2\n"),
        (CANCEL, {"cancelled": True}, "canceled the turn\n"),
        (CANCEL, {"cancelled": False}, "the agent has no turn in progress\n"),
        (ANSWER, {}, "answered\n"),
        (QUESTIONS, {"questions": []}, "no open questions\n"),
    ],
)
def test_confirmations_are_printed_to_stderr(
    method: str, answer: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    say_answer(method, answer)

    assert capsys.readouterr() == ("", said)


@pytest.mark.requirement("front.json-asked-for")
def test_requested_data_is_printed_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "[question 3] wants to edit a.txt\n  answer: y (Allow once)\n"

    say_answer(QUESTIONS, {"questions": [QUESTION]})
    assert capsys.readouterr() == (asked, "")

    known = {"working": True, "acpSession": None, "waiting": 0, "questions": [QUESTION]}
    say_answer(DESCRIBE, known)
    words = "working      yes\nacpSession   none\nwaiting      0\n"
    assert capsys.readouterr() == (words + asked, "")
