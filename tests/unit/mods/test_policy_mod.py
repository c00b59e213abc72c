"""The mod that answers by the user's rules, between an editor and agents of different habits."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from peerwire.errors import RpcError
from peerwire.jsonrpc.handlers import Request
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Forward
from symposium.mods.policy import FORBIDDEN, PolicyMod
from symposium.testing import FakeAgent, FakeEditor, chain_of

RULES = """
[[rule]]
name = "status"
effect = "allow"
command = "git status"

[[rule]]
name = "outside"
effect = "ask"
write = ["outside-workspace"]

[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force", "-f"]
"""

OPTIONS = [
    {"optionId": "ever", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]

SHAPES = ("text", "list", "cmd")


def shaped(shape: str, script: str) -> dict[str, Any]:
    match shape:
        case "text":
            return {"kind": "execute", "rawInput": {"command": script}}
        case "list":
            return {"rawInput": {"command": ["bash", "-lc", script], "cwd": "."}}
        case _:
            return {"title": "Shell", "rawInput": {"cmd": script}}


def policy(tmp_path: Path) -> PolicyMod:
    file = tmp_path / "policy.toml"
    file.write_text(RULES, encoding="utf-8")
    return PolicyMod(file)


async def ask(agent: FakeAgent, session_id: str, tool_call: dict[str, Any], **more: Any) -> Any:
    assert agent.connection is not None
    params = {"sessionId": session_id, "toolCall": {"toolCallId": "c", **tool_call}}
    return await agent.connection.request(
        "session/request_permission", {**params, "options": OPTIONS, **more}
    )


@pytest.mark.requirement("policy.mod-answers")
@pytest.mark.parametrize("shape", SHAPES)
async def test_the_verdict_is_the_same_for_agents_that_ask_in_different_shapes(
    shape: str, tmp_path: Path
) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        editor.permissions.append("ever")

        allowed = await ask(agent, session, shaped(shape, "git status"))
        refused = await ask(agent, session, shaped(shape, "git status && git push --force"))
        asked = await ask(agent, session, shaped(shape, "git push"))

    assert allowed["outcome"] == {"outcome": "selected", "optionId": "yes"}
    assert refused["outcome"] == {"outcome": "selected", "optionId": "no"}
    assert refused["_meta"]["symposium/policy"] == {"rule": "no-force", "effect": "forbid"}
    assert asked == {"outcome": {"outcome": "selected", "optionId": "ever"}}
    assert [each.method for each in editor.asked.items] == ["session/request_permission"]


@pytest.mark.requirement("policy.mod-answers")
async def test_a_refusal_tells_the_editor_which_rule(tmp_path: Path) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        await ask(agent, session, shaped("text", "git push -f"))
        update = await editor.until(lambda each: each["sessionUpdate"] == "tool_call_update")

    text = update["content"][0]["content"]["text"]
    assert text == "Refused by the rule `no-force` of policy.toml: `git push -f`"


@pytest.mark.requirement("policy.mod-answers")
async def test_a_question_that_names_a_tool_call_by_its_id_alone_is_understood(
    tmp_path: Path,
) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        call = {
            "sessionUpdate": "tool_call",
            "toolCallId": "c",
            "title": "t",
            "rawInput": {"command": "git push -f"},
        }
        agent.update(session, call)
        agent.update(
            session,
            {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c",
                "title": "Push",
                "rawInput": None,
            },
        )
        answer = await ask(agent, session, {})

    assert answer["outcome"]["optionId"] == "no"


@pytest.mark.requirement("policy.odd-options")
@pytest.mark.parametrize(
    "options",
    [
        [{"optionId": "all", "name": "This session", "kind": "allow_always"}],
        [
            {"optionId": "a", "name": "Yes", "kind": "allow_once"},
            {"optionId": "b", "name": "Yes, and leave plan mode", "kind": "allow_once"},
        ],
        [],
        [{"name": "Yes", "kind": "allow_once"}],
        [{"optionId": 7, "name": "Yes", "kind": "allow_once"}],
    ],
    ids=["only-always", "two-of-a-kind", "none", "without-id", "number-as-id"],
)
async def test_a_rule_chooses_nothing_it_cannot_tell_apart(
    options: list[dict[str, Any]], tmp_path: Path
) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        editor.permissions.append(None)
        answer = await ask(agent, session, shaped("text", "git status"), options=options)
        asked = len(editor.asked.items)
        refused = await ask(agent, session, shaped("text", "git push -f"), options=options)

    assert answer == {"outcome": {"outcome": "cancelled"}}
    assert asked == 1
    # No rule forbids it, and no user allowed it.
    assert refused["outcome"] == {"outcome": "cancelled"}


def terminal(request: Request) -> dict[str, Any]:
    return {"terminalId": f"t-{request.params['command']}"}


async def run(agent: FakeAgent, session: str, command: str, *args: str) -> Any:
    assert agent.connection is not None
    params = {"sessionId": session, "command": command, "args": list(args)}
    return await agent.connection.request("terminal/create", params)


def editor_with_terminal(editor: FakeEditor) -> FakeEditor:
    editor.answers["terminal/create"] = terminal
    editor.answers["fs/write_text_file"] = lambda _: None
    return editor


@pytest.mark.requirement("policy.mod-holds")
async def test_a_forbidden_command_in_a_terminal_is_refused_with_the_rule(tmp_path: Path) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(tmp_path))
        with pytest.raises(RpcError) as caught:
            await run(agent, session, "git", "push", "--force")
        started = await run(agent, session, "make", "all")
        allowed = await run(agent, session, "git", "status")

    assert caught.value.code == FORBIDDEN
    assert "no-force" in caught.value.message
    assert started == {"terminalId": "t-make"}
    assert allowed == {"terminalId": "t-git"}
    assert [each.method for each in editor.asked.items] == ["terminal/create"] * 2


@pytest.mark.requirement("policy.mod-holds")
@pytest.mark.parametrize(("chosen", "is_written"), [("allow", True), ("reject", False)])
async def test_a_write_outside_the_workspace_waits_for_the_person(
    chosen: str, tmp_path: Path, *, is_written: bool
) -> None:
    agent = FakeAgent()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(workspace))
        assert agent.connection is not None
        editor.permissions.append(chosen)
        outside = {"sessionId": session, "path": str(tmp_path / "x"), "content": ""}
        inside = {"sessionId": session, "path": str(workspace / "x"), "content": ""}
        await agent.connection.request("fs/write_text_file", inside)
        writing = agent.connection.request("fs/write_text_file", outside)
        if is_written:
            await writing
        else:
            with pytest.raises(RpcError, match="outside"):
                await writing

    first, question, *rest = [(each.method, each.params) for each in editor.asked.items]
    call_id = question[1]["toolCall"].pop("toolCallId")
    call = {"status": "pending", "kind": "edit", "title": f"Write {tmp_path / 'x'}"}
    options = [
        {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]
    asked = {"sessionId": session, "toolCall": call, "options": options}
    assert call_id.startswith("policy-")
    assert first == ("fs/write_text_file", inside)
    assert question == ("session/request_permission", asked)
    assert rest == ([("fs/write_text_file", outside)] if is_written else [])


@pytest.mark.requirement("policy.mod-holds")
async def test_only_a_rule_for_reading_holds_a_file_that_is_read(tmp_path: Path) -> None:
    mod = policy(tmp_path)
    with (tmp_path / "policy.toml").open("a") as rules:
        rules.write('[[rule]]\nname = "keys"\neffect = "ask"\nread = [".env"]\n')
    agent = FakeAgent()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with chain_of(mod, agent=agent) as editor:
        editor.answers["fs/read_text_file"] = lambda _: {"content": ""}
        session = await editor.new_session(cwd=str(workspace))
        assert agent.connection is not None
        for path in (tmp_path / "x", workspace / ".env"):
            params = {"sessionId": session, "path": str(path)}
            await agent.connection.request("fs/read_text_file", params)

    first, question, second = [(each.method, each.params) for each in editor.asked.items]
    assert (first[0], second[0]) == ("fs/read_text_file", "fs/read_text_file")
    shown = question[1]["toolCall"]
    assert (shown["kind"], shown["title"]) == ("read", f"Read {workspace / '.env'}")


@pytest.mark.requirement("policy.mod-holds")
async def test_a_session_that_is_loaded_elsewhere_has_its_new_workspace(tmp_path: Path) -> None:
    agent = FakeAgent()
    old, new = tmp_path / "old", tmp_path / "new"
    for each in (old, new):
        each.mkdir()
    agent.requests["session/load"] = lambda _: {}
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(old))
        params: dict[str, Any] = {"sessionId": session, "cwd": str(new), "mcpServers": []}
        await editor.connection.request("session/load", params)
        assert agent.connection is not None
        for place in (new, old):
            written = {"sessionId": session, "path": str(place / "x"), "content": ""}
            await agent.connection.request("fs/write_text_file", written)

    methods = [each.method for each in editor.asked.items]
    write = "fs/write_text_file"
    assert methods == [write, "session/request_permission", write]


@pytest.mark.requirement("policy.mod-holds")
async def test_what_a_person_has_agreed_to_is_not_asked_again(tmp_path: Path) -> None:
    agent = FakeAgent()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    outside = str(tmp_path / "x")
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(workspace))
        assert agent.connection is not None
        await ask(agent, session, {"kind": "edit", "locations": [{"path": outside}]})
        params = {"sessionId": session, "path": outside, "content": ""}
        await agent.connection.request("fs/write_text_file", params)

    methods = [each.method for each in editor.asked.items]
    assert methods == ["session/request_permission", "fs/write_text_file"]


@pytest.mark.requirement("policy.unread-without-rules")
def test_files_are_written_without_a_look_at_them_while_there_are_no_rules(tmp_path: Path) -> None:
    mod = PolicyMod(tmp_path / "policy.toml")
    no_json = Raw(b'{"path": "/etc/passwd", "content": ')

    outcome = mod.touches(ChainMessage("fs/write_text_file", no_json, is_request=True))

    assert outcome == Forward()


@pytest.mark.requirement("policy.unread-without-rules")
def test_updates_are_intercepted_only_if_there_are_rules_at_the_start(tmp_path: Path) -> None:
    without = PolicyMod(tmp_path / "none.toml").interceptions()

    assert {each.method for each in policy(tmp_path).interceptions()} - {
        each.method for each in without
    } == {"session/update"}


@pytest.mark.requirement("policy.mod-holds")
async def test_odd_additional_directories_are_ignored(tmp_path: Path) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        odd = {"cwd": str(tmp_path / "w"), "additionalDirectories": [3, str(tmp_path / "other")]}
        await editor_with_terminal(editor).initialize()
        made = await editor.connection.request("session/new", {**odd, "mcpServers": []})
        assert agent.connection is not None
        params = {
            "sessionId": made["sessionId"],
            "path": str(tmp_path / "other" / "x"),
            "content": "",
        }
        await agent.connection.request("fs/write_text_file", params)

    assert [each.method for each in editor.asked.items] == ["fs/write_text_file"]


@pytest.mark.requirement("policy.bounded-memory")
async def test_the_last_256_tool_calls_of_a_session_are_remembered(tmp_path: Path) -> None:
    agent = FakeAgent()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        for number in range(257):
            call = {"sessionUpdate": "tool_call", "toolCallId": f"c{number}"}
            agent.update(session, {**call, "title": "t", "rawInput": {"command": "git push -f"}})
        editor.permissions.append("yes")
        oldest = await ask(agent, session, {"toolCallId": "c0"})
        second = await ask(agent, session, {"toolCallId": "c1"})

    assert oldest["outcome"]["optionId"] == "yes", "no rule knows what it does: the user decides"
    assert second["outcome"]["optionId"] == "no"


@pytest.mark.requirement("policy.bounded-memory")
async def test_the_last_256_permitted_actions_of_a_session_are_remembered(tmp_path: Path) -> None:
    agent = FakeAgent()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(workspace))
        assert agent.connection is not None
        for number in range(257):
            edited = [{"path": str(tmp_path / f"{number}")}]
            await ask(agent, session, {"kind": "edit", "locations": edited})
        before = len(editor.asked.items)
        for number in (1, 0):
            params = {"sessionId": session, "path": str(tmp_path / f"{number}"), "content": ""}
            editor.permissions.append("allow")
            await agent.connection.request("fs/write_text_file", params)

    assert [each.method for each in editor.asked.items[before:]] == [
        *("fs/write_text_file", "session/request_permission", "fs/write_text_file"),
    ]


@pytest.mark.requirement("policy.kept-before-yes")
@pytest.mark.parametrize("script", ["git status", "git push -f", "make"])
async def test_work_before_a_yes_ends_before_a_rule_allows(script: str, tmp_path: Path) -> None:
    policy(tmp_path)
    events: list[str] = []

    async def before(call: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        events.append(call["rawInput"]["command"])

    agent = FakeAgent()
    async with chain_of(PolicyMod(tmp_path / "policy.toml", before), agent=agent) as editor:
        session = await editor.new_session(cwd=str(tmp_path))
        await ask(agent, session, shaped("text", script))
        events.append("answered")

    assert events == (["git status", "answered"] if script == "git status" else ["answered"])


@pytest.mark.requirement("policy.mod-holds")
async def test_a_yes_does_not_hold_in_a_session_that_was_closed(tmp_path: Path) -> None:
    agent = FakeAgent()
    workspace, outside = tmp_path / "workspace", str(tmp_path / "x")
    workspace.mkdir()
    agent.requests["session/close"] = agent.requests["session/load"] = lambda _: {}
    async with chain_of(policy(tmp_path), agent=agent) as editor:
        session = await editor_with_terminal(editor).new_session(cwd=str(workspace))
        assert agent.connection is not None
        await ask(agent, session, {"kind": "edit", "locations": [{"path": outside}]})
        await editor.connection.request("session/close", {"sessionId": session})
        params: dict[str, Any] = {"sessionId": session, "cwd": str(workspace), "mcpServers": []}
        await editor.connection.request("session/load", params)
        written = {"sessionId": session, "path": outside, "content": ""}
        await agent.connection.request("fs/write_text_file", written)

    question = "session/request_permission"
    assert [each.method for each in editor.asked.items] == [
        *(question, question, "fs/write_text_file"),
    ]
