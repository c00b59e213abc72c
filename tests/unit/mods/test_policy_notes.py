"""Notes for the user about policy rules, and sessions without readable rules."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from peerwire.errors import RpcError
from symposium.mods.policy import FORBIDDEN, PolicyMod
from symposium.permissions.policy_notes import PolicyNote, read_note
from symposium.testing import FakeAgent, FakeEditor, chain_of

ALLOW = '[[rule]]\nname = "status"\neffect = "allow"\ncommand = "git status"\n'
FORBID = '[[rule]]\nname = "no-push"\neffect = "forbid"\ncommand = "git push"\n'
ASK = '[[rule]]\nname = "notes"\neffect = "ask"\nwrite = ["notes.txt"]\n'
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
PUSH = {"kind": "execute", "title": "Push", "rawInput": {"command": "git push"}}


class Scene:
    """One session between an editor and an agent, with the mod between them."""

    def __init__(self, editor: FakeEditor, agent: FakeAgent, file: Path) -> None:
        self.editor = editor
        self.agent = agent
        self.file = file

    @property
    def session(self) -> str:
        assert self.editor.session_id is not None
        return self.editor.session_id

    async def ask(self, call: dict[str, Any]) -> Any:
        params = {"sessionId": self.session, "toolCall": call, "options": OPTIONS}
        return await self.request("session/request_permission", params)

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        assert self.agent.connection is not None
        return await self.agent.connection.request(method, params)

    def call(self, status: str, call: dict[str, Any], call_id: str = "c") -> None:
        update = {"sessionUpdate": "tool_call", "toolCallId": call_id, "status": status, **call}
        self.agent.update(self.session, update)

    async def notes(self) -> list[PolicyNote]:
        """Notes about rules that the editor got so far."""
        # The answer to a question follows all notes that were sent before it.
        await self.ask({"toolCallId": "last", "kind": "think", "title": "last"})
        updates = [each["update"] for each in self.editor.updates.items]
        return [note for each in updates if (note := read_note(each)) is not None]


@asynccontextmanager
async def scene(folder: Path, rules: str | None) -> AsyncGenerator[Scene]:
    file = folder / "policy.toml"
    if rules is not None:
        file.write_text(rules)
    agent = FakeAgent()
    async with chain_of(PolicyMod(file), agent=agent) as editor:
        editor.answers["fs/write_text_file"] = lambda _: None
        await editor.new_session(cwd=str(folder))
        yield Scene(editor, agent, file)


@pytest.mark.requirement("policy.refusal-shown")
async def test_a_refused_question_is_noted_at_its_tool_call(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:
        await it.ask({"toolCallId": "c", **PUSH})
        update = await it.editor.until(lambda each: each["sessionUpdate"] == "tool_call_update")

    text = "Refused by the rule `no-push` of policy.toml: `git push`"
    assert update["toolCallId"] == "c"
    assert update["content"][0]["content"]["text"] == text
    assert read_note(update) == PolicyNote(text, "no-push", is_refusal=True)


@pytest.mark.requirement("policy.refusal-shown")
async def test_a_refused_terminal_is_shown_as_a_failed_tool_call(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:
        words = {"sessionId": it.session, "command": "git", "args": ["push"]}
        with pytest.raises(RpcError):
            await it.request("terminal/create", words)
        update = await it.editor.until(lambda each: each["sessionUpdate"] == "tool_call")

    assert (update["title"], update["kind"], update["status"]) == ("git push", "execute", "failed")
    note = read_note(update)
    assert note is not None
    assert (note.rule, note.is_refusal) == ("no-push", True)


@pytest.mark.requirement("policy.start-note")
@pytest.mark.parametrize(
    ("rules", "notes"),
    [(None, []), ("# none\n", []), (ALLOW, []), (FORBID, ["1 rule"]), (ALLOW + ASK, ["2 rules"])],
)
async def test_a_session_says_once_at_its_start_what_rules_cannot_do(
    rules: str | None, notes: list[str], tmp_path: Path
) -> None:
    async with scene(tmp_path, rules) as it:
        for _ in range(2):
            await it.editor.prompt("hello")
        found = [note.text for note in await it.notes()]

    assert [each.partition("(")[2].partition(")")[0] for each in found] == notes
    assert all("It cannot stop" in each for each in found)


@pytest.mark.requirement("policy.unasked")
async def test_a_tool_that_ran_unasked_against_a_rule_is_noted_once(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:
        for number in range(3):
            it.call("pending", PUSH, f"c{number}")
            it.call("completed", {}, f"c{number}")
        (note,) = await it.notes()

    assert "did not ask before `git push`, so the rule `no-push` of policy.toml" in note.text
    assert (note.rule, note.is_refusal) == ("no-push", False)


@pytest.mark.requirement("policy.unasked")
async def test_nothing_is_noted_of_a_tool_that_was_asked_for_or_that_no_rule_is_against(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ALLOW + ASK) as it:
        note = {"kind": "edit", "locations": [{"path": str(tmp_path / "notes.txt")}]}
        await it.ask({"toolCallId": "asked", **note})
        it.call("completed", note, "asked")
        written = {"path": str(tmp_path / "notes.txt"), "content": ""}
        await it.request("fs/write_text_file", {"sessionId": it.session, **written})
        it.call("completed", note, "through the editor")
        it.call("completed", {"kind": "execute", "rawInput": {"command": "make"}}, "no rule")
        it.call("completed", {"rawInput": {"command": "git status"}}, "allowed")

        assert await it.notes() == []


@pytest.mark.requirement("policy.unasked")
async def test_nothing_is_noted_of_a_tool_call_that_the_user_has_refused(tmp_path: Path) -> None:
    async with scene(tmp_path, ASK) as it:
        edit = {"kind": "edit", "locations": [{"path": str(tmp_path / "notes.txt")}]}
        it.editor.permissions.append("no")
        await it.ask({"toolCallId": "c", **edit})
        it.call("completed", edit)

        assert await it.notes() == []


@pytest.mark.requirement("policy.unasked")
async def test_nothing_is_noted_of_a_file_that_the_editor_was_asked_to_write(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ASK) as it:
        place = str(tmp_path / "notes.txt")
        written = {"sessionId": it.session, "path": place, "content": ""}
        await it.request("fs/write_text_file", written)
        it.call("completed", {"kind": "edit", "locations": [{"path": place}]})

        assert await it.notes() == []


@pytest.mark.requirement("policy.unasked")
async def test_nothing_is_noted_of_tools_that_a_loaded_session_repeats(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:

        def load(_: Any) -> dict[str, Any]:
            it.call("completed", PUSH, "old")
            return {}

        it.agent.requests["session/load"] = load
        params: dict[str, Any] = {"sessionId": it.session, "cwd": str(tmp_path), "mcpServers": []}
        await it.editor.connection.request("session/load", params)
        assert await it.notes() == []
        # What was repeated is known: a question may name it by its id alone.
        assert (await it.ask({"toolCallId": "old"}))["outcome"]["optionId"] == "no"
        it.call("completed", PUSH, "new")
        assert [note.is_refusal for note in await it.notes()] == [True, False]


@pytest.mark.requirement("policy.unasked")
async def test_what_runs_after_a_load_that_failed_is_noted(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:

        def load(_: Any) -> dict[str, Any]:
            raise RpcError(-32603, None)

        it.agent.requests["session/load"] = load
        params: dict[str, Any] = {"sessionId": it.session, "cwd": str(tmp_path), "mcpServers": []}
        with pytest.raises(RpcError):
            await it.editor.connection.request("session/load", params)
        it.call("completed", PUSH, "new")
        assert [note.is_refusal for note in await it.notes()] == [False]


@pytest.mark.requirement("policy.no-start")
@pytest.mark.parametrize("method", ["session/new", "session/load"])
async def test_no_session_begins_while_the_rules_cannot_be_read(
    method: str, tmp_path: Path
) -> None:
    async with scene(tmp_path, FORBID) as it:
        it.agent.requests["session/load"] = lambda _: {}
        params: dict[str, Any] = {"cwd": str(tmp_path), "mcpServers": [], "sessionId": "other"}
        it.file.write_text("[[rule")
        with pytest.raises(RpcError, match=r"policy\.toml: line 1, column 7: ") as caught:
            await it.editor.connection.request(method, params)
        it.file.write_text(FORBID)
        await it.editor.connection.request(method, params)

    assert caught.value.code == FORBIDDEN
    assert [each.method for each in it.agent.received.items].count(method) == 1 + (
        method == "session/new"
    )


@pytest.mark.requirement("policy.live")
async def test_all_that_an_agent_asks_for_is_refused_while_the_rules_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, ALLOW) as it:
        it.file.write_text("")
        status = {"toolCallId": "c", "rawInput": {"command": "git status"}}
        assert (await it.ask(status))["outcome"]["optionId"] == "no"
        for method in ("terminal/create", "fs/write_text_file", "fs/read_text_file"):
            words = {"sessionId": it.session, "command": "ls", "path": "/x", "content": ""}
            with pytest.raises(RpcError, match="the file is empty"):
                await it.request(method, words)

        assert it.editor.asked.items == []


@pytest.mark.requirement("policy.live")
async def test_rules_that_are_written_later_hold_for_an_agent_that_runs(tmp_path: Path) -> None:
    async with scene(tmp_path, None) as it:
        assert (await it.ask({"toolCallId": "c", **PUSH}))["outcome"]["optionId"] == "yes"
        it.file.write_text(FORBID)
        assert (await it.ask({"toolCallId": "c", **PUSH}))["outcome"]["optionId"] == "no"
        # The call was announced before there were rules: it cannot be judged.
        assert (await it.ask({"toolCallId": "d"}))["outcome"]["optionId"] == "no"


@pytest.mark.requirement("policy.refusal-shown")
async def test_a_refused_question_that_names_no_call_is_shown_as_a_failed_one(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path, FORBID) as it:
        await it.ask(PUSH)
        update = await it.editor.until(lambda each: each["sessionUpdate"] == "tool_call")
        note = read_note(update)

    assert (update["status"], update["kind"], update["title"]) == ("failed", "other", "git push")
    assert note is not None
    assert (note.rule, note.is_refusal) == ("no-push", True)


@pytest.mark.requirement("policy.refusal-shown")
async def test_each_note_is_a_tool_call_of_its_own(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:
        await it.editor.prompt("hello")
        for _ in range(2):
            await it.ask(PUSH)
        await it.notes()
        updates = [each["update"] for each in it.editor.updates.items]
        names = [each["toolCallId"] for each in updates if read_note(each) is not None]

    assert len(names) == len(set(names)) == 3


@pytest.mark.requirement("policy.refusal-shown")
async def test_a_refusal_outside_a_session_is_noted_in_none(tmp_path: Path) -> None:
    async with scene(tmp_path, FORBID) as it:
        with pytest.raises(RpcError):
            await it.request("terminal/create", {"command": "git", "args": ["push"]})

        assert await it.notes() == []
