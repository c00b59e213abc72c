"""Working directories in which programs of a config start."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from peerwire.transports.command import Command
from symposium.chain.blueprint import InProcess, Program
from symposium.config.component_source import ComponentSource
from symposium.config.user_config import Config, ModEntry
from symposium.run_mode.config_components import Composer, NoResolver
from symposium.run_mode.launch_directory import (
    STARTER,
    away_words,
    launch_elsewhere,
    reads_working_directory,
)
from symposium.run_mode.mcp_servers import McpServers

WORKSPACE_READERS = [
    ("npx", "-y", "p"),
    ("/usr/bin/npx", "p"),
    ("uvx", "p"),
    ("pipx", "run", "p"),
    ("bunx", "p"),
    ("npm", "exec", "p"),
    ("pnpm", "dlx", "p"),
    ("uv", "run", "p"),
    ("cargo", "run"),
    ("python3", "-m", "p"),
    ("/x/python3.12", "-u", "-m", "p"),
    ("python", "-um", "p"),
    ("python3", "-c", "import p"),
    ("python", "-X", "utf8", "-m", "p"),
    ("python", "-Xutf8", "-Wignore", "-m", "p"),
    ("python", "-Xutf8", "-m", "p"),
    ("python", "-bW", "ignore", "--check-hash-based-pycs", "always", "-um", "p"),
    ("python", "-mP"),
    ("py", "-m", "p"),
    ("env", "npx", "p"),
    ("env", "-i", "A=1", "-u", "B", "/usr/bin/python3", "-m", "p"),
    ("nice", "-n", "5", "env", "A=1", "uv", "--quiet", "run", "p"),
    ("sh", "-c", "cd /x && exec npx p"),
    ("bash", "-lc", "A=1 'npx' p"),
    ("npm", "--yes", "exec", "p"),
    ("npm", "--loglevel", "error", "x", "p"),
    ("uv", "--quiet", "run", "p"),
    ("cargo", "+nightly", "run"),
    ("pnpm", "--silent", "dlx", "p"),
    ("deno", "--quiet", "run", "p"),
    ("conda", "run", "-n", "x", "python", "-m", "p"),
    ("poetry", "-q", "run", "p"),
]
OTHERS = [
    ("claude-agent", "--acp"),
    ("node", "/x/agent.js"),
    ("npm", "run", "agent"),
    ("python3", "/x/agent.py"),
    ("python3", "-I", "-m", "p"),
    ("python3", "-P", "-m", "p"),
    ("python3",),
    ("my-npx",),
    ("python3", "-X", "-m", "/x/agent.py"),
    ("python3", "-W", "ignore", "-P", "-m", "p"),
    ("python3", "/x/agent.py", "-m", "p"),
    ("env", "A=1", "claude-agent", "--acp"),
    ("env", "python3", "-I", "-m", "p"),
    ("sh", "/x/agent.sh"),
    ("uv", "--", "run"),
    ("env",),
]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("argv", WORKSPACE_READERS)
@pytest.mark.requirement("trust.neutral-ground")
def test_programs_that_load_workspace_code_start_in_a_separate_directory(
    argv: Sequence[str], home: Path
) -> None:
    assert reads_working_directory(argv)
    assert launch_elsewhere(Command(tuple(argv)), is_recommended=False).cwd == str(home)
    assert home.is_dir()


@pytest.mark.parametrize("argv", OTHERS)
@pytest.mark.requirement("trust.neutral-ground")
def test_other_programs_start_in_the_workspace_unless_recommended(
    argv: Sequence[str], home: Path
) -> None:
    assert launch_elsewhere(Command(tuple(argv)), is_recommended=False).cwd is None
    assert away_words(argv, is_recommended=False) == argv
    assert launch_elsewhere(Command(tuple(argv)), is_recommended=True).cwd == str(home)
    assert launch_elsewhere(Command(tuple(argv), cwd="/x"), is_recommended=True).cwd == str(home)


@pytest.mark.requirement("trust.neutral-ground")
async def test_user_can_set_the_directory_of_a_program() -> None:
    source = ComponentSource("local", {"command": sys.executable, "args": ["-m", "x"], "cwd": "/x"})
    composition = await Composer(NoResolver()).compose(Config(source))
    agent = composition.chain.agent
    assert isinstance(agent, Program)
    assert agent.command.cwd == "/x"


@pytest.mark.requirement("trust.neutral-ground")
def test_launcher_executes_the_program_in_the_directory(home: Path) -> None:
    words = away_words(["python3", "-c", "import os; print(os.getcwd())"], is_recommended=False)
    assert words[3] == str(STARTER)
    started = subprocess.run(words, capture_output=True, text=True, check=True, cwd="/")
    assert started.stdout.strip() == str(home.resolve())
    missing = [*words[:5], "no-such-program"]
    failed = subprocess.run(missing, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr == "no-such-program: No such file or directory\n"


def local(name: str, kind: str = "proxy", origin: str | None = None) -> ModEntry:
    source = ComponentSource("local", {"command": sys.executable, "args": ["/x/mod.py"]})
    return ModEntry(name, source=source, kind="mcp" if kind == "mcp" else "proxy", origin=origin)


@pytest.mark.requirement("trust.neutral-ground")
async def test_config_is_composed_with_these_directories(home: Path) -> None:
    python = ComponentSource("python", {"module": "m"})
    mods = (
        local("own"),
        local("ours", origin="recommendation"),
        ModEntry("package", source=python),
        local("own-server", "mcp"),
        local("our-server", "mcp", origin="recommendation"),
        ModEntry("package-server", source=python, kind="mcp"),
    )
    composition = await Composer(NoResolver()).compose(Config(f"{sys.executable} -m agent", mods))
    agent = composition.chain.agent
    assert isinstance(agent, Program)
    assert agent.command.cwd == str(home)
    made = [make() for make in composition.chain.mods]
    places = {each.name: each.command.cwd for each in made if isinstance(each, Program)}
    assert places == {"own": None, "ours": str(home), "package": str(home)}
    (hidden,) = [each for each in made if isinstance(each, InProcess)]
    assert isinstance(hidden.mod, McpServers)
    configured = {each["name"]: json.dumps(each) for each in hidden.mod.servers}
    assert {name: str(STARTER) in text for name, text in configured.items()} == {
        "own-server": False,
        "our-server": True,
        "package-server": True,
    }
