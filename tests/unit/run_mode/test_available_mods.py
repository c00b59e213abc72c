"""Mods of a first config: those suited to a workspace, and their cost."""

import json
from pathlib import Path

import pytest

from symposium.catalog import builtin_mods, find_mod
from symposium.chain.tool_mod import ToolMod
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import ModEntry
from symposium.mods.guidance import Guidance
from symposium.planning.chain_spec import DEFAULT_MODS
from symposium.run_mode.available_mods import suited
from symposium.testing import FakeAgent, chain_of

BYTES_OF_A_TOKEN = 4
"""Average for English and JSON, as models count tokens."""


@pytest.mark.requirement("run-mode.setup-mods-explained")
@pytest.mark.parametrize(
    ("files", "names"),
    [
        ([], ["guidance"]),
        (["Cargo.toml"], ["guidance", "ferris", "cargo"]),
        (["pyproject.toml"], ["guidance", "ferris", "uv"]),
        (["package.json"], ["guidance", "ferris", "npm"]),
    ],
)
def test_first_mods_suit_the_workspace(files: list[str], names: list[str], tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    for file in files:
        (tmp_path / file).touch()
    mods = [ModEntry(name) for name in (*DEFAULT_MODS, "uv", "npm")]

    found = suited(mods, str(tmp_path / "src"))

    assert [entry.name for entry, _ in found] == names
    assert all("tokens per session" in text for _, text in found)
    # A mod of another source has no spec here, even with the name of a built-in one.
    mine = ModEntry("cargo", source=ComponentSource("local", {"command": "x"}))
    assert suited([mine], str(tmp_path / "src")) == [(mine, "")]


@pytest.mark.requirement("run-mode.setup-mods-explained")
async def test_stated_cost_of_a_mod_matches_its_tools_and_texts(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "pyproject.toml", "package.json"):
        (tmp_path / name).write_text("{}" if name.endswith("json") else "", encoding="utf-8")
    measured: dict[str, int] = {}
    for spec in builtin_mods():
        mod = spec.make()
        if spec.tokens and isinstance(mod, ToolMod):
            servers = mod.session_servers({"cwd": str(tmp_path), "mcpServers": []})
            listed = [tool.listed() for server in servers for tool in server.tools]
            measured[spec.name] = len(json.dumps(listed))
    agent = FakeAgent("hi")
    async with chain_of(Guidance(), agent=agent) as editor:
        await editor.new_session(cwd=str(tmp_path))
        await editor.prompt("one")
    (prompt,) = [each for each in agent.received.items if each.method == "session/prompt"]
    measured["guidance"] += len(prompt.params["prompt"][0]["text"])

    assert measured.keys() >= {"guidance", "ferris", "cargo", "uv", "npm"}
    for name, size in measured.items():
        spec = find_mod(name)
        assert spec is not None
        assert spec.tokens == pytest.approx(size / BYTES_OF_A_TOKEN, rel=0.2), name
