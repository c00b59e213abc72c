"""Settings of a clone that reach git, protocols, paths of remotes, and the search for a clone."""

import os
from pathlib import Path

import pytest

from localio.git_settings import (
    GitDirectories,
    allowed,
    allowed_protocols,
    as_config_file,
    clean_environment,
    config_variables,
    find_git_directories,
    git_directories_at,
    last_value,
    local_path,
    repository_at,
    settings_in,
    unknown_extensions,
)

CORE = """
repositoryformatversion bare filemode symlinks ignorecase precomposeunicode protecthfs protectntfs
autocrlf eol safecrlf logallrefupdates sharedrepository compression loosecompression
bigfilethreshold checkstat trustctime sparsecheckout sparsecheckoutcone excludesfile attributesfile
untrackedcache preloadindex splitindex commitgraph multipackindex usereplacerefs longpaths
hidedotfiles fsync fsyncmethod createobject filesreflocktimeout packedrefstimeout
checkroundtripencoding ignorestat deltabasecachelimit
"""
OTHERS = """
user.name user.email user.useconfigonly user.signingkey gpg.format author.name author.email
committer.name committer.email index.version index.threads index.sparse index.skiphash
i18n.commitencoding diff.renames diff.renamelimit merge.renames merge.renamelimit
merge.directoryrenames transfer.fsckobjects fetch.fsckobjects receive.fsckobjects
receive.denynonfastforwards receive.denydeletes uploadpack.allowfilter
uploadpack.allowanysha1inwant uploadpack.allowreachablesha1inwant uploadpack.allowtipsha1inwant
uploadpack.allowrefinwant credential.username credential.usehttppath http.extraheader
branch.a.b.remote branch.a.merge branch.a.description remote.a.url remote.a.pushurl remote.a.fetch
credential.https://x.y.username credential.https://x.y.usehttppath http.https://x.y.extraheader
extensions.objectformat extensions.compatobjectformat extensions.refstorage
extensions.preciousobjects extensions.noop
"""
DATA = [*(f"core.{name}" for name in CORE.split()), *OTHERS.split()]


@pytest.mark.requirement("taskspaces.git-values")
def test_every_setting_that_only_describes_data_reaches_git() -> None:
    settings = [(key, value) for key in DATA for value in ("1", None)]

    assert allowed(settings) == settings


@pytest.mark.requirement("taskspaces.git-allow-list")
@pytest.mark.parametrize(
    "key",
    [
        *("core.editor", "core.hookspath", "core.sshcommand", "core.gitproxy", "core.worktree"),
        *("credential.helper", "credential.https://x.helper", "http.proxy", "http.sslcainfo"),
        *("branch.remote", "remote.url", "remote.a.uploadpack", "url.a.insteadof", "include.path"),
        *("extensions.worktreeconfig", "extensions.new", "user.a.name", "core.a.bare"),
        "branch..remote",
    ],
)
def test_setting_that_names_a_program_or_a_place_does_not_reach_git(key: str) -> None:
    assert allowed([(key, "x")]) == []


@pytest.mark.requirement("taskspaces.git-allow-list")
@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [
        *((value, True) for value in ("true", "FALSE", "refuse", "ignore", "warn", "", None)),
        *((value, False) for value in ("updateInstead", "other")),
    ],
)
def test_push_that_changes_a_checkout_is_not_allowed(
    value: str | None, *, is_allowed: bool
) -> None:
    setting = ("receive.denycurrentbranch", value)

    assert allowed([setting]) == ([setting] if is_allowed else [])


@pytest.mark.requirement("taskspaces.git-allow-list")
@pytest.mark.parametrize(
    ("rules", "narrowed", "protocols"),
    [
        ({}, None, "file:git:http:https:ssh"),
        ({"hg": "always", "ssh": "never", "git": "user"}, None, "file:git:hg:http:https"),
        ({"ext": "always", "fd": "always"}, None, "file:git:http:https:ssh"),
        ({}, "https:ext", "https"),
        ({"hg": "always"}, "hg", "hg"),
        ({}, "", ""),
    ],
)
def test_allowed_protocols_are_those_of_git_and_of_the_user(
    rules: dict[str, str], narrowed: str | None, protocols: str
) -> None:
    environment = {} if narrowed is None else {"GIT_ALLOW_PROTOCOL": narrowed}

    assert allowed_protocols(rules, environment) == protocols


@pytest.mark.requirement("taskspaces.git-clean-environment")
def test_only_variables_for_all_of_git_are_kept() -> None:
    kept = {
        *("PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH"),
        *("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_AUTHOR_NAME"),
        *("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"),
    }
    removed = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT", "GIT_NEW"}

    assert set(clean_environment(dict.fromkeys(kept | removed, "x"))) == kept
    assert clean_environment().get("PATH") == os.environ["PATH"]


@pytest.mark.requirement("taskspaces.git-values")
def test_settings_are_unchanged_in_a_file_that_git_reads(tmp_path: Path) -> None:
    settings = [
        ("core.bare", None),
        ("user.name", 'A "B" \\ C\t; # d\b '),
        ('remote.a\\b"c.d.url', "x\ny"),
        ("branch.a.merge", ""),
    ]
    (tmp_path / "config").write_bytes(as_config_file(settings))

    assert settings_in(tmp_path / "config") == tuple(settings)
    assert settings_in(tmp_path / "missing") == ()
    assert config_variables(settings[:2]) == {
        "GIT_CONFIG_COUNT": "2",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_CONFIG_KEY_1": "user.name",
        "GIT_CONFIG_VALUE_1": 'A "B" \\ C\t; # d\b ',
    }


@pytest.mark.requirement("taskspaces.git-values")
def test_last_of_several_values_counts() -> None:
    settings = [("a.b", "1"), ("a.c", "2"), ("a.b", None)]

    assert (last_value(settings, "a.b"), last_value(settings, "a.c")) == ("true", "2")
    assert last_value(settings, "a.d") is None


@pytest.mark.requirement("taskspaces.git-allow-list")
@pytest.mark.parametrize(
    ("version", "unknown"), [("0", []), (None, []), ("", []), ("1", ["new", "other"])]
)
def test_unknown_extension_counts_from_version_1_of_the_format(
    version: str | None, unknown: list[str]
) -> None:
    names = ("other", "worktreeconfig", "partialclone", "relativeworktrees", "objectformat", "new")
    settings = [(f"extensions.{name}", "x") for name in names]
    if version is not None:
        settings.append(("core.repositoryformatversion", version))

    assert unknown_extensions(settings) == unknown


@pytest.mark.requirement("taskspaces.clone-kinds")
@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/a/b", "/a/b"),
        ("../b", "/clone/../b"),
        ("file:///a%20b", "/a b"),
        ("file://host/a", "//host/a"),
        ("./a:b", "/clone/./a:b"),
        ("host:a", None),
        ("me@host:a", None),
        ("ext::sh -c x", None),
        ("https://x/y", None),
    ],
)
def test_path_of_a_remote_is_known_only_on_this_machine(url: str, path: str | None) -> None:
    assert local_path(url, Path("/clone")) == (None if path is None else Path(path))


def repository(git_dir: Path) -> Path:
    (git_dir / "objects").mkdir(parents=True)
    (git_dir / "refs").mkdir()
    (git_dir / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return git_dir


@pytest.mark.requirement("taskspaces.clone-kinds")
def test_clone_and_its_worktree_are_found_from_below(tmp_path: Path) -> None:
    common = repository(tmp_path / "app" / ".git")
    own = common / "worktrees" / "one"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/one\n", encoding="utf-8")
    (own / "commondir").write_text("../..\n", encoding="utf-8")
    worktree = tmp_path / "one"
    (worktree / "deep").mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")
    (tmp_path / "app" / "deep").mkdir()

    clone = GitDirectories(common, common, tmp_path / "app")
    assert find_git_directories(tmp_path / "app" / "deep") == clone
    assert find_git_directories(worktree / "deep") == GitDirectories(own, common, worktree)
    assert git_directories_at(own) == GitDirectories(own, common, None)
    assert clone.main_checkout == tmp_path / "app"
    assert find_git_directories(tmp_path) is None
    assert find_git_directories(tmp_path / "missing") is None


@pytest.mark.requirement("taskspaces.clone-kinds")
def test_bare_repository_is_found_with_and_without_its_suffix(tmp_path: Path) -> None:
    bare = repository(tmp_path / "app.git")
    found = GitDirectories(bare, bare, None)

    assert repository_at(bare) == repository_at(tmp_path / "app") == found
    assert find_git_directories(bare / "refs") == found
    assert found.main_checkout == bare
    assert repository_at(tmp_path) is None


@pytest.mark.requirement("taskspaces.clone-kinds")
@pytest.mark.parametrize("missing", ["objects", "refs", "HEAD"])
def test_directory_without_a_part_of_a_repository_is_not_one(missing: str, tmp_path: Path) -> None:
    part = repository(tmp_path) / missing
    part.rename(tmp_path / "elsewhere")

    assert find_git_directories(tmp_path) is None


@pytest.mark.requirement("taskspaces.git-clean-environment")
@pytest.mark.parametrize("text", ["", "not a pointer", "gitdir: missing", "gitdir: \0"])
def test_checkout_that_lost_its_clone_is_not_taken_for_a_part_of_an_outer_clone(
    text: str, tmp_path: Path
) -> None:
    outer = repository(tmp_path / ".git")
    (tmp_path / "inner" / "deep").mkdir(parents=True)
    (tmp_path / "inner" / ".git").write_text(text, encoding="utf-8")
    (tmp_path / "other" / ".git").mkdir(parents=True)

    assert find_git_directories(tmp_path / "inner" / "deep") is None
    assert find_git_directories(tmp_path / "other") == GitDirectories(outer, outer, tmp_path)
