"""Parsing, display, and order of sources."""

from typing import Any

import pytest

from symposium.config.component_source import (
    DETAILED,
    NAMED,
    ComponentSource,
    SourceError,
    read_source,
)

EXAMPLES: list[tuple[dict[str, Any], str]] = [
    ({"builtin": "eliza"}, "eliza"),
    ({"registry": "claude-code"}, "claude-code"),
    ({"url": "https://host/mod.json"}, "https://host/mod.json"),
    ({"local": {"command": "/opt/bin/agent", "args": ["--acp"], "env": {"A": "1"}}}, "agent"),
    ({"local": {"command": "agent", "name": "Mine"}}, "Mine"),
    ({"npx": {"package": "@zed-industries/claude-code-acp@latest"}}, "claude-code-acp"),
    ({"npx": {"package": "@scope/plain", "args": ["x"]}}, "plain"),
    ({"npx": {"package": "plain@1.2"}}, "plain"),
    ({"pipx": {"package": "agent"}}, "agent"),
    ({"uvx": {"package": "agent@1.0", "env": {}}}, "agent@1.0"),
    ({"cargo": {"crate": "sparkle-mcp", "version": "1", "binary": "s", "args": []}}, "sparkle-mcp"),
    ({"python": {"module": "a.b"}}, "a.b"),
    ({"binary": {"linux-x86_64": {"archive": "https://host/a.tgz", "cmd": "./a"}}}, "binary"),
    ({"http": {"name": "web", "url": "https://host/mcp", "headers": []}}, "web"),
    ({"sse": {"name": "old", "url": "https://host/sse"}}, "old"),
]


@pytest.mark.requirement("config.sources")
@pytest.mark.parametrize(("value", "name"), EXAMPLES)
def test_source_is_written_unchanged_and_displayed_by_name(
    value: dict[str, Any], name: str
) -> None:
    source = read_source(value, "agent")

    assert source.as_json() == value
    assert source.display_name == name


@pytest.mark.requirement("config.sources")
def test_every_kind_of_source_has_an_example() -> None:
    assert {key for value, _ in EXAMPLES for key in value} == NAMED | DETAILED.keys()


@pytest.mark.requirement("config.sources")
def test_crate_may_be_a_string() -> None:
    assert read_source({"cargo": "x"}, "agent") == ComponentSource("cargo", {"crate": "x"})


@pytest.mark.requirement("config.sources")
def test_sources_can_be_sorted_and_compared() -> None:
    sources = [read_source(value, "agent") for value, _ in EXAMPLES]

    assert [source.kind for source in sorted(sources)] == sorted(each.kind for each in sources)
    assert len({*sources, *[read_source(value, "agent") for value, _ in EXAMPLES]}) == len(sources)


SOURCES = "binary, builtin, cargo, http, local, npx, pipx, python, registry, sse, url, uvx"
PLATFORM = 'write {"linux-x86_64": {"archive": "https://…", "cmd": "./agent"}}'


@pytest.mark.requirement("config.sources", "config.errors-have-places")
@pytest.mark.parametrize(
    ("value", "where", "message", "hint"),
    [
        ("x", "agent", "a source is an object with exactly one key", f"one of {SOURCES}"),
        ({}, "agent", "a source is an object with exactly one key", f"one of {SOURCES}"),
        (
            {"builtin": "a", "registry": "b"},
            "agent",
            "a source is an object with exactly one key",
            f"one of {SOURCES}",
        ),
        ({"brew": "a"}, "agent", "unknown source 'brew'", f"known are {SOURCES}"),
        ({"builtin": ""}, "agent.builtin", "no name", 'write it in double quotes: "…"'),
        ({"url": 1}, "agent.url", "no name", 'write it in double quotes: "…"'),
        ({"npx": "pkg"}, "agent.npx", "not an object", 'write {"npx": {"package": "…"}}'),
        ({"local": {}}, "agent.local", "`command` is missing", 'write {"local": {"command": "…"}}'),
        (
            {"local": {"command": "a", "args": "b"}},
            "agent.local.args",
            "not a list of strings",
            "write a list of strings",
        ),
        (
            {"local": {"command": "a", "env": {"A": 1}}},
            "agent.local.env",
            "not an object of strings",
            "write an object of strings",
        ),
        (
            {"cargo": {"crate": "a", "version": 1}},
            "agent.cargo.version",
            "not a string",
            "write a string",
        ),
        (
            {"http": {"name": "a", "url": "b", "headers": {}}},
            "agent.http.headers",
            "not a list",
            "write a list",
        ),
        ({"binary": {}}, "agent.binary", "no platform", PLATFORM),
        (
            {"binary": {"linux-x86_64": {"cmd": "a"}}},
            "agent.binary.linux-x86_64",
            "`archive` or `cmd` is missing",
            PLATFORM,
        ),
        (
            {"binary": {"linux-x86_64": "a"}},
            "agent.binary.linux-x86_64",
            "`archive` or `cmd` is missing",
            PLATFORM,
        ),
    ],
)
def test_invalid_source_is_an_error_with_its_path(
    value: Any, where: str, message: str, hint: str
) -> None:
    with pytest.raises(SourceError) as caught:
        read_source(value, "agent")

    assert caught.value.where == where
    assert (caught.value.message, caught.value.hint) == (f"{where}: {message}", hint)


@pytest.mark.requirement("config.sources")
def test_empty_text_is_missing_and_a_bare_scope_is_a_name() -> None:
    with pytest.raises(SourceError, match="`package` is missing"):
        read_source({"npx": {"package": ""}}, "agent")
    with pytest.raises(SourceError) as refused:
        read_source({}, "agent")

    assert read_source({"npx": {"package": "@scope"}}, "agent").display_name == "@scope"
    kinds = refused.value.hint.removeprefix("one of ").split(", ")
    assert kinds == sorted([*NAMED, *DETAILED])
