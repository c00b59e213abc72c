"""Chat commands, and which of them are sent to the agent."""

from collections.abc import Sequence

import pytest

from symposium.cli.chat_input import ChatCommands, for_agent, is_own
from symposium.cli.chat_view import ChatView
from symposium.cli.output import Output
from symposium.client.events import SlashCommand
from symposium.client.session_settings import MODE, SessionSetting, SettingChoice
from symposium.errors import SymposiumError


class Session:
    """A session that applies or refuses everything."""

    def __init__(self) -> None:
        self.chosen: list[tuple[str, str]] = []
        self.undone: Sequence[str] = ()
        self.problem: SymposiumError | None = None

    async def choose(self, setting: SessionSetting, choice: SettingChoice) -> None:
        if self.problem is not None:
            raise self.problem
        self.chosen.append((setting.kind, choice.id))

    async def undo(self) -> Sequence[str]:
        if self.problem is not None:
            raise self.problem
        return self.undone


class Typed:
    """A chat whose commands are typed one after the other."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.session = Session()
        self.view = ChatView(Output(on_broken=str), "eliza")
        self._commands = ChatCommands(self.view, ("first key", "second key"), self.session)
        self._capsys = capsys

    async def shown(self, text: str) -> list[str]:
        """Return the output of a command of the chat."""
        assert await self._commands.run(text)
        return self._capsys.readouterr().out.splitlines()

    async def is_own(self, text: str) -> bool:
        return await self._commands.run(text)


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    made = Typed(capsys)
    made.view.status.settings.known[MODE] = SessionSetting(
        MODE,
        "ask",
        (
            SettingChoice("ask", "Ask"),
            SettingChoice("plan", "Plan first", "Changes nothing."),
            SettingChoice("planet", "planet"),
        ),
    )
    return made


@pytest.mark.requirement("cli.chat-own-commands")
@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("//models", "/models"),
        ("//mode ask", "/mode ask"),
        (" //quit", "/quit"),
        ("//exit", "/exit"),
        ("// a comment", "// a comment"),
        ("//init", "//init"),
        ("/init", "/init"),
        ("hello", "hello"),
    ],
)
def test_two_slashes_send_a_command_of_the_same_name_to_the_agent(typed: str, sent: str) -> None:
    assert for_agent(typed) == sent


@pytest.mark.requirement("cli.chat-own-commands")
async def test_only_the_name_of_a_command_after_one_slash_is_the_chats(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    others = ["help", "/init", "//help", "/help\nme", "see /help", "", "/quit"]

    assert [await typed.is_own(each) for each in others] == [False] * len(others)
    assert capsys.readouterr().out == ""
    assert [is_own(each) for each in ("help", "exit", "quit", "model", "", "init")] == [
        *(True, True, True, True),
        *(False, False),
    ]


@pytest.mark.requirement("cli.chat-own-commands", "cli.chat-slash-commands")
async def test_help_lists_the_keys_then_own_commands_then_those_of_the_agent(typed: Typed) -> None:
    typed.view.commands = (
        SlashCommand("init", "Read the project.", "DIR"),
        SlashCommand("mode", "Its own mode.", ""),
    )
    lines = [
        "first key",
        "second key",
        "  /help: List the commands.",
        "  /models [NAME]: List the agent's models, or select NAME.",
        "  /mode [NAME]: List the agent's modes, or select NAME.",
        "  /undo: Undo the last change of a task.",
        "  /quit: Leave the chat.",
        "  /init DIR: Read the project. (agent)",
        "  //mode: Its own mode. (agent)",
    ]

    assert await typed.shown("/help") == lines
    assert await typed.shown(" / ") == lines
    assert await typed.shown("/help me") == [
        "/help takes no argument; //help … passes it to the agent"
    ]


@pytest.mark.requirement("cli.chat-settings")
async def test_modes_are_listed_and_one_is_set_by_an_unambiguous_name(typed: Typed) -> None:
    listed = await typed.shown("/modes")
    chosen = await typed.shown("/mode  plan f ")
    again = await typed.shown("/mode")

    assert listed == [
        "  ▸ Ask (ask)",
        "    Plan first (plan): Changes nothing.",
        "    planet",
    ]
    assert (chosen, typed.session.chosen) == (["[mode] Plan first"], [("mode", "plan")])
    assert [line[2] for line in again] == [" ", "▸", " "]
    assert await typed.shown("/mode pla") == [
        "'pla' matches several modes: Plan first (plan), planet"
    ]
    assert await typed.shown("/mode x") == [
        "'x' is not a mode; modes: Ask (ask), Plan first (plan), planet"
    ]
    assert await typed.shown("/model x") == ["the agent offers no models to choose from"]
    assert len(typed.session.chosen) == 1


@pytest.mark.requirement("cli.chat-settings")
async def test_refused_mode_is_not_set(typed: Typed) -> None:
    typed.session.problem = SymposiumError("not now", "later")

    assert await typed.shown("/mode planet") == ["the mode is unchanged: not now"]
    assert typed.view.status.settings.known[MODE].current == "ask"


@pytest.mark.requirement("cli.chat-undo")
async def test_undo_prints_what_was_undone_or_why_nothing_was_without_a_cut(typed: Typed) -> None:
    command = f"git restore {'long/' * 40}name"
    typed.session.undone = ["restored 2 files", f"  undo: {command}", "x" * 1200]
    done = await typed.shown("/undo")
    typed.session.problem = SymposiumError("there is no snapshot", f"{command}\nor wait")
    refused = await typed.shown("/undo")

    assert done == ["restored 2 files", f"  undo: {command}", "x" * 999 + "…"]
    assert refused == ["nothing was undone: there is no snapshot", command, "or wait"]
