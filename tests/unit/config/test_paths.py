"""Directories: one override, or the usual ones."""

import os
from pathlib import Path

import pytest

from localio.files import trusted_places
from symposium.config.paths import Paths, config_file, keep_runtime, leave_relative_places, paths

HOME = {"HOME": "/home/ada"}


@pytest.mark.requirement("config.places")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (HOME, ("/home/ada/.symposium", "/home/ada/.cache/symposium", "/home/ada/.symposium/run")),
        (
            HOME | {"XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r"},
            ("/home/ada/.symposium", "/c/symposium", "/r/symposium"),
        ),
        (
            HOME | {"XDG_CACHE_HOME": "/c", "XDG_RUNTIME_DIR": "/r", "SYMPOSIUM_HOME": "/s"},
            ("/s", "/s/cache", "/s/run"),
        ),
        (HOME | {"SYMPOSIUM_HOME": "~/s"}, ("/home/ada/s", "/home/ada/s/cache", "/home/ada/s/run")),
    ],
)
def test_environment_determines_the_directories(
    environment: dict[str, str], expected: tuple[str, str, str]
) -> None:
    assert paths(environment) == Paths(*map(Path, expected))


@pytest.mark.requirement("daemon.one-home")
def test_home_keeps_its_runtime_directory_while_it_exists(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cron = {"HOME": str(tmp_path)}
    session = cron | {"XDG_RUNTIME_DIR": str(tmp_path / "r")}
    (runtime := tmp_path / "r" / "symposium").mkdir(parents=True, mode=0o700)
    keep_runtime(session)
    keep_runtime(session)
    assert paths(cron).runtime == runtime
    assert paths(cron | {"SYMPOSIUM_HOME": "/s"}).runtime == Path("/s/run")

    runtime.chmod(0o755)
    assert paths(cron).runtime == tmp_path / ".symposium" / "run", "others could listen there"
    runtime.chmod(0o700)
    assert paths(cron).runtime == runtime
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: runtime.stat().st_uid + 1)
        assert paths(cron).runtime == tmp_path / ".symposium" / "run", "it is another user's"
    runtime.rmdir()
    runtime.symlink_to(tmp_path)
    assert paths(cron).runtime == tmp_path / ".symposium" / "run"


@pytest.mark.requirement("daemon.one-home")
def test_missing_runtime_directory_is_replaced(tmp_path: Path) -> None:
    session = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "r")}
    keep_runtime({"HOME": str(tmp_path)})
    assert paths(session).runtime == tmp_path / "r" / "symposium", "nothing is there yet"
    (runtime := tmp_path / "r" / "symposium").mkdir(parents=True, mode=0o700)

    keep_runtime(session)

    assert paths({"HOME": str(tmp_path)}).runtime == runtime


@pytest.mark.requirement("daemon.one-home")
def test_custom_home_needs_no_runtime_link(tmp_path: Path) -> None:
    keep_runtime({"HOME": str(tmp_path), "SYMPOSIUM_HOME": str(tmp_path / "s")})

    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("config.places")
@pytest.mark.parametrize(
    ("named", "environment", "expected"),
    [
        (None, {}, "/home/ada/.symposium/config.jsonc"),
        (None, {"SYMPOSIUM_HOME": "/s"}, "/s/config.jsonc"),
        (None, {"SYMPOSIUM_HOME": "/s", "SYMPOSIUM_CONFIG": "/e.jsonc"}, "/e.jsonc"),
        (None, {"SYMPOSIUM_CONFIG": "~/e.jsonc"}, "/home/ada/e.jsonc"),
        ("/n.jsonc", {"SYMPOSIUM_HOME": "/s", "SYMPOSIUM_CONFIG": "/e.jsonc"}, "/n.jsonc"),
    ],
)
def test_config_file_comes_from_option_then_environment_then_default(
    named: str | None, environment: dict[str, str], expected: str
) -> None:
    found = config_file(None if named is None else Path(named), HOME | environment)

    assert found == Path(expected)


@pytest.mark.requirement("config.trusted-places")
def test_programs_are_not_taken_from_relative_or_workspace_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    work = tmp_path / "home" / "work"
    (work / "bin").mkdir(parents=True)
    (tmp_path / "link").symlink_to(work / "bin")
    (work / "away").symlink_to("/usr/bin")
    path = f":./bin:bin:{work}/bin:{tmp_path}/link:{work}:{work}er:/usr/bin:{work}/../x:"

    found = trusted_places(path, work)

    assert found == [f"{work}er", "/usr/bin", f"{work}/../x"]


@pytest.mark.requirement("config.trusted-places")
def test_programs_are_found_when_the_home_is_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    for workspace in (tmp_path / "home", tmp_path, Path("/")):
        assert trusted_places(f"{tmp_path}/home/bin:.:/bin", workspace) == [
            f"{tmp_path}/home/bin",
            "/bin",
        ]


@pytest.mark.requirement("config.trusted-places")
def test_programs_are_found_when_the_working_directory_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    assert trusted_places(f"bin:{tmp_path}/bin:") == [f"{tmp_path}/bin"]


@pytest.mark.requirement("daemon.one-home")
def test_home_is_created_with_its_parents(tmp_path: Path) -> None:
    keep_runtime({"HOME": str(tmp_path / "new" / "user"), "XDG_RUNTIME_DIR": str(tmp_path)})

    home = tmp_path / "new" / "user" / ".symposium"
    assert home.stat().st_mode & 0o077 == 0
    assert [each.readlink() for each in home.iterdir()] == [tmp_path / "symposium"]


@pytest.mark.requirement("config.trusted-places")
def test_relative_directories_are_removed_from_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/bin:tools:.::/usr/bin")
    leave_relative_places()
    assert os.environ["PATH"] == "/bin:/usr/bin"

    monkeypatch.delenv("PATH")
    leave_relative_places()
    assert "PATH" not in os.environ
