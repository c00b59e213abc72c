"""Adapters of installed distributions, and needs that a config declares."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import RpcError
from symposium.chain.mod import ComponentSpec, Mod, Needs
from symposium.planning.chain_spec import read_chain
from symposium.planning.planned_chain import ModPreferences, PlannedChain, planned_chain

ENTRY_POINTS = """\
[symposium.components]
teleporter = teleporting:adapter
power-plant = teleporting:power
broken = teleporting:missing
plain = teleporting:plain
"""
MODULE = """\
from symposium import ComponentSpec, Mod, Needs
adapter = ComponentSpec(
    "teleporter", "Teleports.", Mod,
    needs=Needs("adapter", requires=("power",), provides=("teleport",)),
)
power = ComponentSpec(
    "power-plant", "Gives power.", Mod, needs=Needs("adapter", provides=("power",))
)
plain = ComponentSpec("plain", "Is no adapter.", Mod, needs=Needs(provides=("teleport",)))
"""
NEEDY = ComponentSpec("tag", "Needs to teleport.", Mod, needs=Needs(requires=("teleport",)))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A distribution that offers two adapters, a mod, and something that cannot be loaded."""
    info = tmp_path / "teleporting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: teleporting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "teleporting.py").write_text(MODULE)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "teleporting", raising=False)


def planned(
    *mods: str,
    params: dict[str, Any] | None = None,
    needy: str = "tag",
    preferences: ModPreferences | None = None,
) -> PlannedChain:
    """The chain of these mods, of which one needs to teleport."""
    return planned_chain(
        read_chain(mods, "eliza", bridge="off"),
        params or {},
        look_up=lambda name: NEEDY if name == needy else None,
        preferences=preferences or ModPreferences(),
    )


@pytest.mark.requirement("planning.installed-adapters")
@pytest.mark.usefixtures("installed")
def test_adapters_of_an_installed_distribution_supply_what_a_mod_requires(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = planned("tag")

    assert [mod.name for mod in made.blueprint.mods] == [
        *("power-plant", "teleporter", "tag", "policy"),
    ]
    assert made.plan.provided_by["teleport"] == "teleporter"
    assert "broken" in caplog.text


@pytest.mark.requirement("planning.installed-adapters")
@pytest.mark.usefixtures("installed")
def test_installed_adapters_are_not_loaded_when_the_editor_has_what_is_required() -> None:
    able = {"clientCapabilities": {"_meta": {"symposium": {"teleport": True}}}}

    made = planned("tag", params=able)

    assert [entry.id for entry in made.plan.chain] == ["tag"]
    assert "teleporting" not in sys.modules


@pytest.mark.requirement("planning.declared-needs")
def test_config_declares_what_a_program_requires_and_another_provides() -> None:
    specs = [json.dumps({"command": "python", "name": name}) for name in ("user", "supply")]
    needs = {
        "user": Needs(requires=("teleport",)),
        "supply": Needs("adapter", provides=("teleport",)),
    }

    made = planned(*specs, needy="", preferences=ModPreferences(needs=needs))

    assert [entry.id for entry in made.plan.chain] == ["supply", "user"]
    assert made.plan.provided_by["teleport"] == "supply"


@pytest.mark.requirement("planning.declared-needs")
def test_program_that_requires_what_nothing_provides_fails_initialize_by_name() -> None:
    (program,) = [mod().name for mod in read_chain(["python two.py"], None).mods]
    preferences = ModPreferences(needs={program: Needs(requires=("teleport",))})

    with pytest.raises(RpcError) as caught:
        planned("python two.py", preferences=preferences)

    assert caught.value.data["capability"] == "teleport"


@pytest.mark.requirement("planning.declared-needs")
def test_declared_needs_are_added_to_those_of_the_mod() -> None:
    preferences = ModPreferences(needs={"tag": Needs(requires=("power",), provides=("light",))})
    able = {"clientCapabilities": {"_meta": {"symposium": {"teleport": True, "power": True}}}}

    made = planned("tag", params=able, preferences=preferences)

    (entry,) = made.plan.chain
    assert entry.needs.requires == ("teleport", "power")
    assert made.plan.provided_by["light"] == "tag"
