"""Indexes that the settings of a user name, and the one that gets a token."""

from pathlib import Path

import pytest

from symposium.code.packages.index_settings import (
    CRATES,
    NPM,
    CargoSettings,
    cargo_settings,
    npm_settings,
    python_settings,
)

NPMRC = """
; a comment = none
@scope:registry=https://scope.invalid/npm
@scope:always-auth=true
//scope.invalid/npm/:_authToken=${TOKEN}
//other.invalid/:_auth=abc
plain:_auth=never
plain:_authToken=never
offline=false
"""


def cargo(home: Path, text: str) -> CargoSettings:
    (home / ".cargo").mkdir(exist_ok=True)
    (home / ".cargo" / "config.toml").write_text(text)
    return cargo_settings({"HOME": str(home)})


@pytest.mark.requirement("package-sources.user-settings-only", "package-sources.secrets-stay")
def test_npm_s_settings_give_scopes_their_registry_and_registries_their_token(
    tmp_path: Path,
) -> None:
    (tmp_path / ".npmrc").write_text(NPMRC)
    found = npm_settings({"HOME": str(tmp_path), "TOKEN": "secret"})

    assert (found.registry, found.problem) == (NPM, "")
    assert found.scopes == {"@scope": "https://scope.invalid/npm"}
    assert found.tokens == {
        "//scope.invalid/npm/": "Bearer secret",
        "//other.invalid/": "Basic abc",
    }
    assert found.authorization("https://scope.invalid/npm/@scope/a") == "Bearer secret"
    assert found.authorization("https://scope.invalid/npmx/a") == ""


@pytest.mark.requirement(
    "package-sources.user-settings-only", "package-sources.offline-is-not-absent"
)
@pytest.mark.parametrize(("said", "is_off"), [("true", True), ("0", False)])
def test_npm_is_offline_where_its_settings_say_yes(
    said: str, tmp_path: Path, *, is_off: bool
) -> None:
    (tmp_path / ".npmrc").write_text(f"offline={said}")

    assert bool(npm_settings({"HOME": str(tmp_path)}).problem) is is_off


@pytest.mark.requirement("package-sources.user-settings-only")
def test_a_replaced_source_of_cargo_is_asked_only_if_it_is_a_sparse_index(tmp_path: Path) -> None:
    replaced = '[source.crates-io]\nreplace-with = "mine"\n[source.mine]\n'
    sparse = cargo(tmp_path, replaced + 'registry = "sparse+https://mine.invalid/"')
    git = cargo(tmp_path, replaced + 'registry = "https://mine.invalid/"')
    folder = cargo(tmp_path, replaced + 'directory = "vendor"')
    none = cargo(tmp_path, "[net]\nretry = 2")

    assert (sparse.index, sparse.problem) == ("https://mine.invalid/", "")
    for other in (git, folder):
        assert (
            other.problem
            == "Cargo's settings replace crates.io with a source that is not a sparse index"
        )
    assert (none.index, none.problem) == (CRATES, "")


@pytest.mark.requirement("package-sources.user-settings-only")
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://corp/simple", "https://corp/simple"),
        ("corp=https://corp/simple", "https://corp/simple"),
    ],
)
def test_a_python_index_may_have_a_name(given: str, asked: str, tmp_path: Path) -> None:
    found = python_settings({"HOME": str(tmp_path), "UV_DEFAULT_INDEX": given})

    assert found.indexes == (asked,)
