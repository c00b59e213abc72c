"""Clones, worktrees, and engines for tests of taskspaces: real git in temporary directories."""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection
from typing import IO

from symposium.tasks import tables
from symposium.tasks.creation import CreateRequest
from symposium.tasks.engine import Engine
from symposium.tasks.engine_context import Agents, EngineContext, NoAgents, SetupApproval
from symposium.tasks.events import Event
from symposium.tasks.model import Taskspace
from symposium.tasks.snapshots.snapshots import Snapshots
from symposium.tasks.snapshots.store import directory_of
from symposium.tasks.store import TaskStore
from symposium.tasks.tables import StageHook, save

FILES: Mapping[str, bytes] = {
    "README.md": b"# Sample\n",
    "src/app.py": b"".join(b"line = %d\n" % number for number in range(1, 21)),
    "src/data.bin": bytes(range(256)),
    ".gitignore": b"*.log\nbuild/\n.env\nsecret/\n",
}


GIT = shutil.which("git") or "git"


def git(*words: str, cwd: Path, stdin: IO[bytes] | None = None) -> str:
    """Run git as a user does; return its output."""
    done = subprocess.run(
        [GIT, *words], cwd=cwd, stdin=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {' '.join(words)}: {done.stderr}"
    return done.stdout.rstrip("\n")


def attempt(*words: str, cwd: Path) -> None:
    """Run git, which may fail."""
    subprocess.run([GIT, *words], cwd=cwd, capture_output=True, check=False)


def there(path: str | Path) -> bool:
    """Whether a path exists."""
    return os.path.lexists(path)


def settings_file(directory: Path) -> Path:
    """Write git settings with a name, and without settings of the machine."""
    path = directory / "gitconfig"
    path.write_text(
        "[user]\n\tname = Tess Ter\n\temail = tess@example.org\n[init]\n\tdefaultBranch = main\n"
        '[protocol "file"]\n\tallow = always\n',
        encoding="utf-8",
    )
    return path


def make_template(directory: Path) -> Path:
    """Create an upstream repository and a clone of it, to be copied for each test."""
    upstream = directory / "upstream"
    for name, content in FILES.items():
        path = upstream / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (upstream / "src" / "tool.sh").write_bytes(b"#!/bin/sh\necho tool\n")
    (upstream / "src" / "tool.sh").chmod(0o755)
    (upstream / "link").symlink_to("README.md")
    git("init", "-q", "-b", "main", cwd=upstream)
    git("add", "-A", cwd=upstream)
    git("commit", "-qm", "first", cwd=upstream)
    git("clone", "-q", "../upstream", "../clone", cwd=upstream)
    for hook in directory.glob("*/.git/hooks/*.sample"):
        hook.unlink()
    return directory


@dataclass(slots=True)
class AskedTrust:
    """Gives the configured answer, and records each question."""

    answer: bool = True
    asked: list[tuple[str, str, tuple[str, ...]]] = field(
        default_factory=list[tuple[str, str, tuple[str, ...]]]
    )

    async def allows(self, project: str, digest: str, commands: Sequence[str]) -> bool:
        self.asked.append((project, digest, tuple(commands)))
        return self.answer


@dataclass(frozen=True, slots=True)
class Prepared:
    """Taskspace created once, as by `Scene.make`, and copied for tests.

    Attributes:
        root: the directory in which it was created.
        before: every file of that directory before it was created.
        same: unchanged files, relative to the directory.
        naming: other files, which contain the path of the directory.
    """

    root: Path
    taskspace: Taskspace
    before: Mapping[str, tuple[int, bytes]]
    same: Collection[str]
    naming: Sequence[str]


@dataclass(slots=True)
class Scene:
    """Directory with an upstream, a clone, and an engine.

    Attributes:
        events: the announced events.
        prepared: a taskspace to copy.
    """

    root: Path
    engine: Engine
    context: EngineContext
    events: list[Event] = field(default_factory=list[Event])
    prepared: Prepared | None = None

    @property
    def clone(self) -> Path:
        """The user's clone."""
        return self.root / "clone"

    @property
    def upstream(self) -> Path:
        """The repository from which the clone was made."""
        return self.root / "upstream"

    async def make(self, name: str = "Fix login", task: str | None = "Fix it.") -> Taskspace:
        """Create a taskspace of the clone."""
        return await self.engine.create(CreateRequest(self.clone, name, task=task))

    async def made(self) -> Taskspace:
        """Return the taskspace that `make` creates, copied from one that was created once.

        For tests of later steps. The directory must be unchanged since the copy of the template.
        """
        prepared = self.prepared
        assert prepared, "the scene has no prepared taskspace"
        assert files_of(self.root) == prepared.before, "the place has changed: use make()"
        taskspace = _moved(prepared.taskspace, prepared.root, self.root)
        _copy_taskspace(prepared, self.root)

        def record(connection: Connection) -> None:
            wanted = taskspace.ports
            assert wanted
            is_free = self.context.is_port_free
            assert tables.claim(connection, taskspace.id, wanted.count, is_free) == wanted
            save(connection, taskspace)

        await self.context.journal.write(record)
        return taskspace

    def commit(self, worktree: Path, name: str, text: str) -> str:
        """Write a file and commit it; return the commit's id."""
        (worktree / name).write_text(text, encoding="utf-8")
        git("add", "-A", cwd=worktree)
        git("commit", "-qm", f"change {name}", cwd=worktree)
        return git("rev-parse", "HEAD", cwd=worktree)

    def again(self, options: "EngineOptions | None" = None) -> "Scene":
        """Return the same directory after a restart."""
        self.engine.close()
        return open_scene(self.root, options)


def store_of(scene: Scene) -> Path:
    """Return the git directory with the snapshots of the scene's clone."""
    (found,) = (scene.root / "state" / "snapshots").iterdir()
    return found


def every_port(port: int) -> bool:
    """Report every port as free: tests do not check the ports of this machine."""
    return bool(port)


def no_stage(stage: str) -> None:
    """Ignore a stage."""
    del stage


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Parts of an engine that a test replaces.

    Attributes:
        git_timeout: seconds that a git process from before a kill may still run.
    """

    trust: SetupApproval = field(default_factory=AskedTrust)
    agents: Agents = field(default_factory=NoAgents)
    passed: StageHook = no_stage
    now: Callable[[], float] = time.time
    is_port_free: Callable[[int], bool] = every_port
    git_timeout: float = 10.0


def open_scene(root: Path, options: EngineOptions | None = None) -> Scene:
    """Open an engine over a directory."""
    options = options or EngineOptions()
    events: list[Event] = []
    context = EngineContext(
        TaskStore(root / "state" / "taskspaces.db"),
        root / "state",
        agents=options.agents,
        trust=options.trust,
        tell=events.append,
        passed=options.passed,
        now=options.now,
        snapshots=Snapshots(options.now),
        is_port_free=options.is_port_free,
        git_timeout=options.git_timeout,
    )
    return Scene(root, Engine(context), context, events)


def copy_template(template: Path, root: Path) -> Path:
    """Copy the template's upstream and clone into a new directory."""
    shutil.copytree(template, root, symlinks=True, dirs_exist_ok=True)
    _name(root / "clone" / ".git" / "config", template, root)
    return root


async def prepare(template: Path, root: Path) -> Prepared:
    """Create the taskspace that `Scene.made` copies, in a new directory."""
    scene = open_scene(copy_template(template, root))
    before = files_of(root)
    made = await scene.make()
    scene.engine.close()
    after = files_of(root)
    same = {name for name, each in after.items() if before.get(name) == each}
    naming = [name for name in after.keys() - same if _names(root / name, root)]
    return Prepared(root, made, before, same, naming)


def files_of(root: Path) -> dict[str, tuple[int, bytes]]:
    """Map each file and link except the journal to its mode and its bytes without the root path."""
    found: dict[str, tuple[int, bytes]] = {}
    for place, folders, files in os.walk(root):
        for path in [Path(place, name) for name in (*files, *folders)]:
            name, mode = str(path.relative_to(root)), path.lstat().st_mode
            if path.is_symlink():
                found[name] = mode, os.fsencode(path.readlink())
            elif path.is_file() and not name.startswith(_JOURNAL):
                found[name] = mode, path.read_bytes().replace(os.fsencode(root), b"")
    return found


_JOURNAL = "state/taskspaces.db"


def _names(path: Path, root: Path) -> bool:
    return not path.is_symlink() and os.fsencode(root) in path.read_bytes()


def _name(path: Path, old: Path, new: Path) -> None:
    text = path.read_bytes()
    path.write_bytes(text.replace(os.fsencode(old), os.fsencode(new)))


def _moved(taskspace: Taskspace, old: Path, new: Path) -> Taskspace:
    project, worktree = Path(taskspace.project), Path(taskspace.worktree)
    return replace(
        taskspace,
        project=str(new / project.relative_to(old)),
        worktree=str(new / worktree.relative_to(old)),
    )


def _copy_taskspace(prepared: Prepared, root: Path) -> None:
    def is_left_out(path: Path) -> bool:
        name = str(path.relative_to(prepared.root))
        return name in prepared.same or name.startswith(_JOURNAL)

    shutil.copytree(
        prepared.root,
        root,
        symlinks=True,
        dirs_exist_ok=True,
        ignore=lambda place, names: {each for each in names if is_left_out(Path(place, each))},
    )
    for each in prepared.naming:
        _name(root / each, prepared.root, root)
    # The name of a store contains a hash of the path of its clone.
    old = directory_of(prepared.root / "state", prepared.root / "clone" / ".git")
    (root / old.relative_to(prepared.root)).rename(
        directory_of(root / "state", root / "clone" / ".git")
    )


def tree_of(directory: Path) -> dict[str, tuple[str, bytes]]:
    """Map each file below a directory, except git's own, to its kind and its bytes."""
    found: dict[str, tuple[str, bytes]] = {}
    for place, folders, files in os.walk(directory):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*files, *folders]:
            path = Path(place) / name
            key = str(path.relative_to(directory))
            if path.is_symlink():
                found[key] = "link", os.fsencode(path.readlink())
            elif path.is_file() and name != ".git":
                kind = "program" if path.stat().st_mode & 0o100 else "file"
                found[key] = kind, path.read_bytes()
    return found
