"""From enabled components and an editor's `initialize` to a chain, and what both ends see of it."""

import tomllib
from pathlib import Path

import pytest

from symposium.chain_spec import read_chain
from symposium.planned_chain import VERSION, planned_chain

ROOT = Path(__file__).parents[3]


@pytest.mark.requirement("planning.told-the-editor")
def test_the_version_that_the_editor_is_told_is_the_distribution_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == VERSION


@pytest.mark.requirement("planning.components-in-order")
def test_components_stand_in_the_configured_order_before_the_bridge_and_the_agent() -> None:
    made = planned_chain(read_chain(["tag", "pass", "tag"], "eliza"), {"clientCapabilities": {}})
    names = [component.name for component in made.blueprint.mods]
    assert names[:3] == ["tag", "pass", "tag"]
    assert made.prediction == made.blueprint.params
    assert len({id(component) for component in made.blueprint.mods}) == len(names)
    told = made.advertised({"protocolVersion": 1})["agentCapabilities"]["_meta"]["symposium"]
    assert told["details"]["chain"][0] == {"id": "tag", "kind": "component"}
    assert [entry.id for entry in made.plan.chain] == ["tag", "pass", "tag"]
