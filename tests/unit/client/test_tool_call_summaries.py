"""Summaries of tool calls for permission requests; the calls are of real agents."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.client.events import read_tool_call
from symposium.client.permissions import ToolCallSummary, diff_text, summarize

ROOT = Path("/project/tree")


def summary(**members: Any) -> ToolCallSummary:
    return summarize(read_tool_call({"toolCallId": "1", **members}), ROOT)


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


@pytest.mark.requirement("approvals.wish", "approvals.change-shown")
def test_edit_with_a_path_as_title_shows_the_changed_lines() -> None:
    path = "/project/tree/bonjour.txt"
    given = {"filepath": path, "diff": "Index: …"}
    found = summary(
        title=path,
        kind="edit",
        locations=[{"path": path}],
        rawInput=given,
        content=[diff(path, "", "bonjour\n")],
    )

    assert found == ToolCallSummary("edit bonjour.txt (+1 -0)", ("+bonjour",))


@pytest.mark.requirement("approvals.wish")
@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"title": "exit 3", "kind": "execute", "rawInput": {"command": "exit 3"}}, "run: exit 3"),
        ({"title": "execute", "kind": "execute", "rawInput": {"command": "ls"}}, "run: ls"),
        ({"title": "Bash", "rawInput": {"command": ["bash", "-lc", "a b"]}}, "run: bash -lc 'a b'"),
        ({"title": "git push", "kind": "execute"}, "run: git push"),
        (
            {"title": "write_text_file", "kind": "edit", "rawInput": {"path": "/project/tree/a"}},
            "edit a: write_text_file",
        ),
        (
            {"title": "Read a.txt", "kind": "read", "locations": [{"path": "/etc/a.txt"}]},
            "read /etc/a.txt",
        ),
        (
            {"title": "x", "kind": "delete", "locations": [{"path": "/project/tree/../x"}]},
            "delete /project/tree/../x",
        ),
        ({"title": "do it", "kind": "edit"}, "edit: do it"),
        ({"kind": "read", "rawInput": {"path": 7, "file_path": "", "filePath": "a"}}, "read a"),
        ({"title": "the web", "kind": "fetch"}, "fetch: the web"),
        ({"title": "server/tool", "kind": "new"}, "do this: server/tool"),
        ({}, "do this: call 1"),
    ],
)
def test_summary_has_a_verb_and_an_object(members: dict[str, Any], text: str) -> None:
    assert summary(**members).text == text


@pytest.mark.requirement("approvals.change-shown")
def test_each_of_several_files_is_named_above_its_lines() -> None:
    one, two = "/project/tree/one", "/elsewhere/two"
    found = summary(
        title="Tidy up",
        content=[diff(one, "a\n", "b\n"), diff(two, None, "c\n")],
        locations=[{"path": "/project/tree/three"}],
    )

    assert found.text == "edit 3 files (+2 -1): Tidy up"
    assert found.lines == (
        *("one (+1 -1)", "-a", "+b"),
        *("/elsewhere/two (+1 -0)", "+c"),
        "three",
    )


@pytest.mark.requirement("approvals.change-shown")
def test_script_and_tool_arguments_are_shown_completely() -> None:
    script = summary(title="Run", rawInput={"command": "cd /x\n  rm -rf y\n"})
    tool = summary(title="server/tool", kind="other", rawInput={"text": "è"})

    assert script == ToolCallSummary("run a script of 2 lines: cd /x …", ("cd /x", "  rm -rf y"))
    assert tool.lines == ("{", '  "text": "è"', "}")


@pytest.mark.requirement("approvals.inbox")
def test_diff_of_a_call_is_one_text() -> None:
    content = [diff("/a", "x\n", "y\n"), {"type": "diff"}, {"type": "content"}]
    call = read_tool_call({"content": content})

    assert diff_text(call) == "--- /a\n+++ /a\n-x\n+y\n--- ?\n+++ ?\n"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below),
    max_leaves=6,
)
MEMBERS = ["content", "locations", "title", "kind", "rawInput"]


@pytest.mark.requirement("approvals.wish")
@given(st.dictionaries(st.sampled_from(MEMBERS), JSON))
def test_any_members_can_be_summarized(members: dict[str, Any]) -> None:
    assert summary(**members).text


@pytest.mark.requirement("approvals.wish")
def test_title_of_spaces_is_ignored() -> None:
    assert summary(title=" ", kind="edit", locations=[{"path": "/project/tree/a"}]).text == "edit a"
