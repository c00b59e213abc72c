"""No command runs from any git setting of a clone that is documented as a command."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.support.task_harness import GIT, Scene, git, there

from localio.git import GitCommandError
from symposium.code.diffs import DiffRange, changes
from symposium.code.query.functions import workspace
from symposium.config.git import git_at
from symposium.documents.handoff import look_at
from symposium.tasks.creation import CreateRequest
from symposium.tasks.deletion.trash import DeletionConsent
from symposium.tasks.land import Join, LandOptions
from symposium.tasks.model import TaskspaceError
from symposium.tasks.repository import add_worktree

_TABLE = tomllib.loads(
    (Path(__file__).parents[2] / "support/data/git_command_settings.toml").read_text("utf-8")
)
COMMANDS: dict[str, str] = _TABLE["commands"]
INNOCENT: dict[str, str] = _TABLE["innocent"]

_LOOKS_LIKE_A_COMMAND = re.compile(
    r"command|cmd|program|hook|editor|pager|askpass|helper|driver|textconv|clean$|smudge|process$"
    r"|tool|proxy|\.path$|update$|alias|exec|viewer|browser|pack$|vcs|tunnel|httpd|strategy"
    r"|mergeoptions|twohead|octopus|filter|template",
    re.IGNORECASE,
)

NAMES = ("evil", "a=b", "a.b", 'q"\\x=')
"""`git -c` cannot name the second, and needs escapes for the last."""

HOOKS = (
    *("post-checkout", "post-commit", "pre-commit", "pre-rebase", "post-rewrite", "pre-push"),
    *("reference-transaction", "post-merge", "post-index-change", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "pre-auto-gc", "pre-receive", "update", "proc-receive"),
    *("post-receive", "post-update", "push-to-checkout", "fsmonitor-watchman"),
)


class Traps:
    """Programs that write to a mark file, and settings that name them."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.mark = scene.root / "ran"
        self.folder = scene.root / "traps"
        self.folder.mkdir()
        self.program = self.trap(self.folder / "program")
        for name in ("git-remote-evil", "git-merge-evil", "git-evil", "evil"):
            self.trap(self.folder / name)
        for name in HOOKS:
            self.trap(self.folder / "hooks" / name)
        self.trap(self.folder / "hooks/hooks/post-checkout")

    def trap(self, path: Path) -> Path:
        """Create a program that writes its name into the mark."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> {self.mark}\ncat\n', encoding="utf-8")
        path.chmod(0o755)
        return path

    def plant(self, file: Path) -> None:
        """Write every setting of the table into a configuration file."""
        lines: list[str] = []
        for key, value in COMMANDS.items():
            # Only the part between two dots is free to choose.
            for name in NAMES if "NAME." in key else ("evil",):
                filled = value.replace("PROGRAM", str(self.program))
                filled = filled.replace("HOOKS", str(self.folder / "hooks"))
                filled = filled.replace("UPSTREAM", str(self.scene.upstream))
                named = key.replace("NAME", name).replace("PROGRAM", str(self.program))
                section, _, rest = named.partition(".")
                subsection, dot, last = rest.rpartition(".")
                quoted = subsection.replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'[{section} "{quoted}"]' if dot else f"[{section}]")
                escaped = filled.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
                lines.append(f'\t{last} = "{escaped}"')
        with file.open("a", encoding="utf-8") as opened:
            opened.write("\n".join([*lines, ""]))

    def hook(self, git_directory: Path) -> None:
        """Add every hook to a repository."""
        for name in HOOKS:
            self.trap(git_directory / "hooks" / name)


@pytest.fixture
def traps(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Traps:
    made = Traps(scene)
    monkeypatch.setenv("PATH", f"{made.folder}{os.pathsep}{os.environ['PATH']}")
    return made


def attributes() -> str:
    """Attributes that apply each driver of the table to some file."""
    lines = [f"*.{number} filter={n} diff={n} merge={n}" for number, n in enumerate(NAMES[:3])]
    return "\n".join(["* filter=evil diff=evil merge=evil", *lines, ""])


def plant_in(traps: Traps, where: str) -> None:
    """Plant the traps in one of the files from which git reads a clone's configuration."""
    clone = traps.scene.clone
    own, target = clone / ".git/config", clone / ".git/more"
    match where:
        case "config":
            target = own
        case "include":
            git("config", "include.path", str(target), cwd=clone)
        case "includeIf":
            git("config", f"includeIf.gitdir:{clone}/**.path", str(target), cwd=clone)
            git("config", "includeIf.onbranch:**.path", str(target), cwd=clone)
        case _:
            git("config", "extensions.worktreeConfig", "true", cwd=clone)
            target = clone / ".git/config.worktree"
    traps.plant(target)
    traps.hook(clone / ".git")
    (clone / ".git/info/attributes").write_text(attributes(), encoding="utf-8")


def prepare(scene: Scene) -> None:
    """Add files for the drivers, and submodules, on both sides."""
    for number in range(len(NAMES)):
        scene.commit(scene.upstream, f"f.{number}", "one\ntwo\nthree\n")
    scene.commit(scene.upstream, ".gitattributes", attributes())
    modules = '[submodule "sub"]\npath = sub\nurl = ext::evil\nignore = none\n'
    scene.commit(scene.upstream, ".gitmodules", modules)


def nest(traps: Traps, worktree: Path) -> None:
    """Create a repository inside the worktree with its own traps."""
    nested = worktree / "nested"
    nested.mkdir()
    git("init", "-q", cwd=nested)
    (nested / "inner").write_text("inner\n", encoding="utf-8")
    git("add", "-A", cwd=nested)
    git("commit", "-qm", "inner", cwd=nested)
    (nested / "inner").write_text("changed\n", encoding="utf-8")
    (nested / ".gitattributes").write_text(attributes(), encoding="utf-8")
    traps.plant(nested / ".git/config")
    traps.hook(nested / ".git")


async def live(scene: Scene, traps: Traps, join: Join) -> None:
    """Run every operation of Symposium in a clone."""
    engine = scene.engine
    made = await scene.make(str(join))
    worktree = Path(made.worktree)
    (worktree / "f.1").write_text("mine\ntwo\nthree\n", encoding="utf-8")
    nest(traps, worktree)
    await engine.history.snapshot(made.id, "tool call")
    (worktree / "f.1").write_text("gone\n", encoding="utf-8")
    (worktree / "new.2").write_text("new\n", encoding="utf-8")
    await engine.radar(scene.clone)
    await changes(worktree, DiffRange("HEAD"))
    await changes(worktree, DiffRange("HEAD~1..HEAD"))
    await look_at(worktree)
    await workspace(str(worktree)).files(worktree)
    await engine.trash.report(made.id)
    await engine.history.undo(made.id)
    await engine.orphans(scene.clone)
    await engine.taskspaces(scene.clone)
    await engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await engine.trash.undo(made.id)
    (worktree / "new.2").write_text("new\n", encoding="utf-8")
    quiet = git_at(worktree)
    await quiet.ask("add", "f.1", "new.2")
    await quiet.ask("commit", "-qm", "mine")
    shutil.rmtree(worktree / "nested")
    await engine.land(made.id, LandOptions(join))
    await engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await engine.trash.collect()


@pytest.mark.requirement("taskspaces.git-commands")
@pytest.mark.parametrize(
    ("where", "join"),
    [
        *(("config", Join.REBASE), ("config", Join.MERGE), ("include", Join.REBASE)),
        *(("includeIf", Join.MERGE), ("config.worktree", Join.REBASE)),
    ],
)
async def test_no_program_named_by_a_clone_runs(
    where: str, join: Join, scene: Scene, traps: Traps
) -> None:
    prepare(scene)
    git("pull", "-q", cwd=scene.clone)
    plant_in(traps, where)
    # The remote repository is hostile, too.
    scene.commit(scene.upstream, "f.1", "one\ntwo\ntheirs\n")
    traps.plant(scene.upstream / ".git/config")
    traps.hook(scene.upstream / ".git")

    await live(scene, traps, join)

    assert not there(traps.mark), traps.mark.read_text(encoding="utf-8")


@pytest.mark.requirement("taskspaces.git-commands")
async def test_no_program_of_a_worktree_runs_when_it_is_adopted(scene: Scene, traps: Traps) -> None:
    plant_in(traps, "config.worktree")
    path = scene.root / "own"
    await add_worktree(git_at(scene.clone), path, "-b", "own", "--", str(path))
    traps.plant(scene.clone / ".git/worktrees/own/config.worktree")

    made = await scene.engine.adopt(path)
    await scene.engine.trash.report(made.id)
    await scene.engine.land(made.id, LandOptions())

    assert not there(traps.mark), traps.mark.read_text(encoding="utf-8")


@pytest.mark.requirement("taskspaces.git-commands")
async def test_missing_objects_are_not_fetched_by_a_program_of_a_clone(
    scene: Scene, traps: Traps
) -> None:
    made = await scene.make()
    worktree = Path(made.worktree)
    first = scene.commit(worktree, "mine", "mine\n")
    scene.commit(worktree, "mine", "changed\n")
    blob = git("rev-parse", f"{first}:mine", cwd=worktree)
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "evil",
        "remote.evil.promisor": "true",
        "remote.evil.url": str(scene.upstream),
        "remote.evil.uploadpack": str(traps.program),
        "remote.ssh.promisor": "true",
        "remote.ssh.url": "ssh://localhost/nowhere",
        "core.sshCommand": str(traps.program),
    }.items():
        git("config", key, value, cwd=scene.clone)
    (scene.clone / ".git/objects" / blob[:2] / blob[2:]).unlink()

    await scene.engine.trash.report(made.id)
    with pytest.raises(GitCommandError):
        await scene.engine.trash.delete(made.id, DeletionConsent.ARCHIVE)
    await scene.engine.land(made.id, LandOptions())
    await scene.engine.create(CreateRequest(scene.clone, "another"))

    assert not there(traps.mark), traps.mark.read_text(encoding="utf-8")


@pytest.mark.requirement("taskspaces.git-commands")
def test_table_lists_every_command_setting_of_the_installed_git() -> None:
    said = subprocess.run([GIT, "help", "--config"], capture_output=True, text=True, check=True)
    documented = [line for line in said.stdout.split("\n") if line and " " not in line]
    known = {key.lower() for key in COMMANDS} | {plain(key) for key in INNOCENT}

    missing = {key for key in documented if _LOOKS_LIKE_A_COMMAND.search(key)}

    assert len(documented) > 500
    assert {key for key in missing if plain(key) not in known} == set()


def plain(key: str) -> str:
    """A documented key with `NAME` for the part that a user chooses."""
    return re.sub(r"<[^>]+>|\*", "NAME", key).lower()


@pytest.mark.requirement("taskspaces.git-commands")
async def test_push_to_a_local_repository_does_not_bypass_its_hooks(
    scene: Scene, traps: Traps
) -> None:
    bare = scene.root / "bare.git"
    git("clone", "-q", "--bare", str(scene.upstream), str(bare), cwd=scene.root)
    git("config", "remote.origin.url", str(bare), cwd=scene.clone)
    made = await scene.make()
    tip = scene.commit(Path(made.worktree), "mine", "mine\n")
    traps.trap(bare / "hooks/pre-receive")

    with pytest.raises(TaskspaceError, match=r"would run .*pre-receive"):
        await scene.engine.land(made.id, LandOptions(is_pushed=True))
    assert git("rev-parse", "main", cwd=bare) != tip
    (bare / "hooks/pre-receive").unlink()
    await scene.engine.land(made.id, LandOptions(is_pushed=True))

    assert git("rev-parse", "main", cwd=bare) == tip
    assert not there(traps.mark)
