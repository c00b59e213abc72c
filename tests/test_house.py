"""The project as it is installed: its name, its script, its promises about being imported."""

import subprocess
import sys
from importlib.metadata import entry_points, metadata, requires

FORBIDDEN_AT_START = ("httpx", "importlib.metadata", "mcp", "pydantic", "rich")


def test_the_distribution_offers_one_script() -> None:
    (script,) = entry_points(group="console_scripts", name="symposium")

    assert script.value == "symposium.__main__:main"
    assert metadata("symposium-host")["License-Expression"] == "Apache-2.0"


def test_nothing_heavy_is_required_to_run() -> None:
    names = [line for line in requires("symposium-host") or [] if "extra ==" not in line]

    assert sorted(name.split(">")[0] for name in names) == ["click", "h11", "msgspec"]


def test_the_start_of_the_program_imports_nothing_heavy() -> None:
    code = "import sys, symposium.__main__; print(*sys.modules, sep='\\n')"

    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert not {*FORBIDDEN_AT_START} & {*loaded.stdout.split()}
