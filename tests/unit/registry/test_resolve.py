"""Choice of a distribution, and its command."""

from typing import Any

import pytest
from msgspec.structs import replace

from symposium.errors import NotFoundError
from symposium.registry.entries import (
    FromLocal,
    FromPackage,
    Index,
    RegistryEntry,
    choose_way,
    find_entry,
    find_mod_entry,
    parse_entry,
    passing_command,
)

PLATFORM = "linux-x86_64"
WAYS: dict[str, Any] = {
    "local": {"command": "here", "args": ["--acp"]},
    "binary": {PLATFORM: {"archive": "https://a/b.zip", "cmd": "./x"}},
    "uvx": {"package": "py@1", "args": ["--acp"], "env": {"A": "b"}},
    "npx": {"package": "@s/js@1", "args": ["--acp"]},
    "pipx": {"package": "py"},
    "cargo": {"crate": "rs"},
}


def entry(ways: dict[str, Any]) -> RegistryEntry:
    members = {"id": "x", "name": "X", "version": "1.0.0", "description": "d"}
    return parse_entry({**members, "distribution": ways})


@pytest.mark.requirement("registry.resolve-order")
def test_first_way_with_an_available_tool_is_chosen() -> None:
    ways, order = dict(WAYS), list[str]()

    for name in WAYS:
        order.append(type(choose_way(entry(ways), PLATFORM, lambda _: True)).__name__)
        del ways[name]

    assert order == ["FromLocal", "FromArchive", *["FromPackage"] * 3, "FromCrate"]


@pytest.mark.requirement("registry.resolve-order")
@pytest.mark.parametrize(("tool", "package"), [("uvx", "py@1"), ("npx", "@s/js@1"), ("pipx", "py")])
def test_way_without_its_tool_is_skipped(tool: str, package: str) -> None:
    way = choose_way(entry(WAYS), "linux-riscv64", lambda name: name == tool)

    assert isinstance(way, FromPackage)
    assert (way.tool, way.target.package) == (tool, package)


@pytest.mark.requirement("registry.resolve-errors")
def test_prefix_of_an_id_finds_nothing() -> None:
    index = Index((entry(WAYS),), (replace(entry(WAYS), id="xy"),), "", ())

    with pytest.raises(NotFoundError):
        find_mod_entry(index, "x")
    with pytest.raises(NotFoundError):
        find_entry(index, "")
    assert find_mod_entry(index, "xy").id == "xy"
    assert find_entry(index, "x").id == "x"


@pytest.mark.requirement("registry.resolve-errors")
def test_errors_match_the_reference_implementation() -> None:
    nothing = Index((), (), "", ())

    with pytest.raises(NotFoundError, match=r"^Agent 'x' not found in registry"):
        find_entry(nothing, "x")
    with pytest.raises(NotFoundError, match=r"^Mod 'x' not found in registry"):
        find_mod_entry(nothing, "x")
    with pytest.raises(NotFoundError) as caught:
        choose_way(entry(WAYS), "linux-riscv64", lambda _: False)
    assert caught.value.message == (
        "No compatible distribution found for agent 'x' on platform linux-riscv64"
    )
    assert caught.value.hint == (
        "install uvx or npx or pipx or cargo or here; its programs are for linux-x86_64"
    )


@pytest.mark.requirement("registry.resolved-forms")
@pytest.mark.parametrize(
    ("tool", "argv"),
    [
        ("uvx", ("uvx", "py@1", "--acp")),
        ("npx", ("npx", "-y", "@s/js@1", "--acp")),
        ("pipx", ("pipx", "run", "py")),
    ],
)
def test_package_commands_run_without_installation(tool: str, argv: tuple[str, ...]) -> None:
    way = choose_way(entry({tool: WAYS[tool]}), PLATFORM, lambda _: True)

    assert isinstance(way, FromPackage)
    command = passing_command(way, "X")
    assert (command.argv, command.name) == (argv, "X")
    assert command.env == ({"A": "b"} if tool == "uvx" else {})


@pytest.mark.requirement("registry.resolved-forms")
def test_local_program_is_started_unchanged() -> None:
    way = choose_way(entry(WAYS), PLATFORM, lambda name: name == "here")

    assert isinstance(way, FromLocal)
    assert passing_command(way, "X").argv == ("here", "--acp")


@pytest.mark.requirement("registry.resolve-errors")
def test_tool_is_used_only_for_a_way_of_the_entry() -> None:
    for name in ("local", "uvx", "npx", "pipx", "cargo"):
        other = {key: way for key, way in WAYS.items() if key == "binary"}
        with pytest.raises(NotFoundError):
            choose_way(entry(other), "linux-riscv64", name.__eq__)
