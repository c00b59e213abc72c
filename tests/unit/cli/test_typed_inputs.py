"""Inputs of a chat, typed at a prompt or ahead of it, or read from a pipe."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session, get_app
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import to_plain_text
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput
from tests.support.stdin_pieces import StdinPieces, stdin_pieces

from symposium.cli.chat_input import TypedInputs, history_file
from symposium.cli.terminal import StdinLines, lines_typed_ahead
from symposium.client.events import SlashCommand


@pytest.fixture
def ahead() -> Iterator[StdinPieces]:
    with stdin_pieces() as found:
        yield found


@pytest.fixture
def keys() -> Iterator[PipeInput]:
    """A terminal for prompts: input from here, and an output of 80 columns that shows nothing."""
    with create_pipe_input() as found, create_app_session(found, DummyOutput()):
        yield found


@pytest.fixture
def inputs(tmp_path: Path, keys: PipeInput, ahead: StdinPieces) -> TypedInputs:
    del keys, ahead
    commands = (SlashCommand("helmet", "About\nhelmets.", ""), SlashCommand("mode", "", ""))
    paths: dict[str, list[str]] = {"no": ["notes.txt", "no way", "no\x1bway"], "": ["all"]}
    return TypedInputs(
        tmp_path / "state" / "history",
        lambda: commands,
        lambda width: f"status in {width} columns",
        lambda begin: paths.get(begin, []),
    )


async def until(is_true: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not is_true():  # noqa: ASYNC110 - the prompt reports nothing
            await asyncio.sleep(0)


def typed() -> str:
    return get_app().current_buffer.text


def is_prompted() -> bool:
    return get_app().is_running


@pytest.mark.requirement("cli.chat-multi-line", "cli.chat-history")
async def test_enter_sends_and_two_keys_begin_a_line(
    inputs: TypedInputs, keys: PipeInput, tmp_path: Path
) -> None:
    history = tmp_path / "state" / "history"
    keys.send_text("one\x1b\rtwo\nthree\r")

    assert await inputs.read() == "one\ntwo\nthree"
    assert [line for line in history.read_text().splitlines() if line[:1] == "+"] == [
        *("+one", "+two", "+three"),
    ]
    assert (history.stat().st_mode & 0o777, history.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.requirement("cli.chat-unasked")
async def test_draft_and_the_text_of_a_canceled_prompt_begin_the_next_input_once(
    inputs: TypedInputs, keys: PipeInput
) -> None:
    inputs.draft("see ")
    keys.send_text("that")
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(inputs.read())
        await until(lambda: typed() == "see that")
        reading.cancel()
    keys.send_text(" too\r")

    assert reading.cancelled()
    assert await inputs.read() == "see that too"
    keys.send_text("next\r")
    assert await inputs.read() == "next"


@pytest.mark.requirement("cli.chat-unasked")
async def test_whole_lines_are_shown_above_the_prompt_and_the_rest_after_it(
    inputs: TypedInputs, keys: PipeInput, capsys: pytest.CaptureFixture[str]
) -> None:
    before = inputs.above("no prompt yet\n")
    shown: list[str] = []
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(inputs.read())
        await until(is_prompted)
        during = [inputs.above("half "), inputs.above("a line\nand "), inputs.above("a rest")]
        await until(lambda: shown.append(capsys.readouterr().out) or shown[-1])
        keys.send_text("x\r")

    assert (before, during) == (False, [True, True, True])
    assert (shown[-1], capsys.readouterr().out) == ("half a line\n", "and a rest")


@pytest.mark.requirement("cli.chat-slash-commands", "cli.chat-files", "cli.chat-status")
async def test_commands_and_paths_are_completed_above_a_status_line(
    inputs: TypedInputs, keys: PipeInput
) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(inputs.read())
        await until(is_prompted)
        app = get_app()
        shown = [getattr(each.content, "text", "") for each in app.layout.find_all_windows()]
        keys.send_text("x\r")

    def completed(text: str, *, after: str = "") -> list[tuple[str, int, str]]:
        document = Document(text + after, len(text))
        found = app.current_buffer.completer.get_completions(document, CompleteEvent())
        return [(each.text, each.start_position, each.display_meta_text) for each in found]

    assert completed("/he") == [
        ("/help", -3, "List the commands."),
        ("/helmet", -3, "About helmets."),
    ]
    assert [each for each, _, _ in completed("/")] == [
        *("/help", "/models", "/mode", "/undo", "/quit", "/helmet", "//mode"),
    ]
    assert completed("//m") == [("//mode", -3, "")]
    assert completed("see /he") == []
    assert completed("/he\n") == []
    assert completed("see @no", after=" now") == [("notes.txt", -2, "")]
    assert completed("@") == [("all", 0, "")]
    assert completed('see "@no') == []
    assert completed("me@no") == []
    assert "status in 80 columns" in [to_plain_text(each) for each in shown]


@pytest.mark.requirement("cli.chat-typed-ahead")
async def test_lines_typed_ahead_are_shown_saved_and_read_before_the_prompt(
    inputs: TypedInputs, ahead: StdinPieces, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ahead.type(b"first\n", b"a\x1b\n", b"b\x1b[A\n", b"\n")
    inputs.keep_typed()
    ahead.type(b"last\n", b"")
    read = [await inputs.read() for _ in range(3)]
    with pytest.raises(EOFError):
        await inputs.read()

    assert read == ["first", "a\nb\x1b[A", "last"]
    assert capsys.readouterr().out == "> first\n> a\n… b␛[A\n> last\n"
    assert "+a\n+b" in (tmp_path / "state" / "history").read_text()


@pytest.mark.requirement("cli.chat-typed-ahead")
@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        ([], []),
        ([b"one\n", b"two\n"], ["one", "two"]),
        ([b"one\x1b\n", b"two\n"], ["one\ntwo"]),
        ([b"one\n", b"not sent\x1b"], ["one", "not sent"]),
        ([b"one\n", b"two", b""], ["one", "two", None]),
        ([b"\xff\n"], ["\N{REPLACEMENT CHARACTER}"]),
    ],
)
def test_lines_typed_ahead_are_separate_and_end_with_the_input(
    ahead: StdinPieces, pieces: list[bytes], lines: list[str | None]
) -> None:
    ahead.type(*pieces)

    assert lines_typed_ahead() == lines


@pytest.mark.requirement("cli.chat-leave")
async def test_lines_of_a_pipe_are_read_one_by_one_to_an_incomplete_last_one(
    ahead: StdinPieces,
) -> None:
    ahead.type(b"one\n\ntw", b"o\xff\nth", b"ree", b"")
    lines = StdinLines()
    read = [await lines.read() for _ in range(4)]

    assert read == ["one", "", "two\N{REPLACEMENT CHARACTER}", "three"]
    with pytest.raises(EOFError):
        await lines.read()


@pytest.mark.requirement("cli.chat-history")
def test_history_is_in_the_own_home_or_in_the_state_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", "/own")
    own = history_file()
    monkeypatch.delenv("SYMPOSIUM_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    state = history_file()
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert own == Path("/own/state/chat-history")
    assert state == Path("/state/symposium/chat-history")
    assert history_file() == tmp_path / ".local/state/symposium/chat-history"
