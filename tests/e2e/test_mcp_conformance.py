"""Official MCP conformance suite, against Symposium's server with the suite's fixtures in it.

No failure is expected. Scenarios without fixtures run against the product itself.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from tests.e2e.conftest import ROOT, run_or_skip

pytestmark = pytest.mark.timeout(600)

OLD: Final = "@modelcontextprotocol/conformance@0.1.16"
NEW: Final = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
LEGS: Final = {
    "0.1.16": (OLD, ["--suite", "active"], 30),
    "2025-11-25": (NEW, ["--requirements", "2025-11-25"], 30),
    "2026-07-28": (NEW, ["--requirements", "2026-07-28"], 37),
}
"""Package, arguments, and number of scored scenarios."""

OF_ANY_SERVER: Final = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    *("completion-complete", "dns-rebinding-protection"),
)
"""Scenarios that need no fixture: they hold for the shipped server."""

_BOTH: Final = {*OF_ANY_SERVER, "server-sse-multiple-streams"}
_STATELESS: Final = {
    *_BOTH - {"server-initialize", "ping"},
    *("caching", "sep-2164-resource-not-found", "input-required-result-unsupported-methods"),
    *("input-required-result-missing-input-response", "input-required-result-validate-input"),
    "input-required-result-ignore-extra-params",
}
OVER_HTTP: Final = {"0.1.16": _BOTH, "2025-11-25": _BOTH, "2026-07-28": _STATELESS}
"""The same for each leg over HTTP; the others call tools that only the fixture has."""

SUPPORT: Final = ROOT / "tests" / "support"
FIXTURE: Final = [sys.executable, "-W", "ignore", str(SUPPORT / "mcp_fixture_server.py")]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Folder for Node and the suites between runs."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: the conformance suite comes from its registry")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "symposium-conformance"


def installed(folder: Path, package: str) -> Path:
    """Install a package from its registry once."""
    place = folder / re.sub(r"[^A-Za-z0-9.]+", "-", package).strip("-")
    if not (place / "node_modules").is_dir():
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), package]
        run_or_skip(command, package)
    return place / "node_modules"


@contextmanager
def program(command: list[str], home: Path) -> Generator[str]:
    """Start a server program; return the URL that it prints."""
    environment = {
        **os.environ,
        "SYMPOSIUM_HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "SYMPOSIUM_MCP_TOKEN": "a-token-for-the-suite",
    }
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        try:
            yield started.stdout.readline().decode().strip()
        finally:
            started.terminate()


def judged(folder: Path, package: str, arguments: list[str], out: Path) -> dict[str, int]:
    """Count the failed checks of each scored scenario."""
    # The suite needs a newer Node than many machines have.
    node = installed(folder, "node@22") / ".bin" / "node"
    suite = installed(folder, package) / package.rpartition("@")[0] / "dist" / "index.js"
    command = [str(node), str(suite), "server", *arguments, "--output-dir", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    scored, _, others = said.partition("=== SUMMARY ===")[2].partition("Not scored")
    unscored = set(re.findall(r"^  \S+ (\S+) \(", others, re.MULTILINE))
    found = re.findall(r"^\S+ (\S+): \d+ passed, (\d+) failed", scored, re.MULTILINE)
    return {name: int(failed) for name, failed in found if name not in unscored}


@pytest.mark.requirement("mcp-server.conformance-http")
@pytest.mark.parametrize("leg", LEGS)
def test_fixture_server_over_http(leg: str, folder: Path, tmp_path: Path) -> None:
    package, arguments, expected = LEGS[leg]
    with program([*FIXTURE, "http"], tmp_path / "home") as url:
        results = judged(folder, package, ["--url", url, *arguments], tmp_path / "out")

    assert {name for name, failed in results.items() if failed} == set()
    assert len(results) == expected


@pytest.mark.requirement("mcp-server.conformance-stdio")
@pytest.mark.parametrize("leg", ["0.1.16", "2025-11-25"])
def test_fixture_server_over_stdio(leg: str, folder: Path, tmp_path: Path) -> None:
    """The bridge speaks the era of `initialize`, as the suite does over HTTP."""
    package, arguments, expected = LEGS[leg]
    bridge = [sys.executable, str(SUPPORT / "mcp_stdio_bridge.py"), *FIXTURE, "stdio"]
    with program(bridge, tmp_path / "home") as url:
        results = judged(folder, package, ["--url", url, *arguments], tmp_path / "out")

    assert {name for name, failed in results.items() if failed} == set()
    assert len(results) == expected


@pytest.mark.requirement("mcp-server.conformance-product")
def test_shipped_server(folder: Path, tmp_path: Path) -> None:
    """Through a bridge without fixtures: the product's own lists, as a client sees them."""
    shipped = [sys.executable, "-m", "symposium", "mcp", "--join"]
    bridge = [sys.executable, str(SUPPORT / "mcp_stdio_bridge.py"), *shipped]
    failed: dict[str, int] = {}
    with program(bridge, tmp_path / "home") as url:
        for scenario in OF_ANY_SERVER:
            arguments = ["--url", url, "--scenario", scenario]
            results = checks(folder, arguments, tmp_path / scenario)
            failed[scenario] = results

    assert failed == dict.fromkeys(OF_ANY_SERVER, 0)


@pytest.mark.requirement("mcp-server.conformance-product-http")
@pytest.mark.parametrize("leg", LEGS)
def test_shipped_server_over_http(leg: str, folder: Path, tmp_path: Path) -> None:
    """Behind a relay that adds the token, which the suite cannot send."""
    package, arguments, expected = LEGS[leg]
    shipped = [sys.executable, "-m", "symposium", "mcp", "--http", "--port", "0", "--join"]
    relay = [sys.executable, str(SUPPORT / "authorized_relay.py"), *shipped]
    with program(relay, tmp_path / "home") as url:
        results = judged(folder, package, ["--url", url, *arguments], tmp_path / "out")

    assert {name for name, failed in results.items() if not failed} >= OVER_HTTP[leg]
    assert len(results) == expected
    assert failures(tmp_path / "out", "server-stateless") == []


def failures(out: Path, scenario: str) -> list[str]:
    """Return the failed checks of a scenario, except those that call a tool of the fixture."""
    found = [json.loads(each.read_text()) for each in out.glob(f"*{scenario}*/checks.json")]
    failed = [check for checks in found for check in checks if check["status"] == "FAILURE"]
    return [check["id"] for check in failed if "does not list the diagnostic" not in str(check)]


def checks(folder: Path, arguments: list[str], out: Path) -> int:
    """Count the failed checks of one scenario, or return -1 if it has no checks."""
    node = installed(folder, "node@22") / ".bin" / "node"
    suite = installed(folder, NEW) / NEW.rpartition("@")[0] / "dist" / "index.js"
    command = [str(node), str(suite), "server", *arguments, "--output-dir", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    said = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    found = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", said)
    return int(found[3]) if found and int(found[2]) else -1
