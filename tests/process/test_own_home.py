"""Home and git settings of the tests, separate from the developer's."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.project

ROOT: Final = Path(__file__).parents[2]

HOSTILE: Final = """\
[user]
	useConfigOnly = true
	signingKey = none
[commit]
	gpgSign = true
[core]
	hooksPath = {hooks}
	autocrlf = true
	excludesFile = {everything}
[init]
	defaultBranch = weird
[merge]
	ff = false
"""

CHOSEN: Final = (
    "tests/process/test_tasks.py::test_three_tasks_are_three_worktrees_and_the_clone_stays_clean"
)


def settings_of_a_developer(home: Path) -> dict[str, str]:
    """Write git settings that break a commit to each place where git reads them."""
    (home / "hooks").mkdir(parents=True)
    hook = home / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    (home / "everything").write_text("*\n", encoding="utf-8")
    settings = HOSTILE.format(hooks=home / "hooks", everything=home / "everything")
    (home / ".gitconfig").write_text(settings, encoding="utf-8")
    (home / "xdg" / "git").mkdir(parents=True)
    (home / "xdg" / "git" / "config").write_text(settings, encoding="utf-8")
    (home / "xdg" / "git" / "ignore").write_text("*\n", encoding="utf-8")
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "xdg"),
        "GIT_AUTHOR_NAME": "",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "commit.gpgSign",
        "GIT_CONFIG_VALUE_0": "true",
        "SYMPOSIUM_HOME": "/dev/null",
    }


@pytest.mark.requirement("house.own-home")
@pytest.mark.timeout(240)
def test_git_settings_of_a_developer_do_not_affect_tests(
    tmp_path: Path,
) -> None:
    hostile = settings_of_a_developer(tmp_path / "developer")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", CHOSEN],
        cwd=ROOT,
        env={**os.environ, **hostile},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.requirement("house.own-home")
def test_each_process_test_has_a_separate_empty_home(
    environment: dict[str, str], user_home: Path
) -> None:
    assert os.environ["HOME"] == environment["HOME"] == str(user_home)
    assert not list(user_home.iterdir())
