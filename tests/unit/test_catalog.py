"""Built-in and installed components, and the cost of a lookup."""

import subprocess
import sys
from pathlib import Path

import pytest

from localio.plugins import only_object
from peerwire.errors import LocalError
from symposium.catalog import (
    builtin_agents,
    builtin_mods,
    find_agent,
    find_mod,
    installed_mod_names,
    mod_names,
)
from symposium.chain.mod import ComponentSpec

DISTRIBUTION = """\
[symposium.components]
shout = shouting:spec
gone = shouting:nothing
away = no_such_module:spec
number = shouting:number
twice = shouting:spec
twice = shouting:other
pass = shouting:spec
"""
MODULE = """\
from symposium.chain.mod import ComponentSpec, Mod
spec = ComponentSpec(name="shout", summary="Shouts.", make=Mod)
other = ComponentSpec(name="twice", summary="Shouts.", make=Mod)
number = 7
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a distribution that offers valid and broken mods."""
    info = tmp_path / "shouting-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(DISTRIBUTION)
    (tmp_path / "shouting.py").write_text(MODULE)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "shouting", raising=False)


@pytest.mark.requirement("house.one-place-catalog")
def test_every_mod_is_named_after_its_module() -> None:
    assert [spec.name for spec in builtin_mods()] == mod_names()
    assert {"arrow", "pass", "tag"} <= set(mod_names())


@pytest.mark.requirement("house.one-place-catalog")
def test_mod_is_found_by_its_name() -> None:
    found = find_mod("arrow")

    assert found is not None
    assert found.name == "arrow"


@pytest.mark.requirement("house.one-place-catalog")
def test_mod_in_a_new_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = sys.modules["symposium.mods"]
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "symposium.mods.new_here", raising=False)
    (tmp_path / "new_here.py").write_text(
        MODULE.replace('"shout"', '"new-here"').replace("other", "# other")
    )

    assert "new-here" in mod_names()
    found = find_mod("new-here")
    assert found is not None
    assert found.name == "new-here"
    monkeypatch.delitem(sys.modules, "symposium.mods.new_here")


@pytest.mark.requirement("house.catalog")
def test_every_agent_is_named_after_its_package() -> None:
    assert [spec.name for spec in builtin_agents()] == ["eliza", "testy"]
    assert find_agent("eliza") is not None


@pytest.mark.requirement("house.catalog")
@pytest.mark.parametrize(
    "name",
    ["", "unknown", "pass_", "../arrow", "arrow.spec", "npx -y agent", "__init__", "{}", "é è"],
)
def test_invalid_name_is_not_found(name: str) -> None:
    assert find_mod(name) is None
    assert find_agent(name) is None


@pytest.mark.requirement("house.catalog")
@pytest.mark.parametrize("module", ["email", "shouting"])
@pytest.mark.usefixtures("installed")
def test_module_without_exactly_one_spec_is_refused(module: str) -> None:
    with pytest.raises(LocalError, match=r"makes \d objects of ComponentSpec, not one"):
        only_object(module, ComponentSpec)


@pytest.mark.requirement("cli.third-party-mods")
@pytest.mark.usefixtures("installed")
def test_installed_distribution_offers_mods() -> None:
    found = find_mod("shout")

    assert found is not None
    assert found.summary == "Shouts."
    assert "shout" in installed_mod_names()


@pytest.mark.requirement("cli.third-party-mods")
@pytest.mark.usefixtures("installed")
def test_installed_mod_does_not_replace_a_built_in_one() -> None:
    found = find_mod("pass")

    assert found is not None
    assert found.name == "pass"


@pytest.mark.requirement("cli.third-party-mods")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("gone", r"could not load mod gone \(shouting:nothing\)"),
        ("away", r"no_such_module:spec\): No module named"),
        ("number", r"shouting:number.* is not a ComponentSpec"),
        ("twice", r"several distributions offer a mod named twice"),
    ],
)
@pytest.mark.usefixtures("installed")
def test_broken_mod_of_a_distribution_is_named(name: str, problem: str) -> None:
    with pytest.raises(LocalError, match=problem):
        find_mod(name)


@pytest.mark.requirement("cli.lookup-imports-one")
def test_lookup_imports_one_mod_and_nothing_slow() -> None:
    script = (
        "import sys; from symposium.catalog import find_mod; find_mod('tag');"
        "print(sorted(m for m in sys.modules if m.startswith('symposium.mods.')"
        " or m == 'importlib.metadata'))"
    )

    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert said.stdout.strip() == "['symposium.mods.tag']"
