"""Text about the login methods of an agent."""

from typing import Any

import pytest

from symposium.client.auth_methods import auth_methods, login_text

ARGV = ("claude-code-acp", "--fast mode")


def shown(*methods: dict[str, Any]) -> str:
    return login_text(auth_methods({"authMethods": list(methods)}, ARGV), ARGV)


@pytest.mark.requirement("stories.a-11-told")
def test_terminal_login_is_shown_as_a_command() -> None:
    method = {"id": "t", "name": "T", "type": "terminal", "args": ["login"], "env": {"A": "b c"}}
    assert "\n        A='b c' claude-code-acp '--fast mode' login\n" in shown(method)


@pytest.mark.requirement("stories.a-11-told")
def test_older_form_of_a_terminal_login_is_shown_as_a_command() -> None:
    meta = {"terminal-auth": {"command": "claude", "args": ["/login"], "label": "Claude"}}
    assert "\n        claude /login\n" in shown({"id": "t", "name": "T", "_meta": meta})


@pytest.mark.requirement("stories.a-11-told")
@pytest.mark.parametrize(
    "form",
    [{"vars": [{"name": "API_KEY"}]}, {"vars": ["API_KEY"]}, {"varName": "API_KEY"}],
)
def test_environment_variable_is_named(form: dict[str, Any]) -> None:
    assert "Set `API_KEY` in the environment of your editor" in shown(
        {"id": "e", "name": "E", "type": "env_var", **form}
    )


@pytest.mark.requirement("stories.a-11-told")
def test_command_of_the_agent_is_shown_without_login_methods() -> None:
    assert "claude-code-acp '--fast mode'" in shown()
    assert "`retry`" in shown()


@pytest.mark.requirement("stories.a-11-told")
@pytest.mark.parametrize("listed", [None, "x", [None], [{"name": "no id"}], [{"id": 5}]])
def test_invalid_methods_are_omitted(listed: Any) -> None:
    assert auth_methods({"authMethods": listed}, ARGV) == []


@pytest.mark.requirement("stories.a-11-told")
def test_control_characters_of_an_agent_are_escaped() -> None:
    assert "\x1b" not in shown({"id": "x", "name": "\x1b[2J", "description": "\x1b]0;x\n# Head"})
