"""How the ways to log in are told."""

from typing import Any

import pytest

from symposium.client.auth_methods import auth_methods, login_text

ARGV = ("claude-code-acp", "--fast mode")


def told(*methods: dict[str, Any]) -> str:
    return login_text(auth_methods({"authMethods": list(methods)}, ARGV), ARGV)


@pytest.mark.requirement("stories.a-11-told")
def test_a_terminal_login_is_a_command_to_copy() -> None:
    method = {"id": "t", "name": "T", "type": "terminal", "args": ["login"], "env": {"A": "b c"}}
    assert "\n        A='b c' claude-code-acp '--fast mode' login\n" in told(method)


@pytest.mark.requirement("stories.a-11-told")
def test_the_older_form_of_a_terminal_login_is_one_too() -> None:
    meta = {"terminal-auth": {"command": "claude", "args": ["/login"], "label": "Claude"}}
    assert "\n        claude /login\n" in told({"id": "t", "name": "T", "_meta": meta})


@pytest.mark.requirement("stories.a-11-told")
@pytest.mark.parametrize(
    "form",
    [{"vars": [{"name": "API_KEY"}]}, {"vars": ["API_KEY"]}, {"varName": "API_KEY"}],
)
def test_a_variable_is_named(form: dict[str, Any]) -> None:
    assert "Set `API_KEY` where your editor is started" in told(
        {"id": "e", "name": "E", "type": "env_var", **form}
    )


@pytest.mark.requirement("stories.a-11-told")
def test_an_agent_that_names_no_way_has_its_own_command_shown() -> None:
    assert "claude-code-acp '--fast mode'" in told()
    assert "`retry`" in told()


@pytest.mark.requirement("stories.a-11-told")
@pytest.mark.parametrize("listed", [None, "x", [None], [{"name": "no id"}], [{"id": 5}]])
def test_what_is_no_method_is_left_out(listed: Any) -> None:
    assert auth_methods({"authMethods": listed}, ARGV) == []


@pytest.mark.requirement("stories.a-11-told")
def test_controls_of_a_stranger_are_shown_and_not_obeyed() -> None:
    assert "\x1b" not in told({"id": "x", "name": "\x1b[2J", "description": "\x1b]0;x\n# Head"})
