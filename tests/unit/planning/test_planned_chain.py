"""From enabled components and an editor's `initialize` to a chain, and what both ends see of it."""

import asyncio
import tomllib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from peerwire.errors import INTERNAL_ERROR, LocalError, RpcError
from peerwire.transports.memory import memory_pair
from symposium.chain.blueprint import Blueprint, InProcess
from symposium.chain.conductor import Conductor
from symposium.chain.mod import ComponentSpec, Mod, Needs
from symposium.planning.chain_spec import read_chain
from symposium.planning.planned_chain import VERSION, ModPreferences, Refine, planned_chain
from symposium.planning.planner import ChainEntry
from symposium.testing import CAPABILITIES, editor_on

ROOT = Path(__file__).parents[3]


@pytest.mark.requirement("planning.told-the-editor")
def test_editor_gets_the_version_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == VERSION


@pytest.mark.requirement("planning.components-in-order")
def test_components_have_the_configured_order_before_the_bridge_and_the_agent() -> None:
    made = planned_chain(read_chain(["tag", "pass", "tag"], "eliza"), {"clientCapabilities": {}})
    names = [component.name for component in made.blueprint.mods]
    assert names[:3] == ["tag", "pass", "tag"]
    assert made.prediction == made.blueprint.params
    assert len({id(component) for component in made.blueprint.mods}) == len(names)
    told = made.advertised({"protocolVersion": 1})["agentCapabilities"]["_meta"]["symposium"]
    assert told["details"]["chain"][0] == {"id": "tag", "kind": "component"}
    assert [entry.id for entry in made.plan.chain] == ["tag", "pass", "tag"]


NEEDY = ComponentSpec(
    "tag", "Needs what no component offers.", Mod, needs=Needs(requires=("teleport",))
)


@pytest.mark.requirement("planning.required-missing")
async def test_what_is_missing_is_said_to_the_editor_which_may_try_again() -> None:
    chain = read_chain(["tag"], "eliza")

    def instantiate(params: Any) -> Blueprint:
        return planned_chain(chain, params, look_up=lambda _: NEEDY).blueprint

    near, far = memory_pair()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(Conductor(far, instantiate).run())
        async with editor_on(near) as editor:
            with pytest.raises(RpcError) as caught:
                await editor.initialize()
            able = {**CAPABILITIES, "_meta": {"symposium": {"teleport": True}}}
            assert (await editor.initialize(capabilities=able))["protocolVersion"] == 1
    assert caught.value.code == INTERNAL_ERROR
    assert caught.value.data == {
        "reason": "missing_capability",
        "component": "tag",
        "capability": "teleport",
    }


@pytest.mark.requirement("planning.hidden-mods")
def test_what_the_host_puts_in_is_not_looked_up_and_stands_next_to_the_agent() -> None:
    asked: list[str] = []

    def look_up(name: str) -> ComponentSpec | None:
        asked.append(name)
        return None

    hidden = InProcess("mcp servers", Mod(), is_hidden=True)
    chain = read_chain(["tag"], "eliza", bridge="off")
    whole = replace(chain, mods=(lambda: hidden, *chain.mods))
    made = planned_chain(whole, {}, look_up=look_up)
    assert asked == ["tag"]
    assert [component.name for component in made.blueprint.mods] == ["tag", "mcp servers", "policy"]
    assert [entry.id for entry in made.plan.chain] == ["tag"]


@pytest.mark.requirement("planning.wishes")
def test_the_user_says_what_the_chain_may_go_without() -> None:
    chain = read_chain(["tag"], "eliza")
    preferences = ModPreferences({"tag": True})
    made = planned_chain(chain, {}, look_up=lambda _: NEEDY, preferences=preferences)
    assert [each.component for each in made.plan.degraded] == ["tag"]
    optional = replace(NEEDY, needs=replace(NEEDY.needs, is_optional=True))
    with pytest.raises(RpcError):
        planned_chain(
            chain, {}, look_up=lambda _: optional, preferences=ModPreferences({"tag": False})
        )
    assert planned_chain(chain, {}, preferences=ModPreferences(without={"tag"})).plan.chain == ()


@pytest.mark.requirement("run-mode.refine")
def test_a_plan_is_refined_by_leaving_optional_mods_out_and_in_no_other_way() -> None:
    spare = ComponentSpec("tag", "Is optional.", Mod, needs=Needs(is_optional=True))
    chain = read_chain(["tag", "pass"], "eliza")
    made = planned_chain(chain, {}, look_up=lambda name: spare if name == "tag" else None)

    def keeping(*names: str) -> Refine:
        entries = {each.id: each for each in made.plan.chain} | {"more": ChainEntry("more")}
        return lambda plan, _: replace(plan, chain=tuple(entries[name] for name in names))

    assert made.dropped({}, keeping("tag", "pass")) == set()
    assert made.dropped({}, keeping("pass")) == {"tag"}
    with pytest.raises(LocalError, match=r"optional mods out: pass$"):
        made.dropped({}, keeping("tag"))
    with pytest.raises(LocalError, match=r"optional mods out: more$"):
        made.dropped({}, keeping("tag", "pass", "more"))
