"""How an editor is to start us: an absolute path, since one started from a dock has little PATH."""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

OURS: Final = ("SYMPOSIUM_HOME", "SYMPOSIUM_CONFIG")
"""Variables that say where our files are; the editor must pass them on where they are set."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line for a settings file.

    Attributes:
        command: the program, an absolute path.
        args: what follows it.
        env: variables to set.
    """

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def argv(self) -> tuple[str, ...]:
        """The program and what follows it."""
        return self.command, *self.args


def find_launch(
    python: str = sys.executable, environment: Mapping[str, str] | None = None
) -> Launch:
    """How this installation is started again, by whoever and from wherever.

    Args:
        python: the interpreter that runs us.
        environment: ours, by default.
    """
    env = os.environ if environment is None else environment
    kept = {name: os.path.abspath(os.path.expanduser(env[name])) for name in OURS if env.get(name)}  # noqa: PTH100, PTH111 - a text for a file, no path to be opened
    beside = Path(python).absolute().with_name("symposium")
    found = shutil.which("symposium", path=env.get("PATH"))
    if beside.exists():
        # The name on the PATH survives an upgrade; it counts only if it is the same program.
        is_same = found is not None and Path(found).resolve() == beside.resolve()
        return Launch(str(Path(found).absolute() if found and is_same else beside), ("run",), kept)
    return Launch(str(Path(python).absolute()), ("-P", "-m", "symposium", "run"), kept)
