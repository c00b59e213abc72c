"""Mod with tools to check, test, run, and build a Python project."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from localio.files import regular_content
from localio.toml import parse_toml
from peerwire.jsonrpc.values import as_object
from symposium.chain.mod import ComponentSpec
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContext, ToolServer
from symposium.code.build_project import (
    BUILD_TIMEOUT,
    MAX_MANIFEST,
    MAX_TIMEOUT,
    BuildError,
    argument,
    nearest,
)

SERVER: Final = "uv"
"""Name of the MCP server that the agent sees."""

MANIFEST: Final = "pyproject.toml"

CHECKERS: Final[Mapping[str, Sequence[str]]] = {
    "ruff": ("ruff", "check", "--output-format=concise"),
    "basedpyright": ("basedpyright",),
    "pyright": ("pyright",),
    "mypy": ("mypy",),
}
"""Commands by the name of their table in `pyproject.toml`."""

Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)]


class UvTools:
    """The tools of one session.

    The modules that run a tool are imported on first use: most sessions never need them.

    Args:
        folder: the session's directory; uv runs only there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def test(
        self,
        context: ToolContext,
        paths: Sequence[str] = (),
        keyword: str | None = None,
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Run all tests, or some of them, with pytest: `uv run python -m pytest`.

        `paths` are files, directories, or ids such as `tests/test_a.py::test_b`; `keyword` is an
        expression for pytest's `-k`. It runs code of the project. It returns how many tests passed
        and failed, the failed ones with file and line, the last lines, and the path of the log.
        """
        only = [argument(each, "path of tests") for each in paths]
        words = [] if keyword is None else ["-k", argument(keyword, "keyword")]
        pytest = ["python", "-m", "pytest", "-q", "--tb=short", "-rfE", "--color=no", *words, *only]
        return await self._run(context, ["run", *pytest], timeout_seconds)

    async def check(
        self, context: ToolContext, timeout_seconds: Seconds = BUILD_TIMEOUT
    ) -> dict[str, Any]:
        """Run the checkers configured in pyproject.toml: ruff, basedpyright, pyright, mypy.

        It runs code of the project's environment. It returns, for each checker, the first errors
        with file and line, the last lines, and the path of the log.
        """
        # A large manifest takes seconds to read.
        wanted = await asyncio.to_thread(_checkers, self._folder)
        if not wanted:
            known = ", ".join(CHECKERS)
            raise BuildError(f"{MANIFEST} has no settings for a checker", f"known: {known}")
        return {
            name: await self._run(context, ["run", *argv], timeout_seconds)
            for name, argv in wanted.items()
        }

    async def build(
        self, context: ToolContext, timeout_seconds: Seconds = BUILD_TIMEOUT
    ) -> dict[str, Any]:
        """Build the project's distributions into `dist/`: `uv build`.

        It runs code of the project (its build backend). It returns the last lines and the path of
        the log.
        """
        return await self._run(context, ["build"], timeout_seconds)

    async def run(
        self,
        context: ToolContext,
        arguments: Sequence[str],
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Run a command in the project's environment, without input: `uv run -- ARGUMENTS`.

        It runs any command, usually code of the project. It returns the exit code, the last lines,
        and the path of the log.
        """
        if not arguments:
            raise BuildError("`arguments` is empty", 'for example: ["python", "script.py"]')
        return await self._run(context, ["run", "--", *arguments], timeout_seconds)

    def server(self) -> ToolServer:
        """Create the MCP server of these tools."""
        return ToolServer(SERVER, [self.check, self.test, self.run, self.build])

    async def _run(
        self, context: ToolContext, argv: Sequence[str], seconds: float
    ) -> dict[str, Any]:
        from symposium.code.build_output import (
            PytestReading,
            ScriptReading,
        )
        from symposium.code.build_run import Run, run_summarized

        reading = PytestReading() if "pytest" in argv else ScriptReading()
        whole = ["uv", "--no-progress", *argv]
        return await run_summarized(Run(whole, self._folder, seconds, reading), context.progress)


class Uv(ToolMod):
    """Add the tools to each session of a Python project."""

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session; none without a pyproject.toml."""
        folder = params.get("cwd")
        if not isinstance(folder, str) or nearest(Path(folder), [MANIFEST]) is None:
            return []
        return [UvTools(Path(folder)).server()]


def _checkers(folder: Path) -> dict[str, Sequence[str]]:
    place = nearest(folder, [MANIFEST])
    try:
        text = b"" if place is None else regular_content(place / MANIFEST, MAX_MANIFEST)
        manifest: Any = parse_toml(text.decode())
    except (OSError, ValueError) as error:
        raise BuildError(f"cannot read {MANIFEST}: {error}", "") from error
    tables = as_object(manifest.get("tool"))
    found: dict[str, Sequence[str]] = {
        name: argv for name, argv in CHECKERS.items() if name in tables
    }
    mypy = as_object(tables.get("mypy"))
    if "mypy" in found and not {"files", "packages", "modules"} & mypy.keys():
        # mypy needs a path; the other checkers use the current directory.
        found["mypy"] = ("mypy", ".")
    return found


spec = ComponentSpec(
    name="uv",
    summary="Adds the MCP server `uv`: check, test, run, and build, with short output.",
    make=Uv,
    suits=("pyproject.toml",),
    tokens=500,
)
