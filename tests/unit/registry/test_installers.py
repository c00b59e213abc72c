"""Installing packages with tools that a test plays, and the choice of a package's program."""

import hashlib
import io
import stat
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.web import reply, serving

from peerwire.transports.command import Command
from symposium.config.component_source import ComponentSource
from symposium.registry.entries import Archive, Package, RegistryCrate, parse_entry
from symposium.registry.index import RegistryContext
from symposium.registry.installers import (
    Built,
    InstallError,
    build_from_archive,
    build_from_cargo,
    build_from_npm,
    build_from_python,
    newest_version,
    one_program,
)
from symposium.registry.provision import obtain_agent, obtain_source, provision, resolved

PLAYED = """#!/bin/sh
echo "${0##*/} $*" >> "$HOME/log"
cp -R "$HOME/result/." .
"""
"""An installer: it logs its arguments and copies the prepared files."""


@dataclass(frozen=True)
class PlayedTools:
    """Installers first on PATH, and an empty directory for a package."""

    home: Path
    place: Path

    def add(self, *names: str) -> None:
        for name in names:
            program = self.home / "tools" / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(PLAYED)
            program.chmod(0o755)

    def result(self, files: Mapping[str, str]) -> None:
        """Prepare the files that an installer creates."""
        for name, text in files.items():
            file = self.home / "result" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def log(self) -> list[str]:
        return (self.home / "log").read_text().replace(str(self.place), "HERE").splitlines()


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedTools:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/tools:/usr/bin:/bin")
    played = PlayedTools(tmp_path, tmp_path / "place")
    (tmp_path / "result").mkdir()
    played.place.mkdir()
    return played


def zipped(name: str, text: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr(name, text)
    return packed.getvalue()


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("names", "chosen"), [(["only"], "only"), (["a", "wanted"], "wanted"), (["wanted"], "wanted")]
)
def test_the_only_program_is_chosen_or_the_one_with_the_package_s_name(
    names: list[str], chosen: str
) -> None:
    assert one_program(names, "wanted", "the package") == chosen


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the package contains no executable"),
        (["b", "a"], "the package contains several programs: a, b"),
    ],
)
def test_a_package_without_such_a_program_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(InstallError) as caught:
        one_program(names, "wanted", "the package")
    assert caught.value.message == message


@pytest.mark.requirement("registry.install-binary", "registry.install-checksum")
@pytest.mark.parametrize("path", ["/an%20agent.zip?raw=1", "/plain"])
async def test_an_archive_or_a_program_is_installed_under_the_published_name(
    tmp_path: Path, path: str
) -> None:
    body = zipped("deep/er/agent", "#!/bin/sh") if "zip" in path else b"#!/bin/sh"
    digest = hashlib.sha256(body).hexdigest()
    with serving() as web:
        web.answers[path] = reply(body)
        target = Archive(
            archive=web.url(path), cmd="./deep/er/agent", args=("acp",), sha256=digest.upper()
        )

        built = await build_from_archive(target, tmp_path)

        expected = Built(("./deep/er/agent", "acp"), web.url(path), digest, is_verified=True)
    assert built == expected
    program = tmp_path / "deep" / "er" / "agent"
    assert program.read_bytes() == b"#!/bin/sh"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert not (tmp_path / ".download").exists()


@pytest.mark.requirement("registry.install-binary", "registry.install-checksum")
async def test_an_archive_without_its_program_or_with_another_sum_is_refused(
    tmp_path: Path,
) -> None:
    body = zipped("other", "#!/bin/sh")
    with serving() as web:
        web.answers["/agent.zip"] = reply(body)
        url = web.url("/agent.zip")

        with pytest.raises(InstallError) as missing:
            await build_from_archive(Archive(archive=url, cmd="./agent"), tmp_path)
        target = Archive(archive=url, cmd="./agent", sha256="AB" * 32)
        with pytest.raises(InstallError) as changed:
            await build_from_archive(target, tmp_path)

    assert missing.value.message == f"{url} does not contain ./agent"
    sums = (hashlib.sha256(body).hexdigest(), "ab" * 32)
    assert changed.value.message == (
        f"{url} has the SHA-256 {sums[0]}, but the registry publishes {sums[1]}"
    )
    assert changed.value.hint == "try again later, or report it to the publisher"


NPM_FILES = {
    "package.json": '{"dependencies": {"@tiny/agent": "1.0.0"}}',
    "node_modules/@tiny/agent/package.json": '{"bin": {"tiny": "run.js", "agent": "other.js"}}',
    "node_modules/.bin/agent": "#!/bin/sh",
    "package-lock.json": '{"packages": {"node_modules/@tiny/agent": {"integrity": "sha512-x"}}}',
}


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("changed", "integrity"),
    [
        ({}, "sha512-x"),
        ({"node_modules/@tiny/agent/package.json": '{"bin": "run.js"}'}, "sha512-x"),
        ({"package-lock.json": "{"}, None),
        ({"package-lock.json": "[]"}, None),
        ({"package-lock.json": '{"packages": {}}'}, None),
    ],
)
async def test_npm_installs_the_package_into_the_directory(
    tools: PlayedTools, changed: Mapping[str, str], integrity: str | None
) -> None:
    tools.add("npm")
    tools.result({**NPM_FILES, **changed})

    built = await build_from_npm(Package(package="@tiny/agent@1", args=("--acp",)), tools.place)

    argv = ("./node_modules/.bin/agent", "--acp")
    assert built == Built(argv, "@tiny/agent@1", integrity=integrity)
    options = "--no-audit --no-fund --no-update-notifier --loglevel=error"
    assert tools.log() == [f"npm install --prefix HERE {options} -- @tiny/agent@1"]


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("package.json", "{}", "npm did not report what it installed for @tiny/agent"),
        (
            "package.json",
            '{"dependencies": {"@tiny/agent": "1", "b": "2"}}',
            "npm did not report what it installed for @tiny/agent",
        ),
        ("package.json", "{", "cannot read package.json of an npm package: "),
        (
            "node_modules/@tiny/agent/package.json",
            "{}",
            "the npm package @tiny/agent contains no executable",
        ),
        (
            "node_modules/@tiny/agent/package.json",
            '{"bin": {"missing": "run.js"}}',
            "npm installed @tiny/agent without its program missing",
        ),
    ],
)
async def test_an_npm_package_that_cannot_be_started_is_refused(
    tools: PlayedTools, file: str, text: str, message: str
) -> None:
    tools.add("npm")
    tools.result({**NPM_FILES, file: text})

    with pytest.raises(InstallError) as caught:
        await build_from_npm(Package(package="@tiny/agent"), tools.place)

    assert caught.value.message.startswith(message)


SITE = "venv/lib/python3.11/site-packages"
SCRIPTS = """[gui_scripts]
window = x
[console_scripts]
b = x:b
 tiny-agent = x:main
no
[x]
y=z
"""
ONLY_INSTALLS = PLAYED.replace("cp ", '[ "$1" = venv ] || cp ')
"""Like `PLAYED`; the call that creates the environment copies nothing."""


@pytest.mark.requirement("registry.install-python")
@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("tiny-agent", "tiny-agent"),
        ("tiny-agent@1.2", "tiny-agent==1.2"),
        ("tiny-agent[more]@1.2", "tiny-agent[more]==1.2"),
        ("tiny-agent@file:///x", "tiny-agent@file:///x"),
    ],
)
async def test_uv_installs_the_package_into_an_environment_of_the_directory(
    tools: PlayedTools, written: str, wanted: str
) -> None:
    tools.add("uv")
    (tools.place / SITE / "pip-1.dist-info").mkdir(parents=True)
    (tools.place / SITE / "pip-1.dist-info" / "REQUESTED").touch()
    (tools.home / "tools" / "uv").write_text(ONLY_INSTALLS)
    info = f"{SITE}/tiny_agent-1.2.dist-info"
    tools.result({f"{info}/REQUESTED": "", f"{info}/entry_points.txt": SCRIPTS})

    built = await build_from_python(Package(package=written, args=("--acp",)), tools.place)

    argv = ("./venv/bin/python", "./venv/bin/tiny-agent", "--acp")
    assert built == Built(argv, written)
    assert tools.log() == [
        "uv venv --quiet --relocatable HERE/venv",
        f"uv pip install --quiet --python HERE/venv/bin/python -- {wanted}",
    ]


@pytest.mark.requirement("registry.install-python")
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "the installer did not report what it installed"),
        (
            {"a-1.dist-info/REQUESTED": "", "b-1.dist-info/REQUESTED": ""},
            "the installer did not report what it installed",
        ),
        ({"a_b-1.dist-info/REQUESTED": ""}, "the Python package a-b contains no executable"),
        (
            {"a-1.dist-info/REQUESTED": "", "a-1.dist-info/entry_points.txt/x": ""},
            "cannot read ",
        ),
    ],
)
async def test_a_python_package_that_cannot_be_started_is_refused(
    tools: PlayedTools, files: Mapping[str, str], message: str
) -> None:
    tools.add("uv")
    (tools.home / "tools" / "uv").write_text(ONLY_INSTALLS)
    tools.result({f"{SITE}/{name}": text for name, text in files.items()})

    with pytest.raises(InstallError) as caught:
        await build_from_python(Package(package="a"), tools.place)

    assert caught.value.message.startswith(message)


BINSTALL = "cargo binstall --no-confirm --root HERE -- some-crate@1.0.0"
BUILD = "cargo install --root HERE --version 1.0.0 --bin prog -- some-crate"
NO_BINSTALL = PLAYED.replace("cp ", '[ "$1" != binstall ] || exit 1\ncp ')
"""Like `PLAYED`; it cannot download a built program."""


@pytest.mark.requirement("registry.install-cargo")
@pytest.mark.parametrize(
    ("installers", "script", "commands"),
    [
        (("cargo", "cargo-binstall"), PLAYED, [BINSTALL]),
        (("cargo", "cargo-binstall"), NO_BINSTALL, [BINSTALL, BUILD]),
        (("cargo",), PLAYED, [BUILD]),
    ],
)
async def test_a_crate_is_built_unless_it_was_downloaded(
    tools: PlayedTools, installers: tuple[str, ...], script: str, commands: list[str]
) -> None:
    tools.add(*installers)
    (tools.home / "tools" / "cargo").write_text(script)
    tools.result({"bin/prog": "#!/bin/sh"})
    crate = RegistryCrate(crate="some-crate", version="1.0.0", args=("acp",))

    with serving() as web:
        names = b'{"version": {"bin_names": [null, "prog", ""]}}'
        web.answers["/some-crate/1.0.0"] = reply(names)
        built = await build_from_cargo(crate, "other", tools.place, address=web.address)

    argv = ("./bin/prog", "acp")
    assert built == Built(argv, "some-crate@1.0.0", sha256=None, is_verified=False, integrity=None)
    assert tools.log() == commands


@pytest.mark.requirement("registry.install-cargo", "registry.sources", "registry.installs-aloud")
async def test_a_crate_of_a_config_is_installed_in_its_version(tools: PlayedTools) -> None:
    tools.add("cargo")
    tools.result({"bin/prog": "#!/bin/sh"})
    lines: list[str] = []
    env = {"PATH": str(tools.home / "tools"), "HOME": str(tools.home)}
    home = tools.home / "home"
    context = RegistryContext(env, home, home, "linux-x86_64", "/no/registry", lines.append)
    crate = {"crate": "Some_Crate", "version": "1.0.0", "binary": "prog", "args": ["acp"]}

    obtained = await obtain_source(ComponentSource("cargo", crate), context)
    again = await obtain_source(ComponentSource("cargo", crate), context)

    program = home / "bin" / "some-crate" / "1.0.0" / "bin" / "prog"
    assert obtained.command.argv == again.command.argv == (str(program), "acp")
    assert obtained.receipt == again.receipt
    assert obtained.receipt is not None
    assert (obtained.receipt.source, obtained.receipt.origin) == ("cargo", "Some_Crate@1.0.0")
    assert (obtained.receipt.name, obtained.receipt.env) == ("Some_Crate", {})
    assert lines == ["installing some-crate 1.0.0; this can take a minute …"]
    members = {"id": "some-crate", "name": "S", "version": "1.0.0", "description": ""}
    listed = parse_entry({**members, "distribution": {"npx": {"package": "p"}}})
    assert (await resolved(listed, context)).receipt == obtained.receipt
    assert await obtain_agent("some-crate", context) == obtained
    assert len(tools.log()) == 1
    assert {each.name for each in program.parents[2].iterdir()} == {".lock", "1.0.0"}


@pytest.mark.requirement("registry.install-falls-back", "registry.installs-aloud")
async def test_a_package_that_cannot_be_installed_is_run_by_its_tool(tools: PlayedTools) -> None:
    tools.add("npm", "npx")
    (tools.home / "tools" / "npm").write_text("#!/bin/sh\nexit 3\n")
    lines: list[str] = []
    env = {"PATH": str(tools.home / "tools"), "HOME": str(tools.home)}
    home = tools.home / "home"
    context = RegistryContext(env, home, home, "linux-x86_64", "/no/registry", lines.append)
    way = {"npx": {"package": "@x/y@1", "args": ["--acp"]}}
    members = {"id": "far", "name": "Far", "version": "1.0.0", "description": "d"}
    entry = parse_entry({**members, "distribution": way})

    obtained = await provision(entry, context)

    assert obtained.command == Command(("npx", "-y", "@x/y@1", "--acp"), {}, "Far")
    failure = "`npm install --prefix …` failed with exit code 3"
    assert obtained.note == f"far could not be installed ({failure}); npx runs it each time"
    assert obtained.receipt is None
    assert lines == ["installing far 1.0.0 with npx; this can take a minute …"]
    assert [each.name for each in (home / "bin" / "far").iterdir()] == [".lock"]
    left = await resolved(entry, context)
    assert (left.command, left.note) == (obtained.command, "")
    assert len(lines) == 1


@pytest.mark.requirement("registry.install-cargo")
async def test_a_crate_that_cargo_installed_without_its_program_is_refused(
    tools: PlayedTools,
) -> None:
    tools.add("cargo")

    with pytest.raises(InstallError) as caught:
        await build_from_cargo(RegistryCrate(crate="c", binary="p"), "2.0.0", tools.place)

    assert caught.value.message == "cargo installed c@2.0.0 without its program p"


@pytest.mark.requirement("registry.install-cargo")
@pytest.mark.parametrize(
    ("crate", "newest"),
    [
        ('{"max_stable_version": "1.0.0", "max_version": "2.0.0-rc1"}', "1.0.0"),
        ('{"max_stable_version": null, "max_version": "2.0.0-rc1"}', "2.0.0-rc1"),
    ],
)
async def test_the_newest_stable_version_of_a_crate_is_preferred(crate: str, newest: str) -> None:
    with serving() as web:
        web.answers["/a%2Fb"] = reply(f'{{"crate": {crate}}}'.encode())
        assert await newest_version("a/b", address=web.address) == newest


@pytest.mark.requirement("registry.install-cargo")
async def test_a_malformed_response_about_a_crate_names_its_address() -> None:
    with serving() as web:
        web.answers["/c"] = reply(b"[]")
        with pytest.raises(InstallError) as caught:
            await newest_version("c", address=web.address)
        assert caught.value.message.startswith(f"malformed response from {web.address}/c: ")
