"""The import contracts break when they should: the real `.importlinter` with small trees."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.project

ROOT = Path(__file__).parents[1]
LINT = Path(sys.executable).with_name("lint-imports")

HOST = "symposium: from the edges down to the errors"
WIRE = "peerwire: from the protocols down to the errors"
TASKS = "tasks: from the bus handlers down to the model"
TASKS_BUS = "Of tasks, only the handlers know the bus"
CHAIN = "chain: from the conductor down to the messages"
RUN_MODE = "run_mode: from the editor connection down to the settings"
PARTS = "Host and agent meet only on the wire"
CORES = "The cores do no I/O"
SIBLINGS = "A mod and a built-in agent know nothing of their siblings"
CYCLES = "No cycles at any depth"
SDK = "The MCP SDK costs half a second: one module of the host imports it"

TREE = {
    "symposium/__main__.py": "",
    "symposium/bus/protocol.py": "",
    "symposium/chain/messages.py": "",
    "symposium/run_mode/settings.py": "",
    "symposium/tasks/model.py": "",
    "localio/text.py": "",
    "peerwire/errors.py": "",
}


def broken(folder: Path, files: dict[str, str]) -> set[str]:
    """Return the names of the contracts that a tree with these files breaks."""
    for name, text in (TREE | files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        for parent in path.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
    done = subprocess.run(
        [LINT, "--no-cache", "--config", ROOT / ".importlinter"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
    )
    lines = [line for line in done.stdout.splitlines() if line.endswith((" KEPT", " BROKEN"))]
    assert lines, done.stdout + done.stderr
    found = {line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")}
    assert bool(found) == bool(done.returncode)
    return found


def imports(importer: str, imported: str) -> dict[str, str]:
    """Return the files of two modules, of which the first imports the second."""
    files = {importer: f"import {imported}", imported: ""}
    return {f"{name.replace('.', '/')}.py": text for name, text in files.items()}


@pytest.mark.requirement("house.contracts")
def test_handlers_of_tasks_may_import_the_bus(tmp_path: Path) -> None:
    used = imports("symposium.tasks.handlers.inbox", "symposium.bus.messages.tasks")

    assert not broken(tmp_path, used | imports("symposium.tasks.engine", "symposium.tasks.model"))


@pytest.mark.requirement("house.contracts")
def test_small_tree_keeps_every_contract(tmp_path: Path) -> None:
    assert not broken(tmp_path, {"symposium/cli/run.py": "import peerwire.errors"})


@pytest.mark.requirement("house.contracts", "house.contracts-wire")
@pytest.mark.parametrize(
    ("contract", "files"),
    [
        (PARTS, {"peerwire/errors.py": "import symposium"}),
        (PARTS, {"peerwire/acp/names.py": "import symposium.__main__"}),
        (HOST, {"symposium/utils.py": ""}),
        (HOST, {"symposium/errors.py": "import symposium.bus.wire", "symposium/bus/wire.py": ""}),
        (WIRE, {"peerwire/utils.py": ""}),
        (TASKS, {"symposium/tasks/sample.py": ""}),
        (TASKS, imports("symposium.tasks.model", "symposium.tasks.store")),
        (TASKS, imports("symposium.tasks.creation", "symposium.tasks.deletion.worktree_checks")),
        (TASKS_BUS, imports("symposium.tasks.engine", "symposium.bus.client")),
        (TASKS_BUS, imports("symposium.tasks.snapshots.scan", "symposium.bus.client")),
        (CHAIN, {"symposium/chain/sample.py": ""}),
        (CHAIN, imports("symposium.chain.routing", "symposium.chain.conductor")),
        (CHAIN, imports("symposium.chain.mod", "symposium.chain.ordering")),
        (RUN_MODE, {"symposium/run_mode/sample.py": ""}),
        (RUN_MODE, imports("symposium.run_mode.new_sessions", "symposium.run_mode.router")),
        (RUN_MODE, imports("symposium.run_mode.sessions", "symposium.run_mode.menu.actions")),
        (CORES, {"peerwire/jsonrpc/transport.py": "import asyncio"}),
        (CORES, {"symposium/bus/broker.py": "import peerwire.fd", "peerwire/fd.py": "import os"}),
        (CORES, {"peerwire/jsonrpc/values.py": "import time"}),
        (CORES, {"symposium/chain/messages.py": "import asyncio"}),
        (CORES, {"symposium/chain/ordering.py": "import asyncio"}),
        (
            CORES,
            imports("symposium.chain.calls", "symposium.chain.mod")
            | {"symposium/chain/mod.py": "import os"},
        ),
        (SIBLINGS, {"symposium/mods/a.py": "import symposium.mods.b", "symposium/mods/b.py": ""}),
        (
            CYCLES,
            {
                "symposium/config/a.py": "import symposium.config.b",
                "symposium/config/b.py": "import symposium.config.a",
            },
        ),
        (SDK, {"symposium/cli/run.py": "import mcp.types"}),
        (SDK, {"peerwire/errors.py": "import erasmus"}),
    ],
)
def test_contract_breaks(contract: str, files: dict[str, str], tmp_path: Path) -> None:
    assert contract in broken(tmp_path, files)
