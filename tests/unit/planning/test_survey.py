"""Facts read from a workspace."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.planning.recommendations import Ecosystem, FileExists, PredicateUses, WorkspaceFacts
from symposium.planning.survey import (
    MAX_BYTES,
    MAX_MEMBERS,
    crates_of_lock,
    packages_of_requirements,
    survey,
)

ECOSYSTEMS: tuple[Ecosystem, ...] = ("crate", "python", "npm")

LOCK = """
version = 4
[[package]]
name = "app"
version = "0.1.0"
dependencies = ["serde_json 1.0.0", "web-battery-pack", "member"]

[[package]]
name = "member"
version = "0.1.0"
dependencies = ["tokio 1.0.0 (registry+https://github.com/rust-lang/crates.io-index)"]

[[package]]
name = "serde_json"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = ["itoa"]

[[package]]
name = "tokio"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = ["mio"]

[[package]]
name = "web-battery-pack"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = ["axum", "inner-battery-pack"]

[[package]]
name = "inner-battery-pack"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = ["tower", "web-battery-pack"]
"""


def written(place: Path, **files: str) -> Path:
    for name, text in files.items():
        file = place / name.replace("__", "/").replace("_DOT_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return place


def looked_at(place: Path) -> WorkspaceFacts:
    return survey(place, [PredicateUses(each, "x") for each in ECOSYSTEMS])


@pytest.mark.requirement("recommendations.using-crate")
def test_direct_dependencies_of_every_member_count_and_battery_packs_are_seen_through(
    tmp_path: Path,
) -> None:
    found = looked_at(written(tmp_path, Cargo_DOT_lock=LOCK))
    for name in ("serde_json", "serde-json", "tokio", "axum", "tower", "web-battery-pack"):
        assert found.has_package("crate", name), name
    for name in ("itoa", "mio", "app"):
        assert not found.has_package("crate", name), name


@pytest.mark.requirement("recommendations.using-crate")
def test_without_a_lock_file_the_manifests_count(tmp_path: Path) -> None:
    written(
        tmp_path,
        Cargo_DOT_toml="""
[workspace]
members = ["crates/*", "../outside", "**/deep", "/etc"]
[dependencies]
renamed = { package = "tokio", version = "1" }
[dev-dependencies]
insta = "1"
[build-dependencies]
cc = "1"
[target.'cfg(unix)'.dependencies]
nix = "1"
""",
        crates__one__Cargo_DOT_toml='[dependencies]\naxum = "1"\n',
    )
    (tmp_path.parent / "outside").mkdir()
    written(tmp_path.parent / "outside", Cargo_DOT_toml='[dependencies]\nrocket = "1"\n')
    found = looked_at(tmp_path)
    assert found.packages["crate"] == {"tokio", "insta", "cc", "nix", "axum"}


@pytest.mark.requirement("recommendations.using-packages")
def test_python_packages_are_read_from_what_its_tools_write(tmp_path: Path) -> None:
    written(
        tmp_path,
        pyproject_DOT_toml="""
[project]
dependencies = ["Django>=5; python_version > '3.8'", "zope.interface[test]"]
optional-dependencies.dev = ["pytest"]
[dependency-groups]
lint = ["ruff", {include-group = "dev"}]
[tool.uv]
dev-dependencies = ["mypy"]
[tool.poetry.dependencies]
python = "^3.11"
requests = "*"
[tool.poetry.group.docs.dependencies]
mkdocs = "*"
[tool.poetry.dev-dependencies]
tox = "*"
""",
        requirements_DOT_txt="# c\n-r other.txt\nflask==3 # web\nhttps://x/y.whl\n./local\nnumpy @ https://n\n",
        uv_DOT_lock="""
[[package]]
name = "app"
source = { editable = "." }
dependencies = [{ name = "anyio" }]
[package.optional-dependencies]
extra = [{ name = "rich" }]
[package.dev-dependencies]
dev = [{ name = "hypothesis" }]
[[package]]
name = "two"
source = { virtual = "." }
dependencies = [{ name = "click" }]
[[package]]
name = "three"
source = { directory = "three" }
dependencies = [{ name = "attrs" }]
[[package]]
name = "anyio"
source = { registry = "https://r" }
dependencies = [{ name = "idna" }]
""",
    )
    found = looked_at(tmp_path).packages["python"]
    assert found == {
        *("django", "zope-interface", "pytest", "ruff", "mypy", "requests", "mkdocs"),
        *("flask", "numpy", "anyio", "hypothesis", "tox", "rich", "click", "attrs"),
    }


@pytest.mark.requirement("recommendations.using-packages")
def test_npm_packages_are_read_from_the_manifests_of_all_members(tmp_path: Path) -> None:
    written(
        tmp_path,
        package_DOT_json='{"dependencies": {"react": "1"}, "devDependencies": {"@types/node": "2"},'
        ' "workspaces": ["packages/*"], "scripts": {"postinstall": "touch /tmp/x"}}',
        packages__one__package_DOT_json='{"peerDependencies": {"vue": "3"},'
        ' "optionalDependencies": {"fsevents": "2"}}',
    )
    found = looked_at(tmp_path).packages["npm"]
    assert found == {"react", "@types/node", "vue", "fsevents"}


@pytest.mark.requirement("recommendations.predicates")
def test_only_what_is_asked_about_is_looked_at(tmp_path: Path) -> None:
    written(tmp_path, Cargo_DOT_lock="[[", a="")
    found = survey(tmp_path, [FileExists("a"), FileExists("b")])
    assert found == WorkspaceFacts(frozenset({"a"}))


ODD = [
    "",
    "{",
    "[[package]]\nname = 3",
    "package = 3",
    "[",
    "{" * 5000,
    "[" * 5000,
    "null",
    "[1]",
    "\0",
    "é",
]


@pytest.mark.requirement("recommendations.survey-harmless")
def test_each_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "Cargo.lock").write_text("[")
    (tmp_path / "package.json").write_text("{")
    (tmp_path / "requirements.txt").write_bytes(b"\xff")
    assert sorted(each.partition(": ")[0] for each in looked_at(tmp_path).problems) == [
        *("Cargo.lock", "package.json", "requirements.txt"),
    ]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.requirement("recommendations.survey-harmless")
def test_odd_files_count_as_nothing(tmp_path: Path, text: str) -> None:
    names = ("Cargo.lock", "Cargo.toml", "pyproject.toml", "uv.lock", "package.json")
    for name in names:
        (tmp_path / name).write_text(text)
    assert not any(looked_at(tmp_path).packages.values())


@pytest.mark.requirement("recommendations.survey-harmless")
def test_pipes_directories_devices_and_huge_files_are_skipped(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "Cargo.lock")
    (tmp_path / "pyproject.toml").mkdir()
    (tmp_path / "package.json").symlink_to("/dev/zero")
    with (tmp_path / "uv.lock").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    found = looked_at(tmp_path)
    assert not any(found.packages.values())
    assert len(found.problems) == 4
    assert survey(tmp_path, [FileExists("a\0b"), FileExists("x" * 5000)]).files == frozenset()


@given(st.recursive(st.text(max_size=3) | st.integers(), lambda x: st.lists(x, max_size=3)))
@pytest.mark.requirement("recommendations.survey-harmless")
def test_a_lock_file_of_any_shape_is_read_past(value: object) -> None:
    assert crates_of_lock({"package": value}) == frozenset()
    package = {"name": value, "dependencies": value}
    assert all(crates_of_lock({"package": [package]}))


@given(st.text())
@pytest.mark.requirement("recommendations.survey-harmless")
def test_requirements_of_any_text_give_names_or_nothing(text: str) -> None:
    for name in packages_of_requirements(text):
        assert name[0].isalnum()
        assert " " not in name


@pytest.mark.parametrize(
    ("pattern", "counts"),
    [("a/*", {"a": MAX_MEMBERS + 1}), ("?/*", {"a": MAX_MEMBERS, "b": 1})],
)
@pytest.mark.requirement("recommendations.survey-harmless")
def test_pattern_matches_no_more_than_500_members(
    tmp_path: Path, pattern: str, counts: dict[str, int]
) -> None:
    places = [
        tmp_path / folder / f"{number:03}"
        for folder, count in counts.items()
        for number in range(count)
    ]
    for place in places:
        place.mkdir(parents=True)
    for name, place in (("in", places[-2]), ("out", places[-1])):
        (place / "package.json").write_text(f'{{"dependencies": {{"{name}": "1"}}}}')
    (tmp_path / "package.json").write_text(f'{{"workspaces": ["{pattern}"]}}')

    assert looked_at(tmp_path).packages["npm"] == {"in"}


@pytest.mark.requirement("recommendations.survey-harmless")
def test_no_more_than_500_members_of_all_patterns_are_read(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        for number in range(MAX_MEMBERS // 2 + 1):
            (tmp_path / folder / f"{number:03}").mkdir(parents=True)
    last = f"{MAX_MEMBERS // 2:03}"
    for name, place in (("in", f"a/{last}"), ("out", f"b/{last}")):
        (tmp_path / place / "package.json").write_text(f'{{"dependencies": {{"{name}": "1"}}}}')
        (tmp_path / place / "Cargo.toml").write_text(f'[dependencies]\n{name} = "1"\n')
    written(
        tmp_path,
        package_DOT_json='{"workspaces": ["a/*", "b/*"]}',
        Cargo_DOT_toml='[workspace]\nmembers = ["a/*", "b/*"]\n',
    )

    found = looked_at(tmp_path).packages
    assert (found["npm"], found["crate"]) == ({"in"}, {"in"})


@pytest.mark.requirement("recommendations.survey-harmless")
def test_no_more_than_500_requirement_files_are_read(tmp_path: Path) -> None:
    for number in range(MAX_MEMBERS + 1):
        (tmp_path / f"requirements{number:03}.txt").touch()
    for name, number in (("in", MAX_MEMBERS - 1), ("out", MAX_MEMBERS)):
        (tmp_path / f"requirements{number:03}.txt").write_text(f"{name}\n")

    assert looked_at(tmp_path).packages["python"] == {"in"}
