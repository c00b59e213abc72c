"""Git reads a configuration written by Symposium instead of the clone's."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from tests.support.task_harness import (
    GIT,
    copy_template,
    git,
    make_template,
    settings_file,
)

from localio.git_settings import GitConfigError, clean_environment, find_git_directories, is_on
from symposium.config.git import git_at, stand_ins

TABLE = Path(__file__).parents[2] / "support/data/git_command_settings.toml"

KEPT = {
    "user.name": "Ann",
    "core.autocrlf": "input",
    "branch.main.merge": "refs/heads/main",
    "branch.main.remote": "origin",
    "branch.main.description": "why",
    "remote.other.url": "/nowhere",
    "remote.other.pushurl": "/nowhere",
    "remote.other.fetch": "+refs/heads/*:refs/remotes/other/*",
    "credential.https://a.example.username": "ann",
    "credential.https://a.example.usehttppath": "true",
    "http.https://a.example.extraheader": "x: y",
    "core.sharedrepository": "group",
}
NEVER = {
    "core.runonnextrelease": "touch FILE",
    "alias.status": "!touch FILE",
    "filter.a=b.clean": "touch FILE",
    'merge.a.b\\c "d"=.driver': "touch FILE",
    "gpg.ssh.defaultkeycommand": "touch FILE",
    "remote.origin.uploadpack": "touch FILE",
    "remote.x=y.vcs": "evil",
    "branch.main.mergeoptions": "--strategy=evil",
    "pull.twohead": "evil",
    "hook.next.command": "touch FILE",
    "brandnew.command": "touch FILE",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    template = tmp_path / "template"
    template.mkdir()
    return copy_template(make_template(template), tmp_path / "place")


def plant(file: Path, settings: dict[str, str]) -> None:
    """Write settings with git, which escapes any name."""
    for key, value in settings.items():
        git("config", "--file", str(file), key, value, cwd=file.parent)


async def local_settings(folder: Path) -> set[str]:
    """Return the keys that git reads from the clone, in the directory where it is run."""
    listed = await git_at(folder).ask("config", "--list", "--show-scope", "-z")
    scopes, entries = listed.names[::2], listed.names[1::2]
    pairs = zip(scopes, entries, strict=True)
    return {entry.partition("\n")[0] for scope, entry in pairs if scope in {"local", "worktree"}}


@pytest.mark.requirement("taskspaces.git-allow-list")
@pytest.mark.parametrize("where", ["config", "config.worktree", "include.path", "includeIf"])
async def test_disallowed_setting_does_not_reach_git(where: str, place: Path) -> None:
    clone = place / "clone"
    own = clone / ".git" / "config"
    target = own if where == "config" else clone / ".git" / "other"
    match where:
        case "config.worktree":
            git("config", "extensions.worktreeConfig", "true", cwd=clone)
            target = clone / ".git" / "config.worktree"
        case "include.path":
            git("config", "include.path", str(target), cwd=clone)
        case "includeIf":
            git("config", f"includeIf.gitdir:{clone}/.path", str(target), cwd=clone)
        case _:
            pass
    plant(target, NEVER | KEPT)
    git("worktree", "add", "-q", str(place / "linked"), cwd=clone)

    for folder in (clone, clone / "src", place / "linked", clone / ".git"):
        found = await local_settings(folder)
        assert not found & NEVER.keys(), folder
        assert {key for key in found if "evil" in key or "filter" in key} == set()
        if where == "config":
            assert found >= KEPT.keys()


@pytest.mark.requirement("taskspaces.git-allow-list")
async def test_setting_that_starts_a_program_does_not_reach_git(place: Path) -> None:
    clone = place / "clone"
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))["commands"]
    lines: list[str] = []
    for key in table:
        section, _, rest = key.replace("NAME", "a=b" if "NAME." in key else "evil").partition(".")
        subsection, dot, last = rest.rpartition(".")
        lines += [f'[{section} "{subsection}"]' if dot else f"[{section}]", f"{last} = planted"]
    with (clone / ".git/config").open("a", encoding="utf-8") as config:
        config.write("\n".join([*lines, ""]))

    listed = await git_at(clone).ask("config", "--list", "-z")

    assert len(lines) > 100
    assert [entry for entry in listed.names if entry.endswith("planted")] == []


@pytest.mark.requirement("taskspaces.git-allow-list")
def test_git_does_not_open_the_configuration_of_a_clone(place: Path) -> None:
    clone = place / "clone"
    found = find_git_directories(clone)
    assert found is not None
    environment = {**clean_environment(), **stand_ins().isolate(found).variables}
    # Git ends with an error as soon as it reads this.
    for directory in (clone, place / "upstream"):
        (directory / ".git" / "config").write_bytes(b"[broken\n")

    for words in (
        ("status",),
        ("fetch", "origin", "main"),
        ("worktree", "add", "-b", "topic", str(place / "added")),
        ("merge-tree", "--write-tree", "main", "topic"),
        ("bundle", "create", str(place / "bundle"), "main"),
        ("update-ref", "refs/heads/other", "main"),
        ("push", "origin", "main:refs/heads/pushed"),
        ("worktree", "remove", "--force", str(place / "added")),
        ("config", "user.name"),
    ):
        done = subprocess.run(
            [GIT, *words], cwd=clone, env=environment, capture_output=True, check=False
        )
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.requirement("taskspaces.git-allow-list")
async def test_unknown_repository_extension_is_an_error(place: Path) -> None:
    clone = place / "clone"
    git("config", "core.repositoryFormatVersion", "1", cwd=clone)
    git("config", "--file", ".git/config", "extensions.brandNew", "true", cwd=clone)

    done = await git_at(clone).run("status")

    assert done.code == 128
    assert "brandnew" in done.said
    assert "update Symposium" in done.said


@pytest.mark.requirement("taskspaces.git-values")
async def test_allowed_setting_reaches_git_unchanged(place: Path) -> None:
    clone = place / "clone"
    values = {
        f"branch.{name}.merge": value
        for name, value in {
            "comment": "refs/heads/a # b ; c",
            "spaces": "  both ends  ",
            "quotes": 'say "a\\b"',
            "lines": "one\n[core]\n\tpager = touch FILE\n",
            'odd "name\\]': "\ttabs\b",
        }.items()
    }
    plant(clone / ".git/config", values)

    listed = await git_at(clone).ask("config", "--local", "--list", "-z")

    found = dict(entry.split("\n", 1) for entry in listed.names)
    assert {key: found.get(key) for key in values} == values
    assert "core.pager" not in found


@pytest.mark.requirement("taskspaces.git-config-bound")
def test_too_large_configuration_is_rejected_without_reading_it_all(place: Path) -> None:
    clone = place / "clone"
    with (clone / ".git/config").open("r+b") as config:
        config.truncate(16 * 1024 * 1024 + 1)
    found = find_git_directories(clone)
    assert found is not None

    with pytest.raises(GitConfigError, match=r"config is larger than 16777216 bytes"):
        stand_ins().isolate(found)


@pytest.mark.requirement("taskspaces.git-values")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("true", True), ("Yes", True), ("on", True), ("1", True), ("20", True), (None, True)),
        *(("false", False), ("no", False), ("0", False), ("00", False), ("", False), ("-", False)),
    ],
)
def test_boolean_setting_is_read_like_git(value: str | None, *, expected: bool) -> None:
    assert is_on([("core.bare", None), ("core.bare", value)], "core.bare") is expected
    assert not is_on([], "core.bare")


@pytest.mark.requirement("taskspaces.git-allow-list")
async def test_git_works_with_a_private_temporary_folder_when_the_cache_is_unusable(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked, temporary = tmp_path / "blocked", tmp_path / "temporary"
    blocked.write_text("in the way")
    temporary.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("TMPDIR", str(temporary))
    plant(place / "clone" / ".git" / "config", NEVER)

    found = await local_settings(place / "clone")

    (folder,) = temporary.iterdir()
    assert found
    assert not found & NEVER.keys()
    assert folder.stat().st_mode & 0o777 == 0o700
