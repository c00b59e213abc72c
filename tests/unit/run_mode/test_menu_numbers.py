"""Numbers that a user types in a menu."""

import pytest

from symposium.run_mode.menu.pickers import numbered


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
