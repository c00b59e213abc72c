"""Landing by rebase: Symposium copies commits exactly as `git rebase` does."""

import asyncio
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.task_harness import GIT, git

from localio.git import GitCommandError
from symposium.config.git import git_at
from symposium.tasks.rebase import commit_from, copy_of, replay

FIELDS = "--format=%T%x00%an%x00%ae%x00%ad%x00%B%x01"
AUTHORS = (
    "Ada <ada@example.org> 1700000000 +0530",
    "Jos\u00e9 P\u00e9rez <j@example.org> 0 -0800",
    "Dot. <d@example.org.> 1600000000 -0000",
)
MESSAGES = ("plain\n", "", "no newline", "subject\n\nbody  \n\n\n", "# hash\n", "Gr\u00fc\u00dfe\n")
COMMITTER = "Cy <cy@example.org> 1700000000 +0000"

Files = dict[str, tuple[str, ...]]

FIRST: Files = {name: tuple(f"{name} {n}" for n in range(12)) for name in ("a", "b", "d/c")}


class Step(NamedTuple):
    """One commit of a history: its change, file, author, and message."""

    act: str
    name: str
    other: str
    at: int
    author: str
    message: str
    encoding: str


NAMES = st.sampled_from(("a", "b", "d/c", "d/e", "n"))
STEPS = st.builds(
    Step,
    st.sampled_from(("edit", "edit", "edit", "add", "delete", "rename", "nothing", "merge")),
    NAMES,
    NAMES,
    st.integers(0, 11),
    st.sampled_from(AUTHORS),
    st.sampled_from(MESSAGES),
    st.sampled_from(("", "ISO-8859-1")),
)
HISTORIES = st.lists(STEPS, min_size=1, max_size=5)


def changed(files: Files, step: Step) -> Files:
    """The files after a step; a change to what does not exist changes nothing."""
    now, (act, name, other, at, *_) = dict(files), step
    if act == "edit" and name in now:
        now[name] = (*now[name][:at], f"new {at % 3}", *now[name][at + 1 :])
    elif act == "add" and name not in now:
        now[name] = ("added",) * (at + 1)
    elif act == "delete":
        now.pop(name, None)
    elif act == "rename" and name in now and other not in now:
        now[other] = now.pop(name)
    return now


class Stream:
    """The input of `git fast-import`."""

    def __init__(self) -> None:
        self.data = b""
        self.marks = 0

    def commit(self, branch: str, files: Files, step: Step, *parents: int) -> int:
        """Add a commit; return its mark."""
        self.marks += 1
        encoding = step.encoding or "utf-8"
        text = step.message.encode(encoding)
        self.data += f"commit refs/heads/{branch}\nmark :{self.marks}\n".encode()
        self.data += b"author " + step.author.encode(encoding) + b"\n"
        self.data += f"committer {COMMITTER}\n".encode()
        self.data += f"encoding {encoding}\n".encode() if step.encoding else b""
        self.data += b"data %d\n%s\n" % (len(text), text)
        for word, parent in zip(("from", "merge"), parents, strict=False):
            self.data += f"{word} :{parent}\n".encode()
        self.data += b"deleteall\n"
        for name, content in files.items():
            blob = "".join(f"{line}\n" for line in content).encode()
            self.data += f"M 100644 inline {name}\ndata {len(blob)}\n".encode() + blob + b"\n"
        return self.marks


def history_of(branches: dict[str, list[Step]]) -> bytes:
    """Branches from one commit; a step that merges brings in a commit of a third branch."""
    stream, plain = Stream(), Step("", "", "", 0, AUTHORS[0], "first\n", "")
    root = stream.commit("root", FIRST, plain)
    for branch, steps in branches.items():
        files, at = FIRST, root
        stream.data += f"reset refs/heads/{branch}\nfrom :{root}\n\n".encode()
        for step in steps:
            parents = (at,)
            files = changed(files, step)
            if step.act == "merge":
                side = (f"{branch} {stream.marks}",)
                parents = (at, stream.commit("side", {**FIRST, "side": side}, plain, root))
                files = {**files, "side": side}
            at = stream.commit(branch, files, step, *parents)
    return stream.data


def repository(directory: Path, history: bytes) -> None:
    git("init", "-q", "-b", "unborn", cwd=directory)
    git("config", "user.name", "Tess", cwd=directory)
    git("config", "user.email", "t@example.org", cwd=directory)
    subprocess.run([GIT, "fast-import", "--quiet"], cwd=directory, input=history, check=True)


def copies(directory: Path, tip: str) -> list[list[str]]:
    """Files, author, and message of each commit since `onto`, in UTF-8."""
    words = ("log", "--encoding=UTF-8", "--date=raw", "--reverse", FIELDS, f"onto..{tip}")
    done = subprocess.run([GIT, *words], cwd=directory, capture_output=True, check=True)
    return [each.strip("\n").split("\0") for each in done.stdout.decode().split("\x01")[:-1]]


PLAIN = Step("rename", "a", "n", 0, AUTHORS[0], "moved\n", "")


@pytest.mark.requirement("taskspaces.land-replay")
@given(HISTORIES, HISTORIES)
# The base has the same patch and its revert: the commit is omitted.
@example([PLAIN, PLAIN._replace(name="n", other="a")], [PLAIN._replace(message="too\n")])
# A commit that is empty from the start is kept.
@example([PLAIN], [PLAIN._replace(act="nothing")])
def test_copies_equal_those_of_git_rebase(base: list[Step], task: list[Step]) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        repository(directory, history_of({"onto": base, "task": task}))
        onto, tip = git("rev-parse", "onto", "task", cwd=directory).split("\n")

        ours = asyncio.run(replay(git_at(directory), onto, tip))

        git("checkout", "-q", "task", cwd=directory)
        words = ("rebase", "-q", "--no-fork-point", "onto")
        done = subprocess.run([GIT, *words], cwd=directory, capture_output=True, check=False)
        assert (ours is None) == (done.returncode != 0), done.stderr.decode()
        if ours is not None:
            assert copies(directory, ours.tip) == copies(directory, "task")
            assert git("rev-parse", f"{ours.tip}^{{tree}}", cwd=directory) == ours.tree
            assert git("fsck", "--strict", "--no-dangling", cwd=directory) == ""


def objects_of(directory: Path, tip: str) -> tuple[bytes, bytes]:
    """The objects of a commit and of its copy on `onto`."""
    onto = git("rev-parse", "onto", cwd=directory)
    ours = asyncio.run(replay(git_at(directory), onto, git("rev-parse", tip, cwd=directory)))
    assert ours is not None
    words = [GIT, "cat-file", "commit"]
    both = [
        subprocess.run([*words, each], cwd=directory, capture_output=True, check=True)
        for each in (tip, ours.tip)
    ]
    return both[0].stdout, both[1].stdout


def with_commit(directory: Path, raw: bytes) -> str:
    """Write a commit object on top of the first commit, with new files; return its id."""
    edit = Step("edit", "a", "", 3, AUTHORS[0], "", "")
    add = Step("add", "n", "", 3, AUTHORS[0], "", "")
    repository(directory, history_of({"onto": [add], "task": [edit]}))
    tree = git("rev-parse", "task^{tree}", cwd=directory).encode()
    root = git("rev-parse", "root", cwd=directory).encode()
    done = subprocess.run(
        [GIT, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        cwd=directory,
        input=b"tree %s\nparent %s\n" % (tree, root) + raw,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


@pytest.mark.requirement("taskspaces.land-replay-bytes")
@pytest.mark.parametrize(
    "message",
    [b"", b"\n\nblank above", b"many below\n\n\n", b"latin \xfc\n", b"a\r\nb \t\n", b"nul \0 in\n"],
)
def test_author_encoding_and_message_are_kept_byte_for_byte(message: bytes, tmp_path: Path) -> None:
    author = b"author J\xfcrgen. ,; <> 1600000000 +051800\n"
    people = author + b"committer C <c@example.org> 1600000001 +0000\n"
    tip = with_commit(tmp_path, people + b"encoding ISO-8859-1\n\n" + message)

    _, copy = objects_of(tmp_path, tip)

    head, _, kept = copy.partition(b"\n\n")
    assert kept == message
    assert author.rstrip(b"\n") in head.split(b"\n")
    assert head.endswith(b"\nencoding ISO-8859-1")


@pytest.mark.requirement("taskspaces.land-replay-bytes")
def test_signature_and_unknown_headers_are_omitted(tmp_path: Path) -> None:
    people = b"author A <a@e.org> 1 +0000\ncommitter A <a@e.org> 1 +0000\n"
    signature = b"gpgsig -----BEGIN\n \n parent 0\n -----END\nmergetag object 1\n tree 2\nnew x\n"
    tip = with_commit(tmp_path, people + signature + b"\nsigned\n")

    _, copy = objects_of(tmp_path, tip)

    head, _, message = copy.partition(b"\n\n")
    names = [line.partition(b" ")[0] for line in head.split(b"\n")]
    assert names == [b"tree", b"parent", b"author", b"committer"]
    assert message == b"signed\n"


@pytest.mark.requirement("taskspaces.land-replay-bytes")
def test_commit_without_a_header_that_every_commit_has_is_refused(tmp_path: Path) -> None:
    tip = with_commit(tmp_path, b"committer A <a@e.org> 1 +0000\n\nmessage\n")

    with pytest.raises(GitCommandError, match="a commit cannot be read: a commit without a tree"):
        objects_of(tmp_path, tip)
    with pytest.raises(ValueError, match="a commit without a tree or an author"):
        commit_from(b"author A <a> 1 +0000\n\nmessage\n")


@pytest.mark.requirement("taskspaces.land-replay-bytes")
@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        (None, "J\u00fcrgen".encode()),
        (b"ISO-8859-1", b"J\xfcrgen"),
        (b"no-such-encoding", "J\u00fcrgen".encode()),
        (b"utf-16", "J\u00fcrgen".encode()),
        (b"utf-7", "J\u00fcrgen".encode()),
        (b"rot13", "J\u00fcrgen".encode()),
        (b"\xff\xfe", "J\u00fcrgen".encode()),
    ],
)
def test_committer_is_written_in_the_encoding_of_the_commit(
    encoding: bytes | None, name: bytes
) -> None:
    header = b"" if encoding is None else b"encoding " + encoding + b"\n"
    raw = b"tree 1\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n" + header + b"\nm"

    copy = copy_of(commit_from(raw), "2", "3", "J\u00fcrgen <j> 4 +0000".encode())

    assert b"\ncommitter " + name + b" <j> 4 +0000\n" in copy
    assert commit_from(copy).encoding == encoding


@pytest.mark.requirement("taskspaces.land-replay-bytes")
async def test_error_names_the_reason_when_the_user_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit = Step("edit", "a", "", 3, AUTHORS[0], "", "")
    repository(tmp_path, history_of({"onto": [edit._replace(at=9)], "task": [edit]}))
    git("config", "--unset", "user.name", cwd=tmp_path)
    git("config", "user.useConfigOnly", "true", cwd=tmp_path)
    for variable in ("GIT_COMMITTER_NAME", "GIT_AUTHOR_NAME", "NAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    onto, tip = git("rev-parse", "onto", "task", cwd=tmp_path).split("\n")

    with pytest.raises(GitCommandError, match="name"):
        await replay(git_at(tmp_path), onto, tip)
