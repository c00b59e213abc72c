"""Agent menus from local data, with warnings instead of errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.web import reply, serving

from symposium.catalog import builtin_agents
from symposium.config.component_source import ComponentSource
from symposium.registry.index import AddedAgent, RegistryContext, registry_context
from symposium.registry.listing import BUILT_IN, RegistryDirectory


def context(tmp_path: Path, address: str) -> RegistryContext:
    env = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    return RegistryContext(env, tmp_path / "home", tmp_path / "cache", "linux-x86_64", address)


@pytest.mark.requirement("registry.directory-at-once")
async def test_menu_does_not_use_the_network(tmp_path: Path) -> None:
    with serving() as web:
        web.answers["/r"] = reply(b"{}")
        listing = await RegistryDirectory(context(tmp_path, web.url("/r"))).choices()

    assert web.asked == []
    assert listing.agents[0].id == "eliza"
    assert {"gemini", "opencode"} <= {each.id for each in listing.agents}
    assert listing.warning is None


@pytest.mark.requirement("registry.directory-never-fails")
@pytest.mark.parametrize("fault", ["no file", "no index", "broken notes"])
async def test_broken_local_data_gives_agents_and_a_warning(fault: str, tmp_path: Path) -> None:
    file = tmp_path / "registry.json"
    if fault != "no file":
        file.write_text('{"agents": []}' if fault == "broken notes" else "[]")
    place = context(tmp_path, str(file))
    place.home.mkdir()
    if fault == "broken notes":
        (place.home / "agents.json").write_text("{")

    directory = RegistryDirectory(place)
    listing = await directory.choices()
    await directory.refresh()

    assert listing.agents[0].id == "eliza"
    assert listing.warning


@pytest.mark.requirement("registry.directory-refresh")
async def test_background_refresh_shows_in_the_next_menu(tmp_path: Path) -> None:
    entry = {"id": "new-one", "name": "N", "version": "1.0.0", "description": "d"}
    body = {"agents": [{**entry, "distribution": {"npx": {"package": "n"}}}]}
    with serving() as web:
        web.answers["/r"] = reply(json.dumps(body).encode())
        directory = RegistryDirectory(context(tmp_path, web.url("/r")))
        await directory.refresh()
        listing = await directory.choices()

    assert [each.id for each in listing.agents] == ["eliza", "testy", "new-one"]


@pytest.mark.requirement("registry.directory-shadowing")
async def test_built_in_or_added_agent_hides_the_registry_agent_with_its_id(
    tmp_path: Path,
) -> None:
    place = context(tmp_path, "https://never.asked")
    place.added.add(AddedAgent("gemini", ("my-gemini", "--acp"), {"A": "b c"}))
    place.added.add(AddedAgent("eliza", ("other",)))

    listing = await RegistryDirectory(place).choices()

    by_id = {each.id: each for each in listing.agents}
    assert by_id["gemini"].agent == "A='b c' my-gemini --acp"
    assert by_id["eliza"].agent == ComponentSource("builtin", "eliza")
    assert by_id["opencode"].agent == ComponentSource("registry", "opencode")


@pytest.mark.requirement("registry.unavailable-listed")
async def test_unavailable_agent_is_listed_last_and_names_the_missing_tool(
    tmp_path: Path,
) -> None:
    listing = await RegistryDirectory(context(tmp_path, "https://never.asked")).choices()

    states = [each.how for each in listing.agents]
    assert states == sorted(states, key=lambda how: how == "unavailable")
    gemini = next(each for each in listing.agents if each.id == "gemini")
    # No tool is on this PATH, but usual directories may contain some.
    assert gemini.how == "registry" or "install npx" in gemini.description


@pytest.mark.requirement("registry.light")
def test_starting_a_chain_does_not_import_network_modules() -> None:
    script = (
        "import sys, symposium.registry.listing, symposium.registry.provision\n"
        "heavy = {'urllib.request', 'http.client', 'tarfile', 'zipfile'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert done.stdout == "[]\n"


@pytest.mark.requirement("registry.address")
def test_context_is_read_from_the_environment(tmp_path: Path) -> None:
    env = {"SYMPOSIUM_HOME": str(tmp_path), "SYMPOSIUM_REGISTRY": "https://mine"}

    found = registry_context(env)

    assert (found.home, found.cache, found.address) == (
        *(tmp_path, tmp_path / "cache", "https://mine"),
    )
    assert found.bin_directory == tmp_path / "bin"
    assert registry_context(env, "https://now").address == "https://now"


@pytest.mark.requirement("registry.built-in")
def test_built_in_agents_are_described_once() -> None:
    assert {spec.name: spec.summary for spec in builtin_agents()} == BUILT_IN
