"""Numbers that a user types in a menu, and the reasons that dialogs show."""

from typing import Any

import pytest

from peerwire.errors import AUTH_REQUIRED, RpcError
from symposium.run_mode.menu.login import reason_of
from symposium.run_mode.menu.pickers import choices_line, numbered


@pytest.mark.requirement("run-mode.menu-move-invalid")
@pytest.mark.parametrize(
    ("text", "index"),
    [
        *(("1", 0), ("3", 2), ("003", 2), ("0" * 5000 + "2", 1)),
        *((text, None) for text in ("0", "4", "-1", "+1", "1.0", "", " 1", "1_0", "9" * 5000)),
        *((text, None) for text in ("\u00b2", "\u0663", "one", "0" * 5000)),
    ],
    ids=lambda each: str(each)[:10],
)
def test_number_from_one_to_the_count_is_an_index(text: str, index: int | None) -> None:
    assert numbered(text, 3) == index


@pytest.mark.requirement("run-mode.menu-numbers")
def test_line_of_choices_lists_only_what_is_possible() -> None:
    assert choices_line(0) == "You can type `SAVE`, `CANCEL`, `A`, `M`."
    assert choices_line(1) == (
        "You can type `SAVE`, `CANCEL`, `A`, `1`, `move X to Y`, `M`, `remove X`."
    )


@pytest.mark.requirement("stories.a-11-told")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"details": "no token"}, "Log in: no token"),
        ({"message": "no token"}, "Log in: no token"),
        ("no token", "Log in: no token"),
        *((data, "Log in") for data in (None, "", {}, {"details": 3}, ["x"], {"other": "x"})),
    ],
)
def test_reason_for_a_login_has_the_text_of_the_agent(data: Any, reason: str) -> None:
    assert reason_of(RpcError(AUTH_REQUIRED, data, message="Log in")) == reason
