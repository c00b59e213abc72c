"""Components of a chain, and their order."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.chain.mod import Needs
from symposium.planning.planner import (
    EDITOR,
    ChainEntry,
    Degraded,
    MissingCapabilityError,
    Plan,
    plan,
)

IDE_OPS = ChainEntry("ide-ops", Needs(requires=("ide_operations",), is_optional=True))
ADAPTER = ChainEntry("ide-ops-adapter", Needs("adapter", provides=("ide_operations",)))


def adapter(name: str, requires: str = "", provides: str = "") -> ChainEntry:
    return ChainEntry(name, Needs("adapter", tuple(requires.split()), tuple(provides.split())))


def component(
    name: str, requires: str = "", provides: str = "", *, optional: bool = False
) -> ChainEntry:
    needs = Needs("component", tuple(requires.split()), tuple(provides.split()), {}, optional)
    return ChainEntry(name, needs)


def names(made: Plan) -> list[str]:
    return [entry.id for entry in made.chain]


@pytest.mark.requirement("planning.four-chains")
@pytest.mark.parametrize(
    ("offered", "enabled", "adapters", "chain"),
    [
        (["ide_operations"], [IDE_OPS], [ADAPTER], ["ide-ops"]),
        ([], [IDE_OPS], [ADAPTER], ["ide-ops-adapter", "ide-ops"]),
        (["ide_operations"], [], [ADAPTER], []),
        ([], [], [ADAPTER], []),
        ([], [IDE_OPS], [], []),
    ],
)
def test_the_four_chains_of_the_seed(
    offered: list[str], enabled: list[ChainEntry], adapters: list[ChainEntry], chain: list[str]
) -> None:
    assert names(plan(offered, enabled, adapters)) == chain


@pytest.mark.requirement("planning.optional-left-out")
def test_an_optional_component_is_left_out_and_it_is_said_what_it_would_have_needed() -> None:
    made = plan([], [IDE_OPS], [])
    assert made.degraded == (Degraded("ide-ops", ("ide_operations",)),)
    assert made.reasons == ("ide-ops is left out: nothing provides ide_operations",)


@pytest.mark.requirement("planning.required-missing")
def test_a_required_component_without_what_it_needs_ends_the_plan() -> None:
    with pytest.raises(MissingCapabilityError, match="a needs x") as caught:
        plan([], [component("a", "x")], [])
    assert caught.value.data == {
        "reason": "missing_capability",
        "component": "a",
        "capability": "x",
    }


@pytest.mark.requirement("planning.adapters-recurse")
def test_an_adapter_may_need_what_the_editor_has() -> None:
    made = plan(["y"], [component("a", "x")], [adapter("high", "y", "x")])

    assert names(made) == ["high", "a"]


@pytest.mark.requirement("planning.adapters-recurse")
def test_component_that_an_adapter_needs_precedes_it() -> None:
    adapters = [adapter("high", "y", "x"), adapter("low", "", "y")]
    made = plan([], [component("a"), component("b", "x")], adapters)
    assert names(made) == ["low", "high", "a", "b"]


@pytest.mark.requirement("planning.adapters-recurse")
def test_an_adapter_that_cannot_be_satisfied_gives_way_to_the_next() -> None:
    adapters = [adapter("first", "nowhere", "x"), adapter("second", "", "x")]
    assert names(plan([], [component("a", "x")], adapters)) == ["second", "a"]


@pytest.mark.requirement("planning.cycles-end")
def test_adapters_that_need_each_other_are_no_way() -> None:
    adapters = [adapter("one", "y", "x"), adapter("two", "x", "y")]
    made = plan([], [component("a", "x", optional=True)], adapters)
    assert names(made) == []
    assert made.degraded == (Degraded("a", ("x",)),)


@pytest.mark.requirement("planning.adapters-recurse")
def test_adapter_cannot_use_a_component_after_it() -> None:
    enabled = [component("early", provides="y"), component("late", "x", optional=True)]
    made = plan([], enabled, [adapter("leaning", "y", "x")])
    assert names(made) == ["early"]


@pytest.mark.requirement("planning.components-provide")
def test_a_component_can_use_what_one_before_it_provides() -> None:
    made = plan([], [component("a", provides="x"), component("b", "x")], [adapter("c", "", "x")])
    assert names(made) == ["a", "b"]
    assert made.provided_by == {"x": "a"}


@pytest.mark.requirement("planning.no-needless-adapter")
def test_requested_adapter_is_in_the_chain_only_if_it_is_needed() -> None:
    assert names(plan([], [IDE_OPS, ADAPTER], [ADAPTER])) == ["ide-ops-adapter", "ide-ops"]
    made = plan(["ide_operations"], [ADAPTER, IDE_OPS], [])
    assert names(made) == ["ide-ops"]
    assert (
        made.reasons[-1] == "ide-ops-adapter is left out: no component needs ide_operations from it"
    )


_PRIMITIVES = st.lists(st.sampled_from("uvwxyz"), max_size=3, unique=True).map(tuple)


@st.composite
def entries(draw: st.DrawFn, kind: str) -> list[ChainEntry]:
    found: list[ChainEntry] = []
    for number in range(draw(st.integers(0, 6))):
        requires, provides = draw(_PRIMITIVES), draw(_PRIMITIVES)
        if kind == "adapter":
            found.append(ChainEntry(f"adapter-{number}", Needs("adapter", requires, provides)))
        else:
            optional = draw(st.booleans())
            needs = Needs("component", requires, provides, {}, optional)
            found.append(ChainEntry(f"component-{number}", needs))
    return found


def planned(
    offered: Sequence[str], enabled: list[ChainEntry], adapters: list[ChainEntry]
) -> Plan | str:
    try:
        return plan(offered, enabled, adapters)
    except MissingCapabilityError as error:
        return str(error)


@pytest.mark.requirement(
    "planning.deterministic", "planning.provided-before-used", "planning.no-needless-adapter"
)
@given(_PRIMITIVES, entries("component"), entries("adapter"))
def test_every_plan_is_the_same_again_in_order_and_without_surplus(
    offered: tuple[str, ...], enabled: list[ChainEntry], adapters: list[ChainEntry]
) -> None:
    made = planned(offered, enabled, adapters)
    assert planned(offered, enabled, adapters) == made
    if isinstance(made, str):
        return
    have = dict.fromkeys(offered, EDITOR)
    for entry in made.chain:
        assert set(entry.needs.requires) <= set(have)
        for primitive in entry.needs.provides:
            have.setdefault(primitive, entry.id)
    assert len(set(names(made))) == len(made.chain)
    assert [entry for entry in made.chain if entry in enabled] == [
        entry for entry in enabled if entry in made.chain
    ]
    for entry in made.chain:
        if entry.needs.kind == "adapter":
            assert not set(entry.needs.provides) <= set(offered)


@pytest.mark.requirement("planning.preference")
def test_an_adapter_of_the_configuration_is_preferred_to_an_installed_one() -> None:
    own, other = adapter("own", provides="x"), adapter("other", provides="x")

    assert names(plan([], [component("a", "x"), own], [other])) == ["own", "a"]
