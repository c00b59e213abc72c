"""`symposium chat`, at a terminal and on a pipe."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

PROGRAM: Final = str(Path(sys.executable).with_name("symposium"))
TIMEOUT: Final = 45.0
CONTROLS: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()=>][0-9A-B]?|\r")
ENTER, ALT_ENTER, CTRL_D, UP = b"\r", b"\x1b\r", b"\x04", b"\x1b[A"


class Terminal:
    """Terminal of 100 columns with the chat."""

    def __init__(self, words: list[str], directory: Path, environment: dict[str, str]) -> None:
        self._terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAM, *words],
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=directory,
            env=environment,
            start_new_session=True,
        )
        os.close(side)
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self.raw = ""
        self._seen = 0

    def type(self, *keys: bytes) -> None:
        """Press these keys."""
        os.write(self._terminal, b"".join(keys))

    def until(self, text: str) -> str:
        """Return the output since the last call, once it contains the text."""
        return self._until(lambda raw: text in CONTROLS.sub("", raw), text)

    def ready(self) -> None:
        """Wait until the chat takes input, which it shows by turning on marked pastes."""
        self._until(lambda raw: "\x1b[?2004h" in raw, "its prompt")

    def _until(self, is_there: Callable[[str], bool], what: str) -> str:
        while not is_there(self.raw[self._seen :]):
            ready, _, _ = select.select([self._terminal], [], [], TIMEOUT)
            assert ready, f"waited in vain for {what}: {CONTROLS.sub('', self.raw)}"
            # A byte at a time: output after the text is left for the next call.
            self.raw += self._decode(os.read(self._terminal, 1))
            if self.raw.endswith("\x1b[6n"):
                os.write(self._terminal, b"\x1b[1;1R")  # the cursor position
        shown = CONTROLS.sub("", self.raw[self._seen :])
        self._seen = len(self.raw)
        return shown

    def ends(self) -> int:
        """Return its exit code."""
        return self.process.wait(TIMEOUT)

    def interrupt(self) -> None:
        """Press Ctrl-C while the input is empty."""
        self.process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Close the terminal."""
        self.process.kill()
        self.process.wait()
        os.close(self._terminal)


@pytest.fixture
def chat(tmp_path: Path, environment: dict[str, str]) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def begin(*words: str) -> Terminal:
        terminal = Terminal(["chat", *words], tmp_path, environment)
        opened.append(terminal)
        return terminal

    yield begin
    for terminal in opened:
        terminal.close()


Chat: TypeAlias = Callable[..., Terminal]


@pytest.mark.requirement("cli.eliza-chat", "cli.chat-leave")
def test_chat_with_eliza_ends_at_the_end_of_input(chat: Chat) -> None:
    person = chat("--agent", "eliza")
    person.ready()
    person.type(b"Hello", ENTER)
    person.until("How do you do. Please state your problem.")
    person.ready()
    person.type(CTRL_D)

    assert person.ends() == 0


@pytest.mark.requirement("cli.chat-history")
def test_up_key_shows_the_input_of_an_earlier_chat(chat: Chat) -> None:
    first = chat("--agent", "eliza")
    first.ready()
    first.type(b"I remember the sea", ENTER)
    first.until("remember the sea. Who else")
    first.ready()
    first.type(b"/quit", ENTER)
    assert first.ends() == 0

    second = chat("--agent", "eliza")
    second.ready()
    second.type(UP, UP)
    second.until("I remember the sea")


@pytest.mark.requirement("cli.chat-multi-line")
def test_input_may_have_several_lines(chat: Chat) -> None:
    person = chat("--agent", "testy")
    person.ready()
    person.type(b'{"command":"echo",', ALT_ENTER, b'"message":"two lines"}', ENTER)
    person.until("two lines")
    shown = person.until("two lines")

    assert "Hello, world" not in shown


def announce(name: str) -> str:
    """Build an update that announces one command."""
    command = f'{{"name":"{name}","description":"About {name}"}}'
    return f'{{"sessionUpdate":"available_commands_update","availableCommands":[{command}]}}'


@pytest.mark.requirement("cli.chat-slash-commands")
def test_slash_lists_the_commands_as_last_announced(symposium: Run, scripted: Spec) -> None:
    agent = scripted(f"new=update:{announce('old')}", f"prompt=update:{announce('new')}")
    done = symposium("chat", "--agent", agent, stdin="/\nhello\n/\n/quit\n")
    before, after = done.stdout.split("Answered.")

    assert "/old: About old" in before
    assert "/new: About new" in after
    assert "/old" not in after


@pytest.mark.requirement("cli.chat-slash-commands")
def test_slash_completes_commands(chat: Chat, scripted: Spec) -> None:
    person = chat("--agent", scripted(f"new=update:{announce('greet')}"))
    person.ready()
    person.type(b"hi", ENTER)
    person.until("Answered.")
    person.ready()
    person.type(b"/gr")
    person.until("/greet")


@pytest.mark.requirement("cli.chat-plan", "cli.chat-tool-calls")
def test_plan_and_tool_calls_are_shown_as_they_change(symposium: Run, scripted: Spec) -> None:
    def plan(status: str) -> str:
        entry = f'{{"content":"look around","status":"{status}","priority":"low"}}'
        return f'prompt=update:{{"sessionUpdate":"plan","entries":[{entry}]}}'

    def call(members: str) -> str:
        return f'prompt=update:{{"sessionUpdate":"tool_call_update","toolCallId":"1",{members}}}'

    agent = scripted(
        plan("pending"),
        call('"title":"read a file","status":"in_progress"'),
        call('"status":"in_progress"'),
        call('"status":"completed"'),
        plan("completed"),
    )
    done = symposium("chat", "--agent", agent, stdin="hello\n")

    assert done.stdout.splitlines() == [
        "[plan]",
        "  · look around: pending",
        "▸ read a file: in_progress",
        "✔ read a file: completed",
        "[plan]",
        "  ✔ look around: completed",
        "Answered.",
    ]


@pytest.mark.requirement("cli.chat-permission")
def test_invalid_choice_for_a_permission_is_asked_again(chat: Chat, scripted: Spec) -> None:
    person = chat("--agent", scripted("prompt=ask:edit"))
    person.ready()
    person.type(b"go", ENTER)
    shown = person.until("Choose 1-2")
    assert "? The agent wants to edit: do it" in shown
    person.type(b"7\n")
    person.until("'7' is not an option\n  Choose 1-2")
    person.type(b"1\n")

    assert '"optionId": "y"' in person.until('"y"}')


@pytest.mark.requirement("cli.chat-leave", "cli.exit-interrupted")
def test_second_interrupt_exits_from_an_endless_turn(chat: Chat, scripted: Spec) -> None:
    person = chat("--agent", scripted("prompt=wait", "ignore-cancel"))
    person.ready()
    person.type(b"go", ENTER)
    person.until("Waiting.")
    person.interrupt()
    person.until("canceling")
    person.interrupt()

    assert person.ends() == 130


@pytest.mark.requirement("cli.chat-unknown-updates")
def test_update_of_an_unknown_kind_is_named(symposium: Run, scripted: Spec) -> None:
    weather = '{"sessionUpdate":"weather","sky":"grey"}'
    image = '{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}'
    words = [f"prompt=update:{each}" for each in (weather, image, "7", "null", "{}")]
    done = symposium("chat", "--agent", scripted(*words), stdin="hello\n")

    assert "[weather] sky=grey" in done.stdout
    assert "[hologram]" in done.stdout
    assert "[update without a kind]" in done.stdout
    assert "Answered." in done.stdout
    assert done.returncode == 0


@pytest.mark.requirement("cli.chat-agent-dies")
@pytest.mark.parametrize("at", ["prompt", "after-new"])
def test_last_output_of_a_crashed_agent_is_shown(start: Start, scripted: Spec, at: str) -> None:
    # In the second case no prompt is open: the chat waits for the user.
    process = start("chat", "--agent", scripted(f"{at}=exit:3"))
    assert process.stdin is not None
    if at == "prompt":
        process.stdin.write("hello\n")
        process.stdin.flush()

    assert process.wait(TIMEOUT) == 1
    assert process.stderr is not None
    assert "| giving up" in process.stderr.read()


@pytest.mark.requirement("cli.chat-terminal-text")
def test_control_sequences_of_the_agent_do_not_reach_the_terminal(
    chat: Chat, scripted: Spec
) -> None:
    title = '{"sessionUpdate":"tool_call","toolCallId":"1","title":"a\\u001b]0;owned\\u0007b"}'
    agent = scripted("prompt=say:\\u001b[31mred\\u001b]0;owned\\u0007", f"prompt=update:{title}")
    person = chat("--agent", agent)
    person.ready()
    person.type(b"go", ENTER)
    shown = person.until("Answered.")

    assert "␛[31mred␛]0;owned␇" in shown
    assert "a␛]0;owned␇b" in shown
    assert "\x1b]0;" not in person.raw
    assert "\x1b[31m" not in person.raw


@pytest.mark.requirement("cli.chat-markdown", "cli.chat-status")
def test_markdown_is_rendered_at_a_terminal_and_usage_is_in_the_status_line(
    chat: Chat, scripted: Spec, tmp_path: Path
) -> None:
    usage = '{"sessionUpdate":"usage_update","used":12345,"size":128000}'
    agent = scripted("prompt=say:# A **page**\\n\\n- x\\n\\n", f"prompt=update:{usage}")
    person = chat("--agent", agent)
    person.ready()
    person.type(b"go", ENTER)
    shown = person.until("12.3k of 128k tokens")
    person.until(tmp_path.name)  # the directory is the last part of the line

    assert "A page\n\n• x\n" in shown
    assert "\x1b[1;4mA " in person.raw
    assert "usage_update" not in shown


@pytest.mark.requirement("cli.chat-starting", "cli.chat-typed-ahead")
def test_lines_typed_while_the_agent_starts_are_separate_inputs(
    chat: Chat, symposium_spec: Spec
) -> None:
    person = chat("--agent", symposium_spec("testy"))
    person.until("starting symposium…")
    person.type(echo_command("first").encode(), ENTER, echo_command("second").encode(), ENTER)
    person.until("\nfirst\n")
    person.until("\nsecond\n")


def echo_command(text: str) -> str:
    """Build the command with which testy echoes this text."""
    return f'{{"command":"echo","message":"{text}"}}'


@pytest.mark.requirement("cli.chat-typed-ahead")
def test_line_typed_during_a_turn_is_sent_after_it(chat: Chat, scripted: Spec) -> None:
    person = chat("--agent", scripted("prompt=wait"))
    person.ready()
    person.type(b"go", ENTER)
    person.until("Waiting.")
    person.type(b"next words", ENTER)
    person.until("next words")
    person.interrupt()
    person.until("[stopped: cancelled]")
    assert "> next words" in person.until("Waiting.")


def chosen(symposium: Run, *lines: str, agent: str = "testy") -> str:
    done = symposium("chat", "--agent", agent, stdin="\n".join([*lines, ""]))
    assert done.returncode == 0
    return done.stdout


@pytest.mark.requirement("cli.chat-settings")
def test_modes_are_listed_and_set_by_name(symposium: Run) -> None:
    assert chosen(symposium, "/mode", "/mode pla", "/mode", "/mode nope", "/models").split(
        "\n"
    ) == [
        "  ▸ Chat (chat): Answer and do nothing else.",
        "    Plan (plan): Say what would be done.",
        "[mode] Plan",
        "    Chat (chat): Answer and do nothing else.",
        "  ▸ Plan (plan): Say what would be done.",
        "'nope' is not a mode; modes: Chat (chat), Plan (plan)",
        "the agent offers no models to choose from",
        "",
    ]


MODELS: Final = (
    'new=result:{"sessionId":"one","models":{"currentModelId":"big","availableModels":'
    '[{"modelId":"big","name":"Big"},{"modelId":"small","name":"Small"}]}}'
)


@pytest.mark.requirement("cli.chat-settings")
def test_models_are_listed_and_set_and_a_refusal_changes_nothing(
    symposium: Run, scripted: Spec
) -> None:
    shown = chosen(symposium, "/models small", "/models", agent=scripted(MODELS))
    assert shown == "[model] Small\n    Big (big)\n  ▸ Small (small)\n"

    refusing = scripted(MODELS, "other=error:-32601:unknown method")
    shown = chosen(symposium, "/models small", "/models", agent=refusing)
    assert "the model is unchanged: " in shown
    assert "  ▸ Big (big)" in shown


@pytest.mark.requirement("cli.chat-own-commands")
def test_commands_of_the_chat_do_not_reach_the_agent_except_with_two_slashes(
    symposium: Run, scripted: Spec
) -> None:
    agent = scripted(f"new=update:{announce('models')}")
    shown = chosen(symposium, "/help", "/models", "/undo", "/undo all", agent=agent)

    assert "Answered." not in shown
    assert "  //models: About models (agent)" in shown
    assert "/undo takes no argument" in shown
    assert chosen(symposium, "//models", agent=agent) == "Answered.\n"


@pytest.mark.requirement("cli.chat-files")
def test_paths_are_completed(chat: Chat, tmp_path: Path) -> None:
    (tmp_path / "notes-of-today.txt").write_text("text")
    person = chat("--agent", "eliza")
    person.ready()
    person.type(b"see @no")
    person.until("notes-of-today.txt")


@pytest.mark.requirement("cli.chat-undo")
def test_undo_in_a_chat_without_a_task_explains_the_alternatives(symposium: Run) -> None:
    shown = chosen(symposium, "/undo")

    assert "nothing was undone: a chat takes no snapshots of its directory" in shown
    assert "`git restore PATH`" in shown


@pytest.mark.requirement("cli.no-color", "cli.chat-markdown")
def test_markdown_is_unchanged_on_a_pipe(symposium: Run, scripted: Spec) -> None:
    agent = scripted("prompt=say:# A **page**\\n\\n" + "word " * 40)
    done = symposium("chat", "--agent", agent, stdin="hello\n")

    assert done.stdout == "# A **page**\n\n" + "word " * 40 + "Answered.\n"


@pytest.mark.requirement("cli.no-color")
def test_only_text_is_written_on_a_pipe(symposium: Run) -> None:
    done = symposium("chat", "--agent", "testy", "--deny", stdin='hello\n{"command":"full"}\n/\n')

    assert "Hello, world!" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.requirement("cli.chat-unasked")
def test_text_outside_a_turn_is_shown_above_the_prompt(
    chat: Chat, symposium_spec: Spec, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    person = chat("--agent", symposium_spec("run", "--no-registry"))
    person.until("You can also enter a name.")
    # The prompt is shown again, on a line below the text.
    assert person.until(">").strip() == ">"
    person.type(b"cancel", ENTER)
    person.until("Configuration cancelled.")


@pytest.mark.requirement("cli.at-terminal")
@pytest.mark.parametrize(
    ("words", "instead"),
    [
        (["run", "--no-registry"], "symposium chat --agent 'symposium run'"),
        (["run-with", "--agent", "eliza"], "symposium chat with the same"),
        (["eliza"], "symposium chat --agent eliza"),
    ],
)
def test_command_for_editors_explains_itself_at_a_terminal(
    words: list[str], instead: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    terminal = Terminal(words, tmp_path, environment)
    try:
        assert "waits for JSON" in terminal.until(instead)
        terminal.until("Ctrl-D")
        terminal.type(CTRL_D)
        assert terminal.ends() == 0
    finally:
        terminal.close()


@pytest.mark.requirement("cli.at-terminal")
def test_command_for_editors_prints_no_hint_in_an_editor(start: Start) -> None:
    process = start("eliza")
    out, err = process.communicate(timeout=TIMEOUT)
    assert (out, err) == ("", "")
