"""Write tests/golden/old_home/ with this code: `python -m tests.support.make_old_home`.

The last version before the layout changed wrote the data once. Write it again only to keep the home
of another version, and keep the old data beside it. `--commands` keeps the home and only records
the output of commands again, after an intended change of a `--json` output. Then `python -m
tests.support.surface --write` writes the list of members.
"""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from tests.support.old_commands import (
    CHANGES,
    COMMANDS,
    READS,
    common,
    output_of,
    prepare,
    without_prose,
    words_of,
)
from tests.support.old_home import DATA, environment_of, pack, unfilled, unpack
from tests.support.own_home import GIT_SETTINGS, leave_own_home, take_own_home
from tests.support.session_wire import Recording, recorded
from tests.support.task_cli import TaskCli, end_processes, git, make_clone, until
from tests.support.web import reply, serving

from symposium.config.paths import paths
from symposium.planning.mod_advisor import AnswerMemory

AGENT = Path(__file__).parents[1] / "process" / "agents" / "scripted_agent.py"
CONFIG = """\
{
  // mine
  "agent": "eliza",
  "proxies": [
    { "name": "timeline" },
    { "name": "ferris", "enabled": false }, // later
    { "source": { "local": { "command": "/opt/bin/my-mod", "args": ["--acp"] } }, "enabled": false }
  ],
  "unknown": { "kept": true }
}
"""
POLICY = """\
# mine
[[rule]]
name = "no push"
effect = "forbid"
command = "git push"
match = ["git push origin main"]
not_match = ["git status"]

[[rule]]
name = "ask for secrets"
effect = "ask"
read = "**/.env"
"""
RECOMMENDED = """\
[[recommendation]]
source.npx = { package = "one", env = { KEY = "v" } }
when.any = [{ file-exists = "x" }]
"""
ZED = '{\n  // mine\n  "theme": "One"\n}\n'
LEFT_OUT = (
    *(r"clone/\.git/hooks/.*", r"home/log/.*", r"home/run/.*", r"home/cache/.*"),
    *(r".*\.sqlite-.*", r".*\.db-.*", r".*/keeper\.log", r"user/\.cache/.*"),
)


def main(words: list[str]) -> None:
    """Make a home by commands, or only record their output."""
    if words == ["--commands"]:
        own = take_own_home()
        recording = json.loads((DATA / "sessions.json").read_text(encoding="utf-8"))
        record_commands(dict(os.environ), recording)
        leave_own_home(own)
    else:
        make_all()


def make_all() -> None:
    own = take_own_home()
    root = Path(tempfile.mkdtemp(prefix="old-"))
    try:
        user, home = root / "user", root / "home"
        for each in (user, home):
            each.mkdir(mode=0o700)
        (user / ".gitconfig").write_text(GIT_SETTINGS)
        environment = environment_of(root, dict(os.environ))
        os.environ.update(environment)
        task_cli = TaskCli(make_clone(root / "clone"), environment)
        try:
            with chdir(task_cli.clone):
                recording = make(root, user, task_cli)
        finally:
            end_processes(home)
        DATA.mkdir(exist_ok=True)
        pack(root, left_out=LEFT_OUT)
        text = json.dumps(recording, indent=1, ensure_ascii=False)
        text = re.sub(r'\[\s+("(?:client|server)"),\s+("(?:[^"\\]|\\.)*")\s+\]', r"[\1, \2]", text)
        (DATA / "sessions.json").write_text(unfilled(text, root) + "\n", encoding="utf-8")
        record_commands(environment, recording)
    finally:
        shutil.rmtree(root)
        leave_own_home(own)


def make(root: Path, user: Path, task_cli: TaskCli) -> Any:
    """Use every feature that leaves files; return the messages of the session servers."""
    (task_cli.home / "config.jsonc").write_text(CONFIG)
    (task_cli.home / "policy.toml").write_text(POLICY)
    asking = shlex.join([sys.executable, str(AGENT), "prompt=ask:edit"])
    make_tasks(task_cli)
    install_agents(root, task_cli)
    task_cli.ok("prompt", "--agent", "eliza", "--proxy", "timeline", "Fix the login test")
    task_cli.run("prompt", "--approve-all", "--agent", asking, "Hello")
    task_cli.run("prompt", "--agent", asking, "Hello again")
    (task_cli.clone / ".symposium").mkdir()
    (task_cli.clone / ".symposium" / "recommendations.toml").write_text(RECOMMENDED)
    (task_cli.clone / ".mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    task_cli.ok("trust", "grant", "--yes")
    memory = AnswerMemory(paths(task_cli.environment).home)
    memory.decline(["npx one"])
    memory.added(task_cli.clone, ["cargo two"])
    settings = user / ".config" / "zed" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(ZED)
    task_cli.ok("setup", "zed", "--write", "--yes")
    recording = talk_with_agent(task_cli, asking), talk_with_terminal(task_cli)
    task_cli.ok("task", "stop", "live work")
    # A daemon updates the files of tasks when it first reads them.
    for _ in range(2):
        task_cli.ok("daemon", "stop")
        task_cli.ok("task", "show", "live work")
    task_cli.ok("daemon", "stop")
    return {"agent": recording[0], "terminal": recording[1]}


def make_tasks(task_cli: TaskCli) -> None:
    """Create tasks in several states, with log lines, snapshots, an archive, and questions."""
    words = ("--description", "A live task", "--budget", "3usd,20min,30turns")
    live = task_cli.new("live work", "Say hello", "--agent", "eliza", *words)
    until(lambda: task_cli.tasks()["live work"]["state"] == "idle" and task_cli.said(live["id"]))
    place = Path(live["worktree"])
    (place / "a.txt").write_text("one\nTWO\n")
    (place / "b.txt").write_text("new\n")
    payload = {"project_path": "", "taskspace_uuid": live["id"]}
    task_cli.ok("bus", "send", "snapshot_taskspace", json.dumps({**payload, "reason": "before"}))
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Change two files")
    task_cli.ok("task", "log", "live work", "--add", "Half way", "--category", "milestone")
    task_cli.ok("task", "log", "live work", "--add", "Which scope?", "--category", "question")
    call(task_cli, place, "log_progress", message="From an agent", category="info")
    call(task_cli, place, "present_walkthrough", content="# Tour\n\nA word about `a.txt`.\n")
    call(task_cli, place, "request_review", commit_range="main..HEAD", title="Two files")
    call(
        task_cli,
        place,
        "spawn_taskspace",
        name="child work",
        initial_prompt="Look",
        task_description="d",
    )
    stored = {"key": "6f1c0000-0000-4000-8000-000000000001", "value": {"file": "a.txt"}}
    task_cli.ok("bus", "send", "store_reference", json.dumps(stored))

    landed = commit_in(task_cli, "landed work", "c.txt")
    task_cli.ok("task", "land", "landed work")
    task_cli.ok(
        "bus",
        "send",
        "signal_user",
        json.dumps({"project_path": "", "taskspace_uuid": landed, "message": "Look at this"}),
    )
    task_cli.ok("inbox", "later", "landed work")
    commit_in(task_cli, "archived work", "d.txt")
    worktree = Path(task_cli.tasks()["archived work"]["worktree"])
    (worktree / "e.txt").write_text("uncommitted\n")
    task_cli.ok("task", "rm", "archived work", "--discard-work")
    task_cli.new("deleted work", "--agent", "none")
    task_cli.ok("task", "rm", "deleted work", "--no-archive")
    task_cli.new("stays named", "--agent", "none", "--lock-name")


def commit_in(task_cli: TaskCli, name: str, file: str) -> str:
    made = task_cli.new(name, "--agent", "none")
    place = Path(made["worktree"])
    (place / file).write_text(f"{name}\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", f"Add {file}")
    return made["id"]


def call(task_cli: TaskCli, place: Path, tool: str, **arguments: Any) -> None:
    """Call an MCP tool as the agent in a worktree does."""
    greeting: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
    client = {"clientInfo": {"name": "agent", "version": "0"}}
    messages = (
        {"id": 1, "method": "initialize", "params": {**greeting, **client}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": tool, "arguments": arguments}},
    )
    command = [sys.executable, "-m", "symposium", "mcp"]
    with subprocess.Popen(
        command,
        cwd=place,
        env=task_cli.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in messages:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            server.stdin.flush()
        for line in server.stdout:
            answer = json.loads(line)
            if answer.get("id") == 2:
                assert not answer["result"]["isError"], answer
                break
        server.stdin.close()


def install_agents(root: Path, task_cli: TaskCli) -> None:
    """Install an agent of a registry, with a receipt, and a command."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        info = tarfile.TarInfo("agent")
        content = b"#!/bin/sh\nexec cat\n"
        info.size, info.mode = len(content), 0o755
        file.addfile(info, io.BytesIO(content))
    with serving() as web:
        web.answers["/agent.tar.gz"] = reply(packed.getvalue())
        target = {"archive": web.url("/agent.tar.gz"), "cmd": "./agent"}
        ways = {
            f"{system}-{cpu}": target
            for system in ("linux", "darwin")
            for cpu in ("x86_64", "aarch64")
        }
        entry = {"id": "some", "name": "Some", "version": "1.0.0", "description": "d"}
        agents = [{**entry, "distribution": {"binary": ways}}]
        (root / "registry.json").write_text(json.dumps({"version": "1.0.0", "agents": agents}))
        task_cli.ok("agents", "add", "some")
    task_cli.ok("agents", "add", "--no-test", "--id", "mine", "sh -c cat")


def record_commands(environment: dict[str, str], recording: Any) -> None:
    """Run the commands on two copies of the home, and record what they have in common."""
    runs: list[list[dict[str, Any]]] = []
    for _ in range(2):
        root = Path(tempfile.mkdtemp(prefix="old-"))
        try:
            runs.append(run_commands(root, environment, recording))
        finally:
            end_processes(root / "home")
            shutil.rmtree(root, ignore_errors=True)
    lines = [without_prose(common(*pair)) for pair in zip(*runs, strict=True)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    COMMANDS.write_text(text, encoding="utf-8")


def run_commands(root: Path, environment: dict[str, str], recording: Any) -> list[dict[str, Any]]:
    unpack(root)
    prepare(root)
    task_cli = TaskCli(root / "clone", environment_of(root, environment))
    found: list[dict[str, Any]] = []
    ids = {"@terminal@": recording["terminal"]["session"], "@agent@": recording["agent"]["session"]}
    (ids["@timeline@"],) = {
        each["session"]
        for each in task_cli.json("timeline", "list")
        if each["goal"] == "Fix the login test"
    }
    (ids["@live@"],) = (
        each["id"] for each in task_cli.json("session", "list") if each["title"] == "live work"
    )
    with chdir(task_cli.clone):
        for line in (*READS, *CHANGES):
            words = words_of(line, ids if line.startswith(("session", "timeline")) else {})
            found.append(output_of(task_cli, words, root))
    return found


def talk_with_agent(task_cli: TaskCli, asking: str) -> Any:
    """Run each command that uses the session server of an ACP agent."""
    session = task_cli.ok(
        *(
            "session",
            "start",
            "--acp",
            "--title",
            "still running",
            "--prompt",
            "First",
            "--",
            asking,
        )
    ).strip()
    until(lambda: task_cli.json("session", "questions", session))
    shown: list[Any] = []

    def show(*words: str) -> str:
        text = task_cli.ok("session", *words, "--json")
        shown.append({"words": list(words), "stdout": text})
        return text

    # Copied while its server runs: the old server still runs during an update.
    folder = task_cli.home / "sessions" / session
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    with recorded(socket_of(task_cli, session)) as recording:
        command = [sys.executable, "-m", "symposium", "session", "attach", session, "--json"]
        with subprocess.Popen(
            command, env=task_cli.environment, stdout=subprocess.PIPE
        ) as watching:
            until(lambda: recording.talks and len(recording.talks[0]) > 1)
            show("show", session)
            (question,) = json.loads(show("questions", session))["questions"]
            show("answer", session, str(question["question"]), "y")
            until(lambda: len(recording.talks[0]) > 2)
            show("say", session, "Second")
            until(lambda: json.loads(task_cli.ok("session", "show", session, "--json"))["open"])
            show("cancel", session)
            task_cli.ok("session", "kill", session)
            assert watching.stdout is not None
            seen = watching.stdout.read().decode()
    shutil.rmtree(folder)
    copy.rename(folder)
    return {"session": session, "talks": lines_of(recording), "shown": shown, "watched": seen}


def talk_with_terminal(task_cli: TaskCli) -> Any:
    """Attach to a program on a terminal."""
    program = 'stty -echo; echo ready; read x; echo "got $x"'
    session = task_cli.ok(
        "session", "start", "--title", "terminal", "--", "sh", "-c", program
    ).strip()
    until(lambda: "ready" in task_cli.ok("session", "attach", session, "--no-follow"))
    with recorded(socket_of(task_cli, session)) as recording:
        command = [sys.executable, "-m", "symposium", "session", "attach", session]
        done = subprocess.run(
            command, env=task_cli.environment, input=b"word\n", capture_output=True, check=True
        )
    return {"session": session, "talks": lines_of(recording), "watched": done.stdout.decode()}


def lines_of(recording: Recording) -> list[list[tuple[str, str]]]:
    """Write each message of the talks on its own line."""
    return [
        [(who, json.dumps(message, ensure_ascii=False)) for who, message in talk]
        for talk in recording.talks
    ]


def socket_of(task_cli: TaskCli, session: str) -> Path:
    return task_cli.home / "run" / f"s-{session.replace('-', '')[:12]}.sock"


if __name__ == "__main__":
    main(sys.argv[1:])
