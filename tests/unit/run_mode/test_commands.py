"""Slash commands of Symposium in the list of an agent."""

from typing import Any

import pytest

from symposium.run_mode.chat import our_commands, with_commands

OURS = our_commands()["availableCommands"]


def listed(commands: object) -> Any:
    """The list that the editor gets for this one of an agent."""
    update = {"sessionUpdate": "available_commands_update", "availableCommands": commands, "x": 1}
    params = with_commands({"sessionId": "s", "update": update})
    assert params is not None
    assert {**params, "update": None} == {"sessionId": "s", "update": None}
    assert params["update"]["x"] == 1
    return params["update"]["availableCommands"]


@pytest.mark.requirement("run-mode.commands-merged")
def test_commands_follow_those_of_the_agent_and_replace_equal_names() -> None:
    theirs = {"name": "plan", "description": "Plan the work."}
    assert listed([theirs, {**OURS[0], "description": "Something else."}]) == [theirs, *OURS]


@pytest.mark.requirement("run-mode.commands-merged")
@pytest.mark.parametrize("commands", [None, 3, True, {"name": "plan"}, "plan"])
def test_list_of_another_form_is_replaced(commands: object) -> None:
    assert listed(commands) == OURS


@pytest.mark.requirement("run-mode.commands-merged")
@pytest.mark.parametrize("params", [{}, {"update": 3}, {"update": {"sessionUpdate": "plan"}}])
def test_other_updates_are_unchanged(params: dict[str, Any]) -> None:
    assert with_commands(params) is None
