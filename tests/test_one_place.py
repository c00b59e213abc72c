"""The table "Where things go" of CONTRIBUTING.md: each row names the one place of an addition.

Every row is tried: a copy of the tree gets one new or changed file, at the place that the row
names, and the program finds it.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.project

ROOT: Final = Path(__file__).parents[1]
SEEN: Final = re.compile(r"((?:`\w+`(?: and | in ))*)`([^`]+/[^`]+)`(?:, |$)")
PLACE: Final = re.compile(r"^\| (?P<what>[^|]+?) \| `(?P<place>[^`]+)`", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Addition:
    """One addition, and how the program shows it.

    Attributes:
        name: of the new file, in place of `<…>` in the path; "" changes the file there.
        text: the new file, or what is appended.
        command: arguments of Python in the copy.
        shows: a part of the output once the file is there.
    """

    name: str
    text: str
    command: tuple[str, ...]
    shows: str


MOD: Final = """
from symposium import ComponentSpec, Mod
spec = ComponentSpec(name="new-here", summary="Is new.", make=Mod)
"""
AGENT: Final = """
from symposium.agents.eliza.agent import serve_eliza
from symposium.chain.mod import AgentSpec
spec = AgentSpec(name="new-here", summary="Is new.", serve=serve_eliza)
"""
EDITOR: Final = """
from symposium.config.editor_settings import Editor, JsonSetting
setting = JsonSetting(lambda where: where.config / "new", ("agents",), lambda launch: {})
EDITOR = Editor(title="A new editor", setting=setting, needs="", then="Is new.")
"""
COMMAND: Final = '''"""Try a new command."""
import click

@click.command("new-here")
def command() -> int:
    """Try a new command."""
    return 0
'''
TOOL: Final = '''
from msgspec import Struct
from symposium.mcp_server.tool import Hints, ToolAnswer, ToolInvocation, tool

class NewHereParams(Struct):
    pass

@tool("code", Hints("New"))
async def new_here(params: NewHereParams, invocation: ToolInvocation) -> ToolAnswer:
    """Try a new tool."""
    return ToolAnswer("new")
'''
MESSAGE: Final = '''
from typing import ClassVar
from symposium.bus.protocol import Announcement, MessageSpec, MessageTarget, Role

class NewHere(Announcement, frozen=True, kw_only=True):
    """Announce something new."""

    about: ClassVar = MessageSpec("new_here", frozenset({Role.CLI}), MessageTarget.EVERYBODY)
'''
PART: Final = """
from symposium.daemon.part import PartSpec
spec = PartSpec("new_here", lambda context: None)
"""
GENERATOR: Final = """
PAGE = "reference/new-here.md"

def render():
    return "# New"
"""

GENERATE: Final = ("docs/generate.py", "--check")
HELP: Final = ("-m", "symposium")
MODS: Final = "from symposium.catalog import find_mod; print(find_mod('new-here').summary)"
AGENTS: Final = (
    "from symposium.catalog import builtin_agents; print([a.summary for a in builtin_agents()])"
)
PARTS: Final = (
    "from symposium.daemon.process import part_specs; print([s.name for s in part_specs()])"
)
MESSAGES: Final = "from symposium.bus.protocol import message_types; print(list(message_types()))"
TOOLS: Final = "from symposium.mcp_server.offering import all_tools; print(list(all_tools()))"
REQUIREMENTS: Final = (
    "from tests.test_requirements import ROWS, rows_in\n"
    "for path in ROWS.glob('*.toml'):\n"
    "    print([row.id for row in rows_in(path.read_text(), path.name)])"
)
ROW: Final = """
[[requirement]]
id = "house.new-here"
source = "a test"
text = "Is new."
"""

ADDITIONS: Final = {
    "a behavior": Addition("house", ROW, ("-c", REQUIREMENTS), "'house.new-here'"),
    "a mod": Addition("new_here", MOD, ("-c", MODS), "Is new."),
    "a built-in agent": Addition("new_here", AGENT, ("-c", AGENTS), "Is new."),
    "an editor": Addition("new_here", EDITOR, (*HELP, "setup", "new-here"), "Is new."),
    "a command": Addition("new_here", COMMAND, (*HELP, "--help"), "Try a new command."),
    "an MCP tool": Addition("new_here", TOOL, ("-c", TOOLS), "'new_here'"),
    "a bus message": Addition("new_here", MESSAGE, ("-c", MESSAGES), "'new_here'"),
    "a part of the daemon": Addition("new_here", PART, ("-c", PARTS), "'new_here'"),
    "a generated page": Addition("new_here", GENERATOR, GENERATE, "new-here.md is out of date"),
    "a decision": Addition("0999-new", "# 0999: New\n", GENERATE, "index.md is out of date"),
}

NO_PROGRAM: Final = {"a dependency": "pyproject.toml", "a change that users notice": "CHANGELOG.md"}
"""Rows whose file is read by other programs, or by people."""


def rows() -> dict[str, str]:
    """Each row of the table: what is added, and its first path."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    additions = page.partition("| To change | See |")[0]
    return {row["what"]: row["place"] for row in PLACE.finditer(additions)}


@pytest.mark.requirement("house.one-place-table")
def test_a_change_of_a_value_is_listed_with_a_file_that_defines_it() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| To change | See |\n|---|---|\n")[2].partition("\n\n")[0]
    cells = [row.split(" | ")[1].removesuffix(" |") for row in table.splitlines()]

    assert len(cells) == 13
    for cell in cells:
        assert SEEN.sub("", cell) == ""
        for names, place in SEEN.findall(cell):
            text = (ROOT / place).read_text(encoding="utf-8")
            for name in re.findall(r"\w+(?=`)", names):
                defined = rf"^ *(?:class |(?:async )?def )?{name}\b"
                assert re.search(defined, text, re.MULTILINE), (name, place)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the directories that the additions change."""
    copy = tmp_path_factory.mktemp("one_place")
    for name in ("src", "docs", "examples", "tests/requirements", "tests/support"):
        ignored = shutil.ignore_patterns("__pycache__", "generators")
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    (copy / "docs" / "generators").mkdir()
    files = ("docs/generators/decisions.py", "tests/test_requirements.py")
    for name in (*files, "ARCHITECTURE.md", ".importlinter"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.mark.requirement("house.one-place-table")
def test_every_row_of_the_table_is_tried() -> None:
    assert set(rows()) == {*ADDITIONS, *NO_PROGRAM}
    assert {what: rows()[what] for what in NO_PROGRAM} == NO_PROGRAM
    assert all((ROOT / place).is_file() for place in NO_PROGRAM.values())


@pytest.mark.requirement("house.one-place-table")
@pytest.mark.parametrize("what", list(ADDITIONS))
def test_an_addition_at_the_place_of_its_row_is_found(tree: Path, what: str) -> None:
    addition = ADDITIONS[what]
    path = tree / re.sub(r"(NNNN-)?<[^>]+>", addition.name, rows()[what])
    before = path.read_text(encoding="utf-8") if path.exists() else None
    if not path.parent.exists():  # a package of its own
        path.parent.mkdir()
        (path.parent / "__init__.py").touch()

    path.write_text((before or "") + addition.text, encoding="utf-8")
    try:
        with_it = run(tree, addition.command)
    finally:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")
    without_it = run(tree, addition.command)

    assert addition.shows in with_it
    assert addition.shows not in without_it


def run(tree: Path, command: tuple[str, ...]) -> str:
    """Output of Python with these arguments, on the copy."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}:{tree}"}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr
