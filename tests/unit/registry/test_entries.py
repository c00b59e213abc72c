"""Parsing of the registry's index: accepted, rejected, and ignored parts."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.registry.entries import (
    PLATFORMS,
    RegistryFormatError,
    parse_entry,
    parse_index,
    platform_key,
)
from symposium.registry.index import snapshot
from symposium.registry.provision import read_entry


def entry(**members: Any) -> dict[str, Any]:
    good = {"id": "some-agent", "name": "Some", "version": "1.2.3", "description": "An agent."}
    return {**good, "distribution": {"npx": {"package": "some@1.2.3"}}, **members}


def index(*agents: Any, **members: Any) -> bytes:
    return json.dumps({"version": "1.0.0", "agents": agents, **members}).encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda each: (
        st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=8), each, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.requirement("registry.format-tolerant")
@given(bad=st.lists(JSON, max_size=4), after=st.integers(0, 4))
def test_valid_entry_is_found_among_invalid_ones(bad: list[Any], after: int) -> None:
    agents = [*bad[:after], entry(), *bad[after:]]

    found = parse_index(index(*agents))

    assert [each.id for each in found.agents] == ["some-agent"]
    assert len(found.problems) == len(bad)


@pytest.mark.requirement("registry.format-tolerant")
@given(st.binary(max_size=64) | JSON.map(lambda value: json.dumps(value).encode()))
def test_malformed_index_is_an_error_with_a_message(data: bytes) -> None:
    found = None
    with suppress(RegistryFormatError):
        found = parse_index(data)

    assert found is None or isinstance(json.loads(data)["agents"], list)


@pytest.mark.requirement("registry.format-tolerant")
def test_unknown_members_and_ways_are_ignored() -> None:
    ways = {"npx": {"package": "some", "colour": 1}, "teleport": {"to": "here"}}

    found = parse_index(index(entry(distribution=ways, flavour="sweet"), planet="earth"))

    assert not found.problems
    assert found.agents[0].distribution.npx


@pytest.mark.requirement("registry.format-members")
@pytest.mark.parametrize("name", ["mods", "extensions"])
def test_mods_are_read_from_both_keys(name: str) -> None:
    found = parse_index(index(entry(), **{name: [entry(id="some-mod")]}))

    assert [each.id for each in found.mods] == ["some-mod"]
    assert found.stamp == "1.0.0"


@pytest.mark.requirement("registry.format-members")
def test_date_takes_precedence_over_version_and_all_ways_are_read() -> None:
    ways = {
        "local": {"command": "x"},
        "binary": {"linux-x86_64": {"archive": "https://a/b.zip", "cmd": "./x", "env": {"A": "b"}}},
        "uvx": {"package": "x", "args": ["--acp"]},
        "npx": {"package": "@x/y@1", "env": {"C": "d"}},
        "pipx": {"package": "x"},
        "cargo": {"crate": "x", "binary": "y"},
    }

    found = parse_index(index(entry(distribution=ways), date="2026-01-02"))

    assert found.stamp == "2026-01-02"
    read = found.agents[0].distribution
    assert all((read.local, read.binary, read.uvx, read.npx, read.pipx, read.cargo))
    assert read.binary
    assert read.binary["linux-x86_64"].env == {"A": "b"}


@pytest.mark.requirement("registry.ids-checked")
@pytest.mark.parametrize(
    "members",
    [
        {"id": "../up"},
        {"id": "Upper"},
        {"id": ""},
        {"id": "1st"},
        {"id": "a\n"},
        {"version": "../../x"},
        {"version": ".hidden"},
        {"version": "-rf"},
        {"version": ""},
        {"distribution": {"npx": {"package": "--eval=x"}}},
        {"distribution": {"uvx": {"package": ""}}},
        {"distribution": {"pipx": {"package": "a b"}}},
        {"distribution": {"npx": {"package": "../../x"}}},
        {"distribution": {"npx": {"package": "/x"}}},
        {"distribution": {"npx": {"package": "user/repository"}}},
        {"distribution": {"npx": {"package": "https://x/y.tgz"}}},
        {"distribution": {"npx": {"package": "x@file:../y"}}},
        {"distribution": {"npx": {"package": "x@npm:y"}}},
        {"distribution": {"npx": {"package": "@x/../y"}}},
        {"distribution": {"npx": {"package": "x y"}}},
        {"distribution": {"uvx": {"package": "git+https://x/y"}}},
        {"distribution": {"uvx": {"package": "./x"}}},
        {"distribution": {"pipx": {"package": "x @ https://y"}}},
        {"distribution": {"pipx": {"package": "x.whl/"}}},
        {"distribution": {"cargo": {"crate": "-x"}}},
        {"distribution": {"cargo": {"crate": "../x"}}},
        {"distribution": {"cargo": {"crate": "x", "binary": "../x"}}},
        {"distribution": {"cargo": {"crate": "x", "version": "--git"}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://a", "cmd": "../sh"}}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://a", "cmd": "/bin/sh"}}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://a", "cmd": ""}}}},
        {"distribution": {"binary": {"linux-x86_64": {"archive": "https://a", "cmd": "..\\sh"}}}},
        {
            "distribution": {
                "binary": {"linux-x86_64": {"archive": "https://a", "cmd": "x", "sha256": "12"}}
            }
        },
        {"name": 3},
        {"distribution": None},
    ],
    ids=str,
)
def test_harmful_entry_is_rejected(members: dict[str, Any]) -> None:
    with pytest.raises(RegistryFormatError):
        parse_entry(entry(**members))


@pytest.mark.requirement("registry.ids-checked")
@pytest.mark.parametrize(
    "way",
    [
        *({"npx": {"package": each}} for each in ("x", "X.js", "@a-b/c.d@1.2-rc.1+x", "x@latest")),
        *({"npx": {"package": each}} for each in ("x@^1.2", "x@>=1", "~x@~1")),
        *({"uvx": {"package": each}} for each in ("x", "x==1.0.2", "x@latest", "x[a,b]>=1,<2")),
        *({"pipx": {"package": each}} for each in ("x_y.z", "x~=1.0", "x!=3", "x===1")),
        {"cargo": {"crate": "x_y-z", "version": "1.2.3", "binary": "x-y"}},
    ],
    ids=str,
)
def test_package_names_with_versions_are_accepted(way: dict[str, Any]) -> None:
    assert parse_entry(entry(distribution=way)).id


@pytest.mark.requirement("registry.format-tolerant")
def test_malformed_mods_do_not_hide_agents() -> None:
    found = parse_index(index(entry(), mods={"id": "a"}))

    assert [each.id for each in found.agents] == ["some-agent"]
    assert found.mods == ()
    assert found.problems == ('"mods" is not a list',)


@pytest.mark.requirement("registry.format-tolerant")
@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"name": 3}, "Expected `str`, got `int` - at `$.name`"),
        ({"version": "-" + "x" * 100}, f"'-{'x' * 79}' is not a version"),
        (
            {"distribution": {"npx": {"package": "-" * 100}}},
            f"'{'-' * 80}' is not the name of a package",
        ),
        (
            {"distribution": {"binary": {"linux-x86_64": {"archive": "a", "cmd": "/" * 100}}}},
            f"linux-x86_64: '{'/' * 80}' is not a path of a program inside an archive",
        ),
    ],
)
def test_entry_error_names_the_problem_briefly(members: dict[str, Any], expected: str) -> None:
    with pytest.raises(RegistryFormatError) as caught:
        parse_entry(entry(**members))

    assert caught.value.message.endswith(expected)


@pytest.mark.requirement("registry.ids-checked")
def test_first_of_two_entries_with_the_same_id_is_used() -> None:
    found = parse_index(index(entry(name="First"), entry(name="Second")))

    assert [each.name for each in found.agents] == ["First"]
    assert "duplicate" in found.problems[0]


@pytest.mark.requirement("registry.snapshot")
def test_snapshot_is_complete_and_dated() -> None:
    loaded = snapshot()

    assert not loaded.index.problems
    assert {"claude-code-acp", "codex-acp", "gemini", "opencode"} <= {
        each.id for each in loaded.index.agents
    }
    assert "bundled snapshot of 2026-02-07" in loaded.describe()


@pytest.mark.requirement("registry.platform-keys")
@pytest.mark.parametrize(
    ("system", "machine", "key"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("darwin", "arm64", "darwin-aarch64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("win32", "ARM64", "windows-aarch64"),
        ("linux", "riscv64", "linux-riscv64"),
    ],
)
def test_platform_key_of_a_machine(system: str, machine: str, key: str) -> None:
    assert platform_key(system, machine) == key
    assert (key in PLATFORMS) == ("riscv" not in key)


@pytest.mark.requirement("registry.format-tolerant")
@pytest.mark.parametrize("text", [b'{"id": "\xff"}', '{"id": "\ud800"}', b"{", "no"])
def test_entry_that_is_not_json_is_an_error_with_the_reason(text: bytes | str) -> None:
    with pytest.raises(RegistryFormatError, match=r"^the entry is not JSON: ."):
        read_entry(text)
