"""IDE operations of a real language server, basedpyright, as an agent sees them."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from peerwire.jsonrpc.transport import Transport
from symposium.code.ide_operations import Ranges, Symbols
from symposium.code.lsp.framing import FramedProcess, spawn_framed
from symposium.code.lsp.headless import Headless, PoolSettings
from symposium.mods.ide_ops import IdeOps
from symposium.mods.ide_ops_adapter import IdeOpsAdapter
from symposium.testing import FakeEditor, chain_of

pytestmark = pytest.mark.timeout(240)

INITIALIZE = '''"""Greetings, with 😀 before them."""


def greet(name: str) -> str:
    """Say hello."""
    return "😀" + name


wave: int = "😀" + greet("you")
'''
USE = """from greeting import greet

print(greet("everybody"))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    (tmp_path / "greeting.py").write_text(INITIALIZE, encoding="utf-8")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    return tmp_path


async def use(editor: FakeEditor, tool: str, arguments: dict[str, Any]) -> Any:
    """Return the result of a tool that eliza calls."""
    turn = await editor.prompt(f"use tool ide::{tool} with {json.dumps(arguments)}")
    assert turn.text.startswith("OK: ")
    return json.loads(turn.text.removeprefix("OK: "))


def spots(found: Any) -> list[tuple[str, int, int]]:
    """Return the start of each range: file, line, column."""
    return sorted(
        (Path(each.path).name, each.start.line, each.start.column)
        for each in convert(found, Ranges).ranges
    )


@pytest.mark.requirement("ide.real-servers", "ide.tools")
async def test_agent_queries_python_code_without_an_editor(project: Path) -> None:
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        await editor.new_session(cwd=str(project))
        at: dict[str, Any] = {"path": "use.py", "line": 3, "column": 8}
        found = convert(await use(editor, "find_symbols", {"name": "greet"}), Symbols)
        (symbol,) = found.symbols
        assert found.is_exact
        assert symbol.kind == "Function"
        assert symbol.defined_at.content == "def greet(name: str) -> str:"
        assert spots(await use(editor, "find_definitions", at)) == [("greeting.py", 4, 5)]
        assert spots(await use(editor, "find_references", at)) == [
            ("greeting.py", 9, 19),
            ("use.py", 1, 22),
            ("use.py", 3, 7),
        ]
        hover = await use(editor, "hover", {"path": "greeting.py", "line": 9, "column": 20})
        assert "def greet(name: str) -> str" in hover["text"]
        assert "Say hello." in hover["text"]
        (wrong,) = (await use(editor, "diagnostics", {"path": "greeting.py"}))["diagnostics"]
        assert (wrong["severity"], wrong["code"]) == ("error", "reportAssignmentType")
        assert wrong["range"]["start"] == {"line": 9, "column": 13}
        assert wrong["range"]["end"] == {"line": 9, "column": 31}


def stored_environment(place: Path, tripped: Path) -> None:
    """Create an environment whose interpreter records its name when it is started."""
    packages = place / "lib" / "python3.11" / "site-packages"
    (packages / "kept").mkdir(parents=True)
    (packages / "kept" / "__init__.py").write_text("def answer() -> int: ...\n", encoding="utf-8")
    (packages / "linked.pth").write_text("import os\n../../../../src\n", encoding="utf-8")
    (place / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.2\n", encoding="utf-8")
    (place / "bin").mkdir()
    for name in ("python", "python3", "python3.11", "node"):
        trap = place / "bin" / name
        trap.write_text(f"#!/bin/sh\necho {trap} >> {tripped}\n", encoding="utf-8")
        trap.chmod(0o755)


@pytest.mark.requirement("ide.no-workspace-code", "ide.stored-packages")
@pytest.mark.parametrize("name", [".venv", "venv"])
@pytest.mark.parametrize("config", ["{}", '{"venvPath": ".", "venv": "NAME"}'])
async def test_stored_environment_is_read_and_never_started(
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    config: str,
) -> None:
    tripped = tmp_path_factory.mktemp("outside") / "tripped"
    stored_environment(project / name, tripped)
    (project / "src" / "edited").mkdir(parents=True)
    (project / "src" / "edited" / "__init__.py").write_text("def word() -> str: ...\n")
    (project / "pyrightconfig.json").write_text(config.replace("NAME", name))
    (project / "asks.py").write_text(
        "from kept import answer\nfrom edited import word\nanswer()\nword()\n"
    )
    for each in (f"{name}/bin", str(project / name / "bin"), ""):
        monkeypatch.setenv("PATH", each, prepend=os.pathsep)
    monkeypatch.chdir(project)
    async with chain_of(IdeOpsAdapter(), IdeOps()) as editor:
        await editor.new_session(cwd=str(project))
        found = await use(editor, "hover", {"path": "asks.py", "line": 3, "column": 2})
        linked = await use(editor, "hover", {"path": "asks.py", "line": 4, "column": 2})
    assert not tripped.exists(), tripped.read_text()
    assert "answer() -> int" in found["text"]
    assert "word() -> str" in linked["text"]


@pytest.mark.requirement("ide.no-server-left")
async def test_language_server_exits_with_its_owner(project: Path) -> None:
    started: list[FramedProcess] = []

    async def spawn(argv: Sequence[str], cwd: Path) -> Transport:
        started.append(await spawn_framed(argv, cwd))
        return started[-1]

    headless = Headless(PoolSettings(spawn=spawn))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(headless.run())
        at: dict[str, Any] = {"sessionId": "s", "path": "use.py", "line": 3, "column": 8}
        await headless.answer("_symposium/ide/hover", at, project)
        assert headless.pool.running == ["python"]
        running.cancel()
    (process,) = started
    assert process.has_exited
