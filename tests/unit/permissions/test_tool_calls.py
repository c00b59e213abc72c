"""All members of a call count: a script beside a command, its variables, its directory."""

from pathlib import Path
from typing import Any

import pytest

from symposium.permissions.policy import Policy, read_policy
from symposium.permissions.rules import (
    Access,
    Action,
    Effect,
    PolicyWorkspace,
    RunScript,
    ToolAction,
    TouchFile,
)
from symposium.permissions.tool_calls import action_of_terminal, actions_of, script_of

POLICY = read_policy(
    """
[[rule]]
name = "ls"
effect = "allow"
command = "ls"

[[rule]]
name = "no-rm"
effect = "forbid"
command = "rm"

[[rule]]
name = "inside"
effect = "allow"
write = ["inside-workspace"]

[[rule]]
name = "outside"
effect = "ask"
write = ["outside-workspace"]
""",
    "policy.toml",
)


def effect(actions: list[Action], workspace: Path, policy: Policy = POLICY) -> Effect:
    return policy.judge(actions, PolicyWorkspace(workspace)).effect


@pytest.mark.requirement("policy.whole-call")
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"command": "ls"}, Effect.ALLOW),
        ({"command": "ls", "description": "List", "timeout": 5}, Effect.ALLOW),
        ({"command": "ls", "args": ["-la"]}, Effect.ALLOW),
        ({"command": ["ls", "-la"], "cwd": "."}, Effect.ALLOW),
        ({"command": "ls", "env": {"NO_COLOR": "1"}}, Effect.ALLOW),
        ({"command": "ls", "env": {}, "stdin": None}, Effect.ALLOW),
        ({"command": "ls", "script": "rm -rf /"}, Effect.FORBID),
        ({"command": "ls", "cmd": "rm x"}, Effect.FORBID),
        ({"cmd": "ls", "commandLine": ["rm", "x"]}, Effect.FORBID),
        ({"command": "ls", "args": ["/etc"]}, Effect.ASK),
        ({"command": "ls", "args": ["--unknown"]}, Effect.ASK),
        ({"command": "ls", "args": "-la"}, Effect.ASK),
        ({"command": "ls", "script": {"text": "rm"}}, Effect.ASK),
        ({"command": "ls", "env": {"PATH": "."}}, Effect.ASK),
        ({"command": "ls", "env": [{"name": "LD_PRELOAD", "value": "x"}]}, Effect.ASK),
        ({"command": "ls", "env": "PATH=."}, Effect.ASK),
        ({"command": "ls", "env": {"LANG": 1}}, Effect.ASK),
        ({"command": "ls", "cwd": "/etc"}, Effect.ASK),
        ({"command": "ls", "cwd": ".."}, Effect.ASK),
        ({"command": "ls", "cwd": ".", "workdir": "src"}, Effect.ASK),
        ({"command": "ls", "cwd": "a\0b"}, Effect.ASK),
        ({"command": "ls", "cwd": ["."]}, Effect.ASK),
        ({"command": "ls", "stdin": "x"}, Effect.ASK),
        ({"command": "ls", "shell": "/tmp/x"}, Effect.ASK),
        ({"command": "ls", "sandbox": "off"}, Effect.ASK),
    ],
)
def test_a_call_is_judged_by_all_of_its_members(
    raw: dict[str, Any], expected: Effect, tmp_path: Path
) -> None:
    assert effect([*actions_of({"kind": "execute", "rawInput": raw})], tmp_path) is expected


@pytest.mark.requirement("policy.whole-call")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"rawInput": {"file_path": "a"}}, Effect.ALLOW),
        ({"rawInput": {"file_path": "a", "target": "/etc/x"}}, Effect.ASK),
        ({"rawInput": {"path": "a", "edits": [{"filePath": "../x"}]}}, Effect.ASK),
        ({"rawInput": {"path": "a", "new_source": "x = /etc/y"}}, Effect.ALLOW),
        ({"rawInput": {"path": "a"}, "locations": [{"path": "/etc/x"}]}, Effect.ASK),
    ],
)
def test_an_edit_is_judged_by_every_file_that_it_names(
    call: dict[str, Any], expected: Effect, tmp_path: Path
) -> None:
    assert effect([*actions_of({"kind": "edit", **call})], tmp_path) is expected


@pytest.mark.requirement("policy.whole-call")
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"command": "ls", "args": ["-l"], "cwd": "src"}, Effect.ALLOW),
        ({"command": "ls", "cwd": "/etc"}, Effect.ASK),
        ({"command": "ls", "env": [{"name": "PATH", "value": "."}]}, Effect.ASK),
        ({"command": "ls", "env": [{"name": "LANG", "value": "C"}]}, Effect.ALLOW),
        ({"command": "ls", "args": "-l"}, Effect.ASK),
        ({"command": "ls", "cwd": ""}, Effect.ALLOW),
        ({"command": "ls -l", "args": []}, Effect.ALLOW),
        ({"command": "ls", "args": ["/etc"], "cwd": "src"}, Effect.ASK),
        ({"command": "ls", "cwd": 5}, Effect.ALLOW),
    ],
)
def test_a_terminal_is_judged_with_its_directory_and_variables(
    params: dict[str, Any], expected: Effect, tmp_path: Path
) -> None:
    assert effect([action_of_terminal(params)], tmp_path) is expected


@pytest.mark.requirement("policy.files-and-tools")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"kind": "execute", "title": "ls"}, RunScript("ls", is_exact=False)),
        ({"kind": "execute"}, RunScript("", is_exact=False)),
        (
            {"kind": "execute", "title": "t", "rawInput": {"args": ["x"]}},
            RunScript("t", is_exact=False),
        ),
        ({"kind": "fetch", "title": "f", "locations": [{"path": "a"}]}, ToolAction("f", "fetch")),
        ({"content": [{"type": "diff", "path": "a"}]}, TouchFile(Access.WRITE, "a")),
        (
            {
                "kind": "edit",
                "rawInput": {"path": ["b"], "file": 7, "target": {"dir": ""}},
                "locations": [{"path": ""}, {"path": 7}, {"path": "a"}],
                "content": [{"type": "diff", "path": each} for each in ("", 7, None, "a")],
            },
            TouchFile(Access.WRITE, "a"),
        ),
        (
            {
                "kind": "read",
                "rawInput": {"path": "a", "query": "b", "file": "c\n", "dir": ""},
                "content": [{"type": "content", "path": "d"}],
            },
            TouchFile(Access.READ, "a"),
        ),
    ],
)
def test_a_call_without_a_script_is_a_file_a_tool_or_its_title(
    call: dict[str, Any], expected: Action
) -> None:
    assert [*actions_of(call)] == [expected]


@pytest.mark.requirement("policy.doubt-is-asked")
def test_a_command_known_by_its_title_alone_is_never_allowed(tmp_path: Path) -> None:
    def judged(title: str) -> Effect:
        return effect([*actions_of({"kind": "execute", "title": title})], tmp_path)

    assert (judged("ls"), judged("rm x")) == (Effect.ASK, Effect.FORBID)


@pytest.mark.requirement("policy.whole-call")
def test_the_diffs_of_a_call_count_beside_its_script() -> None:
    diffs = [{"type": "diff", "path": "/etc/x"}, {"type": "content", "path": "y"}]
    call = {"kind": "execute", "rawInput": {"command": "ls"}, "content": diffs}

    assert [*actions_of(call)] == [RunScript("ls"), TouchFile(Access.WRITE, "/etc/x")]


@pytest.mark.requirement("policy.whole-call")
def test_a_question_shows_every_script_of_a_call() -> None:
    assert script_of({"command": "ls", "args": ["a b"], "script": "rm x"}) == "ls 'a b'\nrm x"
    assert script_of({"path": "x"}) is None
