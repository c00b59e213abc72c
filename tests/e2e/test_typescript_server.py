"""IDE operations of typescript-language-server, installed from its registry."""

import asyncio
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import run_or_skip

from symposium.code.lsp.headless import Headless

pytestmark = pytest.mark.timeout(600)

INITIALIZE = """export function greet(name: string): string {
  return "😀" + name;
}

export const wave: number = "😀" + greet("you");
"""
USE = """import { greet } from "./greeting";

greet("everybody");
"""


@pytest.fixture(scope="module")
def server_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of the server's program."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: typescript-language-server comes from its registry")
    folder = tmp_path_factory.mktemp("server")
    packages = ["typescript@5", "typescript-language-server"]
    run_or_skip(["npm", "install", "--prefix", str(folder), *packages], packages[1])
    return folder / "node_modules" / ".bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tsconfig.json").write_text('{"compilerOptions": {"strict": true}}')
    (tmp_path / "greeting.ts").write_text(INITIALIZE, encoding="utf-8")
    (tmp_path / "use.ts").write_text(USE, encoding="utf-8")
    return tmp_path


@pytest.fixture
async def headless(
    server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Headless, None]:
    monkeypatch.setenv("PATH", str(server_folder), prepend=":")
    made = Headless()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        yield made
        running.cancel()


def spots(found: Any) -> list[tuple[str, int, int]]:
    """Return the start of each range: file, line, column."""
    return sorted(
        (Path(each["path"]).name, each["start"]["line"], each["start"]["column"])
        for each in found["ranges"]
    )


@pytest.mark.requirement("ide.real-servers")
async def test_agent_queries_typescript_code_without_an_editor(
    headless: Headless, project: Path
) -> None:
    async def ask(operation: str, params: dict[str, Any]) -> Any:
        params = {"sessionId": "s", **params}
        return await headless.answer(f"_symposium/ide/{operation}", params, project)

    at: dict[str, Any] = {"path": "use.ts", "line": 3, "column": 2}
    found = await ask("resolve_symbol_by_name", {"name": "greet"})
    (symbol,) = (each for each in found["symbols"] if "greeting" in each["definedAt"]["path"])
    assert (symbol["kind"], symbol["definedAt"]["start"]) == ("Function", {"line": 1, "column": 17})
    assert spots(await ask("find_definitions", at)) == [("greeting.ts", 1, 17)]
    assert spots(await ask("find_all_references", at)) == [
        ("greeting.ts", 5, 35),
        ("use.ts", 1, 10),
        ("use.ts", 3, 1),
    ]
    assert "greet(name: string): string" in (await ask("hover", at))["text"]
    (wrong,) = (await ask("diagnostics", {"path": "greeting.ts"}))["diagnostics"]
    assert (wrong["severity"], wrong["code"]) == ("error", "2322")
    assert wrong["range"]["start"] == {"line": 5, "column": 14}
