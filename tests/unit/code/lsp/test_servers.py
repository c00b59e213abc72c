"""Settings of language servers, from what a workspace stores."""

import sys
from pathlib import Path

import pytest

from symposium.code.lsp import servers
from symposium.code.lsp.servers import MAX_FOLDERS, MAX_LINKS, python_settings


def environment(root: Path, name: str = ".venv", version: str = "python3.12") -> Path:
    """A virtual environment in a workspace; its packages."""
    packages = root / name / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (root / name / "pyvenv.cfg").touch()
    return packages


def folders(root: Path) -> list[str]:
    settings = python_settings(root)
    paths = settings["python"]["analysis"]
    for section in ("python.analysis", "basedpyright.analysis"):
        assert settings[section] == paths
    assert settings["basedpyright"] == {"analysis": paths}
    return paths.get("extraPaths", [])


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.requirement("ide.stored-packages")
def test_packages_of_the_first_environment_are_used(tmp_path: Path) -> None:
    assert folders(tmp_path) == []
    later = environment(tmp_path, "env")
    assert folders(tmp_path) == [str(later)]
    first = environment(tmp_path)
    assert folders(tmp_path) == [str(first)]
    (tmp_path / ".venv" / "pyvenv.cfg").unlink()
    assert folders(tmp_path) == [str(later)]


@pytest.mark.requirement("ide.stored-packages")
def test_folders_that_a_path_file_names_are_added_and_its_code_is_not_run(tmp_path: Path) -> None:
    packages = environment(tmp_path)
    (tmp_path / "src").mkdir()
    links = f"# {tmp_path}\nimport os\nimport\tos\n\n../../../../src\nmissing\n{'x' * 5000}\n"
    (packages / "a.pth").write_text(links)
    (packages / "b.pth").mkdir()

    assert folders(tmp_path) == [str(packages), str(packages / "../../../../src")]


@pytest.mark.requirement("ide.stored-packages", "ide.bounded-walk")
def test_path_files_and_their_folders_are_bounded(tmp_path: Path) -> None:
    packages = environment(tmp_path)
    (tmp_path / "src").mkdir()
    name = "../../../../src\n"
    (packages / "exact.pth").write_text(name + "#" * (MAX_LINKS - len(name)))
    assert len(folders(tmp_path)) == 2

    (packages / "exact.pth").write_text(name + "#" * (MAX_LINKS - len(name) + 1))
    assert len(folders(tmp_path)) == 1

    (packages / "many.pth").write_text(name * (MAX_FOLDERS + 5))
    assert len(folders(tmp_path)) == MAX_FOLDERS


@pytest.mark.requirement("ide.no-workspace-code")
def test_the_interpreter_has_the_environment_s_version_and_is_not_the_workspace_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    environment(work)
    planted = program(work / "bin" / "python3.12").parent
    shim = program(tmp_path / "shims" / "python3.12").parent
    own = program(tmp_path / "bin" / "python3.12")

    monkeypatch.setenv("PATH", f"{planted}:{shim}:{own.parent}")
    assert python_settings(work)["python"]["pythonPath"] == str(own)

    monkeypatch.setenv("PATH", f"{planted}:{shim}")
    bare = Path(sys.base_prefix) / "bin" / "python3"
    assert python_settings(work)["python"]["pythonPath"] == str(bare)

    other = program(tmp_path / "other" / "python3")
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.setattr(servers.sys, "base_prefix", str(work))
    assert python_settings(work)["python"]["pythonPath"] == str(other)
