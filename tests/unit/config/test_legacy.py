"""Older layouts are found and read, but never changed."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from symposium.config.component_source import ComponentSource
from symposium.config.legacy import encoded, find_legacy
from symposium.config.paths import Paths, paths
from symposium.config.user_config import Config, ModEntry

WORKSPACE = Path("/Users/test/my-project")
ELIZA = ComponentSource("builtin", "eliza")
FERRIS = {"source": {"builtin": "ferris"}, "enabled": False, "when": {}}
SPARKLE = {
    "kind": "MCP",
    "source": {"cargo": {"crate": "sparkle-mcp", "args": ["--acp"]}},
    "enabled": True,
    "when": {"file-exists": "Cargo.toml"},
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def here(environment: dict[str, str]) -> Paths:
    return paths(environment)


def write(root: Path, name: str, value: Any) -> None:
    path = root / "config" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


OWN = f"{encoded(WORKSPACE)}/config.json"


@pytest.mark.requirement("config.legacy")
def test_workspace_is_encoded_by_name_and_hash() -> None:
    assert encoded(WORKSPACE) == "my-project-45eb29223e948799"
    assert encoded(Path("/")).startswith("root-")


@pytest.mark.requirement("config.legacy")
def test_nothing_is_found_without_an_older_layout(environment: dict[str, str]) -> None:
    assert find_legacy(here(environment), WORKSPACE, environment) is None


@pytest.mark.requirement("config.legacy")
def test_first_layout_has_agent_and_extensions_in_one_file(
    environment: dict[str, str],
) -> None:
    home = here(environment).home
    write(home, OWN, {"agent": {"builtin": "eliza"}, "extensions": [FERRIS]})

    found = find_legacy(here(environment), WORKSPACE, environment)

    assert found == Config(ELIZA, (ModEntry("ferris", enabled=False),))


@pytest.mark.requirement("config.legacy")
def test_second_layout_has_one_agent_for_all_workspaces(environment: dict[str, str]) -> None:
    home = here(environment).home
    write(home, "agent.json", {"agent": {"builtin": "eliza"}})
    assert find_legacy(here(environment), WORKSPACE, environment) == Config(ELIZA)

    write(home, OWN, {"agent": {"builtin": "old"}, "extensions": [FERRIS]})
    found = find_legacy(here(environment), WORKSPACE, environment)

    assert found == Config(ELIZA, (ModEntry("ferris", enabled=False),))


@pytest.mark.requirement("config.legacy")
@pytest.mark.parametrize("is_overridden", [False, True])
def test_third_layout_has_its_own_directory_and_takes_precedence(
    environment: dict[str, str], tmp_path: Path, *, is_overridden: bool
) -> None:
    root = tmp_path / ("elsewhere" if is_overridden else "xdg/symposium")
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    if is_overridden:
        environment |= {"SYMPOSIUM_CONFIG_DIR": str(root)}
    write(here(environment).home, "agent.json", {"agent": {"builtin": "old"}})
    write(root, "agent.json", {"agent": {"builtin": "eliza"}})
    write(root, OWN, {"mods": [FERRIS, SPARKLE]})

    found = find_legacy(here(environment), WORKSPACE, environment)

    cargo = ComponentSource("cargo", {"crate": "sparkle-mcp", "args": ["--acp"]})
    when = {"file-exists": "Cargo.toml"}
    sparkle = ModEntry("sparkle-mcp", source=cargo, kind="mcp", when=when)
    assert found == Config(ELIZA, (ModEntry("ferris", enabled=False), sparkle))


@pytest.mark.requirement("config.legacy")
@pytest.mark.parametrize(
    ("platform", "variables", "root"),
    [
        ("linux", {}, ".config/symposium"),
        ("darwin", {"XDG_CONFIG_HOME": "/x"}, "Library/Application Support/symposium"),
        ("win32", {}, "AppData/Roaming/symposium"),
        ("win32", {"APPDATA": "roaming"}, "roaming/symposium"),
    ],
)
def test_third_layout_is_found_in_the_directory_of_each_platform(
    platform: str,
    variables: dict[str, str],
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = {"HOME": str(tmp_path)} | variables
    if "APPDATA" in environment:
        environment["APPDATA"] = str(tmp_path / environment["APPDATA"])
    write(tmp_path / root, "agent.json", {"agent": {"builtin": "eliza"}})
    monkeypatch.setattr(sys, "platform", platform)

    assert find_legacy(here(environment), WORKSPACE, environment) == Config(ELIZA)


@pytest.mark.requirement("config.legacy")
def test_custom_home_ignores_other_directories(environment: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path / ".config" / "symposium", "agent.json", {"agent": {"builtin": "eliza"}})
    environment |= {"SYMPOSIUM_HOME": str(tmp_path / "own")}

    assert find_legacy(here(environment), WORKSPACE, environment) is None


@pytest.mark.requirement("config.legacy-broken")
@pytest.mark.parametrize("agent", ["{ broken", "[]", '{"agent": "words"}', '{"agent": {}}'])
def test_unreadable_files_are_ignored(environment: dict[str, str], agent: str) -> None:
    home = here(environment).home
    write(home, "agent.json", agent)
    assert find_legacy(here(environment), WORKSPACE, environment) is None

    mods = [1, {}, {"source": {"brew": "x"}}, {"source": {"builtin": 1}}, FERRIS]
    write(home, OWN, {"agent": {"builtin": "eliza"}, "mods": mods})
    found = find_legacy(here(environment), WORKSPACE, environment)

    assert found == Config(ELIZA, (ModEntry("ferris", enabled=False),))
    assert (home / "config" / "agent.json").read_text() == agent

    write(home, OWN, {"agent": {"builtin": "eliza"}, "mods": 5})
    assert find_legacy(here(environment), WORKSPACE, environment) == Config(ELIZA)
