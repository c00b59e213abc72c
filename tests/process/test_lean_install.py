"""The wheel in a bare environment, with only the requirements of users."""

import os
import re
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(120)


def runtime_requirements() -> set[str]:
    """Return the distributions that `requirements/runtime.txt` pins and this machine needs."""
    text = (ROOT / "requirements" / "runtime.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^([A-Za-z0-9._-]+)==", text, re.MULTILINE))


def link_distribution(name: str, site: Path) -> None:
    """Make an installed distribution visible in another environment."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return  # for another platform or an older Python
    for file in found.files or []:
        top = file.parts[0]
        source = Path(str(found.locate_file(top)))
        if top not in {"..", "__pycache__"} and source.exists() and not (site / top).exists():
            (site / top).symlink_to(source)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install `symposium` from the wheel, in an environment with only its requirements."""
    folder = tmp_path_factory.mktemp("lean")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    place = folder / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = place / "lib" / version / "site-packages"
    for name in runtime_requirements():
        link_distribution(name, site)
    unpack = [sys.executable, "-m", "zipfile", "-e", wheel, str(site)]
    subprocess.run(unpack, check=True)
    script = place / "bin" / "symposium"
    lines = [f"#!{place / 'bin' / 'python'}", "import sys", "from symposium.__main__ import main"]
    script.write_text("\n".join([*lines, "sys.exit(main())", ""]), encoding="utf-8")
    script.chmod(0o755)
    return script


def ran(program: Path, home: Path, *words: str, stdin: str = "") -> Any:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(
        [program, *words],
        env=environment,
        cwd=home,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.requirement("house.lean-install")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--version",), "symposium, version"),
        (("prompt", "--agent", "testy", "Hello"), "Hello, world!"),
        (("prompt", "--agent", "eliza", "--proxy", "defaults", "Hello"), "How do you do."),
        (("agents", "test", "eliza"), "eliza"),
        (("policy", "explain", "rm -rf /"), ""),
        (("mcp", "--probe"), '"main.md": "built-in"'),
        (("setup", "zed"), "symposium"),
        (("uninstall", "--yes"), ""),
    ],
    ids=["version", "prompt", "defaults", "agents", "policy", "mcp", "setup", "uninstall"],
)
def test_command_runs_with_only_the_requirements_of_users(
    program: Path, words: tuple[str, ...], expected: str, tmp_path: Path
) -> None:
    done = ran(program, tmp_path, *words)

    assert "ModuleNotFoundError" not in done.stderr
    assert "Traceback" not in done.stderr
    assert expected in done.stdout


@pytest.mark.requirement("house.lean-install")
def test_every_command_is_found_and_has_help(program: Path, tmp_path: Path) -> None:
    listed = ran(program, tmp_path, "--help").stdout
    names = re.findall(r"^  ([a-z][a-z-]+)  ", listed, re.MULTILINE)

    assert len(names) > 25
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom symposium.__main__ import main\n"
        "print([n for n in sys.argv[1:] if CliRunner().invoke(main, [n, '--help']).exit_code])\n"
    )
    python = program.parent / "python"
    done = subprocess.run(
        [python, "-c", code, *names],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "[]\n", done.stderr
