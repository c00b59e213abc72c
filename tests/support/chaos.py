"""Ways in which an agent destroys its worktree, and the work that must be restored."""

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from tests.support.task_cli import TaskCli, until
from tests.support.task_harness import git, make_template, settings_file, tree_of

WAYS: Final = {
    "rm everything": "rm -rf ./* .[!.]*",
    "rm the worktree itself": 'rm -rf "$PWD"',
    "rm one folder": "rm -rf src",
    "rm all but git": "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +",
    "git clean -fdx": "git clean -qfdx",
    "git clean -ffdx": "git clean -qffdx",
    "git reset --hard": "git reset -q --hard",
    "git reset --hard to the root": "git reset -q --hard $(git rev-list --max-parents=0 HEAD)",
    "git checkout .": "git checkout -q -- .",
    "git restore everything": "git restore --staged --worktree .",
    "git rm -r": "git rm -rqf .",
    "git rm --cached": "git rm -rqf --cached .",
    "git read-tree of nothing": "git read-tree --empty",
    "git stash and drop": "git stash -qu && git stash drop -q",
    "git stash clear": "git stash -q && git stash clear",
    "checkout of another branch": "git checkout -qf -b other && rm -rf src",
    "detached with new commits": "git checkout -qf --detach HEAD~1 && echo x > y",
    "an orphan branch": "git checkout -q --orphan nothing && git rm -rqf .",
    "the branch deleted": "git checkout -qf --detach && git branch -qD task/fix-login",
    "the branch's ref deleted": "git update-ref -d refs/heads/task/fix-login",
    "the branch moved": "git update-ref refs/heads/task/fix-login HEAD~1",
    "the branch renamed": "git branch -qm elsewhere",
    "history rewritten": "git reset -q --soft HEAD~1 && git commit -qm squashed",
    "an amended commit": "echo x >> README.md && git commit -qa --amend -m amended",
    "a stopped rebase of all": "git stash -qu; git rebase --root --exec false; git stash drop",
    "rebase half way": (
        "git commit -qam wip; git checkout -qB side HEAD~1; echo side > src/app.py;"
        "git commit -qam side; git rebase task/fix-login || true"
    ),
    "merge half way": (
        "git commit -qam wip; git checkout -qB side HEAD~1; echo side > src/app.py;"
        "git commit -qam side; git merge task/fix-login || true"
    ),
    "cherry-pick half way": (
        "git commit -qam wip; git checkout -qB side HEAD~1; echo side > src/app.py;"
        "git commit -qam side; git cherry-pick task/fix-login || true"
    ),
    "the index cut": 'truncate -s 40 "$(git rev-parse --git-path index)"',
    "the index garbage": 'echo garbage > "$(git rev-parse --git-path index)"',
    "the index deleted": 'rm "$(git rev-parse --git-path index)"',
    "a lock left behind": 'touch "$(git rev-parse --git-path index.lock)"; rm -rf src',
    ".git gone": "rm .git; rm -rf src",
    ".git a lie": "echo 'gitdir: /nowhere' > .git; rm -rf src",
    ".git a repository of its own": "rm .git; git init -q; git add -A; git commit -qm x; rm -r src",
    ".git a link": "rm .git; ln -s /tmp .git; rm -rf src",
    "the clone's record gone": 'rm -rf "$(git rev-parse --absolute-git-dir)" src',
    "the worktree pruned": "cd ..; rm -rf fix-login; git -C ../clone worktree unlock fix-login;"
    "git -C ../clone worktree prune",
    "the worktree removed": 'w="$PWD"; cd ../../clone; git worktree remove -f -f "$w"',
    "HEAD garbage": 'echo garbage > "$(git rev-parse --git-path HEAD)"',
    "all modes gone": "chmod -R 000 src",
    "the program no program": "chmod -x src/tool.sh; chmod +x README.md",
    "a link instead of a file": "rm README.md; ln -s /etc/passwd README.md",
    "a file instead of a link": "rm link; echo no > link",
    "a file instead of a folder": "rm -rf src; echo no > src",
    "a folder instead of a file": "rm README.md; mkdir README.md; echo x > README.md/x",
    "a link instead of a folder": "mv src ../moved; ln -s ../moved src; rm -rf ../moved/app.py",
    "all moved": "mkdir moved; mv src README.md moved/",
    "every file cut": "find . -type f ! -path './.git*' -exec truncate -s 0 {} +",
    "every file overwritten": "find . -type f ! -name .git -exec sh -c 'echo no > \"$1\"' . {} ';'",
    "line endings turned": "sed -i 's/$/\\r/' src/app.py README.md",
    "everything ignored": "echo '*' > .gitignore; rm -rf src untracked",
    "nothing ignored": "rm .gitignore; rm -rf src untracked",
    "attributes that convert": "echo '* text eol=crlf' > .gitattributes; git add --renormalize .",
    "the nested repository gone": "rm -rf nested",
    "the nested repository's history gone": "rm -rf nested/.git",
    "the nested repository emptied": "cd nested && git rm -rqf . && git commit -qm gone",
    "the submodule gone": "rm -rf libs",
    "the submodule deinitialised": "git submodule deinit -qf libs",
    "the submodule emptied": "cd libs && git rm -rqf . && git commit -qm gone",
    "the submodules' histories gone": 'rm -rf "$(git rev-parse --git-dir)/modules"',
    "the submodules' histories elsewhere": (
        'd="$(git rev-parse --absolute-git-dir)/modules"; rm -rf ../away; mv "$d" ../away;'
        'ln -s "$PWD/../away" "$d"; rm -rf libs'
    ),
    "the submodule's commits gone": (
        "cd libs && git reset -q --hard HEAD~1 && git reflog expire --expire=now --all &&"
        "git gc -q --prune=now"
    ),
    "empty folders gone": "rmdir empty/deep empty; rm -rf untracked",
    "strange names gone": "rm -rf untracked",
    "refs packed, logs and garbage gone": (
        "git reset -q --hard HEAD~1; git reflog expire --expire=now --all;"
        "git gc -q --prune=now; rm -rf src"
    ),
}
"""Commands of the agent, in a shell in its worktree."""

G: Final = 'G="$(git rev-parse --git-common-dir)"; '

MORE_WAYS: Final = {
    "reflogs expired, all garbage gone": (
        "git reset -q --hard HEAD~1; git reflog expire --expire=now --expire-unreachable=now --all;"
        "git stash clear; git gc -q --prune=now"
    ),
    "packed-refs cut": G + 'git pack-refs --all; truncate -s 60 "$G/packed-refs"; rm -rf src',
    "packed-refs garbage": G + 'git pack-refs --all; echo no > "$G/packed-refs"; rm -rf src',
    "loose objects gone": G + 'rm -rf "$G"/objects/[0-9a-f][0-9a-f]; rm -rf src',
    "loose objects cut": G + 'find "$G"/objects -type f -exec truncate -s 3 {} +; rm -rf src',
    "loose objects swapped": (
        G + 'a=$(find "$G"/objects/?? -type f | head -1); for f in "$G"/objects/??/*; do'
        ' [ "$f" = "$a" ] || { chmod u+w "$f"; cat "$a" > "$f"; }; done; rm -rf src'
    ),
    "packs gone": G + 'git gc -q; rm -f "$G"/objects/pack/*; rm -rf src',
    "packs overwritten": (
        G + 'git gc -q; for p in "$G"/objects/pack/*; do chmod u+w "$p"; echo no > "$p"; done;'
        "rm -rf src"
    ),
    "an alternate that leads nowhere": (
        G + 'mkdir -p "$G/objects/info"; echo /nowhere > "$G/objects/info/alternates"; rm -rf src'
    ),
    "all refs gone": G + 'rm -rf "$G/refs" "$G/packed-refs"; rm -rf src',
    "the clone's HEAD gone": G + 'rm "$G/HEAD"; rm -rf src',
    "the clone's configuration gone": G + 'rm "$G/config"; rm -rf src',
    "refs of Symposium gone": "git for-each-ref --format='delete %(refname)' refs/symposium"
    " | git update-ref --stdin; rm -rf src",
    "tags gone": "git tag -d light full; rm -rf src",
    "tags moved": "git tag -f light HEAD~1; git tag -f full HEAD~1",
    "only a tag gone": "git tag -d light",
    "notes gone": "git notes remove HEAD; git update-ref -d refs/notes/commits",
    "another branch gone": "git branch -D idea",
    "another branch moved": "git branch -f idea HEAD~1",
    "a file for a folder of branches": (
        G + "git branch -m idea x; git branch -m x idea/deep; rm -rf src"
    ),
    "sparse checkout": "git sparse-checkout set --no-cone /README.md",
    "skip-worktree": "git update-index --skip-worktree src/app.py; rm src/app.py",
    "assume-unchanged": "git update-index --assume-unchanged README.md; echo x > README.md",
    "only flags of the index": "git update-index --assume-unchanged README.md",
    "an executable bit in the index": "git update-index --chmod=+x README.md",
    "an entry without a file": "git update-index --add --cacheinfo 100644,"
    "$(git hash-object -w README.md),nowhere",
    "intent to add": "git add -N untracked/binary; rm -rf untracked",
    "index version 4 and split": (
        "git update-index --index-version 4; git update-index --split-index; rm -rf src"
    ),
    "excludes changed": G + 'echo "untracked" >> "$G/info/exclude"; rm -rf untracked',
    "the worktree moved": "cd ..; git -C ../clone worktree unlock fix-login;"
    "git -C ../clone worktree move fix-login moved; rm -rf moved/src",
    "the worktree's folder moved by hand": 'w="$PWD"; mv "$w" "$w-moved"; rm -rf "$w-moved/src"',
    "ignored work gone": "rm -rf secret notes.log build .env",
    "ignored work in repositories gone": "rm -rf nested/.env nested/local libs/.env",
    "modes of folders": "chmod 700 src; chmod 711 empty; chmod 500 untracked",
    "an empty folder with another mode": "chmod 700 empty/deep",
    "hard links cut": "cp -p linked-one x; mv x linked-one",
    "hard links written through": "echo other > linked-one",
    "hard links to what was apart": "ln -f README.md src/app.py",
    "attributes of files gone": "rm marked; echo marked > marked",
    "a pipe gone": "rm pipe; mkdir pipe",
    "a socket in a file's place": (
        "rm README.md;"
        " python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('README.md')\""
    ),
    "deep folders gone": "rm -rf far",
    "folders swapped": "mv src x; mv far src; mv x far",
    "folders in one another": "mkdir -p a; mv src a/; mv a nested/; mv nested untracked/",
    "links in a circle": "rm -rf src; ln -s . src; ln -s loop loop",
    "a link that leads out": "mv src ../out; ln -s ../out src; echo x > src/app.py",
    "a name in another case": "mv README.md readme.md; mv src SRC",
    "names that are no text": "rm -rf names; mkdir names; printf x > \"names/$(printf '\\377')\"",
    "files that look like Symposium's": "mkdir -p ./-; echo x > ./-/+; echo x > ./+; rm -rf src",
    "many files": "mkdir many; cd many; seq 3000 | xargs touch; cd ..; rm -rf src",
    "many folders": "seq -f 'many/%g' 1500 | xargs mkdir -p; rm -rf src",
    "a bare repository": "git clone -q --bare . bare; rm -rf src nested",
    "a repository of a repository": "git clone -q nested nested/again; rm -rf nested/.git",
    "the submodule absorbed elsewhere": "rm libs/.git; git -C libs init -q; rm -rf libs/lib.txt",
    "plumbing of an empty tree": "git commit -q --allow-empty -m x; git update-ref HEAD"
    " $(git commit-tree -m none $(git mktree < /dev/null)); git reset -q --hard",
    "a filter that empties": (
        "git config filter.x.smudge true; git config filter.x.clean true;"
        " echo '* filter=x' > .gitattributes; rm src/app.py; git checkout -- src"
    ),
    "git replace": "git replace -f HEAD HEAD~1; git reset -q --hard",
    "grafted history": G + 'git rev-parse HEAD > "$G/shallow"; rm -rf src',
    "filter-branch": (
        "git stash -qu; FILTER_BRANCH_SQUELCH_WARNING=1"
        " git filter-branch -f --index-filter 'git rm -rq --cached .' -- HEAD;"
        " git stash drop"
    ),
    "a repository inside that is filtered": (
        "cd nested; FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'echo x';"
        " git reflog expire --expire=now --all; git gc -q --prune=now"
    ),
    "twenty thousand files": "mkdir many; cd many; seq 20000 | xargs touch; cd ..; rm -rf src",
    "large files and garbage collected": (
        "head -c 20000000 /dev/urandom > large; git add large; git commit -qam large;"
        " git reset -q --hard HEAD~2; git reflog expire --expire=now --all; git gc -q --prune=now"
    ),
    "folders that only can be read": "rm -rf src/*; chmod 500 src untracked far; rm -f README.md",
    "only .git gone": "rm .git",
    "only .git a lie": "echo 'gitdir: /nowhere' > .git",
    "only the clone's HEAD garbage": G + 'echo no > "$G/HEAD"',
    "only the clone's configuration gone": G + 'rm "$G/config"',
    "only a whole history of its own": (
        "rm .git; git init -q; git commit -q --allow-empty -m x; git worktree add -q ../extra"
    ),
    "times from long ago": (
        "for f in README.md src/app.py; do t=$(stat -c %s $f); head -c $t /dev/zero > $f;"
        " touch -d '2001-01-01' $f; done"
    ),
    "written through a mapping": (
        "python3 -c \"import mmap; f = open('README.md', 'r+b');"
        " m = mmap.mmap(f.fileno(), 0); m[0:3] = b'xxx'; m.close(); f.close()\""
    ),
}
"""Ways through plumbing, damage to the clone, and file attributes that git does not store."""

STATE: Final = (
    ("status", "--porcelain=v2", "--branch"),
    ("ls-files", "-s"),
    ("log", "--format=%H %s"),
    ("stash", "list", "--format=%H %gs"),
    ("symbolic-ref", "HEAD"),
)


def work_in(worktree: Path) -> None:
    """Put committed, staged, unstaged, untracked, stashed and nested work into a worktree."""
    (worktree / "committed.txt").write_text("committed\n", encoding="utf-8")
    git("add", "-A", cwd=worktree)
    git("commit", "-qm", "change committed.txt", cwd=worktree)
    (worktree / "README.md").write_text("stashed\n", encoding="utf-8")
    git("stash", "push", "-qm", "kept", cwd=worktree)
    (worktree / "src/app.py").write_text("staged\n", encoding="utf-8")
    git("add", "src/app.py", cwd=worktree)
    (worktree / "src/app.py").write_text("staged, then changed\n", encoding="utf-8")
    strange = worktree / "untracked"
    strange.mkdir()
    for name in ("line\nend", 'quo"te', "-dash", "sp ace", "\u00e9\U0001f4a3", "CON", "*"):
        (strange / name).write_text(name, encoding="utf-8")
    (strange / "binary").write_bytes(bytes(range(256)) * 50)
    (worktree / "empty/deep").mkdir(parents=True)
    (worktree / ".env").write_text("SECRET=1\n", encoding="utf-8")
    more_work_in(worktree)
    add_submodule(worktree)
    nested = worktree / "nested"
    nested.mkdir()
    git("init", "-q", cwd=nested)
    (nested / "inner.txt").write_text("inner\n", encoding="utf-8")
    git("add", "-A", cwd=nested)
    git("commit", "-qm", "inner", cwd=nested)
    (nested / "loose.txt").write_text("not committed\n", encoding="utf-8")
    (nested / ".env").write_text("SECRET=2\n", encoding="utf-8")
    (nested / "local").mkdir()
    (nested / "local/rows").write_text("rows\n", encoding="utf-8")
    (nested / ".git/info/exclude").write_text(".env\nlocal/\n", encoding="utf-8")
    (worktree / "libs/.env").write_text("SECRET=3\n", encoding="utf-8")


def more_work_in(worktree: Path) -> None:
    """Put ignored work, refs, and what git does not keep of files into a worktree."""
    for name in ("secret/deep/key", "notes.log", "build/out"):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_text(name, encoding="utf-8")
    git("tag", "light", cwd=worktree)
    git("tag", "-a", "-m", "annotated", "full", "HEAD~1", cwd=worktree)
    git("branch", "idea", cwd=worktree)
    git("notes", "add", "-m", "a note", cwd=worktree)
    (worktree / "linked-one").write_text("linked", encoding="utf-8")
    (worktree / "linked-two").hardlink_to(worktree / "linked-one")
    (worktree / "marked").write_text("marked\n", encoding="utf-8")
    os.setxattr(worktree / "marked", "user.mark", b"here")
    os.mkfifo(worktree / "pipe")
    far = worktree.joinpath("far", *(f"{number:02}" for number in range(60)))
    far.mkdir(parents=True)
    (far / "file").write_text("far", encoding="utf-8")
    (worktree / "names").mkdir()
    (worktree / os.fsdecode(b"names/\xfe\xff")).write_text("no text", encoding="utf-8")


def add_submodule(worktree: Path) -> None:
    """Add a submodule `libs` with a commit that exists only there."""
    upstream = worktree.with_name(f"{worktree.name} libs")
    git("init", "-q", str(upstream), cwd=worktree)
    (upstream / "lib.txt").write_text("lib\n", encoding="utf-8")
    git("add", "-A", cwd=upstream)
    git("commit", "-qm", "lib", cwd=upstream)
    git("submodule", "--quiet", "add", str(upstream), "libs", cwd=worktree)
    git("commit", "-qm", "a submodule", "--", "libs", ".gitmodules", cwd=worktree)
    (worktree / "libs/lib.txt").write_text("changed\n", encoding="utf-8")
    git("commit", "-qam", "of this worktree alone", cwd=worktree / "libs")


def state_of(worktree: Path) -> list[str]:
    """State of git that must be restored."""
    return [git(*words, cwd=worktree) for words in STATE]


def whole(worktree: Path) -> list[object]:
    """The same, with every byte, and the repositories inside."""
    inside = [state_of(worktree / each)[:3] for each in ("nested", "libs")]
    return [tree_of(worktree), state_of(worktree), inside, *beside_git(worktree)]


def beside_git(worktree: Path) -> list[object]:
    """State that git does not track, and state of the clone outside of this worktree."""
    modes = {name: (worktree / name).lstat().st_mode for name in ("src", "empty/deep", "pipe")}
    is_linked = (worktree / "linked-one").samefile(worktree / "linked-two")
    common = worktree / git("rev-parse", "--git-common-dir", cwd=worktree)
    refs = [line for line in git("for-each-ref", cwd=worktree).splitlines() if ORIGIN not in line]
    flags = git("ls-files", "-v", cwd=worktree)
    excluded = (common / "info/exclude").read_bytes()
    return [modes, is_linked, os.getxattr(worktree / "marked", "user.mark"), refs, flags, excluded]


ORIGIN: Final = "refs/remotes/"

AGENT: Final = shlex.join(
    [sys.executable, str(Path(__file__).parents[1] / "process" / "agents" / "chaos_agent.py")]
)
"""Runs each prompt line that begins with `$` at once, without asking."""

TIMEOUT: Final = 45.0


@dataclass(frozen=True)
class Unasked:
    """Task whose agent never asks for permission."""

    task_cli: TaskCli
    task: str
    tree: Path

    def turn(self, *commands: str) -> None:
        """Let the agent run these commands, and wait until it has."""
        before = results(self.task_cli, self.task)
        self.task_cli.ok(
            "task", "say", self.task, "\n".join(f"$ {command}" for command in commands)
        )
        until(lambda: results(self.task_cli, self.task) > before, TIMEOUT)

    def undo(self) -> None:
        """Undo by the command."""
        self.task_cli.ok("task", "undo", self.task)


ALL_WAYS: Final = {**WAYS, **MORE_WAYS}


class UnaskedTasks:
    """One task for many ways: undo restores it. After a failure, a new one."""

    def __init__(self, directories: pytest.TempPathFactory) -> None:
        self._directories = directories
        self._stack = ExitStack()
        self._open: Unasked | None = None

    @contextmanager
    def one(self) -> Generator[Unasked]:
        """A task with work in it."""
        if self._open is None:
            self._open = self._stack.enter_context(unasked(self._directories.mktemp("chaos")))
        try:
            yield self._open
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End the open task."""
        self._open = None
        self._stack.close()


def results(task_cli: TaskCli, task: str) -> int:
    """Count the finished turns."""
    return sum(each["type"] == "result" for each in task_cli.events(task))


@contextmanager
def unasked(directory: Path) -> Generator[Unasked]:
    """One task for many ways: undo restores it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYMPOSIUM_HOME", str(directory / "symposium"))
        patch.setenv("SYMPOSIUM_RECOMMENDATIONS", "none")
        patch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(directory)))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        environment = {"SYMPOSIUM_HOME": str(directory / "symposium")}
        task_cli = TaskCli(make_template(directory) / "clone", environment)
        task = task_cli.new("Fix login", "--agent", AGENT)
        until(lambda: results(task_cli, task["id"]), TIMEOUT)
        work_in(Path(task["worktree"]))
        yield Unasked(task_cli, task["id"], Path(task["worktree"]))
        task_cli.run("session", "kill", task["id"])
        task_cli.run("daemon", "stop")
