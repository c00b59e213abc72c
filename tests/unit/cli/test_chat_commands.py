"""Chat commands that are sent to the agent."""

import pytest

from symposium.cli.chat_input import for_agent


@pytest.mark.requirement("cli.chat-own-commands")
@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("//models", "/models"),
        ("//mode ask", "/mode ask"),
        (" //quit", "/quit"),
        ("// a comment", "// a comment"),
        ("//init", "//init"),
        ("/init", "/init"),
        ("hello", "hello"),
    ],
)
def test_two_slashes_send_a_command_of_the_same_name_to_the_agent(typed: str, sent: str) -> None:
    assert for_agent(typed) == sent
