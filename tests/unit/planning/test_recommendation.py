"""Files of recommendations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry
from symposium.planning.recommendations import (
    MAX_RECOMMENDATIONS,
    AnyOf,
    FileExists,
    RecommendationError,
    effects_of,
    identity,
    merged,
    read_recommendations,
)


@pytest.mark.requirement("recommendations.format")
def test_a_file_lists_mods_with_kind_source_and_condition() -> None:
    listed = read_recommendations(
        """
[[recommendation]]
source.builtin = "ferris"
[[recommendation]]
source.cargo = "mod-a"
[[recommendation]]
source.cargo = { crate = "mod-b", version = "1.0.0" }
when.any = [{ file-exists = "x" }]
[[recommendation]]
kind = "mcp"
source.http = { name = "docs", url = "https://d" }
""",
        "user",
    )
    assert listed.problems == ()
    mods = [each.mod for each in listed.recommendations]
    assert [mod.name for mod in mods] == ["ferris", "mod-a", "mod-b", "docs"]
    assert [mod.kind for mod in mods] == ["proxy", "proxy", "proxy", "mcp"]
    assert mods[0].source is None
    assert mods[1].source == ComponentSource("cargo", {"crate": "mod-a"})
    assert mods[2].when == {"any": [{"file-exists": "x"}]}
    assert listed.recommendations[2].when == AnyOf((FileExists("x"),))
    assert {mod.origin for mod in mods} == {"recommendation"}


@pytest.mark.requirement("recommendations.format", "recommendations.conditions-checked")
def test_one_bad_entry_hides_no_other() -> None:
    listed = read_recommendations(
        """
recommendation = [
  { source = { builtin = "good" } },
  { source = {} },
  { source = { magic = "x" } },
  { source = { builtin = "a" }, when = { grep = "x" } },
  { source = { builtin = "a" }, kind = "mcp" },
  { source = { builtin = "a" }, kind = "agent" },
  3,
]
""",
        "remote",
    )
    assert [each.mod.name for each in listed.recommendations] == ["good"]
    assert len(listed.problems) == 6
    assert "`kind` is 'agent'" in listed.problems[4]
    assert all(f"recommendation[{at}]" in text for at, text in enumerate(listed.problems, 1))


@pytest.mark.requirement("recommendations.format")
def test_what_is_no_toml_is_an_error_in_words() -> None:
    for text in ("[[", "a = ", "x = " + "[" * 5000):
        with pytest.raises(RecommendationError, match="no TOML"):
            read_recommendations(text, "user")


@given(st.text())
@pytest.mark.requirement("recommendations.format")
def test_any_text_is_recommendations_or_an_error_in_words(text: str) -> None:
    try:
        listed = read_recommendations(text, "user")
    except RecommendationError:
        return
    assert listed.recommendations == ()


@pytest.mark.requirement("recommendations.format")
def test_a_file_without_end_is_cut_and_says_so() -> None:
    listed = read_recommendations(
        '[[recommendation]]\nsource.builtin = "a"\n' * (MAX_RECOMMENDATIONS + 2), "user"
    )
    assert len(listed.recommendations) == MAX_RECOMMENDATIONS
    assert listed.problems == ("2 more recommendations are not read",)


@pytest.mark.requirement("recommendations.layers")
def test_of_the_same_source_the_later_one_counts() -> None:
    one = read_recommendations('[[recommendation]]\nsource.builtin = "a"\n', "remote")
    two = read_recommendations(
        '[[recommendation]]\nsource.builtin = "b"\n'
        '[[recommendation]]\nsource.builtin = "a"\nwhen.file-exists = "x"\n',
        "user",
    )
    found = merged([one.recommendations, two.recommendations])
    assert [(each.mod.name, each.layer) for each in found] == [("a", "user"), ("b", "user")]
    assert found[0].when == FileExists("x")


@pytest.mark.requirement("recommendations.layers")
def test_a_built_in_is_the_same_however_it_is_written() -> None:
    assert identity(ModEntry("a")) == identity(
        ModEntry("a", source=ComponentSource("builtin", "a"))
    )
    assert identity(ModEntry("a")) != identity(ModEntry("a", kind="mcp"))


SOURCES: list[tuple[str, object, list[str]]] = [
    ("builtin", "ferris", ["mod: ferris, built in"]),
    ("registry", "x", ["command: whatever the registry says of x"]),
    ("url", "https://u", ["command: whatever https://u says"]),
    (
        "local",
        {"command": "run it", "args": ["a b"], "env": {"K": "v"}},
        ["command: 'run it' 'a b'", "variable: K=v"],
    ),
    ("npx", {"package": "p", "args": ["-x"]}, ["command: npx -y p -x"]),
    ("uvx", {"package": "p"}, ["command: uvx p"]),
    ("pipx", {"package": "p"}, ["command: pipx run p"]),
    ("python", {"module": "m"}, ["command: python3 -m m"]),
    ("cargo", {"crate": "c", "binary": "b"}, ["command: cargo install c", "command: b"]),
    (
        "binary",
        {"linux-x86_64": {"archive": "https://a", "cmd": "./c", "env": {"K": "v"}}},
        ["command: ./c, from https://a (linux-x86_64)", "variable: K=v"],
    ),
    (
        "http",
        {"name": "n", "url": "https://h", "headers": [{"name": "Authorization", "value": "s"}]},
        ["server: n at https://h", "variable: header Authorization"],
    ),
    ("sse", {"name": "n", "url": "https://h"}, ["server: n at https://h"]),
]


@pytest.mark.parametrize(("kind", "value", "message"), SOURCES)
@pytest.mark.requirement("recommendations.effects")
def test_whatever_the_source_all_that_it_does_is_listed(
    kind: str, value: object, message: list[str]
) -> None:
    mod = ModEntry("m", source=ComponentSource(kind, value))
    assert [f"{each.kind}: {each.detail}" for each in effects_of(mod)] == message
