"""Home directory and git settings for the tests, separate from the developer's."""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DEVELOPER_HOME: Final = "DEVELOPER_HOME"
"""The variable that names the developer's own home, for package clients in `tests/e2e`."""

GIT_SETTINGS: Final = """\
[user]
	name = Tess Ter
	email = tess@example.org
[init]
	defaultBranch = main
[maintenance]
	auto = false
"""

KEPT: Final = frozenset(
    {
        *("GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
        *("SYMPOSIUM_PEERS", "SYMPOSIUM_TRANSCRIPTS"),
    }
)
"""Variables that locate files of the machine, not ones that change a program's behavior."""


def cleaned(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings of git, of desktops, and of Symposium."""
    prefixes = ("GIT_", "XDG_", "SYMPOSIUM_")
    return {
        name: value
        for name, value in environment.items()
        if name in KEPT or not name.startswith(prefixes)
    }


def take_own_home() -> Path:
    """Create an empty home with git settings for this process and its children."""
    home = Path(tempfile.mkdtemp(prefix="symposium-tests-"))
    settings = home / ".gitconfig"
    settings.write_text(GIT_SETTINGS, encoding="utf-8")
    developer = os.environ.get(DEVELOPER_HOME) or str(Path.home())
    rustup = Path(developer, ".rustup")
    kept = cleaned(os.environ)
    os.environ.clear()
    os.environ.update(
        kept
        | {
            "HOME": str(home),
            "GIT_CONFIG_GLOBAL": str(settings),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            DEVELOPER_HOME: developer,
        }
    )
    if rustup.is_dir():
        # The toolchain is a program; cargo does not read the developer's settings.
        os.environ.setdefault("RUSTUP_HOME", str(rustup))
    return home


def leave_own_home(home: Path) -> None:
    """Remove the home, with everything that the tests left in it."""
    shutil.rmtree(home, ignore_errors=True)


def another_home() -> Path:
    """Create an empty home for one test; it is removed with the home of the session."""
    return Path(tempfile.mkdtemp(prefix="user-", dir=Path(os.environ["GIT_CONFIG_GLOBAL"]).parent))
