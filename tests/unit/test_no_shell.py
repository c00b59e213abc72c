"""Only a user's own command reaches a shell."""

import ast
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.project

SOURCES: Final = Path(__file__).parents[2] / "src"

SHELLED: Final = frozenset({"create_subprocess_shell", "getoutput", "getstatusoutput", "popen"})
"""Functions that pass a text to a shell, in any module."""

WITH_A_SHELL: Final = frozenset(
    {
        "symposium/sessions/pause.py",  # a constant text
        "localio/processes.py",  # the user's login shell, for its PATH
        "symposium/tasks/setup_steps.py",  # commands that the user has trusted
    }
)


def shell_calls(text: str) -> list[int]:
    """Lines that pass a text to a shell by a library function."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and (
            any(word.arg == "shell" for word in node.keywords)
            or (isinstance(node.func, ast.Attribute) and node.func.attr in SHELLED)
            or _is_system(node.func)
        )
    ]


def starts_a_shell(text: str) -> bool:
    """Whether a list or call has `-c` right after a shell."""
    for node in ast.walk(ast.parse(text)):
        words = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [])
        pairs = pairwise(words)
        if any(_is_shell(first) and _is(second, "-c", "-l") for first, second in pairs):
            return True
    return False


def _is_system(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="os"), attr="system"):
            return True
        case _:
            return False


def _is(node: ast.expr, *texts: str) -> bool:
    return isinstance(node, ast.Constant) and node.value in texts


def _is_shell(node: ast.expr) -> bool:
    return _is(node, "sh", "bash", "/bin/sh", "/bin/bash") or (
        isinstance(node, ast.Name) and node.id == "shell"
    )


@pytest.mark.requirement("bus.no-shell")
def test_only_three_modules_pass_a_text_to_a_shell() -> None:
    texts = {
        str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8")
        for path in SOURCES.rglob("*.py")
    }

    assert not {file: lines for file, text in texts.items() if (lines := shell_calls(text))}
    assert {file for file, text in texts.items() if starts_a_shell(text)} == WITH_A_SHELL


@pytest.mark.requirement("bus.no-shell")
@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(text, shell=True)",
        "asyncio.create_subprocess_shell(text)",
        "os.system(text)",
        "os.popen(text)",
        "subprocess.getoutput(text)",
    ],
)
def test_call_that_passes_a_text_to_a_shell_is_detected(text: str) -> None:
    assert shell_calls(text) == [1]
    assert starts_a_shell('run(["/bin/sh", "-c", text])')
    assert starts_a_shell('run("sh", "-c", text)')
