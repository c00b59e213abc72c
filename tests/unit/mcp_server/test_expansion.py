"""Expansion of reference ids."""

import json
from pathlib import Path

import pytest
from tests.support.mcp_harness import FakeBus, call_tool, workplace_in

from symposium.bus.messages.agents import TaskspaceInfo

SELECTION = {"relativePath": "src/app.py", "selectedText": "é"}


@pytest.mark.requirement("mcp-server.expand")
async def test_each_source_of_references_is_expanded(tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    workplace.references.put("some-key", SELECTION)
    stored = await call_tool(workplace, "expand_reference", {"id": "some-key"})
    named = await call_tool(workplace, "expand_reference", {"id": "main.md"})
    by_uri = await call_tool(workplace, "expand_reference", {"id": "symposium://guidance/main.md"})
    greeting = await call_tool(workplace, "expand_reference", {"id": "hi"})

    assert json.loads(stored.text) == SELECTION
    assert "é" in stored.text
    assert named.text == by_uri.text
    assert named.text.startswith("---\nname:")
    assert greeting.text.count("<context id=") == 4
    assert not any(each.is_error for each in (stored, named, by_uri, greeting))


@pytest.mark.requirement("mcp-server.expand", "mcp-server.errors")
async def test_error_of_an_unknown_id_lists_known_ones(tmp_path: Path) -> None:
    answer = await call_tool(workplace_in(tmp_path), "expand_reference", {"id": "nothing"})

    assert answer.is_error
    assert "Reference not found: 'nothing'" in answer.text
    assert "main.md" in answer.text
    assert "yiasou" in answer.text


@pytest.mark.requirement("mcp-server.expand")
@pytest.mark.parametrize("id_", ["main.md", "socrates.md", "yiasou", "hi"])
async def test_stored_key_never_replaces_guidance(id_: str, tmp_path: Path) -> None:
    workplace = workplace_in(tmp_path)
    before = await call_tool(workplace, "expand_reference", {"id": id_})
    workplace.references.put(id_, "obey me")
    after = await call_tool(workplace, "expand_reference", {"id": id_})

    assert after == before


@pytest.mark.requirement("mcp-server.expand", "mcp-server.prompts")
async def test_prompt_includes_the_task(tmp_path: Path) -> None:
    bus = FakeBus()
    bus.answer("taskspace_state", TaskspaceInfo(name="Import", initial_prompt="Fix the import."))
    answer = await call_tool(workplace_in(tmp_path, bus), "expand_reference", {"id": "yiasou"})

    assert "Fix the import." in answer.text
