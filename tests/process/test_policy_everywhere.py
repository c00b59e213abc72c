"""The user's policy applies to every way to start an agent; a broken policy starts none."""

import json
import subprocess
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import pytest
from tests.support.editor import Editor
from tests.support.task_cli import TaskCli, until

from symposium.config.paths import paths
from symposium.permissions.policy_notes import read_note
from symposium.sessions.client import launch
from symposium.sessions.session import SessionError, SessionKind, SessionSpec, SessionStore

Spec: TypeAlias = Callable[..., str]

FORBIDDEN = tomllib.loads(
    (Path(__file__).parent / "forbidden_commands.toml").read_text(encoding="utf-8")
)
WAYS: list[str] = FORBIDDEN["ways"]
NOTE = "Refused by the rule `no-force-push` of policy.toml: `"
INITIALIZE: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}


@dataclass(frozen=True)
class Asked:
    """Result of an agent that tries everything it must not do.

    Attributes:
        shown: the output for the user.
        code: the exit code of the command, if it is relevant.
    """

    shown: str
    code: int = 0


class Starts:
    """Ways to start an agent; every question is answered with yes."""

    def __init__(
        self, task_cli: TaskCli, start: Callable[..., subprocess.Popen[str]], spec: str
    ) -> None:
        self._task_cli = task_cli
        self._start = start
        self._spec = spec

    def run(self) -> Asked:
        self._task_cli.home.mkdir(exist_ok=True)
        (self._task_cli.home / "config.jsonc").write_text(json.dumps({"agent": self._spec}))
        return self._by_editor(Editor(self._start("run", "--no-registry")))

    def run_with(self) -> Asked:
        return self._by_editor(Editor(self._start("run-with", "--agent", self._spec)))

    def prompt(self, *words: str) -> Asked:
        ran = self._task_cli.run(
            *(words or ("prompt",)), "--approve-all", "--agent", self._spec, "Continue"
        )
        return Asked(ran.stderr, ran.returncode)

    def exec(self) -> Asked:
        return self.prompt("exec")

    def chat(self) -> Asked:
        process = self._start("chat", "--approve-all", "--agent", self._spec)
        out, err = process.communicate("Continue\n")
        return Asked(out + err, process.returncode)

    def session(self) -> Asked:
        words = ("session", "start", "--acp", "--prompt", "Continue", "--", self._spec)
        id_ = self._task_cli.ok(*words).strip()
        return self._by_inbox(id_, ("session", "attach", id_))

    def task(self) -> Asked:
        id_ = self._task_cli.new("ask", "Continue", "--agent", self._spec)["id"]
        return self._by_inbox(id_, ("task", "attach", id_))

    def _by_editor(self, editor: Editor) -> Asked:
        editor.ask("initialize", INITIALIZE)
        id_ = editor.prompt(editor.session(), "Continue")
        while id_ not in editor.answers:
            editor.until(lambda: bool(editor.asked_of_us) or id_ in editor.answers)
            for each in editor.asked_of_us:
                outcome = {"outcome": "selected", "optionId": "y"}
                editor.write({"id": each["id"], "result": {"outcome": outcome}})
            editor.asked_of_us.clear()
        notes = filter(None, map(read_note, editor.updates))
        return Asked("\n".join(note.text for note in notes), editor.end())

    def _by_inbox(self, id_: str, attach: tuple[str, ...]) -> Asked:
        def is_over() -> bool:
            for each in self._task_cli.json("session", "questions", id_)["questions"]:
                self._task_cli.run("session", "answer", id_, str(each["question"]), "y")
            return any(each["type"] == "result" for each in self._task_cli.events(id_))

        until(is_over, timeout=60.0)
        return Asked(self._task_cli.ok(*attach, "--no-follow"))


STARTS: dict[str, Callable[[Starts], Asked]] = {
    "run": Starts.run,
    "run-with": Starts.run_with,
    "prompt": Starts.prompt,
    "exec": Starts.exec,
    "chat": Starts.chat,
    "session": Starts.session,
    "task": Starts.task,
}


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    file = tmp_path / "commands.json"
    file.write_text(json.dumps(WAYS), encoding="utf-8")
    return file


@pytest.mark.requirement("policy.every-start", "policy.refusal-shown")
@pytest.mark.parametrize("way", STARTS)
def test_none_of_sixty_ways_to_run_a_forbidden_command_works(
    way: str,
    task_cli: TaskCli,
    start: Callable[..., subprocess.Popen[str]],
    playing: Spec,
    commands: Path,
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "policy.toml").write_text(FORBIDDEN["rule"], encoding="utf-8")
    answers = commands.with_name("answers.json")
    starts = Starts(task_cli, start, playing("asking_agent.py", str(commands), str(answers)))

    asked = STARTS[way](starts)

    *messages, last = json.loads(answers.read_text(encoding="utf-8"))
    assert len(messages) == len(WAYS) == 60
    refused = {
        "outcome": {"outcome": "selected", "optionId": "n"},
        "_meta": {"symposium/policy": {"rule": "no-force-push", "effect": "forbid"}},
    }
    assert [each for each, answer in zip(WAYS, messages, strict=True) if answer != refused] == []
    # The user was asked about the rest, and answered yes.
    assert last["outcome"]["optionId"] == "y"
    assert asked.shown.count(NOTE) == len(WAYS)
    assert asked.code == (5 if way in {"prompt", "exec"} else 0)


def _cut(file: Path) -> None:
    file.write_text(FORBIDDEN["rule"][:75], encoding="utf-8")


def _without_rights(file: Path) -> None:
    # Root can read every file, but not a link to itself.
    file.symlink_to(file)


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "syntax": (lambda file: file.write_text("# mine\n[[rule]\n"), ": line 2, column 7: Expected"),
    "value": (
        lambda file: file.write_text(FORBIDDEN["rule"].replace('"forbid"', '"deny"')),
        ": line 3, column 1: rule 1 (`no-force-push`): unknown effect 'deny'; write effect = ",
    ),
    "half-written": (_cut, ": line 5, column "),
    "empty": (lambda file: file.write_text(""), ": line 1, column 1: the file is empty; write a"),
    "unreadable": (_without_rights, ": Too many levels of symbolic links; check that"),
    "directory": (Path.mkdir, " is a directory; replace it with a text file"),
}


def starts(agent: str, clone: Path) -> dict[str, list[str]]:
    return {
        "run": ["run", "--no-registry"],
        "run-with": ["run-with", "--agent", agent],
        "prompt": ["prompt", "--approve-all", "--agent", agent, "Continue"],
        "exec": ["exec", "--approve-all", "--agent", agent, "Continue"],
        "chat": ["chat", "--approve-all", "--agent", agent],
        "session": ["session", "start", "--acp", "--prompt", "Continue", "--", agent],
        "session on a terminal": ["session", "start", "--", "true"],
        "task": ["task", "new", "t", "Continue", "--agent", agent, "--project", str(clone)],
    }


@pytest.mark.requirement("policy.no-start")
@pytest.mark.parametrize("way", starts("", Path()))
def test_no_agent_starts_while_the_policy_is_unusable(
    way: str, task_cli: TaskCli, playing: Spec, commands: Path
) -> None:
    answers = commands.with_name("answers.json")
    agent = playing("asking_agent.py", str(commands), str(answers))
    task_cli.home.mkdir(exist_ok=True)
    file = task_cli.home / "policy.toml"
    messages: dict[str, str] = {}
    for kind, (make, says) in UNUSABLE.items():
        make(file)
        ran = task_cli.run(*starts(agent, task_cli.clone)[way])
        assert ran.returncode == 1, kind
        messages[kind] = ran.stderr.replace("\n  ", "; ")
        assert f"{file}{says}" in messages[kind], kind
        file.rmdir() if file.is_dir() else file.unlink()

    assert not answers.exists()
    assert not (task_cli.home / "sessions").exists()
    assert not (task_cli.home / "taskspaces.db").exists()


@pytest.mark.requirement("policy.no-start")
async def test_session_server_starts_no_agent_while_the_policy_is_unusable(
    task_cli: TaskCli, playing: Spec, commands: Path
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "policy.toml").write_text("[[rule")
    agent = playing("asking_agent.py", str(commands), str(commands.with_name("answers.json")))
    spec = SessionSpec(
        str(uuid4()), SessionKind.ACP, (agent,), str(task_cli.clone), prompt="Continue"
    )

    with pytest.raises(SessionError, match=r"policy\.toml: line 1, column 7: "):
        await launch(SessionStore(paths(task_cli.environment)), spec, task_cli.environment)


@pytest.mark.requirement("policy.no-start", "policy.live")
def test_new_session_waits_for_a_usable_policy(
    task_cli: TaskCli, start: Callable[..., subprocess.Popen[str]]
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "config.jsonc").write_text(json.dumps({"agent": "eliza"}))
    file = task_cli.home / "policy.toml"
    file.write_text(FORBIDDEN["rule"])
    editor = Editor(start("run", "--no-registry"))
    editor.ask("initialize", INITIALIZE)
    assert "No agent starts" not in editor.say(editor.session(), "hello")

    file.write_text("[[rule")
    session = editor.session()
    messages = editor.notices(session)
    assert "Your policy rules cannot be read, so no agent starts" in messages
    assert f"{file}: line 1, column 7: " in messages

    file.write_text(FORBIDDEN["rule"])
    assert "No agent starts" not in editor.say(session, "hello")
    assert editor.end() == 0


@pytest.mark.requirement("policy.no-start")
def test_crashed_agent_is_not_restarted_while_the_policy_is_unusable(
    task_cli: TaskCli, scripted: Spec
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    file = task_cli.home / "policy.toml"
    file.write_text(FORBIDDEN["rule"])
    id_ = task_cli.ok("session", "start", "--acp", "--", scripted("prompt=exit:1")).strip()
    until(lambda: task_cli.json("session", "show", id_)["open"])

    file.write_text("[[rule")
    task_cli.ok("session", "say", id_, "Continue")
    (found,) = until(
        lambda: [each for each in task_cli.json("session", "list") if each["status"] == "exited"]
    )
    assert f"{file}: line 1, column 7: " in found["reason"]
    started = [each for each in task_cli.events(id_) if "the agent exited" in str(each["data"])]
    assert len(started) == 2


@pytest.mark.requirement("policy.kept-before-yes")
@pytest.mark.parametrize("is_ruled", [False, True])
def test_snapshot_is_made_before_a_destructive_action_is_allowed(
    task_cli: TaskCli, playing: Spec, *, is_ruled: bool
) -> None:
    task_cli.home.mkdir(exist_ok=True)
    rule = '[[rule]]\nname = "rm"\neffect = "allow"\ncommand = "rm made.txt"\n'
    (task_cli.home / "policy.toml").write_text(rule if is_ruled else "# none\n")
    made = task_cli.new("removes", "Continue", "--agent", playing("removing_agent.py"))
    id_, file = made["id"], Path(made["worktree"]) / "made.txt"
    if not is_ruled:
        until(lambda: task_cli.json("session", "questions", id_)["questions"])
        task_cli.ok("session", "answer", id_, "1", "y")
    until(lambda: any(each["type"] == "result" for each in task_cli.events(id_)))
    assert not file.exists()

    snapshots = task_cli.json("task", "show", id_)["snapshots"]
    (kept,) = [each for each in snapshots if each["reason"] == "asked: Remove it"]
    task_cli.ok("task", "undo", id_, "--to", kept["ref"])
    assert file.read_text() == "precious\n"


@pytest.mark.requirement("policy.status")
def test_status_shows_the_policy(task_cli: TaskCli) -> None:
    task_cli.home.mkdir(exist_ok=True)
    file = task_cli.home / "policy.toml"
    assert f"policy  none (no {file})\n" in task_cli.ok("status")

    file.write_text(FORBIDDEN["rule"])
    assert f"policy  1 rule ({file})\n" in task_cli.ok("status")
    assert task_cli.json("status")["policy"] == {"file": str(file), "rules": 1, "error": None}

    file.write_text("[[rule")
    assert f"policy  UNREADABLE, no agent starts: {file}: line 1" in task_cli.ok("status")
    found = task_cli.json("status")["policy"]
    assert (found["rules"], "line 1, column 7" in found["error"]) == (None, True)


@pytest.mark.requirement("policy.terminal")
def test_agent_on_a_terminal_starts_with_a_warning_if_rules_exist(
    task_cli: TaskCli,
) -> None:
    start = ("session", "start", "--", "true")
    task_cli.home.mkdir(exist_ok=True)
    file = task_cli.home / "policy.toml"
    file.write_text(FORBIDDEN["rule"].replace('"forbid"', '"allow"'))
    assert task_cli.run(*start).stderr == ""

    file.write_text(FORBIDDEN["rule"])
    assert "policy.toml does not apply to this agent" in task_cli.run(*start).stderr


@pytest.mark.requirement("policy.refusal-shown")
def test_denial_is_an_event_of_prompt_in_json(task_cli: TaskCli, scripted: Spec) -> None:
    task_cli.home.mkdir(exist_ok=True)
    (task_cli.home / "policy.toml").write_text(FORBIDDEN["rule"])
    call = {"kind": "execute", "rawInput": {"command": "git push -f"}}
    agent = scripted(f"prompt=ask:{json.dumps(call)}")
    ran = task_cli.run("prompt", "--json", "--proxy", "policy", "--agent", agent, "Continue")

    events = [json.loads(line) for line in ran.stdout.splitlines()]
    notes = [each["data"].get("_meta") for each in events if each["type"] == "update"]
    messages = [each["symposium/policy"]["rule"] for each in notes if each]
    # The start reports that there are rules; the denial names the one.
    assert messages == [None, "no-force-push"]
    assert ran.returncode == 5
