"""Plugins of a package, found by their modules."""

import sys
from pathlib import Path

import pytest

from localio.plugins import has_module, module_name, names_in, offered_name, only_object
from peerwire.errors import LocalError


@pytest.mark.requirement("house.plugins")
def test_names_are_those_of_the_modules_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_plugins"
    package.mkdir()
    for name in ("__init__", "_private", "b_a", "b1", "import_", "a"):
        (package / f"{name}.py").touch()
    (package / "two.py").write_text("one, other = 1, 2\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    assert names_in("own_plugins") == ["a", "b-a", "b1", "import", "two"]
    assert has_module("own_plugins", "b-a")
    assert not has_module("own_plugins", "c")
    assert not has_module("own_plugins", "-private")
    with pytest.raises(LocalError, match=r"own_plugins\.two makes 2 objects of int, not one"):
        only_object("own_plugins.two", int)
    with pytest.raises(LocalError, match=r"own_plugins\.a makes 0 objects of int, not one"):
        only_object("own_plugins.a", int)


@pytest.mark.requirement("house.plugins")
@pytest.mark.parametrize(
    ("name", "module"),
    [
        *(("sparkle", "sparkle"), ("codex-mcp", "codex_mcp"), ("import", "import_")),
        *((name, None) for name in ("", "_x", "-x", "a.b", "a/b", "../a", "1a", "a b")),
    ],
)
def test_name_of_a_plugin_is_a_module_or_none(name: str, module: str | None) -> None:
    assert module_name(name) == module
    assert module is None or offered_name(module) == name
