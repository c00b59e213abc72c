"""What menus show: always something, never late, never from the network."""

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


def around(tmp_path: Path, address: str) -> RegistryContext:
    env = {"PATH": "/nowhere", "HOME": str(tmp_path)}
    return RegistryContext(env, tmp_path / "home", tmp_path / "cache", "linux-x86_64", address)


@pytest.mark.requirement("registry.directory-at-once")
async def test_the_network_is_not_asked_for_a_menu(tmp_path: Path) -> None:
    with serving() as web:
        web.answers["/r"] = reply(b"{}")
        listing = await RegistryDirectory(around(tmp_path, web.url("/r"))).choices()

    assert web.asked == []
    assert listing.agents[0].id == "eliza"
    assert {"gemini", "opencode"} <= {each.id for each in listing.agents}
    assert listing.warning is None


@pytest.mark.requirement("registry.directory-never-fails")
@pytest.mark.parametrize("trouble", ["no file", "no index", "broken notes"])
async def test_whatever_is_broken_there_are_agents_and_a_warning(
    trouble: str, tmp_path: Path
) -> None:
    file = tmp_path / "registry.json"
    if trouble != "no file":
        file.write_text('{"agents": []}' if trouble == "broken notes" else "[]")
    place = around(tmp_path, str(file))
    place.home.mkdir()
    if trouble == "broken notes":
        (place.home / "agents.json").write_text("{")

    directory = RegistryDirectory(place)
    listing = await directory.choices()
    await directory.refresh()

    assert listing.agents[0].id == "eliza"
    assert listing.warning


@pytest.mark.requirement("registry.directory-refresh")
async def test_a_refresh_beside_the_work_shows_in_the_next_menu(tmp_path: Path) -> None:
    entry = {"id": "new-one", "name": "N", "version": "1.0.0", "description": "d"}
    body = {"agents": [{**entry, "distribution": {"npx": {"package": "n"}}}]}
    with serving() as web:
        web.answers["/r"] = reply(json.dumps(body).encode())
        directory = RegistryDirectory(around(tmp_path, web.url("/r")))
        await directory.refresh()
        listing = await directory.choices()

    assert [each.id for each in listing.agents] == ["eliza", "testy", "new-one"]


@pytest.mark.requirement("registry.directory-shadowing")
async def test_what_is_ours_or_added_hides_what_the_registry_calls_the_same(
    tmp_path: Path,
) -> None:
    place = around(tmp_path, "https://never.asked")
    place.added.add(AddedAgent("gemini", ("my-gemini", "--acp"), {"A": "b c"}))
    place.added.add(AddedAgent("eliza", ("other",)))

    listing = await RegistryDirectory(place).choices()

    by_id = {each.id: each for each in listing.agents}
    assert by_id["gemini"].agent == "A='b c' my-gemini --acp"
    assert by_id["eliza"].agent == ComponentSource("builtin", "eliza")
    assert by_id["opencode"].agent == ComponentSource("registry", "opencode")


@pytest.mark.requirement("registry.unavailable-listed")
async def test_what_cannot_be_had_here_is_listed_last_and_says_what_is_missing(
    tmp_path: Path,
) -> None:
    listing = await RegistryDirectory(around(tmp_path, "https://never.asked")).choices()

    states = [each.how for each in listing.agents]
    assert states == sorted(states, key=lambda how: how == "unavailable")
    gemini = next(each for each in listing.agents if each.id == "gemini")
    # No tool is on this PATH; those of usual places may be.
    assert gemini.how == "registry" or "install npx" in gemini.description


@pytest.mark.requirement("registry.light")
def test_who_starts_a_chain_does_not_wait_for_what_asks_the_network() -> None:
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
def test_surroundings_are_read_from_the_environment(tmp_path: Path) -> None:
    env = {"SYMPOSIUM_HOME": str(tmp_path), "SYMPOSIUM_REGISTRY": "https://mine"}

    found = registry_context(env)

    assert (found.home, found.cache, found.address) == (
        *(tmp_path, tmp_path / "cache", "https://mine"),
    )
    assert found.bin_directory == tmp_path / "bin"
    assert registry_context(env, "https://now").address == "https://now"


@pytest.mark.requirement("registry.built-in")
def test_the_built_in_agents_are_described_once() -> None:
    assert {spec.name: spec.summary for spec in builtin_agents()} == BUILT_IN
