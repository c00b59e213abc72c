"""Walkthroughs with symbols that a real language server finds, from the command line."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.git_repository import GitRepository

TOUR = """```comment
location: findDefinition(`greet`)

here
```

```comment
location: callers(`greet`)

there
```

```comment
location: findDefinition(`gree`)

nowhere
```
"""


@pytest.mark.timeout(240)
@pytest.mark.requirement("dialect.headless", "dialect.exact-names", "walkthroughs.cli-check")
def test_language_server_finds_the_symbols_of_comments(tmp_path: Path) -> None:
    repository = GitRepository(tmp_path / "repo")
    repository.write("pyproject.toml", "[project]\nname = 'x'\n")
    repository.write("greeting.py", "def greet(name: str) -> str:\n    return name\n")
    repository.write("use.py", "from greeting import greet\n\ngreet('you')\n")
    repository.write("tour.md", TOUR)
    program = Path(sys.executable).with_name("symposium")
    done = subprocess.run(
        [program, "walkthrough", "check", "tour.md"],
        cwd=repository.path,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
    )

    assert done.stdout.splitlines() == [
        "line 1: comment: ok",
        "line 7: comment: ok",
        "line 13: comment: empty: no symbol has exactly the name 'gree'",
        '    or: findDefinition("greet")',
    ]
    assert (done.returncode, done.stderr) == (1, "3 checked, 1 not found\n")
