"""One prompt to an agent in this process: exit code, output, and advice."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from symposium.__main__ import main
from symposium.chain.blueprint import Served
from symposium.chain.conductor import Settings
from symposium.cli.prompt import PromptRun, send_prompt
from symposium.cli.prompt_reports import PlainReport
from symposium.cli.talk_options import Permits
from symposium.permissions.audit_entries import POLICY_META
from symposium.planning.chain_spec import ChainSpec

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
CALLBACKS = '{"command":"callbacks"}'
BOTH = "--approve-all or --approve-reads"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SYMPOSIUM_CONFIG", str(tmp_path / "config.jsonc"))
    monkeypatch.chdir(tmp_path)


@dataclass(frozen=True)
class Turn:
    """The turn of an agent: it asks for permission for calls of these kinds, and stops.

    Its message has the id of the option that it got each time.

    Attributes:
        mode: the mode of the user's options.
    """

    stop: str
    asks: Sequence[str] = ()
    mode: str = "ask"
    is_forbidden: bool = False

    async def serve(self, transport: Transport) -> None:
        connection: Connection

        def say(update: Mapping[str, Any]) -> None:
            connection.notify("session/update", {"sessionId": "s", "update": update})

        async def prompted(_: Request) -> Mapping[str, Any]:
            for number, kind in enumerate(self.asks):
                call = {"toolCallId": str(number), "title": "do it", "kind": kind}
                params = {"sessionId": "s", "toolCall": call, "options": OPTIONS}
                answer = await connection.request("session/request_permission", params)
                content = {"type": "text", "text": f"{answer['outcome'].get('optionId')} "}
                say({"sessionUpdate": "agent_message_chunk", "content": content})
            if self.is_forbidden:
                meta = {POLICY_META: {"text": "refused", "effect": "forbid"}}
                say({"sessionUpdate": "tool_call", "toolCallId": "f", "_meta": meta})
            return {"stopReason": self.stop}

        handlers = Handlers(
            {
                "initialize": lambda _: {"protocolVersion": 1},
                "session/new": lambda _: {"sessionId": "s"},
                "session/prompt": prompted,
            }
        )
        connection = Connection(transport, handlers)
        await connection.run()


@pytest.mark.requirement("cli.prompt-stop-reasons", "cli.exit-denied", "showing.unattended")
@pytest.mark.parametrize(
    ("turn", "code", "answers", "allowing"),
    [
        (Turn("end_turn"), 0, "", ""),
        (Turn("max_tokens"), 1, "", ""),
        (Turn("max_turn_requests"), 1, "", ""),
        (Turn("refusal"), 5, "", ""),
        (Turn("cancelled"), 130, "", ""),
        (Turn("unheard_of"), 1, "", ""),
        (Turn("end_turn", ["edit"]), 5, "n", BOTH),
        (Turn("end_turn", ["read", "edit"], mode="reads"), 0, "y n", "--approve-all"),
        (Turn("end_turn", ["edit", "edit"], mode="reads"), 5, "n n", "--approve-all"),
        (Turn("end_turn", ["read", "edit"], mode="all"), 0, "y y", ""),
        (Turn("end_turn", ["read"], mode="none"), 5, "n", ""),
        (Turn("max_tokens", ["edit"]), 1, "n", BOTH),
        (Turn("end_turn", ["edit"], is_forbidden=True, mode="all"), 5, "y", ""),
        (Turn("cancelled", is_forbidden=True), 5, "", ""),
        (Turn("refusal", is_forbidden=True), 5, "", ""),
        (Turn("max_tokens", is_forbidden=True), 1, "", ""),
    ],
)
async def test_exit_code_is_that_of_the_stop_reason_unless_everything_was_denied(
    turn: Turn,
    code: int,
    answers: str,
    allowing: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chain, permits = ChainSpec((), Served("agent", turn.serve)), Permits(turn.mode, "deny")
    prompt_run = PromptRun(chain, "hi", tmp_path, permits, None, PlainReport, Settings())
    async with asyncio.timeout(20):
        found = await send_prompt(prompt_run)
    out, err = capsys.readouterr()
    lines = err.splitlines()

    advice = f"symposium: denied, because there is no terminal to ask you; allow it with {allowing}"
    assert (found, out.split()) == (code, answers.split())
    assert [each for each in lines if each.startswith("symposium:")] == [advice] * bool(allowing)
    assert (f"[stopped] {turn.stop}" in lines) is (turn.stop != "end_turn")


@pytest.mark.requirement("cli.prompt-deny", "showing.unattended")
@pytest.mark.parametrize(
    ("option", "code", "answer", "allowing"),
    [
        ("--deny", 5, "Reject", ""),
        ("--deny-all", 5, "Reject", ""),
        ("--approve-all", 0, "Allow", ""),
        ("--approve-reads", 5, "Reject", "--approve-all"),
    ],
)
def test_option_decides_without_asking(option: str, code: int, answer: str, allowing: str) -> None:
    done = CliRunner().invoke(main, ["exec", "-a", "testy", option, CALLBACKS])
    lines = done.stderr.splitlines()
    decisions = [each.rpartition(": ")[2].split()[0] for each in lines if "[permission]" in each]
    advice = [each.rpartition(" with ")[2] for each in lines if each.startswith("symposium: ")]

    assert (done.exit_code, set(decisions), advice) == (code, {answer}, allowing.split())


@pytest.mark.requirement("cli.prompt-permission-no-tty", "showing.unattended-other-options")
@pytest.mark.parametrize(("mode", "allowing"), [([], BOTH), (["--approve-reads"], "--approve-all")])
def test_request_that_no_one_can_answer_may_end_the_command(mode: list[str], allowing: str) -> None:
    words = ["prompt", "--agent", "testy", *mode, "--non-interactive-permissions", "fail"]
    done = CliRunner().invoke(main, [*words, CALLBACKS])
    as_json = CliRunner().invoke(main, [*words, "--json", "-"], input=CALLBACKS)
    events = [json.loads(line) for line in as_json.stdout.splitlines()]

    asked = "edit: Do something that needs permission"
    message = f"the agent asked for permission ({asked}), but there is no terminal to ask you"
    hint = f"allow it with {allowing}, or run the command in a terminal"
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr.splitlines() == [
        f"[permission] {asked}: no answer",
        "[stopped] cancelled",
        f"symposium: {message}",
        f"  {hint}",
    ]
    assert (as_json.exit_code, as_json.stderr) == (5, "")
    assert [each["type"] for each in events][-3:] == ["permission", "result", "error"]
    assert (events[-1]["data"]["message"], events[-1]["data"]["hint"]) == (message, hint)


@pytest.mark.requirement("cli.prompt-default-agent", "cli.configured-agent")
def test_agent_is_the_given_one_else_that_of_the_config_else_the_default(tmp_path: Path) -> None:
    echo, config = '{"command":"echo","message":"said"}', tmp_path / "config.jsonc"
    default = CliRunner().invoke(main, ["prompt", "hello"])
    found: list[tuple[int, str, str]] = []
    for agent in ("testy", {"builtin": "testy"}, {"registry": "testy"}, "  "):
        config.write_text(json.dumps({"agent": agent}), encoding="utf-8")
        done = CliRunner().invoke(main, ["prompt", echo])
        found.append((done.exit_code, done.stdout, done.stderr))
    config.write_text('{"agent": "eliza"}', encoding="utf-8")
    given = CliRunner().invoke(main, ["prompt", "--agent", "testy", echo])

    said = (0, "said\n", "")
    assert default.stderr == (
        "No agent is configured; using the built-in eliza. Choose another with --agent AGENT.\n"
    )
    assert (given.exit_code, given.stdout, given.stderr) == said
    assert found[:3] == [said] * 3
    assert (found[3][0], found[3][2]) == (0, default.stderr)


@pytest.mark.requirement("cli.prompt-cwd", "cli.exit-usage")
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (
            ["--cwd", "none"],
            4,
            "--cwd: {cwd}/none is not a directory\n  name an existing directory",
        ),
        (["--timeout", "0"], 2, "'0' is not a positive number of seconds, such as 30"),
        (["--timeout", "inf"], 2, "'inf' is not a positive number of seconds, such as 30"),
        (["--timeout", "x"], 2, "'x' is not a positive number of seconds, such as 30"),
    ],
)
def test_wrong_option_is_named_before_the_agent_starts(
    words: list[str], code: int, error: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(main, ["prompt", "--agent", "testy", *words, "x"])

    assert (done.exit_code, done.stdout) == (code, "")
    assert error.format(cwd=tmp_path) in done.stderr


@pytest.mark.requirement("cli.prompt-agent-proxies", "cli.run-with-trace-dir")
def test_messages_are_recorded_without_secrets_in_a_given_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "sk-ant-0123456789abcdefghij"  # noqa: S105 - it is invented
    monkeypatch.setenv("ANTHROPIC_API_KEY", secret)
    echo = json.dumps({"command": "echo", "message": f"my key is {secret}"})
    plain = CliRunner().invoke(main, ["prompt", "--agent", "testy", echo])
    before = list(tmp_path.glob("traces*"))
    recorded = CliRunner().invoke(
        main, ["prompt", "--agent", "testy", "--trace-dir", "traces", echo]
    )
    (trace,) = (tmp_path / "traces").iterdir()
    text = trace.read_text(encoding="utf-8")

    assert (plain.stdout, before) == (f"my key is {secret}\n", [])
    assert (recorded.exit_code, recorded.stdout) == (0, plain.stdout)
    assert ("my key is [redacted]" in text, secret in text) == (True, False)
    assert all(json.loads(line) for line in text.splitlines())
