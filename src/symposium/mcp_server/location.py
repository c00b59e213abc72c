"""The project, task, and terminal of an agent."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from symposium.documents.first_prompt import TaskContext
from symposium.documents.guidance import library_for
from symposium.tasks.model import RefusedNameError, canonical_id
from symposium.tasks.project_files import locate
from symposium.tasks.task_files import BESIDE_FOLDER, TASKSPACE_FILE, read_task_file

TASKSPACE: Final = "SYMPOSIUM_TASKSPACE"
PROJECT: Final = "SYMPOSIUM_PROJECT"
"""Variables that override the directory, for agents started elsewhere."""


@dataclass(frozen=True, slots=True)
class AgentLocation:
    """The taskspace and project of an agent.

    Attributes:
        directory: its working directory.
        project: the project's directory; empty if unknown.
        taskspace: the id in lower case; empty in no taskspace.
    """

    directory: Path
    project: str = ""
    taskspace: str = ""

    @property
    def is_in_taskspace(self) -> bool:
        return bool(self.taskspace)


def locate_agent(directory: Path, environment: Mapping[str, str] | None = None) -> AgentLocation:
    """Taskspace and project by the environment, else by the directory.

    Args:
        directory: working directory of the agent.
        environment: environment variables. Default: those of this process.
    """
    env = os.environ if environment is None else environment
    found = locate(directory)
    project = env.get(PROJECT) or (str(found.project) if found else "")
    taskspace = _id(env.get(TASKSPACE, "")) or (found.taskspace if found else None) or ""
    return AgentLocation(directory, project, taskspace)


def written_down(standing: AgentLocation) -> TaskContext | None:
    """The task by the taskspace's file, for use without a daemon; None without a file."""
    for file in _files(standing):
        known = read_task_file(file)
        if known is not None and known.taskspace.id == standing.taskspace:
            task = known.taskspace
            return TaskContext(task.name, task.description, task.initial_prompt, task.collaborator)
    return None


def _files(standing: AgentLocation) -> Iterator[Path]:
    here = standing.directory.absolute()
    homes = [f"{kind}-{standing.taskspace}" for kind in ("task", "taskspace")]
    project = Path(standing.project) if standing.project else here
    beside = project.with_name(f"{project.name}.tasks") / BESIDE_FOLDER
    yield from (place / TASKSPACE_FILE for place in (here, *here.parents))
    for folder in (beside, project, project / BESIDE_FOLDER):
        yield from (folder / home / TASKSPACE_FILE for home in homes)


def _id(text: str) -> str:
    try:
        return canonical_id(text)
    except RefusedNameError:
        return ""


SHELL_PID: Final = "SYMPOSIUM_SHELL_PID"
"""Variable that overrides the shell found."""

MAX_GENERATIONS: Final = 32
_LIST_TIMEOUT: Final = 2.0

_SHELLS: Final = frozenset(
    {"bash", "csh", "dash", "elvish", "fish", "ksh", "nu", "pwsh", "sh", "tcsh", "xonsh", "zsh"}
)
_EDITORS: Final = re.compile(
    r"visual studio code|code\.app|electron|\b(?:code|code-oss|codium|vscodium|cursor|windsurf|zed"
    r"|zed-editor|nvim|vim|emacs|hx|helix|idea|pycharm|webstorm|goland|clion|rider)\b"
)
_NO_EDITOR: Final = re.compile(r"code helper")


@dataclass(frozen=True, slots=True)
class Process:
    """Process with its parent and its command line.

    Attributes:
        name: name of the program, without the path.
        arguments: command line.
    """

    pid: int
    parent: int
    name: str
    arguments: Sequence[str]

    @property
    def is_editor(self) -> bool:
        """Whether it looks like an editor."""
        words = " ".join([self.name, *self.arguments[:1]]).lower()
        return bool(_EDITORS.search(words)) and not _NO_EDITOR.search(words)

    @property
    def is_shell(self) -> bool:
        return self.name.lstrip("-").removesuffix(".exe").lower() in _SHELLS

    @property
    def is_terminals(self) -> bool:
        """Whether it is the shell that a terminal has started: not one that runs a script."""
        if "(qterm)" in " ".join([self.name, *self.arguments]):
            return True
        options = [word for word in self.arguments[1:] if word.startswith("-")]
        runs = len(self.arguments) > 1 + len(options) or any("c" in each for each in options)
        return self.is_shell and not runs


@dataclass(frozen=True, slots=True)
class Terminal:
    """Process ids of shell and editor; None if not found."""

    shell: int | None
    editor: int | None


def terminal_of(pid: int, environment: Mapping[str, str] | None = None) -> Terminal:
    """The terminal that a process runs in; never fails.

    Args:
        pid: the process.
        environment: environment variables. Default: those of this process.
            `$SYMPOSIUM_SHELL_PID` overrides the detected shell.
    """
    env = os.environ if environment is None else environment
    said = env.get(SHELL_PID, "")
    found = choose(ancestors(pid))
    return Terminal(int(said), found.editor) if said.isdecimal() and len(said) < 10 else found  # noqa: PLR2004 - digits of a pid


def choose(chain: Sequence[Process]) -> Terminal:
    """The shell among the ancestors, the nearest first, and the editor above it.

    With an editor, the outermost shell that a terminal of it has started; without one, the nearest
    shell that runs no script; else any shell.
    """
    above = next((place for place, each in enumerate(chain) if each.is_editor), None)
    below = chain if above is None else list(reversed(chain[:above]))
    shells = [each for each in below if each.is_terminals] or [
        each for each in below if each.is_shell
    ]
    shell = shells[0].pid if shells else None
    return Terminal(shell, None if above is None else chain[above].pid)


def ancestors(pid: int) -> list[Process]:
    """The parent of a process, its parent, and so on, as far as can be seen."""
    known = None if sys.platform.startswith("linux") else _from_ps()
    found: list[Process] = []
    process = _look(pid, known)
    while process is not None and process.parent > 1 and len(found) < MAX_GENERATIONS:
        process = _look(process.parent, known)
        if process is not None:
            found.append(process)
    return found


def _look(pid: int, known: Mapping[int, Process] | None) -> Process | None:
    return _from_proc(pid) if known is None else known.get(pid)


def _from_proc(pid: int) -> Process | None:
    place = Path("/proc") / str(pid)
    try:
        stat = (place / "stat").read_text(errors="replace")
        line = (place / "cmdline").read_bytes()
    except OSError:
        return None
    return read_stat(pid, stat, line)


def read_stat(pid: int, stat: str, line: bytes) -> Process | None:
    """A process from what Linux says of it; None for what is no such text.

    Args:
        pid: its id.
        stat: `/proc/PID/stat`; the name in it may hold anything, parentheses too.
        line: `/proc/PID/cmdline`.
    """
    name = stat[stat.find("(") + 1 : stat.rfind(")")]
    rest = stat[stat.rfind(")") + 1 :].split()
    if len(rest) < 2 or not rest[1].isdecimal():  # noqa: PLR2004 - the state, then the parent
        return None
    words = [word.decode(errors="replace") for word in line.rstrip(b"\0").split(b"\0")]
    return Process(pid, int(rest[1]), name, words)


def _from_ps() -> dict[int, Process]:
    try:
        done = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,comm=,args="],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LIST_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    read = (read_ps_line(line) for line in done.stdout.splitlines())
    return {process.pid: process for process in read if process is not None}


def read_ps_line(line: str) -> Process | None:
    """A process from a line of `ps -o pid=,ppid=,comm=,args=`; None for any other line."""
    words = line.split()
    if len(words) < 3 or not (words[0].isdecimal() and words[1].isdecimal()):  # noqa: PLR2004 - two ids and a name
        return None
    return Process(int(words[0]), int(words[1]), words[2].rpartition("/")[2], words[3:])


def probed(directory: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    """The taskspace, the terminal and the guidance of a directory; nothing is asked or started."""
    standing = locate_agent(directory, environment)
    terminal = terminal_of(os.getpid(), environment)
    shelf = library_for(directory, environment).shelf()
    return {
        "directory": str(directory),
        "project": standing.project or None,
        "taskspace": standing.taskspace or None,
        "shell_pid": terminal.shell,
        "editor_pid": terminal.editor,
        "guidance": {text.id: text.layer for text in shelf.listed},
        "untrusted": [item.name for item in shelf.untrusted],
        "troubles": list(shelf.problems),
    }
