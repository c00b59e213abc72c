"""Faulty mods, as their author and their user see them."""

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Run: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]

MOD = """
import sys
from symposium import ChainMessage, Forward, Mod, from_agent, from_client, run_mod

class Mine(Mod):
    @{mark}({method!r})
    def handle(self, message: ChainMessage):
        {body}

print("talk", file=sys.stderr)
run_mod(Mine())
"""


def spec(folder: Path, mark: str, method: str, body: str) -> str:
    path = folder / "mod.py"
    path.write_text(MOD.format(mark=mark, method=method, body=body), encoding="utf-8")
    return shlex.join([sys.executable, str(path)])


@pytest.mark.requirement("stories.mod-heard")
def test_exception_in_a_mod_is_printed_on_stderr(symposium: Run, tmp_path: Path) -> None:
    mod = spec(tmp_path, "from_agent", "session/update", "raise NameError('oops')")
    ended = symposium("prompt", "--proxy", mod, "--agent", "eliza", "Hello")
    assert ended.returncode == 0
    assert "How do you do" in ended.stdout
    assert "mod Mine failed on session/update" in ended.stderr
    assert "Traceback (most recent call last)" in ended.stderr
    assert "NameError: oops" in ended.stderr
    assert "talk" not in ended.stderr


@pytest.mark.requirement("stories.mod-blamed", "stories.mod-heard")
def test_failed_request_names_the_mod_that_failed(symposium: Run, tmp_path: Path) -> None:
    mod = spec(tmp_path, "from_client", "session/prompt", "return undefined_name")
    ended = symposium("prompt", "--proxy", mod, "--agent", "eliza", "Hello")
    assert ended.returncode == 1
    assert "symposium: mod Mine failed on session/prompt" in ended.stderr
    assert "the error is in the mod, not in the agent" in ended.stderr
    assert "the agent's own answer" not in ended.stderr


@pytest.mark.requirement("stories.mod-blamed")
def test_unanswered_request_names_the_mod_that_holds_it(symposium: Run, tmp_path: Path) -> None:
    mod = spec(tmp_path, "from_client", "session/prompt", "return None")
    ended = symposium("prompt", "--proxy", mod, "--agent", "eliza", "Hello")
    assert ended.returncode == 1
    assert "symposium: mod Mine gave no answer to session/prompt" in ended.stderr
    assert "return Forward()" in ended.stderr


@pytest.mark.requirement("stories.mod-mistyped")
@pytest.mark.parametrize(
    ("method", "is_warned_of"),
    [
        ("session/updaet", True),
        ("terminal/output", False),
        ("_vendor/any", False),
        ("vendor/something_else", False),
    ],
)
def test_name_similar_to_an_acp_method_is_a_warning(
    symposium: Run, tmp_path: Path, method: str, *, is_warned_of: bool
) -> None:
    mod = spec(tmp_path, "from_agent", method, "return Forward()")
    ended = symposium("prompt", "--proxy", mod, "--agent", "eliza", "Hello")
    assert ended.returncode == 0
    assert ("did you mean `session/update`?" in ended.stderr) is is_warned_of, ended.stderr
