"""Chains of run mode that fit the editor, without needless mods (acp-host §3.3, R8)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.chain_harness import VERSION_ONE
from tests.support.run_mode_harness import run_mode_harness

from symposium.chain.mod import Mod
from symposium.mods.tag import Tag
from symposium.planning.planner import Plan

TAGGING = {"agent": "claude", "proxies": [{"name": "tag", "optional": True}]}


def untagged(plan: Plan, answer: Mapping[str, Any]) -> Plan:
    """Leave out `tag` for agents that tag by themselves."""
    if not answer.get("agentCapabilities", {}).get("tags"):
        return plan
    return replace(plan, chain=tuple(entry for entry in plan.chain if entry.id != "tag"))


@pytest.mark.requirement("run-mode.refine")
async def test_mod_that_the_agent_makes_needless_is_left_out_by_one_more_start(
    tmp_path: Path,
) -> None:
    async with run_mode_harness(tmp_path, TAGGING, settings={"refine": untagged}) as it:
        it.workshop.mods["tag"] = Tag
        it.editor.ask(0, "initialize", VERSION_ONE)
        tags = {"protocolVersion": 1, "agentCapabilities": {"tags": True}}
        first = await it.initialized_agent(1, tags)
        await first.ended()
        agent = await it.initialized_agent(2, tags)
        capabilities = (await it.editor.read())["result"]["agentCapabilities"]
        assert capabilities["tags"] is True
        assert capabilities["_meta"]["symposium"]["details"]["chain"] == []
        await it.session(agent)
        assert "**Chain:** editor → claude\n" in "".join(await it.say("/symposium:status"))


@pytest.mark.requirement("run-mode.refine")
async def test_mods_that_are_left_out_one_by_one_stay_out(tmp_path: Path) -> None:
    def without_the_last(plan: Plan, answer: Mapping[str, Any]) -> Plan:
        del answer
        return replace(plan, chain=plan.chain[:-1])

    two = [{"name": name, "optional": True} for name in ("one", "two")]
    config, settings = {"agent": "claude", "proxies": two}, {"refine": without_the_last}
    async with run_mode_harness(tmp_path, config, settings=settings) as it:
        it.workshop.mods = {"one": Mod, "two": Mod}
        it.editor.ask(0, "initialize", VERSION_ONE)
        for number in range(1, 4):
            await it.initialized_agent(number)
        capabilities = (await it.editor.read())["result"]["agentCapabilities"]
        assert capabilities["_meta"]["symposium"]["details"]["chain"] == []


@pytest.mark.requirement("run-mode.refine")
async def test_plan_that_fits_is_started_once(tmp_path: Path) -> None:
    async with run_mode_harness(tmp_path, TAGGING, settings={"refine": untagged}) as it:
        it.workshop.mods["tag"] = Tag
        it.editor.ask(0, "initialize", VERSION_ONE)
        await it.initialized_agent(1)
        capabilities = (await it.editor.read())["result"]["agentCapabilities"]
        chain = capabilities["_meta"]["symposium"]["details"]["chain"]
        assert chain == [{"id": "tag", "kind": "component"}]
        assert len(it.workshop.started.items) == 1


@pytest.mark.requirement("run-mode.refine")
async def test_refinement_that_drops_a_required_mod_starts_no_chain(tmp_path: Path) -> None:
    config = {"agent": "claude", "proxies": [{"name": "tag"}]}
    async with run_mode_harness(tmp_path, config, settings={"refine": untagged}) as it:
        it.workshop.mods["tag"] = Mod
        it.editor.ask(0, "initialize", VERSION_ONE)
        await it.initialized_agent(1, {"protocolVersion": 1, "agentCapabilities": {"tags": True}})
        result = (await it.editor.read())["result"]
        assert result["agentCapabilities"]["loadSession"] is False


NEEDS = {
    "agent": "claude",
    "proxies": [
        {"name": "mine", "requires": ["teleport"]},
        {"name": "supply", "kind": "adapter", "provides": ["teleport"]},
    ],
}


@pytest.mark.requirement("run-mode.declared-needs")
@pytest.mark.parametrize("has_it", [True, False])
async def test_adapter_of_the_config_is_in_the_chain_when_the_editor_lacks_its_feature(
    tmp_path: Path,
    has_it: bool,  # noqa: FBT001 - both forms of one parameter
) -> None:
    async with run_mode_harness(tmp_path, NEEDS) as it:
        it.workshop.mods = {"mine": Mod, "supply": Mod}
        able = {"_meta": {"symposium": {"teleport": has_it}}}
        it.editor.ask(0, "initialize", {**VERSION_ONE, "clientCapabilities": able})
        await it.initialized_agent()
        capabilities = (await it.editor.read())["result"]["agentCapabilities"]
        details = capabilities["_meta"]["symposium"]["details"]
        names = [each["id"] for each in details["chain"]]
        assert names == (["mine"] if has_it else ["supply", "mine"])
        assert details["provided_by"]["teleport"] == ("editor" if has_it else "supply")
