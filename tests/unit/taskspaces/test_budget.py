"""What taskspaces may spend, reckoned over those that they spawn."""

from dataclasses import replace

import pytest

from symposium.taskspaces.budget import Spent, budget_text, raised, read_budget, reckon
from symposium.taskspaces.failures import RefusedNameError
from symposium.taskspaces.model import Layout, Limits, Taskspace

PARENT = Taskspace("p", "/p", Layout.BESIDE, "parent", "/w", "b", "", limits=Limits(usd=3.0))
CHILD = replace(PARENT, id="c", name="child", parent="p")
GRANDCHILD = replace(CHILD, id="g", name="grandchild", parent="c")
FAMILY = (PARENT, CHILD, GRANDCHILD, replace(PARENT, id="other"))


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize("text", ["3usd", "3usd,20min", "0.5usd,1.5min,30turns", "2turns"])
def test_a_budget_is_read_as_it_is_written(text: str) -> None:
    assert budget_text(read_budget(text)) == text


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize("text", ["", "3", "usd", "-3usd", "3usd,4usd", "0usd", "1e9usd", "3 eur"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(RefusedNameError, match="no budget"):
        read_budget(text)


@pytest.mark.requirement("tasks.budget")
def test_the_sum_over_children_counts_for_each_of_them() -> None:
    spent = {"p": Spent(usd=1.0), "c": Spent(usd=1.0), "g": Spent(usd=1.0), "other": Spent(usd=99)}

    for each in FAMILY[:3]:
        found = reckon(each, FAMILY, spent)
        assert found is not None
        assert (found.holder.id, found.is_over, found.spent.usd) == ("p", True, 3.0)
    alone = reckon(CHILD, FAMILY, {"c": Spent(usd=1.5)})
    assert alone is not None
    assert (alone.is_over, alone.share) == (False, 0.5)


@pytest.mark.requirement("tasks.budget")
def test_without_a_cost_only_time_and_turns_count_and_it_says_so() -> None:
    limited = replace(PARENT, limits=Limits(usd=1.0, minutes=10.0, turns=4))

    found = reckon(limited, [limited], {"p": Spent(minutes=5.0, turns=1, unknown=1)})

    assert found is not None
    assert found.share == 0.5
    assert found.text == "cost unknown, 5.0 min, 1 turns of 1usd,10min,4turns"


@pytest.mark.requirement("tasks.budget")
def test_more_is_added_to_what_is_bound() -> None:
    assert raised(Limits(usd=3.0), read_budget("2usd,10min")) == Limits(usd=5.0)
    assert reckon(replace(PARENT, limits=Limits()), [PARENT], {}) is None
