"""What a save changes, as lines to read."""

import pytest

from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.menu.host import differences, for_whom
from symposium.run_mode.settings import AgentChoice

AGENTS = [AgentChoice("Eliza", "", "eliza"), AgentChoice("Testy", "", "testy")]
ELIZA = Config("eliza", (ModEntry("arrow"),))


def lines(before: Config | None, after: Config) -> list[str]:
    return differences(before, after, AGENTS).splitlines()


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_an_agent_is_named_as_the_menu_names_it() -> None:
    testy = Config(ComponentSource("builtin", "testy"), ELIZA.mods)

    assert lines(ELIZA, testy) == ["```diff", "- agent Eliza", "+ agent Testy", "```", ""]
    assert lines(testy, ELIZA) == ["```diff", "- agent Testy", "+ agent Eliza", "```", ""]


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_agents_of_one_name_are_told_apart_without_what_may_be_a_key() -> None:
    here = Config(ComponentSource("local", {"command": "/a/goose", "env": {"KEY": "k-1"}}))
    there = Config(ComponentSource("local", {"command": "/b/goose", "env": {"KEY": "k-2"}}))

    _, gone, come, _, _ = lines(here, there)

    assert (gone, come) == ("- agent goose", "+ agent goose, with a different command")
    assert for_whom(here, there, AGENTS).startswith(
        "New sessions use this configuration; this session does not change"
    )


@pytest.mark.requirement("run-mode.menu-save-tells")
def test_what_changes_nothing_that_is_shown_shows_nothing() -> None:
    assert not lines(None, ELIZA)
    assert not lines(ELIZA, ELIZA)
    moved = Config("eliza", (ModEntry("arrow", source=ComponentSource("registry", "arrow")),))
    assert not lines(ELIZA, moved)
