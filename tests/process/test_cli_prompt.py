"""`symposium prompt`: one turn, in text and JSON."""

import json
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
Start: TypeAlias = Callable[..., subprocess.Popen[str]]
Spec: TypeAlias = Callable[..., str]

PROGRAM: Final = str(Path(sys.executable).with_name("symposium"))
HELLO: Final = "How do you do. Please state your problem.\n"
ENVELOPE: Final = ["v", "seq", "ts", "type", "session", "taskspace", "data"]


def events(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def read_until(process: subprocess.Popen[str], text: str) -> str:
    """Read its stdout until it contains the text; return it."""
    assert process.stdout is not None
    said = ""
    while text not in said:
        piece = os.read(process.stdout.fileno(), 4096).decode()
        assert piece, f"it ended after {said!r}"
        said += piece
    return said


@pytest.mark.requirement("cli.prompt-agent-proxies", "cli.exit-ok", "cli.errors-what-where-how")
def test_prompt_passes_the_mods_and_only_the_answer_is_printed(
    symposium: Run,
) -> None:
    done = symposium("prompt", "--agent", "eliza", "--proxy", "arrow", "--proxy", "arrow", "Hello")

    assert (done.stdout, done.stderr, done.returncode) == (f">>{HELLO}", "", 0)


@pytest.mark.requirement("cli.prompt-default-agent")
def test_agent_that_answers_by_default_is_named(symposium: Run) -> None:
    done = symposium("prompt", "Hello")

    assert done.stdout == HELLO
    assert "eliza" in done.stderr
    assert "--agent" in done.stderr


@pytest.mark.requirement("cli.prompt-streams")
def test_answer_is_printed_as_it_arrives(start: Start, scripted: Spec) -> None:
    process = start("prompt", "--agent", scripted("prompt=wait"), "hello")

    # The turn is still running: only an interrupt ends it.
    assert read_until(process, "Waiting.") == "Waiting."
    assert process.poll() is None


@pytest.mark.requirement("cli.prompt-interrupt", "cli.exit-interrupted")
def test_interrupt_cancels_the_turn_and_waits_for_its_end(start: Start, scripted: Spec) -> None:
    process = start("prompt", "--json", "--agent", scripted("prompt=wait"), "hello")
    read_until(process, "Waiting.")
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=45)

    assert process.returncode == 130
    assert events(rest)[-1]["data"] == {"stopReason": "cancelled"}


@pytest.mark.requirement("cli.prompt-interrupt")
def test_second_interrupt_does_not_wait_for_the_agent(start: Start, scripted: Spec) -> None:
    agent = scripted("prompt=wait", "ignore-cancel")
    process = start("prompt", "--agent", agent, "hello")
    read_until(process, "Waiting.")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(signal.SIGINT)

    assert process.wait(45) == 130


@pytest.mark.requirement("cli.bad-agent-silent")
def test_interrupt_ends_the_wait_for_an_agent_that_never_answers(
    start: Start, scripted: Spec, tmp_path: Path
) -> None:
    agent = scripted("initialize=silent")
    os.mkfifo(tmp_path / "up")
    process = start("prompt", "--agent", shlex.join(["sh", "-c", f"echo > up; exec {agent}"]), "x")
    (tmp_path / "up").read_text()
    process.send_signal(signal.SIGINT)

    assert process.wait(45) == 130


@pytest.mark.requirement("cli.prompt-json")
def test_json_has_one_envelope_a_line_numbered_without_gaps(symposium: Run, scripted: Spec) -> None:
    update = '{"sessionUpdate":"weather","sky":["grey"]}'
    done = symposium("prompt", "--json", "--agent", scripted(f"prompt=update:{update}"), "hello")
    messages = events(done.stdout)

    assert [list(event) for event in messages] == [ENVELOPE] * len(messages)
    assert [event["seq"] for event in messages] == [*range(1, len(messages) + 1)]
    assert [event["type"] for event in messages] == ["session", "update", "update", "result"]
    assert {event["session"] for event in messages} == {"one"}
    assert messages[1]["data"] == json.loads(update)
    assert messages[-1]["data"] == {"stopReason": "end_turn"}


@pytest.mark.requirement("cli.error-object")
@pytest.mark.parametrize(
    ("words", "code", "name", "origin"),
    [
        (["--agent", "nosuch x"], 4, "NOT_FOUND", "component"),
        (["--agent", "nosuch"], 2, "USAGE", "cli"),
        (["--agent", "eliza", "--cwd", "/no/such"], 4, "NOT_FOUND", "cli"),
        (["--agent", "false"], 1, "RUNTIME", "component"),
        (["--agent", "sleep 9", "--timeout", "0.2"], 3, "TIMEOUT", "component"),
    ],
)
def test_error_is_an_object_on_stdout_with_json(
    symposium: Run, words: list[str], code: int, name: str, origin: str
) -> None:
    done = symposium("prompt", "--json", *words, "hello")
    (event,) = events(done.stdout)
    error = event["data"]

    assert done.returncode == code
    assert event["type"] == "error"
    assert list(error) == [
        *("code", "detailCode", "message", "hint", "retryable", "origin", "docs"),
    ]
    assert (error["code"], error["origin"]) == (name, origin)
    assert error["message"]
    assert error["retryable"] == (name == "TIMEOUT")


@pytest.mark.requirement("cli.prompt-cwd")
def test_session_directory_is_absolute_and_the_current_one_by_default(
    symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    here = symposium("prompt", "--agent", scripted("prompt=cwd"), "hello")
    below = symposium("prompt", "--agent", scripted("prompt=cwd"), "--cwd", "below", "hello")

    assert here.stdout.startswith(str(tmp_path))
    assert below.stdout.startswith(str(tmp_path / "below"))


@pytest.mark.requirement("cli.prompt-permission-no-tty", "cli.exit-denied")
def test_requests_are_denied_and_reported_without_a_terminal(
    symposium: Run, scripted: Spec
) -> None:
    done = symposium("prompt", "--agent", scripted("prompt=ask:edit"), "hello")

    assert json.loads(done.stdout) == {"outcome": "selected", "optionId": "n"}
    assert "do it: Reject once" in done.stderr
    assert done.returncode == 5


@pytest.mark.requirement("showing.unattended")
def test_denied_requests_end_with_the_way_to_allow_them(symposium: Run, scripted: Spec) -> None:
    done = symposium("prompt", "--agent", scripted("prompt=ask:edit"), "hello")
    denied = symposium("prompt", "--agent", scripted("prompt=ask:edit"), "--deny", "hello")
    as_json = symposium("prompt", "--json", "--agent", scripted("prompt=ask:edit"), "hello")

    last = done.stderr.splitlines()[-1]
    assert "no terminal" in last
    assert "allow it with --approve-all or --approve-reads" in last
    # --deny was explicit, and a program reads the denials in the events.
    assert "--approve-all" not in denied.stderr
    assert as_json.stderr == ""


@pytest.mark.requirement("showing.once")
@pytest.mark.parametrize("words", [("prompt", "--agent"), ("chat", "--agent")])
def test_last_output_of_a_crashed_agent_is_shown_once(
    symposium: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    program = tmp_path / "dies.py"
    lines = "import sys\nsys.stdin.readline()\nprint('some words', file=sys.stderr)\n"
    program.write_text(f"{lines}raise RuntimeError('kaputt')\n")
    text = ("go",) if words[0] == "prompt" else ()
    done = symposium(*words, shlex.join([sys.executable, str(program)]), *text, stdin="go\n")

    assert done.returncode == 1
    assert [done.stderr.count(each) for each in ("some words", "RuntimeError: kaputt")] == [1, 1]
    assert "[… shown above]" in done.stderr


@pytest.mark.requirement("cli.prompt-permission-tty")
def test_options_are_shown_on_a_terminal_and_the_chosen_one_is_sent(
    scripted: Spec, environment: dict[str, str]
) -> None:
    terminal, side = pty.openpty()
    words = [PROGRAM, "prompt", "--agent", scripted("prompt=ask:edit"), "hello"]
    with subprocess.Popen(
        words, stdin=side, stderr=side, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        os.close(side)
        shown = ""
        while "Choose 1-2" not in shown:
            shown += os.read(terminal, 4096).decode()
        os.write(terminal, b"allow\n")
        assert process.stdout is not None
        answer = process.stdout.read()
    os.close(terminal)

    assert "? The agent wants to edit: do it" in shown
    assert "1) Allow once" in shown
    assert "2) Reject once" in shown
    assert json.loads(answer) == {"outcome": "selected", "optionId": "y"}
    assert process.returncode == 0


@pytest.mark.requirement("cli.prompt-path-with-spaces")
def test_program_whose_path_has_spaces_is_quoted(
    symposium: Run, scripted: Spec, tmp_path: Path
) -> None:
    program = tmp_path / "my agent.sh"
    program.write_text(f"#!/bin/sh\nexec {scripted('any=text')}\n")
    program.chmod(0o755)
    done = symposium("prompt", "--agent", f"'{program}' --flag", "hello")

    assert done.stdout == "Answered.\n"


@pytest.mark.requirement("cli.prompt-json-agent")
def test_agent_may_be_written_as_json(symposium: Run, scripted: Spec) -> None:
    program, *arguments = shlex.split(scripted("any=text"))
    done = symposium(
        "prompt", "--agent", json.dumps({"command": program, "args": arguments}), "hello"
    )

    assert done.stdout == "Answered.\n"


@pytest.mark.requirement("cli.prompt-flags-after-separator")
def test_flags_in_a_spec_are_the_agents_and_text_may_begin_with_a_dash(
    symposium: Run, scripted: Spec
) -> None:
    agent = scripted("any=text", "--json", "--help")
    done = symposium("prompt", "--agent", agent, "--", "--help me")

    assert done.stdout == "Answered.\n"


@pytest.mark.requirement("cli.prompt-streams")
def test_text_may_come_from_standard_input(symposium: Run) -> None:
    done = symposium("prompt", "--agent", "eliza", "-", stdin="Hello\n")

    assert done.stdout == HELLO


@pytest.mark.requirement("cli.no-color", "cli.prompt-stop-reasons")
def test_control_sequences_of_an_agent_are_not_printed(symposium: Run, scripted: Spec) -> None:
    agent = scripted("prompt=say:\\u001b[31mred\\u0007\\u202e", "prompt=stop:\x1b]0;x\x07")
    done = symposium("prompt", "--agent", agent, "hello")

    assert done.stdout == "␛[31mred␇<U+202E>\n"
    assert re.search(r"[\x00-\x08\x0b-\x1f]", done.stderr) is None
    assert done.returncode == 1


@pytest.mark.requirement("cli.broken-pipe")
@pytest.mark.parametrize("option", ["--approve-all", "--json"])
def test_closed_pipe_ends_the_command_quietly(start: Start, scripted: Spec, option: str) -> None:
    process = start("prompt", "--agent", scripted("prompt=flood:20000"), option, "hello")
    assert process.stdout is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None

    assert process.stderr.read() == ""
    assert process.wait(45) == 141


@pytest.mark.requirement("cli.exec-for-scripts")
def test_exec_prints_only_events_on_stdout_and_exits_as_prompt(
    symposium: Run, scripted: Spec
) -> None:
    done = symposium("exec", "-a", "eliza", "--json", "Hello")
    missing = symposium("exec", "-a", "no-such-agent", "--json", "Hello")
    refused = symposium("exec", "-a", scripted("prompt=stop:refusal"), "--json", "Hello")

    assert [list(event) for event in events(done.stdout)] == [ENVELOPE] * len(events(done.stdout))
    assert [event["seq"] for event in events(done.stdout)] == [1, 2, 3, 4]
    assert (done.returncode, done.stderr) == (0, "")
    assert [event["type"] for event in events(missing.stdout)] == ["error"]
    assert missing.returncode == 2
    assert refused.returncode == 5


@pytest.mark.requirement("cli.exec-for-scripts")
def test_exec_writes_no_color_to_a_pipe(symposium: Run, scripted: Spec) -> None:
    done = symposium("exec", "-a", scripted("prompt=ask:edit"), "--approve-all", "Hello")

    assert "\x1b" not in done.stdout + done.stderr
    assert done.returncode == 0
