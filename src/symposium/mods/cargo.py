"""Mod with tools to check, build, test, and run a Rust project."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta

from symposium.chain.mod import ComponentSpec
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolContext, ToolServer
from symposium.code.build_project import BUILD_TIMEOUT, MAX_TIMEOUT, argument, nearest

SERVER: Final = "cargo"
"""Name of the MCP server that the agent sees."""

Seconds: TypeAlias = Annotated[int, Meta(ge=1, le=MAX_TIMEOUT)]


class CargoTools:
    """The tools of one session.

    The modules that run a tool are imported on first use: most sessions never need them.

    Args:
        folder: the session's directory; cargo runs only there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(
        self,
        context: ToolContext,
        package: str | None = None,
        features: Sequence[str] = (),
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Check that the project compiles: `cargo check --all-targets`.

        It runs code of the project and its dependencies (build scripts, macros). It returns the
        first errors and warnings with file and line, the last lines, and the path of the log.
        """
        argv = ["check", "--all-targets", *_which(package, features)]
        return await self._run(context, argv, timeout_seconds)

    async def build(
        self,
        context: ToolContext,
        package: str | None = None,
        features: Sequence[str] = (),
        *,
        release: bool = False,
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Build the project: `cargo build`.

        It runs code of the project and its dependencies (build scripts, macros). It returns the
        first errors and warnings with file and line, the last lines, and the path of the log.
        """
        argv = ["build", *_which(package, features), *(["--release"] if release else [])]
        return await self._run(context, argv, timeout_seconds)

    async def test(
        self,
        context: ToolContext,
        name: str | None = None,
        package: str | None = None,
        features: Sequence[str] = (),
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Run all tests, or those whose name contains `name`: `cargo test --no-fail-fast`.

        It runs code of the project. It returns how many tests passed and failed, the failed ones
        with file and line, the last lines, and the path of the log.
        """
        only = [] if name is None else [argument(name, "name of a test")]
        argv = ["test", "--no-fail-fast", *_which(package, features), *only]
        return await self._run(context, argv, timeout_seconds)

    async def run(
        self,
        context: ToolContext,
        arguments: Sequence[str] = (),
        package: str | None = None,
        binary: str | None = None,
        timeout_seconds: Seconds = BUILD_TIMEOUT,
    ) -> dict[str, Any]:
        """Build and run a program of the project, without input: `cargo run -- ARGUMENTS`.

        It runs code of the project. It returns the exit code, the last lines, and the path of the
        log.
        """
        which = _which(package, ())
        if binary is not None:
            which += ["--bin", argument(binary, "binary")]
        return await self._run(context, ["run", *which], timeout_seconds, arguments)

    def server(self) -> ToolServer:
        """Create the MCP server of these tools."""
        return ToolServer(SERVER, [self.check, self.build, self.test, self.run])

    async def _run(
        self,
        context: ToolContext,
        argv: Sequence[str],
        seconds: float,
        arguments: Sequence[str] = (),
    ) -> dict[str, Any]:
        from symposium.code.build_output import CargoReading
        from symposium.code.build_run import Run, run_summarized

        command, *options = argv
        theirs = ["--", *arguments] if arguments else []
        whole = ["cargo", command, "--message-format=json", *options, *theirs]
        return await run_summarized(
            Run(whole, self._folder, seconds, CargoReading()), context.progress
        )


class Cargo(ToolMod):
    """Add the tools to each session of a Rust project."""

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session; none without a Cargo.toml."""
        folder = params.get("cwd")
        if not isinstance(folder, str) or nearest(Path(folder), ["Cargo.toml"]) is None:
            return []
        return [CargoTools(Path(folder)).server()]


def _which(package: str | None, features: Sequence[str]) -> list[str]:
    which = [] if package is None else ["--package", argument(package, "package")]
    names = [argument(each, "feature") for each in features]
    return which + (["--features", ",".join(names)] if names else [])


spec = ComponentSpec(
    name="cargo",
    summary="Adds the MCP server `cargo`: check, build, test, and run, with short output.",
    make=Cargo,
    suits=("Cargo.toml",),
    tokens=630,
)
