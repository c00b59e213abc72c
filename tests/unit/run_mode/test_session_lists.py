"""Sessions that an agent lists, under the names that the editor knows."""

from typing import Any

import pytest

from symposium.chain.messages import Answer
from symposium.run_mode.open_chain import with_outer_ids


@pytest.mark.requirement("run-mode.outer-ids")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([{"sessionId": "inner", "title": "t"}], [{"sessionId": "outer", "title": "t"}]),
        ([{"sessionId": "other"}], [{"sessionId": "other"}]),
        ([3, None, {"sessionId": "inner"}], [3, None, {"sessionId": "outer"}]),
        ("none", "none"),
    ],
)
def test_listed_sessions_have_the_editor_s_names(given: Any, expected: Any) -> None:
    answer = with_outer_ids(Answer(value={"sessions": given, "x": 1}), {"inner": "outer"})

    assert answer.result == {"sessions": expected, "x": 1}


@pytest.mark.requirement("run-mode.outer-ids")
def test_an_answer_that_is_no_list_of_sessions_is_unchanged() -> None:
    answer = Answer(value=[1])

    assert with_outer_ids(answer, {"1": "2"}) is answer
