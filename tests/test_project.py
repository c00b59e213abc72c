"""The project as a whole: make targets, locks, the map, and the distribution."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points, metadata, requires
from pathlib import Path

import pytest

pytestmark = pytest.mark.project

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
MAKE = shutil.which("make") or "make"
GIT = shutil.which("git") or "git"

FORBIDDEN_AT_START = {
    *("h11", "httpx2", "importlib.metadata", "mcp", "pydantic", "rich", "starlette", "uvicorn"),
}


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def targets() -> dict[str, list[str]]:
    """Return each target of the Makefile with its prerequisites."""
    rules = re.findall(r"^([a-z0-9-]+):([^#\n=]*)", text_of("Makefile"), re.MULTILINE)
    return {name: needs.split() for name, needs in rules}


@pytest.mark.requirement("house.one-door")
def test_make_alone_lists_the_targets() -> None:
    listed = set(re.findall(r"^make ([a-z0-9-]+)", run(MAKE).stdout, re.MULTILINE))

    assert listed >= {"setup", "demo", "test", "check", "bench", "e2e", "fix", "docs", "lock"}
    assert listed == targets().keys()


@pytest.mark.requirement("house.setup-needs-little")
def test_makefile_calls_python_and_installed_programs_only() -> None:
    lines = text_of("Makefile").replace("\\\n", " ").splitlines()
    recipes = [line.removeprefix("\t").removeprefix("@") for line in lines if line[:1] == "\t"]
    settings = re.compile(r"\w+=\S* ")
    programs = {settings.sub("", recipe).split()[0] for recipe in recipes}
    brought = {
        program for program in programs if program.startswith(("$(BIN)/", "$(LOCK)", "$(PYTEST)"))
    }

    assert programs - brought == {"awk", "rm", "test", "touch"}


@pytest.mark.requirement("house.setup-hash-pinned")
@pytest.mark.parametrize("lock", ["dev", "runtime"])
def test_every_requirement_is_pinned_with_hashes(lock: str) -> None:
    lines = text_of(f"requirements/{lock}.txt").replace("\\\n", "").splitlines()
    pins = [line for line in lines if not line.lstrip().startswith("#")]

    assert pins
    for pin in pins:
        assert re.match(r"[a-z0-9-]+==[^ ;]+ .*--hash=sha256:[0-9a-f]{64}", pin), pin


@pytest.mark.requirement("house.locks-without-hosts")
def test_no_lock_and_no_setting_names_a_package_index() -> None:
    hosts = re.compile(r"pypi\.|pythonhosted|npmjs|--(extra-)?index-url\b|--find-links\b")
    names = ["requirements/dev.txt", "requirements/runtime.txt", "pyproject.toml", "Makefile"]

    assert not [name for name in names if hosts.search(text_of(name))]
    assert not [name for name in names[:2] if "://" in text_of(name)]


@pytest.mark.requirement("house.script-installed")
def test_distribution_has_one_script() -> None:
    (script,) = entry_points(group="console_scripts", name="symposium")
    answer = run(BIN / "symposium", "--version")

    assert script.value == "symposium.__main__:main"
    assert metadata("symposium-host")["License-Expression"] == "Apache-2.0"
    assert re.fullmatch(r"symposium,? (version )?\d+\.\d+\.\d+\n", answer.stdout)
    assert answer.returncode == 0


@pytest.mark.requirement("house.pythons")
def test_distribution_requires_python_3_11() -> None:
    assert metadata("symposium-host")["Requires-Python"] == ">=3.11"


@pytest.mark.requirement("house.light-start")
def test_no_heavy_package_is_required_at_run_time() -> None:
    names = [line for line in requires("symposium-host") or [] if "extra ==" not in line]

    start = ["click", "h11", "msgspec"]
    # Imported late: by requests to the network, walkthroughs, `symposium mcp`, package versions,
    # `symposium chat`, and rules on commands.
    late = [
        *("httpx2", "markdown-it-py", "mcp", "packaging", "prompt-toolkit"),
        *("tree-sitter", "tree-sitter-bash", "uvicorn"),
    ]
    assert sorted(name.split(">")[0].split("<")[0] for name in names) == sorted([*start, *late])


@pytest.mark.requirement("house.light-start")
def test_start_of_the_program_imports_nothing_heavy() -> None:
    code = "import sys, symposium.__main__; print(*sys.modules, sep='\\n')"

    loaded = run(sys.executable, "-c", code)

    assert not loaded.stderr
    assert not FORBIDDEN_AT_START & {*loaded.stdout.split()}


@pytest.mark.requirement("house.ci-run")
def test_ci_runs_the_targets_of_contributors() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert re.findall(r"^make (?:--keep-going )?(\w+)", text_of(".ci/run"), re.MULTILINE) == [
        *("test", "chaos", "check"),
    ]


@pytest.mark.requirement("house.fresh-inputs")
def test_random_inputs_differ_by_seed_and_repeat_with_its_number(
    tmp_path: Path,
) -> None:
    (tmp_path / "test_it.py").write_text(DRAWS, encoding="utf-8")

    def drawn(seed: str) -> tuple[str, str, int]:
        """Return the inputs of a run, its line with the seed, and how many inputs a test had."""
        words = ["-qs", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", tmp_path]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, "-c", ROOT / "pyproject.toml", tmp_path],
            env={**os.environ, "SEED": seed, "PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        inputs = "".join(re.findall("drawn: .*\n", done.stdout))
        number = "".join(re.findall(r"SEED=(\d+) gives them again", done.stdout))
        return inputs, number, done.stdout.count("counted")

    with ThreadPoolExecutor() as threads:
        usual, again, fresh, other = threads.map(drawn, ["", "", "fresh", "fresh"])

    assert usual == again
    assert len({usual, fresh, other}) == 3
    assert drawn(fresh[1]) == fresh
    assert (usual[2], fresh[2]) == (10, 100)


DRAWS = """
from hypothesis import given, settings, strategies as st
from tests.support.random_inputs import random_source

@settings(max_examples=5)
@given(st.binary(min_size=8))
def test_one(data):
    print("drawn:", data)

def test_two():
    print("drawn:", random_source("two").random())

@given(st.binary(min_size=8))
def test_three(data):
    print("counted")
"""

MAKE_IN_PLACE = """#!/bin/sh
for goal; do :; done
case "$goal" in
    test) echo "6 passed, 1 skipped in 2.00s"; exit {tests} ;;
    chaos) echo "3 passed, 6 deselected in 1.00s"; exit {chaos} ;;
    *) echo "a checker says this"; exit {check} ;;
esac
"""


@pytest.mark.requirement("house.ci-closing-line")
@pytest.mark.parametrize(
    ("tests", "chaos", "check", "closing", "code"),
    [
        (0, 0, 0, "6 passed, 1 skipped in 2.00s", 0),
        (1, 0, 0, "6 passed, 1 skipped in 2.00s", 1),
        (0, 1, 0, "3 passed, 6 deselected in 1.00s", 1),
        (1, 1, 0, "6 passed, 1 skipped in 2.00s", 1),
        (0, 0, 1, "6 passed, 1 skipped in 2.00s", 1),
    ],
)
def test_ci_ends_with_the_counts_of_pytest(
    tests: int, chaos: int, check: int, closing: str, code: int, tmp_path: Path
) -> None:
    make = tmp_path / "make"
    make.write_text(MAKE_IN_PLACE.format(tests=tests, chaos=chaos, check=check), encoding="utf-8")
    make.chmod(0o755)

    done = subprocess.run(
        [ROOT / ".ci" / "run"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1] == closing
    assert done.returncode == code


@pytest.mark.requirement("house.chaos-lane")
def test_each_test_is_in_exactly_one_of_the_three_lanes() -> None:
    makefile = text_of("Makefile").replace("\\\n", "")
    recipes = dict(
        re.findall(r"^(test|chaos|project): .*\n(?:\t@.*\n)*\t(.*)$", makefile, re.MULTILINE)
    )

    assert recipes == {
        "test": '$(PYTEST) -m "not chaos and not project" $(TESTS)',
        "chaos": 'SEED=$${SEED:-fresh} $(PYTEST) -m "chaos or fuzz or hypothesis" $(TESTS)',
        "project": "$(PYTEST) -m project",
    }


CHECKERS = {
    "lint": "ruff",
    "types": "basedpyright",
    "contracts": "lint-imports",
    "project": "pytest",
    "dependencies": "deptry",
    "dead": "vulture",
    "words": "typos",
    "docs": "mkdocs",
}


@pytest.mark.requirement("house.check-complete")
@pytest.mark.parametrize("failing", ["nothing", *CHECKERS.values()])
def test_check_fails_when_one_of_its_checkers_fails(failing: str, tmp_path: Path) -> None:
    for name in (*CHECKERS.values(), "python"):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\nexit {int(name == failing)}\n", encoding="utf-8")
        tool.chmod(0o755)
    (tmp_path / "stamp").touch()

    status = run(MAKE, "check", f"BIN={tmp_path}", f"STAMP={tmp_path / 'stamp'}").returncode

    assert bool(status) == (failing != "nothing")
    assert {*CHECKERS} == {*targets()["check"]}


def tracked() -> list[str]:
    return run(GIT, "ls-files").stdout.splitlines()


@pytest.mark.requirement("house.shape-no-hosts-or-paths")
def test_no_tracked_file_contains_a_path_of_this_machine() -> None:
    home = f"{Path.home()}/"
    paths = [str(ROOT).encode(), *([home.encode()] if home.count("/") > 1 else [])]
    files = {name: (ROOT / name).read_bytes() for name in tracked() if (ROOT / name).is_file()}

    assert not [name for name, text in files.items() if any(path in text for path in paths)]


def packages() -> list[Path]:
    return sorted(init.parent for init in (ROOT / "src").rglob("__init__.py"))


@pytest.mark.requirement("house.no-empty-packages")
def test_every_package_contains_code() -> None:
    def holds_code(folder: Path) -> bool:
        return any(module.name != "__init__.py" for module in folder.rglob("*.py"))

    assert not [str(package) for package in packages() if not holds_code(package)]


@pytest.mark.requirement("house.no-erasmus-stub")
def test_agent_package_is_listed_once_it_contains_code() -> None:
    names = {package.name for package in packages() if package.parent == ROOT / "src"}
    project = tomllib.loads(text_of("pyproject.toml"))["project"]

    assert names == {"localio", "peerwire", "symposium"}
    assert project["scripts"].keys() == {"symposium"}


@pytest.mark.requirement("house.architecture-page")
def test_map_names_every_folder_of_the_sources_and_no_other() -> None:
    rows = re.findall(r"^\| (`src/.*?`) \|", text_of("ARCHITECTURE.md"), re.MULTILINE)
    named = [part for row in rows for part in re.findall(r"`(src/\w+/\w+)/`", row)]
    folders = {
        str(module.parent.relative_to(ROOT))
        for package in ("peerwire", "symposium")
        for module in (ROOT / "src" / package).glob("*/*.py")
    }

    assert sorted(named) == sorted(folders)


@pytest.mark.requirement("house.architecture-page")
def test_every_path_on_the_map_exists() -> None:
    named = set(re.findall(r"`([\w./-]+/[\w./-]*|\.[a-z]+)`", text_of("ARCHITECTURE.md")))
    roots = (ROOT, ROOT / "src" / "peerwire", ROOT / "src" / "symposium")

    assert "docs/generate.py" in named
    assert "chain/routing.py" in named
    assert not [path for path in named if not any((root / path).exists() for root in roots)]


@pytest.mark.requirement("house.architecture-page")
def test_map_fits_on_one_screen() -> None:
    assert len(text_of("ARCHITECTURE.md").splitlines()) <= 60


@pytest.mark.requirement("house.pages-exact")
@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"])
def test_link_targets_of_root_pages_exist(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text_of(page))

    assert not [link for link in links if not (ROOT / link).exists()]


@pytest.mark.requirement("house.readme-first-screen")
def test_readme_explains_the_purpose_and_the_first_steps() -> None:
    lines = text_of("README.md").splitlines()
    screen = "\n".join(lines[:34])

    assert lines[2].startswith("Run coding agents from any editor")
    assert "**Who it is for.**" in screen
    for command in ("uv tool install .", "make demo", "make test"):
        assert f"$ {command}" in screen


@pytest.mark.requirement("house.pages-exact")
def test_every_target_named_by_a_page_is_in_the_makefile() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        target
        for page in pages
        for target in re.findall(r"(?:`|\$ |&& )make ([a-z0-9-]+)", page.read_text("utf-8"))
    }

    assert named
    assert named <= targets().keys()


@pytest.mark.requirement("house.licence-changelog-contributing")
def test_required_documents_exist() -> None:
    assert "Apache License" in text_of("LICENSE")
    assert "Version 2.0, January 2004" in text_of("LICENSE")
    assert "\n## Unreleased\n" in text_of("CHANGELOG.md")
    assert "\n## A mod in one file\n" in text_of("CONTRIBUTING.md")


@pytest.mark.requirement("house.docs-examples-run")
def test_every_example_is_run_by_a_test() -> None:
    examples = {path.name: strings_of(path) for path in (ROOT / "examples").glob("*.py")}
    tests = [
        strings_of(path)
        for path in (ROOT / "tests").rglob("test_*.py")
        # Parsing all of them takes seconds.
        if any(may_name(path.read_text(encoding="utf-8"), name) for name in examples)
    ]

    run = {name for name in examples if any(names_file(text, name) for text in tests)}
    # An example may start others: `tasks.py` starts its agents.
    run |= {name for name in examples for by in run if names_file(examples[by], name)}

    assert examples.keys() - run == set()


def strings_of(path: Path) -> list[str]:
    """Return the strings of a module's code, without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    apart = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [node.value for node in found if isinstance(node.value, str) and node not in apart]


def may_name(source: str, name: str) -> bool:
    """Whether a string of this source may be the path of a file with this name."""
    stem = name.removesuffix(".py")
    return any(end in source for end in (name, f'{stem}"', f"{stem}'"))


def names_file(strings: list[str], name: str) -> bool:
    """Whether one of these strings is the path of a file with this name, or its module's name."""
    return any(text.split("/")[-1] in {name, name.removesuffix(".py")} for text in strings)
