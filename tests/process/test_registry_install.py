"""Installing agents: from archives of a local server, and by the real npm, uv, and pip."""

import asyncio
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from shutil import which
from typing import Any

import msgspec
import pytest
from tests.support.web import Web, reply, serving

from localio.archives import UnpackError
from peerwire.transports.command import Command
from symposium.registry.entries import (
    Distribution,
    FromArchive,
    FromPackage,
    RegistryCrate,
    RegistryEntry,
    choose_way,
    parse_entry,
)
from symposium.registry.index import (
    InstallReceipt,
    RegistryContext,
    installed,
    installed_command,
    installed_versions,
)
from symposium.registry.installers import InstallError, build_from_cargo, install, uninstall
from symposium.registry.provision import obtain_agent, provision, resolved

PLATFORM = "linux-x86_64"
SAYS = b"#!/bin/sh\necho I am $0 with $1\n"


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as server:
        yield server


@pytest.fixture
def context(tmp_path: Path) -> RegistryContext:
    return RegistryContext(os.environ, tmp_path, tmp_path / "cache", PLATFORM, "/no/registry.json")


def entry(
    ways: Mapping[str, Any], *, agent_id: str = "some", version: str = "1.0.0"
) -> RegistryEntry:
    members = {"id": agent_id, "name": "Some", "version": version, "description": "d"}
    return parse_entry({**members, "distribution": ways})


def local_package(ways: Mapping[str, Any]) -> RegistryEntry:
    """Return an entry whose package is a file, so that no network is needed."""
    given = entry({})
    return msgspec.structs.replace(given, distribution=msgspec.convert(ways, Distribution))


def binary(url: str, *, sha256: str | None = None) -> dict[str, Any]:
    target = {"archive": url, "cmd": "./agent", "args": ["acp"], "env": {"A": "b"}}
    return {"binary": {PLATFORM: {**target, "sha256": sha256} if sha256 else target}}


def tar(body: bytes = SAYS) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as file:
        info = tarfile.TarInfo("agent")
        info.size, info.mode = len(body), 0o755
        file.addfile(info, io.BytesIO(body))
    return packed.getvalue()


async def put(given: RegistryEntry, directory: Path) -> InstallReceipt:
    way = choose_way(given, PLATFORM, lambda _: True)
    assert isinstance(way, FromArchive | FromPackage)
    return await install(given, way, directory)


def said(command: Command) -> str:
    return subprocess.run(
        command.argv, env={**os.environ, **command.env}, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.requirement("registry.install-binary", "registry.receipts")
async def test_archive_becomes_a_program_with_a_receipt(web: Web, tmp_path: Path) -> None:
    packed = tar()
    digest = hashlib.sha256(packed).hexdigest()
    web.answers["/agent.tar.gz"] = reply(packed)

    receipt = await put(entry(binary(web.url("/agent.tar.gz"), sha256=digest)), tmp_path)

    command = installed_command(tmp_path, receipt)
    program = tmp_path / "some" / "1.0.0" / "agent"
    assert command.argv == (str(program), "acp")
    assert command.env == {"A": "b"}
    assert said(command) == f"I am {program} with acp\n"
    assert installed(tmp_path) == {"some": receipt}
    assert (receipt.source, receipt.version, receipt.sha256) == ("binary", "1.0.0", digest)
    assert receipt.is_verified
    assert receipt.when > 0


@pytest.mark.requirement("registry.install-binary")
async def test_download_that_is_no_archive_is_the_program_itself(web: Web, tmp_path: Path) -> None:
    web.answers["/agent-linux"] = reply(SAYS)

    receipt = await put(entry(binary(web.url("/agent-linux"))), tmp_path)

    assert said(installed_command(tmp_path, receipt)).startswith("I am ")
    assert not receipt.is_verified
    assert receipt.sha256 == hashlib.sha256(SAYS).hexdigest()


@pytest.mark.requirement("registry.install-checksum", "registry.install-whole")
async def test_wrong_checksum_is_refused(web: Web, tmp_path: Path) -> None:
    web.answers["/agent.tar.gz"] = reply(tar())

    with pytest.raises(InstallError, match="the registry publishes"):
        await put(entry(binary(web.url("/agent.tar.gz"), sha256="0" * 64)), tmp_path)

    assert os.listdir(tmp_path / "some") == [".lock"]  # noqa: PTH208 - only the names are compared


@pytest.mark.requirement("registry.install-whole")
async def test_failed_update_keeps_the_old_version(web: Web, tmp_path: Path) -> None:
    web.answers["/1.tar.gz"] = reply(tar())
    web.answers["/2.tar.gz"] = reply(b"no archive")
    first = await put(entry(binary(web.url("/1.tar.gz"))), tmp_path)

    with pytest.raises(UnpackError, match="unpacked"):
        await put(entry(binary(web.url("/2.tar.gz")), version="2.0.0"), tmp_path)

    assert installed_versions(tmp_path / "some") == [first]
    assert said(installed_command(tmp_path, first)).startswith("I am ")


@pytest.mark.requirement("registry.install-whole")
async def test_killed_install_leaves_no_installed_agent(web: Web, tmp_path: Path) -> None:
    begun, over = threading.Event(), threading.Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(b"x")
        begun.set()
        over.wait(45)

    web.answers["/agent.tar.gz"] = hang
    given = binary(web.url("/agent.tar.gz"))
    script = (
        "import asyncio, json, sys; from pathlib import Path\n"
        "from symposium.registry.entries import parse_entry\n"
        "from symposium.registry.installers import install\n"
        "from symposium.registry.entries import FromArchive\n"
        "entry = parse_entry(json.loads(sys.argv[1]))\n"
        f"way = FromArchive(entry.distribution.binary['{PLATFORM}'])\n"
        "asyncio.run(install(entry, way, Path(sys.argv[2])))\n"
    )
    members = {"id": "some", "name": "S", "version": "1.0.0", "description": "d"}
    words = [json.dumps({**members, "distribution": given}), str(tmp_path)]
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script, *words)
    assert await asyncio.to_thread(begun.wait, 9)
    process.kill()
    await process.wait()
    over.set()
    assert installed(tmp_path) == {}
    assert any(each.name.startswith(".staging-") for each in (tmp_path / "some").iterdir())

    half = tmp_path / "some" / "1.0.0" / "half"
    half.parent.mkdir()
    half.touch()

    web.answers["/agent.tar.gz"] = reply(tar())
    receipt = await put(entry(given), tmp_path)

    assert not half.exists()
    assert installed(tmp_path) == {"some": receipt}
    assert {each.name for each in (tmp_path / "some").iterdir()} == {".lock", "1.0.0"}


@pytest.mark.requirement("registry.install-once")
async def test_simultaneous_installs_install_once(web: Web, tmp_path: Path) -> None:
    web.answers["/agent.tar.gz"] = reply(tar())
    given = entry(binary(web.url("/agent.tar.gz")))

    async with asyncio.TaskGroup() as tasks:
        both = [tasks.create_task(put(given, tmp_path)) for _ in range(4)]

    assert len({each.result().when for each in both}) == 1
    assert len(web.asked) == 1


@pytest.mark.requirement("registry.install-versions")
async def test_one_older_version_stays_and_other_agents_are_unchanged(
    web: Web, tmp_path: Path
) -> None:
    web.answers["/agent.tar.gz"] = reply(tar())
    ways = binary(web.url("/agent.tar.gz"))
    await put(entry(ways, agent_id="other"), tmp_path)

    for version in ("1.0.0", "2.0.0", "3.0.0"):
        await put(entry(ways, version=version), tmp_path)

    kept = [each.version for each in installed_versions(tmp_path / "some")]
    assert kept == ["2.0.0", "3.0.0"]
    assert installed(tmp_path)["some"].version == "3.0.0"
    assert installed(tmp_path)["other"].version == "1.0.0"
    assert await uninstall("some", tmp_path)
    assert not await uninstall("some", tmp_path)
    assert list(installed(tmp_path)) == ["other"]


def npm_package(place: Path) -> Path:
    """Create a package with one program and no dependencies, like `npm pack`."""
    script = b"#!/usr/bin/env node\nconsole.log('npm', process.argv[2])\n"
    manifest = json.dumps({"name": "@tiny/agent", "version": "1.0.0", "bin": {"tiny": "run.js"}})
    with tarfile.open(place / "tiny.tgz", "w:gz") as file:
        for name, body in (("package/package.json", manifest.encode()), ("package/run.js", script)):
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(body), 0o755
            file.addfile(info, io.BytesIO(body))
    return place / "tiny.tgz"


def wheel(place: Path) -> Path:
    """Create a distribution with one program and no dependencies."""
    info = "tiny_agent-1.0.dist-info"
    files = {
        "tiny_agent.py": "import sys\ndef main():\n    print('python', sys.argv[1])\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: tiny-agent\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ntiny = tiny_agent:main\n",
        f"{info}/RECORD": "",
    }
    path = place / "tiny_agent-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


@pytest.mark.timeout(240)
@pytest.mark.requirement("registry.install-npm", "registry.receipts")
async def test_npm_package_is_installed_once_and_started_directly(
    context: RegistryContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if which("npm") is None:
        pytest.skip("npm is not on this machine")
    monkeypatch.setenv("npm_config_offline", "true")
    given = local_package({"npx": {"package": f"file:{npm_package(tmp_path)}", "args": ["--acp"]}})

    obtained = await provision(given, context)

    place = tmp_path / "bin" / "some" / "1.0.0"
    assert not obtained.note
    assert obtained.command.argv == (str(place / "node_modules" / ".bin" / "tiny"), "--acp")
    assert said(obtained.command) == "npm --acp\n"
    assert obtained.receipt
    assert obtained.receipt.source == "npx"
    assert obtained.receipt.integrity
    again = await obtain_agent("some", context)
    assert again.command == obtained.command
    assert (await resolved(given, context)).command == obtained.command


@pytest.mark.timeout(240)
@pytest.mark.requirement("registry.install-python")
@pytest.mark.parametrize("tool", ["uv", "pip"])
async def test_python_package_is_installed_once_and_started_directly(
    tool: str, context: RegistryContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_ours = str(Path(sys.executable).parent)
    if tool == "uv" and which("uv", path=of_ours) is None:
        pytest.skip("uv is not on this machine")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{of_ours}:/usr/bin:/bin" if tool == "uv" else "/usr/bin:/bin")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    given = local_package({"uvx": {"package": str(wheel(tmp_path)), "args": ["--acp"]}})
    way = FromPackage("uvx", given.distribution.uvx) if given.distribution.uvx else None
    assert way

    receipt = await install(given, way, context.bin_directory)

    command = installed_command(context.bin_directory, receipt)
    assert Path(command.argv[0]).is_relative_to(context.bin_directory)
    assert said(command) == "python --acp\n"


@pytest.mark.timeout(240)
@pytest.mark.requirement("registry.install-falls-back", "registry.installs-aloud")
async def test_package_that_cannot_be_installed_is_run_by_its_tool(
    context: RegistryContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "#!/bin/sh\necho E404 no such package >&2\nexit 1\n"
    for name in ("npm", "npx"):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    lines: list[str] = []
    speaking = replace(context, notify=lines.append)

    obtained = await provision(entry({"npx": {"package": "@x/y@1", "args": ["--acp"]}}), speaking)

    assert re.fullmatch(r"installing \S+ \S+ with npx; this can take a minute …", lines[0])
    assert obtained.command.argv == ("npx", "-y", "@x/y@1", "--acp")
    assert "npx runs it each time" in obtained.note
    assert "failed" in obtained.note
    assert obtained.receipt is None
    assert installed(context.bin_directory) == {}


FAKE_CARGO = """#!/bin/sh
echo "$@" >> "{log}"
[ "$1" = binstall ] && exit 1
while [ $# -gt 0 ]; do
  [ "$1" = --root ] && root=$2
  [ "$1" = --bin ] && bin=$2
  shift
done
mkdir -p "$root/bin" && echo built > "$root/bin/$bin" && chmod +x "$root/bin/$bin"
"""


@pytest.mark.requirement("registry.install-cargo")
@pytest.mark.parametrize("has_binstall", [True, False])
async def test_crate_is_downloaded_or_else_built(
    has_binstall: bool,  # noqa: FBT001 - pytest passes it
    web: Web,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log, place = tmp_path / "log", tmp_path / "place"
    place.mkdir()
    for name in ("cargo", *(["cargo-binstall"] if has_binstall else [])):
        (tmp_path / name).write_text(FAKE_CARGO.format(log=log))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    web.answers["/some-crate/1.0.0"] = reply(b'{"version":{"num":"1.0.0","bin_names":["prog"]}}')

    built = await build_from_cargo(
        RegistryCrate(crate="some-crate", args=("acp",)), "1.0.0", place, address=web.address
    )

    assert built.argv == ("./bin/prog", "acp")
    fetched = f"binstall --no-confirm --root {place} -- some-crate@1.0.0\n"
    installs = f"install --root {place} --version 1.0.0 --bin prog -- some-crate\n"
    assert log.read_text() == (fetched if has_binstall else "") + installs


@pytest.mark.requirement("registry.install-cargo")
async def test_crate_with_several_programs_needs_a_program_name(web: Web, tmp_path: Path) -> None:
    web.answers["/some/1.0.0"] = reply(b'{"version":{"num":"1.0.0","bin_names":["b","a"]}}')

    with pytest.raises(InstallError, match="several programs: a, b"):
        await build_from_cargo(RegistryCrate(crate="some"), "1.0.0", tmp_path, address=web.address)
