"""Versions in lock files, also in broken ones."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symposium.code.packages.lock_files import cargo_pin, npm_pin, python_pin
from symposium.code.packages.model import Pinned

CARGO = """
version = 4
[[package]]
name = "serde"
version = "1.0.200"
source = "registry+https://github.com/rust-lang/crates.io-index"
[[package]]
name = "rand"
version = "0.8.5"
source = "registry+https://github.com/rust-lang/crates.io-index"
[[package]]
name = "rand"
version = "0.9.1"
source = "sparse+https://index.crates.io/"
[[package]]
name = "ours"
version = "0.1.0"
[[package]]
name = "theirs"
version = "0.1.0"
source = "git+https://example.org/theirs#abc"
"""
PACKAGE_LOCK = """{"packages": {
  "": {"version": "0.0.1"},
  "node_modules/a/node_modules/left-pad": {"version": "1.0.0"},
  "node_modules/left-pad": {"version": "1.3.0"}
}}"""
PNPM_9 = """lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      left-pad:
        specifier: ^1.0.0
        version: 1.3.0
packages:
  '@types/node@20.1.0':
    resolution: {integrity: sha512-x}
  left-pad@1.3.0:
    resolution: {integrity: sha512-x}
  react-dom@18.2.0(react@18.2.0):
    resolution: {integrity: sha512-x}
snapshots:
  left-pad@9.9.9: {}
"""
PNPM_5 = "packages:\n  /left-pad/1.3.0:\n    dev: false\n  /@types/node/20.1.0_x@1:\n    a: b\n"
YARN_1 = (
    '"@types/node@*", "@types/node@^20":\n  version "20.1.0"\n\n'
    'left-pad@^1.0.0:\n  version "1.3.0"\n'
)
YARN_4 = '"left-pad@npm:^1.0.0":\n  version: 1.3.0\n  resolution: "left-pad@npm:1.3.0"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.requirement("package-sources.lock-files")
def test_cargo_lock_names_each_version_that_it_has(project: Path) -> None:
    (project / "Cargo.lock").write_text(CARGO)
    inner = project / "crates" / "a"
    inner.mkdir(parents=True)
    assert cargo_pin(inner, "serde".__eq__) == Pinned("Cargo.lock", ("1.0.200",))
    assert cargo_pin(project, "rand".__eq__) == Pinned("Cargo.lock", ("0.8.5", "0.9.1"))
    assert cargo_pin(project, "tokio".__eq__) is None
    assert cargo_pin(project, "ours".__eq__) == Pinned("Cargo.lock", elsewhere="the workspace")
    theirs = "git+https://example.org/theirs#abc"
    assert cargo_pin(project, "theirs".__eq__) == Pinned("Cargo.lock", elsewhere=theirs)


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize(
    ("source", "elsewhere"),
    [
        ('{ registry = "https://pypi.org/simple" }', ""),
        ('{ git = "https://example.org/a" }', "git https://example.org/a"),
        ('{ editable = "." }', "editable ."),
        ('{ type = "git", url = "https://example.org/a" }', "git https://example.org/a"),
        ('{ type = "legacy", url = "https://example.org/simple" }', ""),
    ],
)
def test_lock_file_names_packages_that_are_not_from_an_index(
    project: Path, source: str, elsewhere: str
) -> None:
    row = f'[[package]]\nname = "a"\nversion = "1"\nsource = {source}\n'
    (project / "uv.lock").write_text(row)
    versions = () if elsewhere else ("1",)
    assert python_pin(project, "a".__eq__) == Pinned("uv.lock", versions, elsewhere=elsewhere)


@pytest.mark.requirement("package-sources.lock-files")
def test_lock_file_outside_the_repository_is_ignored(project: Path) -> None:
    inner = project / "inner"
    (inner / ".git").mkdir(parents=True)
    (project / "Cargo.lock").write_text(CARGO)
    assert cargo_pin(inner, "serde".__eq__) is None


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("uv.lock", '[[package]]\nname = "click"\nversion = "8.1"\n', "8.1"),
        ("poetry.lock", '[[package]]\nname = "click"\nversion = "8.1"\n', "8.1"),
        ("pdm.lock", '[[package]]\nname = "click"\nversion = "8.1"\n', "8.1"),
        ("pylock.toml", '[[packages]]\nname = "click"\nversion = "8.1"\n', "8.1"),
        ("Pipfile.lock", '{"default": {"click": {"version": "==8.1"}}}', "8.1"),
        ("requirements.txt", "-r other\nhttpx\nclick[a]==8.1 \\\n  --hash=sha256:0\n", "8.1"),
        ("requirements.txt", "# x\nclick == 8.1 ; python_version > '3'\n", "8.1"),
        ("pyproject.toml", '[project]\ndependencies = ["click==8.1"]\n', "8.1"),
        (
            "pyproject.toml",
            '[dependency-groups]\ndev = ["click==8.1", {include-group = "x"}]',
            "8.1",
        ),
    ],
)
def test_python_s_files_name_a_version(project: Path, name: str, text: str, expected: str) -> None:
    (project / name).write_text(text)
    assert python_pin(project, "click".__eq__) == Pinned(name, (expected,))


@pytest.mark.requirement("package-sources.lock-files")
def test_a_requirement_that_is_a_range_is_a_range(project: Path) -> None:
    (project / "pyproject.toml").write_text('[project]\ndependencies = ["click>=8,<9"]\n')
    assert python_pin(project, "click".__eq__) == Pinned("pyproject.toml", wanted=">=8,<9")


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize(
    ("file", "text", "name", "versions"),
    [
        (
            "package-lock.json",
            PACKAGE_LOCK,
            "left-pad",
            ("1.3.0",),
        ),
        ("package-lock.json", '{"dependencies": {"a": {"version": "2.0.0"}}}', "a", ("2.0.0",)),
        ("pnpm-lock.yaml", PNPM_9, "left-pad", ("1.3.0",)),
        ("pnpm-lock.yaml", PNPM_9, "@types/node", ("20.1.0",)),
        ("pnpm-lock.yaml", PNPM_9, "react-dom", ("18.2.0",)),
        ("pnpm-lock.yaml", PNPM_5, "left-pad", ("1.3.0",)),
        ("pnpm-lock.yaml", PNPM_5, "@types/node", ("20.1.0",)),
        ("yarn.lock", YARN_1, "left-pad", ("1.3.0",)),
        ("yarn.lock", YARN_1, "@types/node", ("20.1.0",)),
        ("yarn.lock", YARN_4, "left-pad", ("1.3.0",)),
    ],
)
def test_npm_s_lock_files_name_a_version(
    project: Path, file: str, text: str, name: str, versions: tuple[str, ...]
) -> None:
    (project / file).write_text(text)
    assert npm_pin(project, name.__eq__) == Pinned(file, versions)


@pytest.mark.requirement("package-sources.lock-files")
def test_without_a_lock_package_json_asks_for_a_range(project: Path) -> None:
    (project / "package.json").write_text('{"devDependencies": {"a": "^1.2", "b": "git+x:y"}}')
    assert npm_pin(project, "a".__eq__) == Pinned("package.json", wanted="^1.2")
    assert npm_pin(project, "b".__eq__) is None


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize("wanted", ["==8.1,!=8.2", "==8.*", ">=8.1,<9"])
def test_a_requirement_that_allows_several_versions_is_a_range(project: Path, wanted: str) -> None:
    (project / "requirements.txt").write_text(f"click {wanted}\n")

    assert python_pin(project, "click".__eq__) == Pinned("requirements.txt", wanted=wanted)


FILES = (
    *("Cargo.lock", "uv.lock", "Pipfile.lock", "requirements.txt", "pyproject.toml"),
    *("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "package.json"),
)


@pytest.mark.requirement("package-sources.lock-files")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=200) | st.text('{}[]":,\n =@^a1.packages', max_size=200).map(str.encode))
def test_any_content_of_a_lock_file_raises_no_error(project: Path, said: bytes) -> None:
    for name in FILES:
        (project / name).write_bytes(said)
    for pin in (cargo_pin, python_pin, npm_pin):
        found = pin(project, lambda _: True)
        assert found is None or isinstance(found, Pinned)


@pytest.mark.requirement("package-sources.lock-files")
def test_pipe_or_directory_is_no_lock_file(project: Path) -> None:
    os.mkfifo(project / "Cargo.lock")
    (project / "uv.lock").mkdir()
    assert cargo_pin(project, lambda _: True) is None
    assert python_pin(project, lambda _: True) is None


@pytest.mark.requirement("package-sources.lock-files")
def test_a_lock_of_npm_names_the_versions_of_one_package_only(project: Path) -> None:
    versions = {
        "": "9.9.9",
        "node_modules/b": "2.0.0",
        "node_modules/b/node_modules/a": "1.0.0",
        "node_modules/c/node_modules/a": "1.5.0",
        "node_modules/c/node_modules/d": "3.0.0",
    }
    rows = {path: {"version": version} for path, version in versions.items()}
    (project / "package-lock.json").write_text(json.dumps({"packages": rows}))

    assert npm_pin(project, "a".__eq__) == Pinned("package-lock.json", ("1.0.0", "1.5.0"))


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("uv.lock", '[[package]]\nname = "a"\nversion = 1\n'),
        ("Pipfile.lock", '{"default": {"a": "1.0.0", "b": {"version": 5}}}'),
    ],
)
def test_version_of_the_wrong_type_is_ignored(project: Path, file: str, text: str) -> None:
    (project / file).write_text(text)

    assert python_pin(project, lambda other: other in {"a", "b"}) is None


@pytest.mark.requirement("package-sources.lock-files")
@pytest.mark.parametrize("row", ["name = 3\nversion = '1.0'", "name = 'x'\nversion = 1", "a = 1"])
def test_a_row_without_name_or_version_as_text_is_left_out(project: Path, row: str) -> None:
    more = "[[package]]\nname = 'y'\nversion = '2.0'\n"
    (project / "uv.lock").write_text(f"[[package]]\n{row}\n{more}")

    assert python_pin(project, lambda name: name.upper() in "XY") == Pinned("uv.lock", ("2.0",))
