"""Changes in real repositories."""

import os
from pathlib import Path

import pytest
from tests.support.git_repository import GitRepository

from localio import git
from localio.git import GitRunError, open_repository
from symposium.code.diffs import MAX_FILE_BYTES, Changes, DiffRange, changes
from symposium.config.git import stand_ins


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    made = GitRepository(tmp_path / "repo")
    made.write("a.txt", "1\n2\n3\n")
    made.write("gone.txt", "bye\n")
    made.write("old name.txt", "".join(f"line {n}\n" for n in range(20)))
    made.commit("first")
    made.write("a.txt", "1\ntwo\n3\n")
    (made.path / "gone.txt").unlink()
    (made.path / "old name.txt").rename(made.path / "new name.txt")
    made.write("added.txt", "new\n")
    made.commit("second")
    return made


def summarized(found: Changes) -> dict[str, tuple[str, int, int]]:
    return {each.path: (each.status, each.additions, each.deletions) for each in found.files}


async def names(repository: GitRepository, text: str) -> list[str]:
    return [each.path for each in (await changes(repository.path, DiffRange(text))).files]


SECOND = {
    "a.txt": ("Modified", 1, 1),
    "added.txt": ("Added", 1, 0),
    "gone.txt": ("Deleted", 0, 1),
    "new name.txt": ("Modified", 0, 0),
}


@pytest.mark.requirement("reviews.diff-ranges")
@pytest.mark.parametrize(
    "text", ["HEAD~1..HEAD", "HEAD~1..", "HEAD~1...HEAD", "v1..v2", '"HEAD~1..HEAD"', " v1.. "]
)
async def test_a_range_between_two_commits(text: str, repository: GitRepository) -> None:
    repository.git("tag", "--annotate", "--message", "one", "v1", "HEAD~1")
    repository.git("tag", "v2")
    repository.write("later.txt", "not of this range\n")
    found = await changes(repository.path, DiffRange(text))

    assert summarized(found) == SECOND
    assert [each.old_path for each in found.files if each.old_path] == ["old name.txt"]


@pytest.mark.requirement("reviews.diff-ranges")
async def test_three_dots_begin_where_the_branches_parted(repository: GitRepository) -> None:
    repository.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    repository.write("side.txt", "x\n")
    repository.commit()

    assert await names(repository, "main...side") == ["side.txt"]
    assert "side.txt" in await names(repository, "main..side")
    assert "a.txt" in await names(repository, "main..side")


@pytest.fixture
def dirty(repository: GitRepository) -> GitRepository:
    repository.write("staged.txt", "s\n")
    repository.git("add", "staged.txt")
    repository.append("a.txt", "4\n")
    repository.write(".gitignore", "ignored.txt\n")
    repository.write("ignored.txt", "i\n")
    repository.write("deep/unknown.txt", "u\nv")
    return repository


@pytest.mark.requirement("reviews.diff-working-tree")
@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (DiffRange("HEAD"), {"staged.txt", "a.txt", ".gitignore", "deep/unknown.txt"}),
        (DiffRange(""), {"staged.txt", "a.txt", ".gitignore", "deep/unknown.txt"}),
        (DiffRange("HEAD", excludes_unstaged=True), {"staged.txt"}),
        (DiffRange("HEAD", excludes_staged=True), {"a.txt", ".gitignore", "deep/unknown.txt"}),
        (DiffRange("HEAD", excludes_unstaged=True, excludes_staged=True), set[str]()),
        (DiffRange("HEAD~1", excludes_unstaged=True, excludes_staged=True), {*SECOND}),
        (DiffRange("HEAD~1", excludes_unstaged=True), {*SECOND, "staged.txt"}),
    ],
)
async def test_one_revision_is_compared_with_the_files_as_they_are(
    wanted: DiffRange, expected: set[str], dirty: GitRepository
) -> None:
    assert {each.path for each in (await changes(dirty.path, wanted)).files} == expected


@pytest.mark.requirement("reviews.diff-working-tree")
async def test_untracked_file_is_a_change_as_a_whole(dirty: GitRepository) -> None:
    found = {each.path: each for each in (await changes(dirty.path, DiffRange("HEAD"))).files}
    unknown = found["deep/unknown.txt"]

    assert (unknown.status, unknown.additions, unknown.hunks[0].header) == (
        "Added",
        2,
        "@@ -0,0 +1,2 @@",
    )
    assert [(line.content, line.new_line_number) for line in unknown.hunks[0].lines] == [
        ("u", 1),
        ("v", 2),
    ]


@pytest.mark.requirement("reviews.diff-working-tree")
async def test_before_the_first_commit_everything_is_new(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path)
    repository.write("a", "x\n")

    assert summarized(await changes(tmp_path, DiffRange("HEAD"))) == {"a": ("Added", 1, 0)}


@pytest.mark.requirement("reviews.diff-upwards")
async def test_a_repository_is_found_upwards(dirty: GitRepository) -> None:
    found = await changes(dirty.path / "deep", DiffRange("HEAD"))

    assert "a.txt" in summarized(found)


@pytest.mark.requirement("reviews.diff-errors")
@pytest.mark.parametrize(
    "text", ["nothing..HEAD", "--output=x", "-O/dev/null..HEAD", "a\nb", "HEAD:a.txt"]
)
async def test_unknown_revision_is_reported(text: str, repository: GitRepository) -> None:
    with pytest.raises(GitRunError, match=r"unknown commit|invalid revision"):
        await changes(repository.path, DiffRange(text))
    assert not (repository.path / "x").exists()


@pytest.mark.requirement("reviews.diff-errors")
@pytest.mark.parametrize("text", ["-x", "a\0b", "a\nb"])
async def test_a_revision_that_could_be_more_than_a_name_never_reaches_git(
    text: str, repository: GitRepository
) -> None:
    with pytest.raises(GitRunError) as caught:
        await changes(repository.path, DiffRange(text))

    assert caught.value.message == f"invalid revision: {text!r}"


@pytest.mark.requirement("reviews.diff-errors")
async def test_folder_outside_of_a_repository_is_reported(tmp_path: Path) -> None:
    with pytest.raises(GitRunError, match="is not in a git repository"):
        await changes(tmp_path, DiffRange("HEAD"))


@pytest.mark.requirement("reviews.diff-bounds")
async def test_large_binary_and_linked_files_have_no_lines(
    repository: GitRepository, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    repository.write("large.txt", "x" * (MAX_FILE_BYTES + 1))
    repository.write("bytes", "\0")
    repository.write("empty", "")
    (repository.path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(repository.path / "pipe")
    found = {each.path: each for each in (await changes(repository.path, DiffRange("HEAD"))).files}

    assert (found["large.txt"].is_cut, found["bytes"].is_binary) == (True, True)
    assert found["empty"].hunks == []
    assert found["link"].hunks[0].lines[0].content == str(tmp_path / "secret")


@pytest.mark.requirement("reviews.diff-bounds")
async def test_a_large_diff_is_cut_off(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git, "MAX_BYTES", 4000)
    for number in range(9):
        repository.write(f"many{number}.txt", "word\n" * 20_000)
    repository.commit()
    found = await changes(repository.path, DiffRange("HEAD~1..HEAD"))

    repository.write("small.txt", "word\n")
    with_new = await changes(repository.path, DiffRange("HEAD~1"))

    assert found.is_cut
    assert with_new.is_cut, "one of its parts is"
    assert 1 <= len(found.files) < 9
    assert found.files[-1].is_cut


@pytest.mark.requirement("reviews.diff-bounds")
async def test_git_is_ended_after_a_time(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(git, "QUESTION_TIMEOUT", 0.2)

    with pytest.raises(GitRunError, match=r"timed out after 0\.2 s"):
        await changes(repository.path, DiffRange("HEAD"))


HOSTILE = {
    "core.fsmonitor": "touch FILE; true",
    "core.pager": "touch FILE; cat",
    "pager.diff": "touch FILE; cat",
    "diff.external": "touch FILE; true",
    "diff.evil.command": "touch FILE; true",
    "diff.evil.textconv": "touch FILE; cat",
    "filter.evil.clean": "touch FILE; cat",
    "filter.evil.smudge": "touch FILE; cat",
    "filter.evil.process": "touch FILE; true",
    "filter.evil.required": "true",
    "filter.a=b.clean": "touch FILE; cat",
    "core.sshCommand": "touch FILE; true",
    "core.editor": "touch FILE; true",
    "diff.renames": "false",
    "diff.mnemonicPrefix": "true",
    "diff.orderFile": "nothing",
    "diff.context": "0",
    "diff.interHunkContext": "9",
    "color.ui": "always",
    "core.quotePath": "true",
}


@pytest.mark.requirement("reviews.diff-runs-nothing")
@pytest.mark.parametrize("is_included", [False, True])
async def test_a_repository_runs_nothing_by_being_asked(
    repository: GitRepository, tmp_path: Path, *, is_included: bool
) -> None:
    far = [f"line {n}" for n in range(30)]
    repository.write("a/far.txt", "\n".join(far))
    repository.commit()
    far[5] = far[20] = "changed"
    repository.write("a/far.txt", "\n".join(far))
    repository.commit()
    mark = tmp_path / "ran"
    target = tmp_path / "more.config" if is_included else repository.path / ".git" / "config"
    for key, value in HOSTILE.items():
        repository.git("config", "--file", str(target), key, value.replace("FILE", str(mark)))
    if is_included:
        repository.git("config", "include.path", str(target))
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        hook = repository.path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
        hook.chmod(0o755)
    repository.write(".gitattributes", "*.txt diff=evil filter=evil\nb.txt filter=a=b\n")
    repository.write("a.txt", "changed\n")
    repository.write("b.txt", "b\n")
    expected = await changes(repository.path, DiffRange("HEAD~3..HEAD~2"))
    (distant,) = (await changes(repository.path, DiffRange("HEAD~1..HEAD"))).files
    found = await changes(repository.path, DiffRange("HEAD"))

    assert distant.path == "a/far.txt"
    assert [len(hunk.lines) for hunk in distant.hunks] == [8, 8]
    assert not mark.exists()
    assert summarized(expected) == SECOND
    assert summarized(found)["a.txt"] == ("Modified", 1, 3)
    assert [len(each.hunks[0].lines) for each in expected.files if each.path == "a.txt"] == [4]


@pytest.mark.requirement("reviews.diff-runs-nothing")
async def test_names_are_whole_though_a_repository_wants_no_prefixes(
    repository: GitRepository,
) -> None:
    repository.git("config", "diff.noprefix", "true")
    repository.write("a/b/x.txt", "x\n")
    repository.commit()

    assert await names(repository, "HEAD~1..HEAD") == ["a/b/x.txt"]


@pytest.mark.requirement("reviews.diff-runs-nothing")
async def test_what_the_environment_says_of_git_is_left_out(
    repository: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")

    assert (await open_repository(repository.path, stand_ins())).top == repository.path
    assert summarized(await changes(repository.path, DiffRange("HEAD~1..HEAD"))) == SECOND
