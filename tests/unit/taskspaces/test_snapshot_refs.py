"""Where the refs of snapshots go: what a person does with git stays theirs."""

from pathlib import Path

import pytest
from tests.support.taskspace_scenes import Scene, attempt, git

from symposium.taskspaces.model import Taskspace

OURS = "refs/symposium/"
HIDDEN = "uploadpack.hideRefs"


async def snapshotted(scene: Scene) -> Taskspace:
    """A taskspace with a snapshot that holds what no commit does."""
    made = await scene.make()
    (Path(made.worktree) / ".env").write_text("KEY=canary", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "before a tool")
    return made


def kept(scene: Scene) -> list[str]:
    return git("for-each-ref", "--format=%(objectname)", OURS, cwd=scene.clone).split()


def arrived(there: Path, scene: Scene) -> list[str]:
    """Which refs of ours are in a repository, and which of our objects."""
    refs = git("for-each-ref", "--format=%(refname)", OURS, cwd=there).split()
    listed = git("cat-file", "--batch-all-objects", "--batch-check", cwd=there)
    return refs + [each for each in kept(scene) if each in listed]


@pytest.mark.requirement("snapshots.not-pushed")
@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--all",),
        ("--tags",),
        ("--follow-tags",),
        ("--all", "--force"),
        ("--prune", "refs/heads/*:refs/heads/*"),
    ],
)
@pytest.mark.parametrize("usual", ["simple", "current", "matching"])
async def test_no_push_but_a_mirrors_sends_a_snapshot(
    words: tuple[str, ...], usual: str, scene: Scene, tmp_path: Path
) -> None:
    made = await snapshotted(scene)
    there = tmp_path / "there.git"
    git("init", "-q", "--bare", str(there), cwd=tmp_path)
    git("remote", "add", "there", str(there), cwd=scene.clone)
    git("config", "push.default", usual, cwd=scene.clone)

    refspecs = [each for each in words if ":" in each]
    options = [each for each in words if ":" not in each]
    for place in (scene.clone, Path(made.worktree)):
        attempt("push", *options, "there", *refspecs, cwd=place)
    git("push", "-q", "there", "main", cwd=scene.clone)

    assert kept(scene), "there is something to be sent"
    assert git("for-each-ref", cwd=there)
    assert arrived(there, scene) == []


@pytest.mark.requirement("snapshots.not-served")
@pytest.mark.parametrize("words", [(), ("--mirror",), ("--bare",)])
async def test_no_clone_gets_a_snapshot(
    words: tuple[str, ...], scene: Scene, tmp_path: Path
) -> None:
    await snapshotted(scene)

    git("clone", "-q", *words, scene.clone.as_uri(), str(tmp_path / "copy"), cwd=tmp_path)

    assert kept(scene)
    assert arrived(tmp_path / "copy", scene) == []


@pytest.mark.requirement("snapshots.not-served")
async def test_no_fetch_gets_a_snapshot_and_other_settings_stay(
    scene: Scene, tmp_path: Path
) -> None:
    git("config", HIDDEN, "refs/mine/", cwd=scene.clone)
    made = await snapshotted(scene)
    (Path(made.worktree) / "more").write_text("more", encoding="utf-8")
    await scene.engine.history.snapshot(made.id, "before another")
    other = await scene.make("another")
    await scene.engine.history.snapshot(other.id, "before a tool")
    git("init", "-q", str(tmp_path / "copy"), cwd=tmp_path)

    git("fetch", "-q", scene.clone.as_uri(), "refs/*:refs/all/*", cwd=tmp_path / "copy")

    assert len(kept(scene)) > 2
    assert arrived(tmp_path / "copy", scene) == []
    assert "symposium" not in git("ls-remote", scene.clone.as_uri(), cwd=tmp_path)
    settings = git("config", "--local", "--get-all", HIDDEN, cwd=scene.clone)
    assert settings.splitlines() == ["refs/mine/", OURS], "once, however many there are"


@pytest.mark.requirement("snapshots.logs")
async def test_logs_show_no_snapshots_with_the_words_of_the_page(scene: Scene) -> None:
    await snapshotted(scene)

    plain = git("log", "--all", "--format=%s", cwd=scene.clone)
    page = (Path(__file__).parents[3] / "docs/how-to/snapshots.md").read_text(encoding="utf-8")
    for words in (
        "--exclude='refs/symposium/*' --all",
        "--branches --tags --remotes",
    ):
        assert f"git log --graph {words}" in page
        shown = git("log", "--format=%s", *words.replace("'", "").split(), cwd=scene.clone)
        assert shown == "first"
    assert "symposium snapshot" in plain, "the page says so, too"
    assert OURS not in git("log", "--all", "--decorate=full", cwd=scene.clone)


@pytest.mark.requirement("snapshots.mirrors")
async def test_remotes_that_send_or_clear_all_refs_are_told_of(scene: Scene) -> None:
    assert await scene.engine.mirrors(scene.clone) == []
    git("remote", "add", "--mirror=push", "a.b", "/nowhere", cwd=scene.clone)
    git("remote", "add", "--mirror=fetch", "other", "/nowhere", cwd=scene.clone)

    git("config", "remote.origin.push", "+refs/*:refs/*", cwd=scene.clone)

    also_sends, sends, clears = sorted(
        await scene.engine.mirrors(scene.clone), key=lambda line: "other" in line
    )

    assert also_sends.startswith("a push to the remote 'origin' sends all refs (remote.origin.push")
    assert sends.startswith("a push to the remote 'a.b' sends all refs")
    assert clears.startswith("a fetch with --prune from the remote 'other' removes all snapshots")
