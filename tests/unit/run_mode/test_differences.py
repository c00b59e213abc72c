"""The diff that a save shows."""

import pytest

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.menu.actions import differences, for_whom
from symposium.run_mode.menu_ports import AgentChoice

AGENTS = [AgentChoice("Eliza", "", "eliza"), AgentChoice("Testy", "", "testy")]
ELIZA = Config("eliza", (ModEntry("arrow"),))


def lines(before: Config | None, after: Config) -> list[str]:
    return differences(before, after, AGENTS).splitlines()


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_agent_has_the_same_name_as_in_the_menu() -> None:
    testy = Config(ComponentSource("builtin", "testy"), ELIZA.mods)

    assert lines(ELIZA, testy) == ["```diff", "- agent Eliza", "+ agent Testy", "```", ""]
    assert lines(testy, ELIZA) == ["```diff", "- agent Testy", "+ agent Eliza", "```", ""]


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_agents_of_the_same_name_differ_without_showing_secrets() -> None:
    here = Config(ComponentSource("local", {"command": "/a/goose", "env": {"KEY": "k-1"}}))
    there = Config(ComponentSource("local", {"command": "/b/goose", "env": {"KEY": "k-2"}}))

    _, removed, added, _, _ = lines(here, there)

    assert (removed, added) == ("- agent goose", "+ agent goose, with a different command")
    assert for_whom(here, there, AGENTS).startswith(
        "New sessions use this configuration; this session does not change"
    )


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_diff_is_empty_when_no_shown_value_changes() -> None:
    assert not lines(None, ELIZA)
    assert not lines(ELIZA, ELIZA)
    moved = Config("eliza", (ModEntry("arrow", source=ComponentSource("registry", "arrow")),))
    assert not lines(ELIZA, moved)
