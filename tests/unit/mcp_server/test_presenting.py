"""Tools for walkthroughs, reviews, and package sources."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.mcp_harness import FakeBus, call_tool, workplace_in

from symposium.bus.error_codes import NO_HANDLER, TIMEOUT
from symposium.bus.errors import BusLostError, BusRefusedError, BusUnreachableError
from symposium.bus.messages.editor import CreateSyntheticPr, PresentWalkthrough, UpdateSyntheticPr
from symposium.bus.protocol import Ack

TEXT = """# A change

```comment
location: lines(`app.py`, 1, 1)

Why it is so.
```

```comment
location: lines(`missing.py`, 1, 1)

Gone.
```
"""


def with_code(root: Path) -> None:
    (root / "app.py").write_text("one\n", encoding="utf-8")


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_missing_locations_are_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("present_walkthrough", Ack())
    workplace = workplace_in(tmp_path, bus)
    with_code(workplace.root)
    answer = await call_tool(workplace, "present_walkthrough", {"content": TEXT, "baseUri": "."})
    (message,) = bus.asked
    stored = workplace.walkthroughs.load(answer.value.id)

    assert answer.value.status == "shown"
    assert [fault["line"] for fault in answer.value.faults] == [9]
    assert "1 block(s) need correction" in answer.text
    assert "missing.py" in answer.text
    assert isinstance(message, PresentWalkthrough)
    assert "Why it is so." in message.content
    assert message.base_uri == str(workplace.root)
    assert stored.markdown == TEXT


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_every_kind_of_missing_or_ambiguous_block_is_reported(
    tmp_path: Path,
) -> None:
    workplace = workplace_in(tmp_path)
    (workplace.root / "app.py").write_text("one\none\n", encoding="utf-8")
    text = (
        "[gone](lost.py) and [twice](app.py?one)\n\n"
        "```comment\nlocation: search(`app.py`, `one`)\n\nWhich?\n```\n\n"
        "```comment\nlocation: search(`app.py`, `two`)\n\nNowhere.\n```\n\n"
        "```comment\nlocation: foo bar\n\nNo program.\n```\n\n"
        "```gitdiff\nrange: nothing..HEAD\n```\n\n```action\nbutton: x\n```\n"
    )
    answer = await call_tool(workplace, "present_walkthrough", {"content": text})
    faults = [(each["line"], each["kind"], each["status"]) for each in answer.value.faults]

    assert faults == [
        *((1, "link", "error"), (1, "link", "ambiguous"), (3, "comment", "ambiguous")),
        *((9, "comment", "empty"), (15, "comment", "error"), (21, "gitdiff", "error")),
        (25, "action", "empty"),
    ]
    assert answer.value.faults[2]["replacements"] == [
        *('lines("app.py", 1, 1)', 'lines("app.py", 2, 2)'),
    ]
    assert "5 block(s) need correction:" in answer.text
    assert "2 block(s) match several places" in answer.text
    assert "- line 3: comment: ambiguous(2): found at app.py:1, app.py:2" in answer.text
    assert '  - write instead: lines("app.py", 2, 2)' in answer.text
    assert all(f"- line {line}: {kind}: " in answer.text for line, kind, _ in faults)


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_blocks_that_match_several_places_need_no_correction(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    (workplace.root / "app.py").write_text("one\none\n", encoding="utf-8")
    arguments = {"content": "[twice](app.py?one)\n", "validate": True}
    answer = await call_tool(workplace, "present_walkthrough", arguments)

    assert answer.text.splitlines() == [
        "Checked; nothing was shown. Every location that you sent was found, some more than once.",
        "1 block(s) match several places; to select one, write it:",
        "- line 1: link: ambiguous(2): found at app.py:1, app.py:2",
        "  - write instead: app.py#L1",
        "  - write instead: app.py#L2",
    ]


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_walkthrough_is_stored_when_no_editor_is_connected(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    with_code(workplace.root)
    answer = await call_tool(workplace, "present_walkthrough", {"content": "# Hi", "baseUri": "."})

    assert answer.value.status == "stored"
    assert f"symposium walkthrough show {answer.value.id}" in answer.text
    assert "Every location that you sent was found" in answer.text


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_answer_on_a_shown_walkthrough_without_faults_is_short(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("present_walkthrough", Ack())
    answer = await call_tool(workplace_in(tmp_path, bus), "present_walkthrough", {"content": "# A"})

    stored = f"The walkthrough is stored as {answer.value.id} (version 1)."
    found = "Every location that you sent was found."
    assert answer.text == f"Shown to the user. {stored} {found}"


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_validation_shows_and_stores_nothing(tmp_path: Path) -> None:
    bus = FakeBus()
    workplace = workplace_in(tmp_path, bus)
    arguments = {"content": TEXT, "baseUri": ".", "validate": True}
    answer = await call_tool(workplace, "present_walkthrough", arguments)

    assert (answer.value.status, len(answer.value.faults)) == ("checked", 2)
    assert bus.asked == []
    assert list(workplace.walkthroughs.newest()) == []


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_appended_part_is_shown_with_the_whole(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("present_walkthrough", Ack())
    workplace = workplace_in(tmp_path, bus)
    first = await call_tool(workplace, "present_walkthrough", {"content": "# One"})
    arguments = {"content": "Two", "mode": "append", "id": first.value.id}
    second = await call_tool(workplace, "present_walkthrough", arguments)
    message = bus.asked[-1]

    assert (second.value.id, second.value.version) == (first.value.id, 2)
    assert isinstance(message, PresentWalkthrough)
    assert "One" in message.content
    assert "Two" in message.content


@pytest.mark.requirement("mcp-server.walkthroughs")
async def test_appended_part_hides_no_older_fault(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    lost = "# One\n\n[gone](lost.py)\n"
    first = await call_tool(workplace, "present_walkthrough", {"content": lost})
    for added, own in (("Two", 0), ("[gone](away.py)", 1)):
        arguments = {"content": added, "mode": "append", "id": first.value.id}
        answer = await call_tool(workplace, "present_walkthrough", arguments)
        assert len(answer.value.faults) == own + 1
        assert ("1 block(s) need correction" in answer.text) == bool(own)
        assert "1 older block(s) need correction" in answer.text
        assert "- line 3: link: error: " in answer.text


@pytest.mark.requirement("mcp-server.walkthroughs")
@pytest.mark.parametrize("uri", [".", "", "no/such/folder", "{root}", "file://{root}"])
async def test_base_uri_is_made_absolute(uri: str, tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("present_walkthrough", Ack())
    workplace = workplace_in(tmp_path, bus)
    arguments = {"content": "# Hi", "baseUri": uri.format(root=workplace.root)}
    answer = await call_tool(workplace, "present_walkthrough", arguments)
    (message,) = bus.asked

    assert not answer.is_error
    assert isinstance(message, PresentWalkthrough)
    assert message.base_uri.removeprefix("file://") == str(workplace.root)


def git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["/usr/bin/env", "git", *who, *words], cwd=root, check=True)


@pytest.fixture
def bus() -> FakeBus:
    return FakeBus()


@pytest.fixture
def reviewed(tmp_path: Path, bus: FakeBus) -> Any:
    workplace = workplace_in(tmp_path, bus)
    (workplace.root / ".git").rmdir()
    git(workplace.root, "init", "-q")
    with_code(workplace.root)
    git(workplace.root, "add", "app.py")
    git(workplace.root, "commit", "-qm", "one")
    (workplace.root / "app.py").write_text("two\n", encoding="utf-8")
    git(workplace.root, "commit", "-qam", "two")
    return workplace


ASKED = {"commit_range": "HEAD~1..HEAD", "title": "Two", "description": "why"}


@pytest.mark.requirement("mcp-server.reviews")
async def test_each_review_tool_reports_a_missing_reviewer(reviewed: Any) -> None:
    before = await call_tool(reviewed, "get_review_status", {})
    asked = await call_tool(reviewed, "request_review", ASKED)
    after = await call_tool(reviewed, "get_review_status", {})
    updated = await call_tool(reviewed, "update_review", {"description": "again"})

    for answer in (before, asked, after, updated):
        assert "No reviewer attached" in answer.text
        assert answer.value.status == "no_reviewer"
        assert not answer.is_error


@pytest.mark.requirement("mcp-server.reviews")
async def test_feedback_of_a_reviewer_is_returned(reviewed: Any, bus: FakeBus) -> None:
    bus.answer("create_synthetic_pr", {"feedback_type": "comment", "comment_text": "why two?"})
    bus.answer("update_synthetic_pr", {"feedback_type": "complete_review"})
    asked = await call_tool(reviewed, "request_review", ASKED)
    id_ = asked.value.review_id
    status = await call_tool(reviewed, "get_review_status", {"review_id": id_})
    updated = await call_tool(reviewed, "update_review", {"description": "better"})
    first, second = bus.asked

    assert "why two?" in asked.text
    assert status.text == asked.text
    assert updated.value.review_id == id_
    assert isinstance(first, CreateSyntheticPr)
    assert [(file.path, file.additions, file.deletions) for file in first.files_changed] == [
        ("app.py", 1, 1)
    ]
    assert isinstance(second, UpdateSyntheticPr)
    assert (second.commit_range, second.description) == ("HEAD~1..HEAD", "better")


@pytest.mark.requirement("mcp-server.reviews")
async def test_slow_review_can_be_awaited_later(reviewed: Any, bus: FakeBus) -> None:
    bus.answer("create_synthetic_pr", BusRefusedError("late", "timeout"))
    answer = await call_tool(reviewed, "request_review", ASKED)

    assert answer.value.status == "waiting"
    assert "get_review_status" in answer.text


@pytest.mark.requirement("mcp-server.reviews", "mcp-server.errors")
@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("request_review", {"commit_range": "nope", "title": "t"}, "nope"),
        ("get_review_status", {"review_id": "x"}, "unknown review 'x'"),
        ("update_review", {}, "call request_review first"),
    ],
)
async def test_invalid_review_request_returns_the_reason(
    tool: str, arguments: dict[str, str], text: str, reviewed: Any
) -> None:
    answer = await call_tool(reviewed, tool, arguments)

    assert answer.is_error
    assert text in answer.text


@pytest.mark.requirement("mcp-server.packages", "mcp-server.errors")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_rust_crate_source", {"crate_name": "serde", "pattern": "("}),
        ("get_package_source", {"ecosystem": "python", "name": "click", "pattern": "("}),
    ],
)
async def test_invalid_pattern_is_reported_before_any_request(
    tool: str, arguments: dict[str, str], tmp_path: Path
) -> None:
    answer = await call_tool(workplace_in(tmp_path), tool, arguments)

    assert answer.is_error
    assert "Invalid regex pattern" in answer.text


@pytest.mark.requirement("mcp-server.packages")
async def test_installed_package_is_found_searched_and_read(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    folder = workplace.root / ".venv" / "lib" / "python3.11" / "site-packages"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "__init__.py").write_text("def wave(): ...\n", encoding="utf-8")
    info = folder / "tiny-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny\nVersion: 1.2\n")
    (info / "RECORD").write_text("tiny/__init__.py,,\ntiny-1.2.dist-info/METADATA,,\n")
    (workplace.root / ".venv" / "pyvenv.cfg").write_text("version = 3.11.7\n")
    named = {"ecosystem": "python", "name": "tiny"}
    found = await call_tool(workplace, "get_package_source", named)
    searched = await call_tool(workplace, "get_package_source", named | {"pattern": "wave"})
    read = await call_tool(workplace, "get_package_source", named | {"path": "tiny/__init__.py"})
    both = named | {"path": "x", "pattern": "y"}

    assert '"version": "1.2"' in found.text
    assert "def wave" in searched.text
    assert "def wave" in read.text
    assert (await call_tool(workplace, "get_package_source", both)).is_error


@pytest.mark.requirement("mcp-server.walkthrough-delivered")
@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (BusRefusedError("not answered", TIMEOUT), "delivered", "did not confirm"),
        (BusRefusedError("no editor is connected", NO_HANDLER), "stored", "no editor is connected"),
        (BusLostError("the bus was lost", ""), "stored", "it may not have been shown"),
        (BusUnreachableError("no daemon listens", ""), "stored", "no daemon listens"),
    ],
)
async def test_walkthrough_answer_states_its_delivery(
    error: Exception, status: str, words: str, tmp_path: Path
) -> None:
    bus = FakeBus()
    bus.answer("present_walkthrough", error)
    answer = await call_tool(workplace_in(tmp_path, bus), "present_walkthrough", {"content": "# A"})

    assert answer.value.status == status
    assert words in answer.text
    assert f"symposium walkthrough show {answer.value.id}" in answer.text
