"""Mod with tools to run the scripts of a package.json."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec
from msgspec import Meta

from localio.files import regular_content
from symposium.chain.mod import ComponentSpec
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContext, ToolServer
from symposium.code.build_project import (
    BUILD_TIMEOUT,
    MAX_MANIFEST,
    MAX_TIMEOUT,
    BuildError,
    nearest,
)

SERVER: Final = "npm"
"""Name of the MCP server that the agent sees."""

MANIFEST: Final = "package.json"

PROGRAMS: Final = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
"""Package manager by lock file; npm if the project has no other lock file."""

CHECKS: Final = ("check", "typecheck", "type-check", "lint")

Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)]


class NpmTools:
    """The tools of one session.

    The modules that run a tool are imported on first use: most sessions never need them.

    Args:
        folder: the session's directory; scripts run only there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(
        self, context: ToolContext, timeout_seconds: Seconds = BUILD_TIMEOUT
    ) -> dict[str, Any]:
        """Run the scripts `check`, `typecheck`, `type-check`, and `lint` of package.json.

        It runs code of the project. It returns, for each script, the first errors with file and
        line, the last lines, and the path of the log.
        """
        wanted = [each for each in CHECKS if each in _scripts(self._folder)]
        if not wanted:
            wanted_names = ", ".join(CHECKS)
            raise BuildError(f"{MANIFEST} has no script {wanted_names}", _known(self._folder))
        return {each: await self._run(context, each, (), timeout_seconds) for each in wanted}

    async def build(
        self, context: ToolContext, timeout_seconds: Seconds = BUILD_TIMEOUT
    ) -> dict[str, Any]:
        """Run the script `build` of package.json.

        It runs code of the project. It returns the first errors with file and line, the last
        lines, and the path of the log.
        """
        return await self._run(context, "build", (), timeout_seconds)

    async def test(
        self,
        context: ToolContext,
        arguments: Sequence[str] = (),
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Run the script `test` of package.json; `arguments` are passed to the test runner.

        It runs code of the project. It returns how many tests passed and failed, the failed ones,
        the last lines, and the path of the log.
        """
        return await self._run(context, "test", arguments, timeout_seconds)

    async def run(
        self,
        context: ToolContext,
        script: str,
        arguments: Sequence[str] = (),
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Run a script of package.json by its name, without input.

        It runs code of the project. It returns the exit code, the first errors with file and line,
        the last lines, and the path of the log.
        """
        return await self._run(context, script, arguments, timeout_seconds)

    def server(self) -> ToolServer:
        """Create the MCP server of these tools."""
        return ToolServer(SERVER, [self.check, self.build, self.test, self.run])

    async def _run(
        self, context: ToolContext, script: str, arguments: Sequence[str], seconds: float
    ) -> dict[str, Any]:
        from symposium.code.build_output import ScriptReading
        from symposium.code.build_run import Run, run_summarized

        if script not in _scripts(self._folder):
            raise BuildError(f"{MANIFEST} has no script {script[:80]!r}", _known(self._folder))
        program = _program(self._folder)
        # Only npm needs `--` after its own options.
        end = ["--"] if program == "npm" and arguments else []
        whole = [program, "run", script, *end, *arguments]
        return await run_summarized(
            Run(whole, self._folder, seconds, ScriptReading()), context.progress
        )


class Npm(ToolMod):
    """Add the tools to each session of a project with a package.json."""

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session; none without a package.json."""
        folder = params.get("cwd")
        if not isinstance(folder, str) or nearest(Path(folder), [MANIFEST]) is None:
            return []
        return [NpmTools(Path(folder)).server()]


def _scripts(folder: Path) -> Mapping[str, str]:
    place = nearest(folder, [MANIFEST])
    try:
        text = b"null" if place is None else regular_content(place / MANIFEST, MAX_MANIFEST)
        manifest: Any = msgspec.json.decode(text)
    except (OSError, ValueError, RecursionError) as error:
        raise BuildError(f"cannot read {MANIFEST}: {error}", "") from error
    match manifest:
        case {"scripts": {**scripts}}:
            return {
                name: text
                for name, text in cast("dict[str, Any]", scripts).items()
                if isinstance(text, str) and not name.startswith("-")
            }
        case _:
            return {}


def _known(folder: Path) -> str:
    names = ", ".join(_scripts(folder))
    return f"existing scripts: {names[:1000]}" if names else "it has no scripts"


def _program(folder: Path) -> str:
    place = nearest(folder, [*PROGRAMS, "package-lock.json"])
    if place is None:
        return "npm"
    found = (name for lock, name in PROGRAMS.items() if (place / lock).is_file())
    return next(found, "npm")


spec = ComponentSpec(
    name="npm",
    summary="Adds the MCP server `npm`: run scripts of package.json, with short output.",
    make=Npm,
    suits=("package.json",),
    tokens=460,
)
