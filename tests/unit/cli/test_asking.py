"""What a person is asked, and what their answer means."""

from pathlib import Path

import pytest

from symposium.cli.asking import LINES_SHOWN, TerminalDecider, matching
from symposium.client.events import ToolCall, ToolDiff
from symposium.client.permissions import ChosenOption, Declined, Option, Permission

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
    return await TerminalDecider(person.read_line, person.shown.append).decide(permission)


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

    assert await asked(person, ONCE, NO) == ChosenOption(NO)
    assert person.shown == [
        "? The agent wants to edit /a: do it",
        "    1) Allow once",
        "    2) Reject",
        "  Choose 1-2, or press Enter for no: ",
    ]


async def shown(call: ToolCall, *lines: str) -> list[str]:
    person = Person(*lines)
    asking = TerminalDecider(person.read_line, person.shown.append, Path("/work"))
    await asking.decide(Permission(call, (ONCE, NO)))
    return person.shown


@pytest.mark.requirement("approvals.change-shown")
async def test_the_change_stands_below_the_question_with_its_blanks() -> None:
    path = "/work/a.py"
    new = "def f():\n\treturn  1  # \x1b[2K\n"
    call = ToolCall("1", path, None, "edit", "", (path,), (ToolDiff(path, "", new),))

    assert (await shown(call))[:-1] == [
        "? The agent wants to edit a.py (+2 -0)",
        "    +def f():",
        "    +   return  1  # ␛[2K",
        "    1) Allow once",
        "    2) Reject",
    ]


@pytest.mark.requirement("approvals.change-shown")
async def test_what_was_left_out_is_said_and_shown_when_asked_for() -> None:
    change = ToolDiff("/work/a", "", "".join(f"line {number}\n" for number in range(100)))
    call = ToolCall("1", "a", None, "edit", "", ("/work/a",), (change,))
    lines = await shown(call, "?", "1")

    assert lines[LINES_SHOWN : LINES_SHOWN + 2] == ["    +line 29", "    [… 70 more lines]"]
    first, *rest = lines[LINES_SHOWN + 4 :]
    assert first == "  Choose 1-2, ? to see all, or press Enter for no: "
    assert rest[0] == "? The agent wants to edit a (+100 -0)"
    assert rest[1:-3] == [f"    +line {number}" for number in range(100)]


@pytest.mark.requirement("approvals.change-shown")
async def test_the_end_of_a_long_command_can_be_read() -> None:
    command = f"echo {'x' * 300}; rm -rf /"
    lines = await shown(ToolCall("1", "Run", None, "execute", command=command))

    assert "".join(lines[:-3]) == f"? The agent wants to run: {command}"
    assert all(len(line) <= 100 for line in lines)
    assert "to see all" not in lines[-1]


@pytest.mark.requirement("cli.chat-permission")
async def test_of_two_options_of_one_name_a_number_says_which() -> None:
    assert await asked(Person("allow once", "2"), ONCE, TWIN, NO) == ChosenOption(TWIN)


@pytest.mark.requirement("cli.prompt-permission-tty")
@pytest.mark.parametrize("lines", [[""], [" "], []])
async def test_nothing_means_no(lines: list[str]) -> None:
    assert await asked(Person(*lines), ONCE, ALWAYS, NO) == ChosenOption(NO)
    assert await asked(Person(*lines), ONCE, ALWAYS) == Declined()


@pytest.mark.requirement("cli.chat-permission-details")
async def test_a_question_mark_shows_the_options_again_with_what_they_do() -> None:
    person = Person("?", "2")

    assert await asked(person, ONCE, NO) == ChosenOption(NO)
    assert person.shown[-4:-1] == [
        "? The agent wants to edit /a: do it",
        "    1) Allow once: allow this now; the agent asks again next time",
        "    2) Reject: deny this now; the agent may ask again",
    ]


@pytest.mark.requirement("approvals.change-shown")
@pytest.mark.parametrize(("over", "note"), [(0, []), (1, ["    [… 1 more lines]"])])
async def test_a_change_of_exactly_the_shown_lines_is_whole(over: int, note: list[str]) -> None:
    count = LINES_SHOWN + over
    change = ToolDiff("/work/a", "", "".join(f"line {number}\n" for number in range(count)))
    lines = await shown(ToolCall("1", "a", None, "edit", "", ("/work/a",), (change,)))

    assert [line for line in lines if "more lines]" in line] == note
    assert ("to see all" in lines[-1]) == bool(over)


@pytest.mark.requirement("cli.chat-permission")
async def test_a_question_mark_between_blanks_shows_the_options_again() -> None:
    person = Person(" ? ", "1")

    assert await asked(person, ONCE) == ChosenOption(ONCE)
    assert any("the agent asks again next time" in line for line in person.shown)


@pytest.mark.requirement("cli.chat-permission")
async def test_the_name_of_an_option_is_one_short_line() -> None:
    person = Person("1")
    option = Option("a", "Allow\n    2) Reject\x1b[2J" + "x" * 500, "allow_once")

    assert await asked(person, option) == ChosenOption(option)
    (line,) = [each for each in person.shown if "1) " in each]
    assert line.isprintable()
    assert len(line) <= 120
