"""Opt-in lane with real third parties: `make e2e` installs them from their registries.

The programs that install and run them, and the scripted model that they use, are not part of this
repository: the folder is `$SYMPOSIUM_PEERS`, or `../shared/peers` beside the checkout. Missing or
uninstallable programs are skipped with a message.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOST = Path(sys.executable).with_name("symposium")
INSTALL_SECONDS = 500


@pytest.fixture(scope="session")
def peers_folder() -> Path:
    """Folder of the programs that run the clients."""
    folder = Path(os.environ.get("SYMPOSIUM_PEERS", ROOT.parent / "shared" / "peers"))
    if not (folder / "pairs.py").exists():
        pytest.skip(
            f"no third-party drivers in {folder}: set SYMPOSIUM_PEERS to the folder of pairs.py"
        )
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: the third-party clients come from its registry")
    return folder


@pytest.fixture(scope="session")
def model(peers_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a scripted model that speaks the protocols of the agents' providers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("model") / "log"
    with log.open("wb") as output:
        command = [sys.executable, str(peers_folder / "fake_llm.py"), "--port", str(port)]
        server = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _until_listening(port, server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=10)


@pytest.fixture(scope="session")
def clients(peers_folder: Path) -> None:
    """The third-party clients, installed once."""
    run_or_skip([sys.executable, str(peers_folder / "pairs.py"), "install-clients"], "the clients")


def run_or_skip(command: list[str], what: str) -> None:
    """Install something; skip the test if the registry does not have it."""
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=INSTALL_SECONDS, text=True)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{what} could not be installed within {INSTALL_SECONDS} s")
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout or "no reason given").strip().splitlines()
        pytest.skip(f"{what} could not be installed: {lines[-1] if lines else 'no reason given'}")


def _until_listening(port: int, server: subprocess.Popen[bytes]) -> None:
    while server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise RuntimeError(f"the scripted model ended with {server.returncode}")
