"""Questions to the user, and the interpretation of answers."""

from pathlib import Path

import pytest

from symposium.cli.permission_questions import LINES_SHOWN, TerminalDecider, matching
from symposium.client.events import ToolCall, ToolDiff
from symposium.client.permissions import ChosenOption, Declined, Option, Permission

ONCE = Option("a", "Allow once", "allow_once")
TWIN = Option("b", "Allow once", "allow_once")
ALWAYS = Option("c", "Allow always", "allow_always")
NO = Option("d", "Reject", "reject_once")


class FakeUser:
    """A user who types the given lines; records what is shown."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.shown: list[str] = []

    async def read_line(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)


async def asked(user: FakeUser, *options: Option) -> object:
    permission = Permission(ToolCall("1", "do it", None, "edit", "", ("/a",)), options)
    return await TerminalDecider(user.read_line, user.shown.append).decide(permission)


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
def test_option_is_chosen_by_number_or_prefix_of_its_name(line: str, found: list[int]) -> None:
    assert matching(line, ["Allow once", "Allow always", "Reject"]) == found


@pytest.mark.requirement("cli.chat-permission")
@pytest.mark.parametrize("line", ["allow", "ALLOW", " Allow "])
def test_whole_name_of_an_option_is_not_the_beginning_of_another(line: str) -> None:
    assert matching(line, ["Allow always", "Allow"]) == [1]


@pytest.mark.requirement("cli.prompt-permission-tty", "cli.chat-permission")
async def test_options_are_shown_before_the_prompt() -> None:
    user = FakeUser("2")

    assert await asked(user, ONCE, NO) == ChosenOption(NO)
    assert user.shown == [
        "? The agent wants to edit /a: do it",
        "    1) Allow once",
        "    2) Reject",
        "  Choose 1-2, or press Enter for no: ",
    ]


async def shown(call: ToolCall, *lines: str) -> list[str]:
    user = FakeUser(*lines)
    asking = TerminalDecider(user.read_line, user.shown.append, Path("/project"))
    await asking.decide(Permission(call, (ONCE, NO)))
    return user.shown


@pytest.mark.requirement("approvals.change-shown")
async def test_change_is_shown_below_the_question_with_its_whitespace() -> None:
    path = "/project/a.py"
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
async def test_omitted_lines_are_counted_and_shown_on_request() -> None:
    change = ToolDiff("/project/a", "", "".join(f"line {number}\n" for number in range(100)))
    call = ToolCall("1", "a", None, "edit", "", ("/project/a",), (change,))
    lines = await shown(call, "?", "1")

    assert lines[LINES_SHOWN : LINES_SHOWN + 2] == ["    +line 29", "    [… 70 more lines]"]
    first, *rest = lines[LINES_SHOWN + 4 :]
    assert first == "  Choose 1-2, ? to see all, or press Enter for no: "
    assert rest[0] == "? The agent wants to edit a (+100 -0)"
    assert rest[1:-3] == [f"    +line {number}" for number in range(100)]


@pytest.mark.requirement("approvals.change-shown")
async def test_long_command_is_shown_to_its_last_character() -> None:
    command = f"echo {'x' * 300}; rm -rf /"
    lines = await shown(ToolCall("1", "Run", None, "execute", command=command))

    assert "".join(lines[:-3]) == f"? The agent wants to run: {command}"
    assert all(len(line) <= 100 for line in lines)
    assert "to see all" not in lines[-1]


@pytest.mark.requirement("cli.chat-permission")
async def test_number_chooses_between_options_of_the_same_name() -> None:
    assert await asked(FakeUser("allow once", "2"), ONCE, TWIN, NO) == ChosenOption(TWIN)


@pytest.mark.requirement("cli.prompt-permission-tty")
@pytest.mark.parametrize("lines", [[""], [" "], []])
async def test_empty_answer_means_no(lines: list[str]) -> None:
    assert await asked(FakeUser(*lines), ONCE, ALWAYS, NO) == ChosenOption(NO)
    assert await asked(FakeUser(*lines), ONCE, ALWAYS) == Declined()


@pytest.mark.requirement("cli.chat-permission-details")
async def test_question_mark_shows_the_options_with_explanations() -> None:
    user = FakeUser("?", "some\x1b", "2")
    other = Option("e", "Other", "of_the_future")

    assert await asked(user, ONCE, NO, other) == ChosenOption(NO)
    prompt = "  Choose 1-3, or press Enter for no: "
    assert user.shown[4:] == [
        prompt,
        "? The agent wants to edit /a: do it",
        "    1) Allow once: allow this now; the agent asks again next time",
        "    2) Reject: deny this now; the agent may ask again",
        "    3) Other",
        prompt,
        "  'some\\x1b' is not an option",
        prompt,
    ]


@pytest.mark.requirement("approvals.change-shown")
@pytest.mark.parametrize(("over", "note"), [(0, []), (1, ["    [… 1 more lines]"])])
async def test_change_of_exactly_the_maximum_lines_is_shown_whole(
    over: int, note: list[str]
) -> None:
    count = LINES_SHOWN + over
    change = ToolDiff("/project/a", "", "".join(f"line {number}\n" for number in range(count)))
    lines = await shown(ToolCall("1", "a", None, "edit", "", ("/project/a",), (change,)))

    assert [line for line in lines if "more lines]" in line] == note
    assert ("to see all" in lines[-1]) == bool(over)


@pytest.mark.requirement("cli.chat-permission")
async def test_question_mark_between_spaces_shows_the_options_again() -> None:
    user = FakeUser(" ? ", "1")

    assert await asked(user, ONCE) == ChosenOption(ONCE)
    assert any("the agent asks again next time" in line for line in user.shown)


@pytest.mark.requirement("cli.chat-permission")
async def test_name_of_an_option_is_one_short_line() -> None:
    user = FakeUser("1")
    option = Option("a", "Allow\n    2) Reject\x1b[2J" + "x" * 500, "allow_once")

    assert await asked(user, option) == ChosenOption(option)
    (line,) = [each for each in user.shown if "1) " in each]
    assert line.isprintable()
    assert len(line) <= 120
