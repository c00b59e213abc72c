"""What taskspaces may spend, reckoned over those that they spawn."""

from dataclasses import replace

import pytest

from symposium.tasks.budget import Usage, budget_text, raised, read_budget, reckon
from symposium.tasks.model import Layout, Limits, RefusedNameError, Taskspace
from symposium.tasks.spawning import shared

USD3 = {"usd": 3.0}
PARENT = Taskspace("p", "/p", Layout.BESIDE, "parent", "/w", "b", "", limits=Limits(costs=USD3))
CHILD = replace(PARENT, id="c", name="child", parent="p")
GRANDCHILD = replace(CHILD, id="g", name="grandchild", parent="c")
FAMILY = (PARENT, CHILD, GRANDCHILD, replace(PARENT, id="other"))


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    "text", ["3usd", "3usd,20min", "0.5usd,1.5min,30turns", "2turns", "2eur,3usd"]
)
def test_a_budget_is_read_as_it_is_written(text: str) -> None:
    assert budget_text(read_budget(text)) == text


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    "text", ["", "3", "usd", "-3usd", "3usd,4usd", "0usd", "1e9usd", "3 foo", "20mni"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(RefusedNameError, match="not a budget"):
        read_budget(text)


@pytest.mark.requirement("tasks.budget")
def test_the_sum_over_children_counts_for_each_of_them() -> None:
    spent = {each: Usage({"usd": 1.0}) for each in "pcg"} | {"other": Usage({"usd": 99.0})}

    for each in FAMILY[:3]:
        found = reckon(each, FAMILY, spent)
        assert found is not None
        assert (found.holder.id, found.is_over, found.spent.costs) == ("p", True, USD3)
    alone = reckon(CHILD, FAMILY, {"c": Usage({"usd": 1.5})})
    assert alone is not None
    assert (alone.is_over, alone.share) == (False, 0.5)


@pytest.mark.requirement("tasks.budget")
def test_without_a_cost_only_time_and_turns_count_and_it_says_so() -> None:
    limited = replace(PARENT, limits=Limits(costs={"usd": 1.0}, minutes=10.0, turns=4))

    found = reckon(limited, [limited], {"p": Usage(minutes=5.0, turns=1, unknown=1)})

    assert found is not None
    assert found.share == 0.5
    assert found.text == "cost unknown, 5.0 min, 1 turn of 1usd,10min,4turns"


@pytest.mark.requirement("tasks.budget")
def test_more_is_added_to_what_is_bound() -> None:
    assert raised(Limits(costs=USD3), read_budget("2usd,10min")) == Limits(costs={"usd": 5.0})
    assert reckon(replace(PARENT, limits=Limits()), [PARENT], {}) is None


@pytest.mark.requirement("tasks.currencies")
def test_costs_are_summed_by_currency_and_bounded_in_their_own() -> None:
    spent = Usage({"usd": 1.0, "eur": 2.0}) + Usage({"eur": 0.5}, turns=1, unknown=1)
    assert spent.text == "2.50 eur, 1.00 usd, cost unknown, 0.0 min, 1 turn"

    in_dollars = replace(PARENT, limits=read_budget("4usd"))
    found = reckon(in_dollars, [in_dollars], {"p": Usage({"eur": 9.0, "usd": 1.0})})
    assert found is not None
    assert (found.share, found.is_over) == (0.25, False)
    assert found.text == (
        "9.00 eur, 1.00 usd, 0.0 min, 0 turns of 4usd "
        "(costs in eur do not count against a budget in usd: no rate is known)"
    )

    in_both = replace(PARENT, limits=read_budget("4usd,9eur"))
    found = reckon(in_both, [in_both], {"p": Usage({"eur": 9.0, "usd": 1.0})})
    assert found is not None
    assert (found.is_over, found.uncounted) == (True, "")


@pytest.mark.requirement("tasks.currencies")
def test_the_budget_of_a_child_is_never_more_than_that_of_its_parent_in_any_currency() -> None:
    parent = replace(PARENT, limits=Limits(costs={"usd": 3.0, "eur": 2.0}))

    child = shared(parent, Limits(costs={"eur": 5.0, "chf": 1.0}))

    assert child.costs == {"usd": 3.0, "eur": 2.0, "chf": 1.0}


@pytest.mark.requirement("tasks.budget")
def test_a_part_of_a_turn_is_one_turn() -> None:
    assert budget_text(read_budget("0.4turns")) == "1turns"


@pytest.mark.requirement("tasks.budget")
def test_of_two_budgets_that_are_spent_as_far_the_one_of_the_parent_is_named() -> None:
    limited = replace(CHILD, limits=Limits(costs=USD3))
    found = reckon(limited, [PARENT, limited], {"c": Usage({"usd": 3.0})})

    assert found is not None
    assert (found.holder.id, found.is_over) == ("p", True)


@pytest.mark.requirement("tasks.currencies")
def test_a_budget_that_bounds_no_cost_says_nothing_of_costs() -> None:
    limited = replace(PARENT, limits=Limits(turns=4))
    found = reckon(limited, [limited], {"p": Usage({"usd": 9.0}, turns=1)})

    assert found is not None
    assert found.uncounted == ""
