"""Permission requests of agents: the editor's view and the audit log (users A-7)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.chain_harness import chain_harness, mods
from tests.support.run_mode_harness import CONFIG, run_mode_harness

from symposium.chain.blueprint import InProcess
from symposium.chain.conductor import Settings
from symposium.chain.messages import ChainMessage
from symposium.chain.mod import Mod, Reply, from_agent
from symposium.chain.running_chain import ChainSettings
from symposium.mods.policy import PolicyMod
from symposium.permissions.audit_entries import POLICY_META, PermissionObserver
from symposium.planning.chain_spec import ChainSpec

OPTIONS: list[dict[str, Any]] = [
    {"optionId": "once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "session", "name": "Yes, for this session", "kind": "allow_session", "_meta": {}},
    {"optionId": "plan", "name": "Leave plan mode", "kind": "exit_plan", "then": ["a", 1.50]},
    {"optionId": "url", "name": "Agree", "kind": "url_consent", "url": "https://e.org/?a=1&b=ü"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def question(session: str = "s") -> bytes:
    """Build a request as unusual as an agent may write it: spaces, escapes, and numbers."""
    options = json.dumps(OPTIONS, ensure_ascii=True).replace('"a", 1.5', '"\\u0061" , 1.50')
    call = '{"toolCallId":"t1","title":"do it"}'
    params = f'{{"sessionId":"{session}", "toolCall":{call}, "options":{options}}}'
    method = "session/request_permission"
    return f'{{"jsonrpc":"2.0","id":9,"method":"{method}","params":{params}}}'.encode()


def watching(observer: InProcess) -> dict[str, Any]:
    def settings(_: ChainSpec) -> ChainSettings:
        return ChainSettings(beside_agent=lambda: [observer])

    return {"chain_settings": settings}


def members_after_params(line: bytes) -> bytes:
    return line.partition(b'"params":')[2].rstrip(b"}\n")


@pytest.mark.requirement("stories.a-07-untouched", "stories.a-07-taken-down")
async def test_five_unusual_options_pass_byte_for_byte_and_the_choice_is_recorded(
    tmp_path: Path,
) -> None:
    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = watching(observer)
    async with run_mode_harness(tmp_path, CONFIG, settings=settings) as it:
        agent = await it.begin()
        agent.write(question())
        line = await it.editor.line()
        assert members_after_params(line) == members_after_params(question())
        chosen = {"outcome": {"outcome": "selected", "optionId": "plan"}, "_meta": {"x": 1}}
        it.editor.answer(json.loads(line), chosen)
        assert (await agent.read())["result"] == chosen
    (entry,) = seen
    assert entry["options"] == OPTIONS
    assert entry["toolCall"] == {"toolCallId": "t1", "title": "do it"}
    notice = {name: entry[name] for name in ("agent", "sessionId", "outcome", "chosen", "by")}
    assert notice == {
        "agent": "claude",
        "sessionId": "s",
        "outcome": "selected",
        "chosen": "plan",
        "by": "user",
    }


@pytest.mark.requirement("stories.a-07-taken-down")
async def test_canceled_and_unanswered_requests_are_recorded_too(
    tmp_path: Path,
) -> None:
    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = watching(observer)
    async with run_mode_harness(tmp_path, CONFIG, settings=settings) as it:
        agent = await it.begin()
        agent.write(question())
        await it.editor.read()
        it.editor.tell("session/cancel", {"sessionId": "s"})
        await agent.reads(2)
        agent.write(question())
        it.editor.refuse(await it.editor.read(), -32601)
        assert (await agent.read())["error"]["code"] == -32601
    assert [(each["outcome"], each["by"]) for each in seen] == [
        ("cancelled", "user"),
        ("unanswered", "nobody"),
    ]


FORCE = """
[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force", "-f"]
"""


@pytest.mark.requirement("stories.a-07-taken-down", "policy.taken-down")
async def test_decision_by_a_policy_rule_is_recorded_with_the_rule(tmp_path: Path) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text(FORCE, encoding="utf-8")
    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = Settings(quiet_grace=0.02, beside_agent=lambda: [observer])
    async with chain_harness(*mods(PolicyMod(rules)), settings=settings) as it:
        agent = await it.open()
        call = b'{"toolCallId":"t1","rawInput":{"command":"git status && git push --force"}}'
        agent.write(question().replace(b'{"toolCallId":"t1","title":"do it"}', call))
        answer = await agent.read()
        while "result" not in answer:
            answer = await agent.read()
    assert answer["result"]["outcome"]["optionId"] == "no"
    assert [(each["chosen"], each["by"]) for each in seen] == [("no", "rule:no-force")]


TOUCHING = """
[[rule]]
name = "no-force"
effect = "forbid"
command = "git push"
options = ["--force"]

[[rule]]
name = "notes"
effect = "ask"
write = ["notes.txt"]
"""


def from_agent_line(method: str, params: dict[str, Any]) -> bytes:
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"sessionId": "s", **params}}
    return json.dumps(message).encode()


@pytest.mark.requirement("policy.terminals-and-files-taken-down")
async def test_terminal_refused_by_a_rule_is_recorded_and_the_agent_gets_one_error(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text(TOUCHING, encoding="utf-8")
    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = Settings(quiet_grace=0.02, beside_agent=lambda: [observer])
    async with chain_harness(*mods(PolicyMod(rules)), settings=settings) as it:
        agent = await it.open()
        command = {"command": "git", "args": ["push", "--force"]}
        agent.write(from_agent_line("terminal/create", command))
        assert (await agent.read())["error"]["data"]["rule"] == "no-force"
        assert agent.unread == []
    (entry,) = seen
    assert entry["toolCall"]["title"] == "git push --force"
    notice = ("agent", "sessionId", "method", "rule", "options", "outcome", "chosen", "by")
    assert [entry[name] for name in notice] == [
        *("claude", "s", "terminal/create", "no-force"),
        *([], "refused", None, "rule:no-force"),
    ]


@pytest.mark.requirement("policy.terminals-and-files-taken-down")
@pytest.mark.parametrize(
    ("answer", "taken_down"),
    [
        ({"outcome": "selected", "optionId": "allow"}, ("selected", "allow", "user")),
        ({"outcome": "selected", "optionId": "reject"}, ("selected", "reject", "user")),
        ({"outcome": "cancelled"}, ("cancelled", None, "user")),
        (None, ("unanswered", None, "nobody")),
    ],
)
async def test_file_request_of_a_rule_is_recorded_with_the_answer(
    tmp_path: Path, answer: dict[str, Any] | None, taken_down: tuple[str | None, ...]
) -> None:
    rules = tmp_path / "policy.toml"
    rules.write_text(TOUCHING, encoding="utf-8")
    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = Settings(quiet_grace=0.02, beside_agent=lambda: [observer])
    async with chain_harness(*mods(PolicyMod(rules)), settings=settings) as it:
        agent = await it.open()
        agent.write(from_agent_line("fs/write_text_file", {"path": "notes.txt", "content": "x"}))
        asked = await it.client.read()
        if answer is None:
            it.client.refuse(asked, -32601)
        else:
            it.client.answer(asked, {"outcome": answer})
        if taken_down[1] == "allow":
            written = await it.client.read()
            assert written["method"] == "fs/write_text_file"
            it.client.answer(written, {})
        assert ("result" in await agent.read()) == (taken_down[1] == "allow")
    (entry,) = seen
    assert [option["optionId"] for option in entry["options"]] == ["allow", "reject"]
    assert (entry["method"], entry["rule"]) == ("fs/write_text_file", "notes")
    assert (entry["outcome"], entry["chosen"], entry["by"]) == taken_down


@pytest.mark.requirement("stories.a-07-taken-down")
async def test_rule_that_answers_is_named() -> None:
    class Rules(Mod):
        @from_agent("session/request_permission")
        def answer(self, message: ChainMessage) -> Reply:
            del message
            outcome = {"outcome": "selected", "optionId": "no"}
            return Reply({"outcome": outcome, "_meta": {POLICY_META: {"rule": "no force"}}})

    seen: list[Mapping[str, Any]] = []
    observer = InProcess(
        "observer", PermissionObserver("claude", lambda made: seen.append(made())), is_hidden=True
    )
    settings = Settings(quiet_grace=0.02, beside_agent=lambda: [observer])
    async with chain_harness(*mods(Rules()), settings=settings) as it:
        agent = await it.open()
        agent.write(question())
        assert (await agent.read())["result"]["outcome"]["optionId"] == "no"
    assert (seen[0]["chosen"], seen[0]["by"]) == ("no", "rule:no force")
