"""Which way is taken, and what it comes to."""

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
def test_the_first_way_whose_tool_is_here_is_taken() -> None:
    ways, order = dict(WAYS), list[str]()

    for name in WAYS:
        order.append(type(choose_way(entry(ways), PLATFORM, lambda _: True)).__name__)
        del ways[name]

    assert order == ["FromLocal", "FromArchive", *["FromPackage"] * 3, "FromCrate"]


@pytest.mark.requirement("registry.resolve-order")
@pytest.mark.parametrize(("tool", "package"), [("uvx", "py@1"), ("npx", "@s/js@1"), ("pipx", "py")])
def test_a_way_without_its_tool_is_passed_over(tool: str, package: str) -> None:
    way = choose_way(entry(WAYS), "linux-riscv64", lambda name: name == tool)

    assert isinstance(way, FromPackage)
    assert (way.tool, way.target.package) == (tool, package)


@pytest.mark.requirement("registry.resolve-errors")
def test_the_beginning_of_a_name_finds_nothing() -> None:
    index = Index((entry(WAYS),), (replace(entry(WAYS), id="xy"),), "", ())

    with pytest.raises(NotFoundError):
        find_mod_entry(index, "x")
    with pytest.raises(NotFoundError):
        find_entry(index, "")
    assert find_mod_entry(index, "xy").id == "xy"
    assert find_entry(index, "x").id == "x"


@pytest.mark.requirement("registry.resolve-errors")
def test_the_errors_are_in_the_words_of_the_reference() -> None:
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
def test_packages_have_the_forms_that_need_no_installation(
    tool: str, argv: tuple[str, ...]
) -> None:
    way = choose_way(entry({tool: WAYS[tool]}), PLATFORM, lambda _: True)

    assert isinstance(way, FromPackage)
    command = passing_command(way, "X")
    assert (command.argv, command.name) == (argv, "X")
    assert command.env == ({"A": "b"} if tool == "uvx" else {})


@pytest.mark.requirement("registry.resolved-forms")
def test_what_is_here_is_started_as_it_is() -> None:
    way = choose_way(entry(WAYS), PLATFORM, lambda name: name == "here")

    assert isinstance(way, FromLocal)
    assert passing_command(way, "X").argv == ("here", "--acp")


@pytest.mark.requirement("registry.resolve-errors")
def test_a_tool_serves_only_the_way_that_the_entry_has() -> None:
    for name in ("local", "uvx", "npx", "pipx", "cargo"):
        other = {key: way for key, way in WAYS.items() if key == "binary"}
        with pytest.raises(NotFoundError):
            choose_way(entry(other), "linux-riscv64", name.__eq__)
