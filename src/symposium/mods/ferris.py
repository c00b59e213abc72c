"""Mod with tools to find, search, and read the source of dependencies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from symposium.chain.mod import ComponentSpec
from symposium.chain.tool_mod import ToolMod
from symposium.chain.tools import ToolServer

SERVER: Final = "ferris"
"""Name of the MCP server that the agent sees."""

EcosystemName: TypeAlias = Literal["rust", "python", "npm"]


class FerrisTools:
    """The tools of one session.

    Their modules are imported on first use: most sessions do not need archives, TLS, or version
    parsers.

    Args:
        project: the session's directory.
    """

    def __init__(self, project: Path) -> None:
        self._project = project

    async def get_rust_crate_source(
        self, crate_name: str, version: str | None = None, pattern: str | None = None
    ) -> dict[str, Any]:
        """Find the source of a Rust crate on this machine, or download it.

        `version` is a Cargo requirement (`1.2` means `^1.2`, `=1.2.3` exactly that); default: the
        version in Cargo.lock, else the latest. It returns the path of the source; with `pattern`,
        a regular expression, also the matching lines of `.rs` files, examples separately.
        """
        from symposium.code.packages.answers import crate_answer

        return await crate_answer(self._project, crate_name, version, pattern)

    async def fetch_package_source(
        self,
        ecosystem: EcosystemName,
        name: str,
        version: str | None = None,
        python: str | None = None,
    ) -> dict[str, Any]:
        """Find the source of a package on this machine, or download it. It returns the path.

        `version` is a range in the syntax of Cargo, PEP 440, or npm; default: the version in the
        lock file, else the installed one, else the latest. `python` is the path of an interpreter
        whose installed distributions are used; default: the project's.
        """
        from symposium.code.packages.answers import fetch_answer

        return await fetch_answer(self._project, (ecosystem, name, version), python)

    async def search_package_source(
        self, ecosystem: EcosystemName, name: str, pattern: str, version: str | None = None
    ) -> dict[str, Any]:
        """Return the lines of a package's source that match a regular expression.

        Use it to find an API. `pattern` is a Python regular expression; `version` as in
        fetch_package_source.
        """
        from symposium.code.packages.answers import search_answer

        return await search_answer(self._project, (ecosystem, name, version), pattern)

    async def read_package_source(
        self,
        ecosystem: EcosystemName,
        name: str,
        path: str = ".",
        version: str | None = None,
        start_line: int = 1,
        end_line: int | None = None,
    ) -> dict[str, Any]:
        """Read a file of a package's source, or list a directory.

        `path` is relative to the package; lines count from 1.
        """
        from symposium.code.packages.answers import read_answer

        lines = (start_line, end_line)
        return await read_answer(self._project, (ecosystem, name, version), path, lines)

    def server(self) -> ToolServer:
        """Create the MCP server of these tools."""
        return ToolServer(
            SERVER,
            [
                self.get_rust_crate_source,
                self.fetch_package_source,
                self.search_package_source,
                self.read_package_source,
            ],
        )


class Ferris(ToolMod):
    """Add the tools to each session, for its directory."""

    def session_servers(self, params: Mapping[str, Any]) -> Sequence[ToolServer]:
        """Create the tools of this session."""
        folder = params.get("cwd")
        return [FerrisTools(Path(folder)).server()] if isinstance(folder, str) else []


spec = ComponentSpec(
    name="ferris",
    summary="Adds the MCP server `ferris`: find and read the source of dependencies.",
    make=Ferris,
    suits=("Cargo.toml", "pyproject.toml", "setup.py", "requirements*.txt", "package.json"),
    tokens=610,
)
