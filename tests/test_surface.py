"""The public surface that users script equals the lists in tests/golden/surface/."""

import pytest
from tests.support.surface import LISTS, SECTIONS, lines_of, listed

WRITE = "if it is meant: python -m tests.support.surface --write"


@pytest.mark.requirement("house.surface")
@pytest.mark.parametrize("section", sorted(SECTIONS))
def test_surface_equals_the_list(section: str) -> None:
    today, before = lines_of(section), listed(section)
    missing = [each for each in before if each not in set(today)]
    new = [each for each in today if each not in set(before)]

    assert missing == [], f"missing from{section}: {missing}; {WRITE}"
    assert new == [], f"not on the list of {section}: {new}; {WRITE}"


@pytest.mark.requirement("house.surface")
def test_every_list_has_a_section_and_unique_names() -> None:
    assert {each.stem for each in LISTS.glob("*.txt")} == set(SECTIONS)
    assert all(len(set(listed(each))) == len(listed(each)) > 5 for each in SECTIONS)
