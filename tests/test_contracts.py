"""The import contracts break when they should: the real `.importlinter` over small trees."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT = Path(sys.executable).with_name("lint-imports")

HOST = "symposium: from the edges down to the errors"
WIRE = "peerwire: from the protocols down to the errors"
PARTS = "Host and agent meet only on the wire"
CORES = "The cores do no I/O"
SIBLINGS = "A mod and a built-in agent know nothing of their siblings"
CYCLES = "No cycles at any depth"
SDK = "The MCP SDK costs half a second: one module of the host imports it"

TREE = {"symposium/__main__.py": "", "localio/text.py": "", "peerwire/errors.py": ""}


def broken(folder: Path, files: dict[str, str]) -> set[str]:
    """The names of the contracts that a tree with these files breaks."""
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


@pytest.mark.requirement("house.contracts")
def test_a_small_tree_keeps_every_contract(tmp_path: Path) -> None:
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
        (CORES, {"peerwire/jsonrpc/transport.py": "import asyncio"}),
        (CORES, {"symposium/bus/broker.py": "import peerwire.fd", "peerwire/fd.py": "import os"}),
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
def test_a_contract_breaks(contract: str, files: dict[str, str], tmp_path: Path) -> None:
    assert contract in broken(tmp_path, files)
