"""The project as it is installed: its name, its script, its promises about being imported."""

import re
import subprocess
import sys
from importlib.metadata import entry_points, metadata, requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FORBIDDEN_AT_START = ("httpx", "importlib.metadata", "mcp", "pydantic", "rich")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


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


def test_the_map_names_every_folder_of_the_sources_and_no_other() -> None:
    named = set(re.findall(r"^\| `(src/\w+/\w+)/` \|", text_of("ARCHITECTURE.md"), re.MULTILINE))
    folders = {
        str(module.parent.relative_to(ROOT))
        for package in ("peerwire", "symposium")
        for module in (ROOT / "src" / package).glob("*/*.py")
    }

    assert named == folders


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"])
def test_what_a_page_at_the_root_links_to_is_there(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text_of(page))

    assert not [link for link in links if not (ROOT / link).exists()]


def test_every_target_that_a_page_names_is_in_the_makefile() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        target
        for page in pages
        for target in re.findall(r"(?:`|\$ |&& )make ([a-z0-9-]+)", page.read_text("utf-8"))
    }
    targets = set(re.findall(r"^([a-z0-9-]+):", text_of("Makefile"), re.MULTILINE))

    assert named
    assert named <= targets


def test_no_lock_names_a_package_index() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        assert "://" not in lock.read_text("utf-8")
        assert "index-url" not in lock.read_text("utf-8")
