"""Install the SDKs of the peers' proxies, each once in a separate folder."""

import os
import shutil
import subprocess
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
FOLDER: Final = "SYMPOSIUM_BENCH_PEERS"
"""The variable for a folder instead of the cache; it contains `venv` and `node`."""

PYTHON_SDK: Final = "agent-client-protocol==0.12.1"
TYPESCRIPT_SDK: Final = "@agentclientprotocol/sdk@2.4.0"

TIMEOUT: Final = 180.0
"""Timeout of one installation in seconds."""


class NotInstalledError(Exception):
    """A peer cannot be installed on this machine; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Peers:
    """Command lines of the peers' proxies without the agent's; or None and the reason."""

    python: Sequence[str] | None
    typescript: Sequence[str] | None
    python_missing: str = ""
    typescript_missing: str = ""


def cache() -> Path:
    """Folder of the peers."""
    if named := os.environ.get(FOLDER):
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "symposium" / "bench"


def install() -> Peers:
    """Install missing peers and return all."""
    python, python_missing = _attempt(_python)
    typescript, typescript_missing = _attempt(_typescript)
    return Peers(python, typescript, python_missing, typescript_missing)


def _attempt(make: Callable[[Path], list[str]]) -> tuple[list[str] | None, str]:
    try:
        return make(cache()), ""
    except (NotInstalledError, OSError) as error:
        return None, str(error)


def _python(folder: Path) -> list[str]:
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(python.parents[1], with_pip=True)
    if subprocess.run([python, "-c", "import acp"], capture_output=True, check=False).returncode:
        _run([str(python), "-m", "pip", "install", "--quiet", PYTHON_SDK], folder)
    return [str(python), str(HERE / "python_sdk_proxy.py")]


def _typescript(folder: Path) -> list[str]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NotInstalledError("`node` with `npm` is not on the path")
    home = folder / "node"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules" / "@agentclientprotocol" / "sdk").exists():
        _run(
            [npm, "install", "--silent", "--no-audit", "--prefix", str(home), TYPESCRIPT_SDK], home
        )
    # An ES module looks for packages next to its own file.
    proxy = shutil.copy(HERE / "typescript_sdk_proxy.mjs", home)
    return [node, str(proxy)]


def _run(command: Sequence[str], folder: Path) -> None:
    try:
        subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=True, timeout=TIMEOUT
        )
    except subprocess.CalledProcessError as error:
        last = (error.stderr or error.stdout or "").strip().splitlines()[-1:]
        raise NotInstalledError(f"`{command[0]}` failed: {' '.join(last)}") from error
    except subprocess.TimeoutExpired as error:
        raise NotInstalledError(f"`{command[0]}` timed out after {TIMEOUT:g} s") from error
