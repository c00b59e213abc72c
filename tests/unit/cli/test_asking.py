"""What a person is asked, and what their answer means."""

import pytest

from symposium.cli.asking import AskPerson, matching
from symposium.client.events import ToolCall
from symposium.client.permissions import Chosen, Declined, Option, Permission

ONCE = Option("a", "Allow once", "allow_once")
TWIN = Option("b", "Allow once", "allow_once")
ALWAYS = Option("c", "Allow always", "allow_always")
NO = Option("d", "Reject", "reject_once")


class Person:
    """Types these lines, and reads what is shown."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.shown: list[str] = []

    async def read_line(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)


async def asked(person: Person, *options: Option) -> object:
    permission = Permission(ToolCall("1", "do it", None, "edit", "", ("/a",)), options)
    return await AskPerson(person.read_line, person.shown.append).decide(permission)


@pytest.mark.requirement("cli.prompt-permission-tty", "cli.chat-permission")
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("1", [0]),
        ("3", [2]),
        ("0", []),
        ("4", []),
        ("al", [0, 1]),
        ("ALLOW ONCE", [0]),
        ("allow a", [1]),
        ("r", [2]),
        ("no", []),
        (" 2 ", [1]),
    ],
)
def test_a_number_or_the_beginning_of_a_name_says_which(line: str, found: list[int]) -> None:
    assert matching(line, ["Allow once", "Allow always", "Reject"]) == found


@pytest.mark.requirement("cli.prompt-permission-tty", "cli.chat-permission")
async def test_what_is_asked_is_shown_with_its_options_before_the_question() -> None:
    person = Person("2")

    assert await asked(person, ONCE, NO) == Chosen(NO)
    assert person.shown == [
        "? The agent asks: do it (edit)",
        "    /a",
        "    1) Allow once",
        "    2) Reject",
        "  Choose 1-2, or nothing for no: ",
    ]


@pytest.mark.requirement("cli.chat-permission")
async def test_of_two_options_of_one_name_a_number_says_which() -> None:
    assert await asked(Person("allow once", "2"), ONCE, TWIN, NO) == Chosen(TWIN)


@pytest.mark.requirement("cli.prompt-permission-tty")
@pytest.mark.parametrize("lines", [[""], [" "], []])
async def test_nothing_means_no(lines: list[str]) -> None:
    assert await asked(Person(*lines), ONCE, ALWAYS, NO) == Chosen(NO)
    assert await asked(Person(*lines), ONCE, ALWAYS) == Declined()
