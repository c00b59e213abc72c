"""Budgets of tasks, summed over the tasks that they spawn."""

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
def test_budget_text_round_trips(text: str) -> None:
    assert budget_text(read_budget(text)) == text


@pytest.mark.requirement("tasks.budget")
@pytest.mark.parametrize(
    "text", ["", "3", "usd", "-3usd", "3usd,4usd", "0usd", "1e9usd", "3 foo", "20mni"]
)
def test_invalid_budget_is_refused(text: str) -> None:
    with pytest.raises(RefusedNameError, match="not a budget"):
        read_budget(text)


@pytest.mark.requirement("tasks.budget")
def test_spending_of_a_family_counts_for_each_member() -> None:
    spent = {each: Usage({"usd": 1.0}) for each in "pcg"} | {"other": Usage({"usd": 99.0})}

    for each in FAMILY[:3]:
        found = reckon(each, FAMILY, spent)
        assert found is not None
        assert (found.holder.id, found.is_over, found.spent.costs) == ("p", True, USD3)
    alone = reckon(CHILD, FAMILY, {"c": Usage({"usd": 1.5})})
    assert alone is not None
    assert (alone.is_over, alone.share) == (False, 0.5)


@pytest.mark.requirement("tasks.budget")
def test_only_time_and_turns_count_when_the_cost_is_unknown() -> None:
    limited = replace(PARENT, limits=Limits(costs={"usd": 1.0}, minutes=10.0, turns=4))

    found = reckon(limited, [limited], {"p": Usage(minutes=5.0, turns=1, unknown=1)})

    assert found is not None
    assert found.share == 0.5
    assert found.text == "cost unknown, 5.0 min, 1 turn of 1usd,10min,4turns"


@pytest.mark.requirement("tasks.budget")
def test_extension_is_added_to_the_limits() -> None:
    all_kinds = Limits(costs=USD3, minutes=20.0, turns=30)

    assert raised(Limits(costs=USD3), read_budget("2usd,10min")) == Limits(costs={"usd": 5.0})
    assert raised(all_kinds, read_budget("10min")) == replace(all_kinds, minutes=30.0)
    assert raised(all_kinds, read_budget("2usd,5turns")) == Limits(
        costs={"usd": 5.0}, minutes=20.0, turns=35
    )
    assert reckon(replace(PARENT, limits=Limits()), [PARENT], {}) is None


@pytest.mark.requirement("tasks.currencies")
def test_costs_are_summed_and_limited_by_currency() -> None:
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
def test_budget_of_a_child_never_exceeds_its_parents_in_any_currency() -> None:
    parent = replace(PARENT, limits=Limits(costs={"usd": 3.0, "eur": 2.0}))

    child = shared(parent, Limits(costs={"eur": 5.0, "chf": 1.0}))

    assert child.costs == {"usd": 3.0, "eur": 2.0, "chf": 1.0}


@pytest.mark.requirement("tasks.budget")
def test_partial_turn_counts_as_one_turn() -> None:
    assert budget_text(read_budget("0.4turns")) == "1turns"


@pytest.mark.requirement("tasks.budget")
def test_parents_budget_is_named_when_both_are_equally_spent() -> None:
    limited = replace(CHILD, limits=Limits(costs=USD3))
    found = reckon(limited, [PARENT, limited], {"c": Usage({"usd": 3.0})})

    assert found is not None
    assert (found.holder.id, found.is_over) == ("p", True)


@pytest.mark.requirement("tasks.currencies")
def test_budget_without_a_cost_limit_does_not_mention_costs() -> None:
    limited = replace(PARENT, limits=Limits(turns=4))
    found = reckon(limited, [limited], {"p": Usage({"usd": 9.0}, turns=1)})

    assert found is not None
    assert found.uncounted == ""
