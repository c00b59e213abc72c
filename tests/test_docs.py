"""The pages build in strict mode, name what exists, and the generated ones are current."""

import pkgutil
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Copy the sources of the pages."""
    for name in ("docs", "examples", "src", "tests/requirements"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in (".importlinter", "ARCHITECTURE.md", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def generate(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "docs/generate.py", *arguments]
    return subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True)


def outdated(folder: Path) -> set[str]:
    """Generated pages that `--check` reports; it fails exactly if there are some."""
    checked = generate(folder, "--check")
    pages = set(re.findall(r"^(.*) is out of date: make fix$", checked.stderr, re.MULTILINE))
    assert checked.returncode == int(bool(pages))
    return pages


def append(file: Path, text: str) -> None:
    file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")


def replace_once(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, after), encoding="utf-8")


WITHOUT_LOOKS = """
INHERIT: mkdocs.yml
plugins: []
theme: {name: null, custom_dir: theme}
"""
"""Settings for all pages, links, and anchors.

The theme, the search, and the API pages take most of a build; `make docs` builds them.
"""


@pytest.mark.requirement("house.docs-strict")
@pytest.mark.project
def test_broken_link_breaks_the_build(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "theme").mkdir()
    (tmp_path / "theme" / "main.html").write_text("{{ page.content }}", encoding="utf-8")
    (tmp_path / "links.yml").write_text(WITHOUT_LOOKS, encoding="utf-8")
    with (tmp_path / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](nowhere.md)\n")

    # Not --quiet: it would drop the warnings before they are counted.
    built = subprocess.run(
        [BIN / "mkdocs", "build", "--config-file", "links.yml"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )

    warnings = [line for line in built.stderr.splitlines() if line.startswith("WARNING")]
    assert built.returncode != 0
    assert len(warnings) == 1
    assert "nowhere.md" in warnings[0]
    assert "Aborted with 1 warnings in strict mode!" in built.stdout


@pytest.mark.requirement("house.docs-strict")
@pytest.mark.project
def test_make_docs_builds_the_pages_in_strict_mode() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    (recipe,) = re.findall(r"^docs: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    assert "mkdocs build --strict\n" in recipe


@pytest.mark.requirement("house.docs-reference-current", "house.docs-show-files")
@pytest.mark.requirement("house.architecture-page", "house.limits")
@pytest.mark.timeout(240)
@pytest.mark.project
def test_generated_pages_are_current_and_follow_their_sources(copy: Path) -> None:
    example = copy / "examples" / "shout.py"
    append(example, "\n# More.\n")
    replace_once(copy / ".importlinter", "    (engine)\n", "    (engine)\n    (sample)\n")
    (copy / "src" / "symposium" / "tasks" / "sample.py").write_text("", encoding="utf-8")
    handshake = copy / "src" / "symposium" / "chain" / "handshake.py"
    replace_once(handshake, "INITIALIZE_TIMEOUT: Final = 60.0", "INITIALIZE_TIMEOUT: Final = 600.0")

    written = generate(copy)
    assert written.returncode == 0
    assert sorted(written.stdout.splitlines()) == [
        "wrote ARCHITECTURE.md",
        "wrote docs/design/layers.md",
        "wrote docs/design/layout.md",
        "wrote docs/reference/limits.md",
        "wrote docs/tutorial/write-a-mod.md",
    ]
    shown = (copy / "docs" / "tutorial" / "write-a-mod.md").read_text(encoding="utf-8")
    assert "# More.\n```\n" in shown
    layers = "tasks:      handlers / engine / sample / conflict_resolutions"
    assert layers in (copy / "ARCHITECTURE.md").read_text(encoding="utf-8")

    append(copy / "docs" / "reference" / "requirements.md", "more\n")
    assert outdated(copy) == {"docs/reference/requirements.md"}

    example.unlink()
    assert generate(copy, "--check").returncode == 1


@pytest.mark.requirement("house.docs-show-files")
def test_every_page_is_readable_without_a_build() -> None:
    pages = list((ROOT / "docs").rglob("*.md"))
    assert len(pages) > 1
    assert [page.name for page in pages if "--8<--" in page.read_text(encoding="utf-8")] == []


@pytest.mark.requirement("house.docs-show-files")
@pytest.mark.parametrize("name", ["shout.py", "try_shout.py", "words.py"])
def test_examples_are_in_the_pages_unchanged(name: str) -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    example = (ROOT / "examples" / name).read_text(encoding="utf-8")
    assert f"<!-- shows examples/{name} -->\n```python\n{example}```\n" in shown


@pytest.mark.requirement("house.docs-at-hand")
def test_documented_ways_to_put_symposium_on_the_path_work(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial" / "first-steps.md").read_text(encoding="utf-8")
    section = page.split("to your PATH", 1)[1].partition("\n## ")[0]
    typed = "\n".join(re.findall(r"^\$ (.*)$", section, re.MULTILINE))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / ".venv").symlink_to(BIN.parent)
    clean = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    said = subprocess.run(
        ["/bin/bash", "-ec", typed],
        check=True,
        cwd=tmp_path / "work",
        env=clean,
        capture_output=True,
        text=True,
    ).stdout
    linked = [tmp_path / ".local" / "bin" / "symposium", "--version"]
    again = subprocess.run(linked, check=True, env=clean, capture_output=True, text=True).stdout
    assert "symposium" in said
    assert said == again


PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "README.md"]
MODULES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(PYTHON.findall(page.read_text(encoding="utf-8")), 1)
    # Others are parts of a program that the page explains.
    if block.startswith(('"""', "from ", "import "))
]


@pytest.mark.requirement("house.docs-modules-run")
@pytest.mark.parametrize("module", MODULES)
def test_python_module_on_a_page_runs(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "page.py"
    file.write_text(module, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])

    runpy.run_path(str(file), run_name="page")


@pytest.mark.requirement("house.docs-modules-run")
def test_pages_show_modules() -> None:
    assert len(MODULES) >= 8


MAINTAINER_PAGES = [
    *sorted((ROOT / "docs" / "design").glob("*.md")),
    *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")),
]
ROOTS = ("localio", "peerwire", "symposium")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`([^`\n]+)`")
PYTHON_FILE = re.compile(r"[\w./<>-]*[\w>]\.py\b")
PLACEHOLDER = re.compile(r"<\w+>")
ELSEWHERE = frozenset({
    "src/symposium/mods/hello.py",  # the mod that CONTRIBUTING.md explains
    "outbox/", "reviews/",  # in the user's folder
    ".symposium/", "Name.symposium/",  # of projects
    ".stages/<n>/",  # in a snapshot
})  # fmt: skip
"""Paths on the pages that are not in the tree."""


@cache
def tree() -> tuple[PurePosixPath, ...]:
    """Return the files of the project and their folders."""
    folders = ("bench", "docs", "examples", "src", "tests")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.is_file()]
    kept = {
        PurePosixPath(file.relative_to(ROOT)) for file in files if "__pycache__" not in file.parts
    }
    return tuple({"/" / path for file in kept for path in (file, *file.parents)})


def names_nothing(name: str) -> bool:
    """Whether no path ends with this one; a placeholder matches any name."""
    pattern = PLACEHOLDER.sub("*", name.rstrip("/"))
    return name not in ELSEWHERE and not any(path.match(pattern) for path in tree())


def is_unknown(dotted: str) -> bool:
    try:
        pkgutil.resolve_name(dotted)
    except (AttributeError, ImportError):
        return True
    return False


def unknown_names(page: str) -> Iterator[str]:
    """Yield the files, folders, and modules that a page names and that do not exist."""
    yield from filter(names_nothing, PYTHON_FILE.findall(page))
    for span in CODE_SPAN.findall(FENCE.sub("", page)):
        first, slash, _ = span.partition("/")
        if span.endswith("/") or (slash and first in {"src", *ROOTS}):
            if "://" not in span and span != "/" and names_nothing(span):
                yield span
        elif re.fullmatch(rf"({'|'.join(ROOTS)})(\.\w+)+", span) and is_unknown(span):
            yield span


@pytest.mark.requirement("house.docs-names-exist")
@pytest.mark.parametrize("page", MAINTAINER_PAGES, ids=lambda page: page.name)
def test_page_names_files_and_modules_that_exist(page: Path) -> None:
    assert sorted(set(unknown_names(page.read_text(encoding="utf-8")))) == []


@pytest.mark.requirement("house.docs-names-exist")
@pytest.mark.parametrize(
    "name",
    [
        "no_such_module.py",
        "chain/no_such_module.py",
        "src/symposium/no_such_folder/<name>.py",
        "no_such_folder/",
        "src/symposium/no_such_folder",
        "symposium.no_such_module",
        "symposium.chain.mod.NoSuchClass",
    ],
)
def test_name_that_does_not_exist_is_found_on_a_page(name: str) -> None:
    assert name in unknown_names(f"See `chain/mod.py`, and `{name}`.\n")


@pytest.mark.requirement("house.docs-names-exist")
def test_file_that_does_not_exist_is_found_in_a_drawing() -> None:
    assert list(unknown_names("```\nlines ── decode\n  no_such.py\n```\n")) == ["no_such.py"]
