"""The mods that give an agent tools for a project, called by an agent in a chain."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.packages import tar_gz

from peerwire.errors import RpcError
from symposium.catalog import find_mod
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContext, ToolServer
from symposium.mods.cargo import Cargo, CargoTools
from symposium.mods.ferris import Ferris, FerrisTools
from symposium.mods.npm import Npm, NpmTools
from symposium.mods.uv import Uv, UvTools
from symposium.planning.chain_spec import read_chain
from symposium.testing import FakeAgent, FakeEditor, chain_of

KINDS: list[tuple[type[ToolMod], str]] = [
    (Cargo, "Cargo.toml"),
    (Uv, "pyproject.toml"),
    (Npm, "package.json"),
]

SAYS_ITS_ARGUMENTS = """#!/bin/sh
for each in "$@"; do printf '<%s>\\n' "$each"; done
printf 'in %s\\n' "$PWD"
"""
HANGS = """#!/bin/sh
sleep 60 &
echo "$$" > "$PWD/pid"
wait
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of whose settings nothing is known, with a directory of programs before all others."""
    place = tmp_path / "home"
    (place / "programs").mkdir(parents=True)
    monkeypatch.setenv("SYMPOSIUM_HOME", str(place))
    monkeypatch.setenv("PATH", f"{place / 'programs'}{os.pathsep}{os.environ['PATH']}")
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


Install = Callable[[str, str], None]


@pytest.fixture
def install(home: Path) -> Install:
    """Install a fake program where the tool is looked up."""

    def put(name: str, text: str) -> None:
        (home / "programs" / name).write_text(text)
        (home / "programs" / name).chmod(0o755)

    return put


async def use(editor: FakeEditor, tool: str, **arguments: Any) -> Any:
    said = (await editor.prompt(f"use tool {tool} with {json.dumps(arguments)}")).text
    assert said.startswith("OK: "), said
    return json.loads(said.removeprefix("OK: "))


async def refused(editor: FakeEditor, tool: str, **arguments: Any) -> str:
    said = (await editor.prompt(f"use tool {tool} with {json.dumps(arguments)}")).text
    assert said.startswith("ERROR: "), said
    return said


def content(file: str) -> str:
    return Path(file).read_text()


class Caller:
    """Record what an MCP client receives."""

    def __init__(self) -> None:
        self.received: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None) -> Any:
        raise AssertionError(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        self.received.append((method, params))


# -- which sessions


@pytest.mark.requirement("built-in-mods.applies")
@pytest.mark.parametrize("kind", [*(kind for kind, _ in KINDS), Ferris])
@pytest.mark.parametrize("params", [{}, {"cwd": 3}, {"cwd": None}])
def test_a_session_without_a_directory_gets_no_tools(
    kind: type[ToolMod], params: dict[str, Any]
) -> None:
    assert kind().session_servers(params) == []


@pytest.mark.requirement("built-in-mods.applies")
@pytest.mark.parametrize(("kind", "manifest"), KINDS)
async def test_session_elsewhere_passes_unchanged(
    project: Path, kind: type[ToolMod], manifest: str
) -> None:
    agent = FakeAgent()
    async with chain_of(kind(), agent=agent, bridge="off") as editor:
        await editor.initialize()
        await editor.connection.request("session/new", {"cwd": str(project)})
        (project / manifest).write_text("")
        (project / "src").mkdir()
        await editor.new_session(cwd=str(project / "src"))
    elsewhere, here = [each.params for each in agent.received.items if each.method == "session/new"]
    assert elsewhere == {"cwd": str(project)}
    assert [each["name"] for each in here["mcpServers"]] == [kind.__name__.lower()]


@pytest.mark.requirement("house.odd-files")
@pytest.mark.parametrize(
    ("kind", "manifest", "tool"),
    [(Uv, "pyproject.toml", "uv::check"), (Npm, "package.json", "npm::check")],
)
async def test_a_manifest_without_end_is_refused(
    project: Path, kind: type[ToolMod], manifest: str, tool: str
) -> None:
    with (project / manifest).open("wb") as large:
        large.truncate(5 * 1024 * 1024 * 1024)
    async with chain_of(kind()) as editor:
        await editor.new_session(cwd=str(project))
        assert "larger than" in await refused(editor, tool)


@pytest.mark.requirement("built-in-mods.says-it-runs-code")
@pytest.mark.parametrize("tools", [CargoTools, UvTools, NpmTools])
def test_each_tool_says_that_it_runs_code(tools: type[CargoTools | UvTools | NpmTools]) -> None:
    for tool in tools(Path("/")).server().tools:
        assert "It runs" in tool.description
        assert "code of the project" in tool.description


@pytest.mark.requirement("built-in-mods.run-ends")
@pytest.mark.parametrize("tools", [CargoTools, UvTools, NpmTools])
def test_each_tool_has_a_bounded_timeout(tools: type[CargoTools | UvTools | NpmTools]) -> None:
    for tool in tools(Path("/")).server().tools:
        schema = tool.schema["properties"]["timeout_seconds"]
        assert schema == {"type": "integer", "minimum": 1, "maximum": 3600, "default": 600}


@pytest.mark.requirement("built-in-mods.progress")
@pytest.mark.parametrize("meta", [{}, {"_meta": {"progressToken": "t"}}])
async def test_progress_is_reported_when_it_is_requested(meta: dict[str, Any]) -> None:
    async def work(context: ToolContext) -> int:
        context.progress(3, "third line")
        return 1

    caller = Caller()
    connection = ToolServer("a", [work]).connect(caller)
    await connection.answer("tools/call", {"name": "work", **meta})
    note = {"progressToken": "t", "progress": 3, "message": "third line"}
    assert caller.received == ([("notifications/progress", note)] if meta else [])


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_what_runs_for_a_connection_ends_with_it() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    server = ToolServer("a", [work])
    connection = server.connect(Caller())

    async def call() -> None:
        with pytest.raises(RpcError):
            await connection.answer("tools/call", {"name": "work"})

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(call())
        await begun.wait()
        server.disconnect(connection.connection_id)
        await ended.wait()


# -- cargo


@pytest.mark.requirement("built-in-mods.cargo", "built-in-mods.no-shell")
async def test_cargo_is_given_what_was_asked_for_and_no_option_more(
    project: Path, install: Install
) -> None:
    (project / "Cargo.toml").write_text("")
    install("cargo", SAYS_ITS_ARGUMENTS)
    async with chain_of(Cargo()) as editor:
        await editor.new_session(cwd=str(project))
        result = await use(editor, "cargo::build", package="a", features=["x", "y"], release=True)
        assert result["tail"].splitlines() == [
            *("<build>", "<--message-format=json>", "<--package>", "<a>"),
            *("<--features>", "<x,y>", "<--release>", f"in {project}"),
        ]
        result = await use(editor, "cargo::run", arguments=["--x", "$(id); rm -rf *"], binary="b")
        assert result["tail"].splitlines()[2:6] == ["<--bin>", "<b>", "<-->", "<--x>"]
        assert "<$(id); rm -rf *>" in result["tail"]
        result = await use(editor, "cargo::test", name="adds")
        assert result["tail"].splitlines()[2:4] == ["<--no-fail-fast>", "<adds>"]
        result = await use(editor, "cargo::check", package="a")
        assert result["tail"].splitlines() == [
            *("<check>", "<--message-format=json>", "<--all-targets>", "<--package>", "<a>"),
            f"in {project}",
        ]
        for bad in ({"package": "--config=x"}, {"features": ["-Zx"]}):
            assert "is no" in await refused(editor, "cargo::check", **bad)


def has_rust() -> bool:
    """Whether cargo runs: where rustup has no toolchain for this home, it is only a shim."""
    cargo = shutil.which("cargo")
    words = [cargo or "", "--version"]
    return (
        cargo is not None and not subprocess.run(words, capture_output=True, check=False).returncode
    )


@pytest.mark.requirement("built-in-mods.cargo")
@pytest.mark.timeout(240)
@pytest.mark.skipif(not has_rust(), reason="there is no Rust that works on this machine")
async def test_errors_and_failed_tests_of_a_real_cargo_are_reported(project: Path) -> None:
    (project / "src").mkdir()
    (project / "Cargo.toml").write_text('[package]\nname = "demo"\nversion = "0.1.0"\n')
    lib = project / "src" / "lib.rs"
    lib.write_text("#[test]\nfn good() {}\n#[test]\nfn bad() {\n    assert_eq!(1, 2);\n}\n")
    async with chain_of(Cargo()) as editor:
        await editor.new_session(cwd=str(project))
        result = await use(editor, "cargo::test")
        assert (result["status"], result["exit_code"]) == ("failed", 101)
        assert result["tests"] == {"passed": 1, "failed": 1, "failed_names": ["bad"]}
        (problem,) = result["problems"]
        assert (problem["file"], problem["line"]) == ("src/lib.rs", 5)
        lib.write_text("pub fn f() -> u8 {\n    nothing\n}\n")
        result = await use(editor, "cargo::check")
        (problem,) = result["problems"]
        assert (problem["level"], problem["line"]) == ("error", 2)
        assert "E0425" in problem["message"]
        assert "cannot find value `nothing`" in content(result["log"])


@pytest.mark.requirement("built-in-mods.run-ends")
async def test_a_turn_that_is_cancelled_ends_the_run(project: Path, install: Install) -> None:
    (project / "Cargo.toml").write_text("")
    install("cargo", HANGS)
    os.mkfifo(project / "pid")
    async with chain_of(Cargo()) as editor:
        await editor.new_session(cwd=str(project))
        async with asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(editor.prompt("use tool cargo::check with {}"))
            pid = int(await asyncio.to_thread((project / "pid").read_text))
            ended = os.pidfd_open(pid)
            editor.cancel()
            assert (await turn).stop_reason == "cancelled"
            await until_readable(ended)


async def until_readable(handle: int) -> None:
    """Wait for what a handle of a process says when that ends."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


# -- uv


@pytest.mark.requirement("built-in-mods.uv", "built-in-mods.no-shell")
async def test_uv_is_given_what_was_asked_for(project: Path, install: Install) -> None:
    (project / "pyproject.toml").write_text("[tool.ruff]\n[tool.mypy]\nstrict = true\n")
    install("uv", SAYS_ITS_ARGUMENTS)
    async with chain_of(Uv()) as editor:
        await editor.new_session(cwd=str(project))
        result = await use(editor, "uv::test", paths=["tests/a.py::b"], keyword="x and not y")
        assert result["command"] == (
            "uv --no-progress run python -m pytest -q --tb=short -rfE --color=no"
            " -k 'x and not y' tests/a.py::b"
        )
        result = await use(editor, "uv::check")
        assert {name: each["command"] for name, each in result.items()} == {
            "ruff": "uv --no-progress run ruff check --output-format=concise",
            "mypy": "uv --no-progress run mypy .",
        }
        assert result["mypy"]["tail"].splitlines()[-3:-1] == ["<mypy>", "<.>"]
        result = await use(editor, "uv::run", arguments=["python", "--version"])
        assert result["tail"].splitlines()[1:5] == ["<run>", "<-->", "<python>", "<--version>"]
        built = await use(editor, "uv::build")
        assert (built["status"], built["command"]) == ("ok", "uv --no-progress build")
        assert "is not a path" in await refused(editor, "uv::test", paths=["-p", "evil"])


@pytest.mark.requirement("built-in-mods.uv")
async def test_project_without_checkers_gets_the_known_ones(project: Path) -> None:
    (project / "pyproject.toml").write_text("")
    async with chain_of(Uv()) as editor:
        await editor.new_session(cwd=str(project))
        assert "known: ruff" in await refused(editor, "uv::check")
        (project / "pyproject.toml").write_text("][")
        assert "cannot read pyproject.toml" in await refused(editor, "uv::check")


# -- npm


@pytest.mark.requirement("built-in-mods.npm", "built-in-mods.no-shell")
@pytest.mark.parametrize(
    ("lock", "command"),
    [
        ("package-lock.json", ["npm", "run", "test", "--", "--x"]),
        ("pnpm-lock.yaml", ["pnpm", "run", "test", "--x"]),
        ("yarn.lock", ["yarn", "run", "test", "--x"]),
    ],
)
async def test_scripts_are_run_by_the_project_s_own_program(
    project: Path, install: Install, lock: str, command: list[str]
) -> None:
    (project / "package.json").write_text('{"scripts": {"test": "x", "lint": "y", "-c": "z"}}')
    (project / lock).write_text("")
    install(command[0], SAYS_ITS_ARGUMENTS)
    async with chain_of(Npm()) as editor:
        await editor.new_session(cwd=str(project))
        result = await use(editor, "npm::test", arguments=["--x"])
        assert result["command"] == " ".join(command)
        assert list(await use(editor, "npm::check")) == ["lint"]
        for script in ("build", "-c", "test; id"):
            said = await refused(editor, "npm::run", script=script)
            assert "has no script" in said
            assert "existing scripts: test, lint" in said
        (project / "package.json").write_text(json.dumps({"scripts": {"x" * 2000: "y"}}))
        said = await refused(editor, "npm::run", script="build")
        assert said.rstrip().endswith(f"existing scripts: {'x' * 1000}")


# -- ferris


@pytest.mark.requirement("built-in-mods.ferris", "built-in-mods.ferris-crate-shape")
async def test_source_of_a_crate_has_the_older_form(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_HOME", str(tmp_path / "cargo"))
    cache = tmp_path / "cargo" / "registry" / "cache" / "index.crates.io-0"
    cache.mkdir(parents=True)
    files = {"a-1.0.0/src/lib.rs": b"fn x() {}\n", "a-1.0.0/examples/e.rs": b"fn y() {}\n"}
    (cache / "a-1.0.0.crate").write_bytes(tar_gz({**files, "a-1.0.0/x.md": b"fn z"}))
    (project / "Cargo.lock").write_text(
        '[[package]]\nname = "a"\nversion = "1.0.0"\nsource = "sparse+https://index.crates.io/"\n'
    )
    async with chain_of(Ferris()) as editor:
        await editor.new_session(cwd=str(project))
        result = await use(editor, "ferris::get_rust_crate_source", crate_name="a")
        assert list(result) == ["crate_name", "version", "checkout_path", "message"]
        assert (result["crate_name"], result["version"]) == ("a", "1.0.0")
        assert (Path(result["checkout_path"]) / "src" / "lib.rs").read_text() == "fn x() {}\n"
        result = await use(editor, "ferris::get_rust_crate_source", crate_name="a", pattern="fn .")
        assert result["example_matches"] == [
            {
                "file_path": "examples/e.rs",
                "line_number": 1,
                "context_start_line": 1,
                "context_end_line": 1,
                "context": "fn y() {}",
            }
        ]
        assert [each["file_path"] for each in result["other_matches"]] == ["src/lib.rs"]
        said = await refused(editor, "ferris::get_rust_crate_source", crate_name="a", pattern="(")
        assert "Invalid regex pattern" in said


@pytest.mark.requirement("built-in-mods.ferris")
async def test_a_package_is_found_searched_and_read(project: Path) -> None:
    folder = project / "node_modules" / "left"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"name": "left", "version": "1.0.0"}')
    (folder / "index.js").write_text("one\nmodule.exports = 1\n")
    async with chain_of(Ferris()) as editor:
        await editor.new_session(cwd=str(project))
        left = {"ecosystem": "npm", "name": "left"}
        result = await use(editor, "ferris::fetch_package_source", **left)
        assert result["source_path"] == str(folder)
        assert "parts" not in result
        result = await use(editor, "ferris::search_package_source", **left, pattern="exports")
        assert [each["line_number"] for each in result["other_matches"]] == [2]
        result = await use(editor, "ferris::read_package_source", **left, path="index.js")
        assert result["text"] == "one\nmodule.exports = 1"
        result = await use(editor, "ferris::read_package_source", **left)
        assert result["entries"] == ["index.js", "package.json"]
        said = await refused(editor, "ferris::read_package_source", **left, path="../../.git")
        assert "outside left" in said


@pytest.mark.requirement("package-sources.bad-pattern")
async def test_a_bad_pattern_is_said_before_anything_is_looked_for(project: Path) -> None:
    tools = FerrisTools(project)
    for search in (
        tools.get_rust_crate_source("no such", pattern="("),
        tools.search_package_source("npm", "no such", "("),
    ):
        with pytest.raises(Exception, match="Invalid regex pattern"):
            await search


@pytest.mark.requirement("built-in-mods.defaults")
def test_the_old_name_of_guidance_still_names_it() -> None:
    found = find_mod("sparkle")
    assert found is not None
    assert found.name == "guidance"


@pytest.mark.requirement("built-in-mods.defaults")
@pytest.mark.parametrize(
    ("spec", "names"), [("defaults", ["guidance", "ferris", "cargo"]), ("sparkle", ["guidance"])]
)
def test_what_a_spec_of_old_names(spec: str, names: list[str]) -> None:
    assert [make().name for make in read_chain([spec], None).mods] == names
