"""Choice of a version, and the origin of its source; indexes are servers of the test."""

import base64
import hashlib
import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.packages import tar_gz, wheel
from tests.support.web import Web, reply, serving

from symposium.code.packages.index_settings import NpmSettings
from symposium.code.packages.model import (
    DamagedError,
    Ecosystem,
    OfflineError,
    PackageNameError,
    RangeError,
    UnknownPackageError,
    UnknownVersionError,
    UnpublishedError,
)
from symposium.code.packages.npm import NpmPackages
from symposium.code.packages.sources import SourceFinder, source_finder

UNREACHABLE = "http://127.0.0.1:9"
"""An address at which nothing answers."""


LOCKED = """
[[package]]
name = "serde"
version = "1.0.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""


@dataclass
class Scene:
    """A user, a project, and the indexes that the user's tools are set up for."""

    home: Path
    project: Path
    web: Web
    env: dict[str, str]

    def finder(self, ecosystem: Ecosystem, interpreter: Path | None = None) -> SourceFinder:
        return source_finder(ecosystem, self.project, interpreter=interpreter, environment=self.env)

    def go_offline(self) -> None:
        self.env |= {"PIP_INDEX_URL": UNREACHABLE, "npm_config_registry": UNREACHABLE}
        self.cargo_index(UNREACHABLE)

    def cargo_index(self, address: str) -> None:
        (self.home / ".cargo").mkdir(exist_ok=True)
        (self.home / ".cargo" / "config.toml").write_text(
            "[source.crates-io]\nreplace-with = 'ours'\n"
            f"[source.ours]\nregistry = 'sparse+{address}/crates/'\n"
        )

    def publish_crate(self, name: str, versions: Mapping[str, bytes], *, yanked: str = "") -> None:
        path = f"{name[:2]}/{name[2:4]}/{name}"
        rows = [
            {"name": name, "vers": each, "cksum": sha256(body), "yanked": each == yanked}
            for each, body in versions.items()
        ]
        self.web.answers |= {
            "/crates/config.json": reply(json.dumps({"dl": self.web.url("/dl")}).encode()),
            f"/crates/{path}": reply("\n".join(map(json.dumps, rows)).encode()),
        }
        for each, body in versions.items():
            self.web.answers[f"/dl/{name}/{each}/download"] = reply(body)

    def publish_npm(self, name: str, versions: Mapping[str, bytes], at: str = "/npm") -> None:
        rows = {
            each: {
                "dist": {
                    "tarball": self.web.url(f"{at}/-/{each}.tgz"),
                    "integrity": f"sha512-{base64_of(hashlib.sha512(body).digest())}",
                }
            }
            for each, body in versions.items()
        }
        self.web.answers[f"{at}/{name.replace('/', '%2F')}"] = reply(
            json.dumps({"versions": rows}).encode()
        )
        for each, body in versions.items():
            self.web.answers[f"{at}/-/{each}.tgz"] = reply(body)

    def publish_python(self, name: str, files: Mapping[str, bytes], at: str = "/simple") -> None:
        rows = [
            {"filename": each, "url": f"../../files/{each}", "hashes": {"sha256": sha256(body)}}
            for each, body in files.items()
        ]
        body = json.dumps({"meta": {"api-version": "1.0"}, "files": rows}).encode()
        self.web.answers[f"{at}/{name}/"] = reply(body)
        for each, said in files.items():
            self.web.answers[f"/files/{each}"] = reply(said)

    def install(self, name: str, version: str, files: Mapping[str, str]) -> Path:
        site = self.project / ".venv" / "lib" / "python3.12" / "site-packages"
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (self.project / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
        rows = [*files, f"{info.name}/METADATA", f"{info.name}/RECORD", "../../../bin/x"]
        (info / "RECORD").write_text("".join(f"{each},sha256=x,1\n" for each in rows))
        for each, text in files.items():
            file = site / each
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return site


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def base64_of(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def crate(name: str, version: str) -> bytes:
    return tar_gz({f"{name}-{version}/src/lib.rs": f"// {version}\n".encode()})


@pytest.fixture
def scene(tmp_path: Path) -> Generator[Scene]:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    (project / ".git").mkdir(parents=True)
    with serving() as web:
        env = {
            "HOME": str(home),
            "PIP_INDEX_URL": web.url("/simple"),
            "PIP_CONFIG_FILE": "/dev/null",
            "npm_config_registry": web.url("/npm"),
        }
        made = Scene(home, project, web, env)
        made.cargo_index(web.address)
        yield made


# -- crates


@pytest.mark.requirement("package-sources.version-choice")
async def test_a_range_gives_the_highest_crate_that_it_allows(scene: Scene) -> None:
    versions = ("1.0.0", "1.2.0", "1.3.0-beta", "2.0.0")
    scene.publish_crate("serde", {each: crate("serde", each) for each in versions})
    finder = scene.finder(Ecosystem.RUST)
    assert (await finder.find("serde", "1")).version == "1.2.0"
    assert (await finder.find("serde", "=1.0.0")).version == "1.0.0"
    found = await finder.find("serde")
    assert (found.version, found.why) == ("2.0.0", "the newest that is published")
    assert (found.place.root / "src" / "lib.rs").read_text() == "// 2.0.0\n"


@pytest.mark.requirement("package-sources.version-choice")
async def test_lock_file_decides_when_no_version_is_given(scene: Scene) -> None:
    scene.publish_crate("serde", {each: crate("serde", each) for each in ("1.0.0", "2.0.0")})
    (scene.project / "Cargo.lock").write_text(LOCKED)
    found = await scene.finder(Ecosystem.RUST).find("serde")
    assert (found.version, found.why) == ("1.0.0", "as Cargo.lock says")


@pytest.mark.requirement("package-sources.version-choice")
async def test_package_from_a_repository_is_not_taken_from_an_index(scene: Scene) -> None:
    scene.publish_crate("serde", {"1.0.0": crate("serde", "1.0.0")})
    text = LOCKED.replace("registry+", "git+")
    (scene.project / "Cargo.lock").write_text(text)
    finder = scene.finder(Ecosystem.RUST)
    with pytest.raises(UnpublishedError, match=r"git\+https.*according to Cargo.lock"):
        await finder.find("serde")
    assert (await finder.find("serde", "1")).version == "1.0.0"


@pytest.mark.requirement("package-sources.version-choice")
async def test_one_version_may_be_written_in_several_ways(scene: Scene) -> None:
    scene.install("click", "1.0", {"click.py": ""})
    assert (await scene.finder(Ecosystem.PYTHON).find("click", "==1.0.0")).version == "1.0"
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.crate-places")
async def test_damaged_archive_of_cargo_is_fetched_again(scene: Scene) -> None:
    cache = scene.home / ".cargo/registry/cache/index.crates.io-1949"
    cache.mkdir(parents=True)
    (cache / "serde-1.0.0.crate").write_bytes(b"half")
    scene.publish_crate("serde", {"1.0.0": crate("serde", "1.0.0")})
    assert (await scene.finder(Ecosystem.RUST).find("serde", "=1.0.0")).place.origin == "download"


@pytest.mark.requirement("package-sources.version-choice")
async def test_yanked_version_is_used_only_when_it_is_named(scene: Scene) -> None:
    versions = {each: crate("serde", each) for each in ("1.0.0", "1.0.1")}
    scene.publish_crate("serde", versions, yanked="1.0.1")
    finder = scene.finder(Ecosystem.RUST)
    assert (await finder.find("serde")).version == "1.0.0"
    assert "yanked" in (await finder.find("serde", "=1.0.1")).why


@pytest.mark.requirement("package-sources.version-choice")
async def test_unsatisfiable_range_is_an_error_with_available_versions(scene: Scene) -> None:
    scene.publish_crate("serde", {"1.0.0": b""})
    with pytest.raises(UnknownVersionError, match=r"3.*the newest are 1\.0\.0"):
        await scene.finder(Ecosystem.RUST).find("serde", "3")
    with pytest.raises(RangeError):
        await scene.finder(Ecosystem.RUST).find("serde", "newest")


@pytest.mark.requirement("package-sources.crate-places")
async def test_source_that_cargo_has_unpacked_is_used(scene: Scene) -> None:
    folder = scene.home / ".cargo/registry/src/index.crates.io-1949/serde-1.0.0"
    folder.mkdir(parents=True)
    (folder / ".cargo-ok").write_text('{"v":1}')
    found = await scene.finder(Ecosystem.RUST).find("serde", "=1.0.0")
    assert (found.place.root, found.place.origin) == (folder, "tool")
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.crate-places", "package-sources.whole-or-absent")
@pytest.mark.parametrize("mark", [None, ""])
async def test_source_incompletely_unpacked_by_cargo_is_ignored(
    scene: Scene, mark: str | None
) -> None:
    folder = scene.home / ".cargo/registry/src/index.crates.io-1949/serde-1.0.0"
    folder.mkdir(parents=True)
    if mark is not None:
        (folder / ".cargo-ok").write_text(mark)
    scene.publish_crate("serde", {"1.0.0": crate("serde", "1.0.0")})
    assert (await scene.finder(Ecosystem.RUST).find("serde", "=1.0.0")).place.origin == "download"


@pytest.mark.requirement("package-sources.crate-places")
async def test_an_archive_of_cargo_s_is_unpacked_into_our_own_place(scene: Scene) -> None:
    cache = scene.home / ".cargo/registry/cache/index.crates.io-1949"
    cache.mkdir(parents=True)
    (cache / "serde-1.0.0.crate").write_bytes(crate("serde", "1.0.0"))
    (cache / "serde-derive-1.0.0.crate").write_bytes(b"another's")
    scene.go_offline()
    found = await scene.finder(Ecosystem.RUST).find("serde")
    assert (found.place.root / "src" / "lib.rs").read_text() == "// 1.0.0\n"
    assert found.place.root.is_relative_to(scene.home / ".cache")


@pytest.mark.requirement("package-sources.crate-places")
async def test_downloaded_source_is_reused(scene: Scene) -> None:
    scene.publish_crate("serde", {"1.0.0": crate("serde", "1.0.0")})
    first = await scene.finder(Ecosystem.RUST).find("serde")
    scene.go_offline()
    again = await scene.finder(Ecosystem.RUST).find("serde", "1")
    assert (again.place.root, again.place.origin) == (first.place.root, "cache")
    assert "no index was reachable" in again.why


# -- what goes wrong


@pytest.mark.requirement("package-sources.offline-is-not-absent")
@pytest.mark.parametrize("ecosystem", Ecosystem)
async def test_unpublished_package_is_unknown(scene: Scene, ecosystem: Ecosystem) -> None:
    scene.publish_crate("other", {})
    with pytest.raises(UnknownPackageError, match="is not published"):
        await scene.finder(ecosystem).find("nosuch")


@pytest.mark.requirement("package-sources.offline-is-not-absent")
@pytest.mark.parametrize("ecosystem", Ecosystem)
async def test_package_is_not_unknown_when_no_index_can_be_asked(
    scene: Scene, ecosystem: Ecosystem
) -> None:
    scene.go_offline()
    with pytest.raises(OfflineError, match="the download failed"):
        await scene.finder(ecosystem).find("nosuch")


@pytest.mark.requirement("package-sources.offline-is-not-absent")
@pytest.mark.parametrize(
    ("ecosystem", "name"),
    [
        (Ecosystem.RUST, "CARGO_NET_OFFLINE"),
        (Ecosystem.PYTHON, "UV_OFFLINE"),
        (Ecosystem.PYTHON, "PIP_NO_INDEX"),
        (Ecosystem.NPM, "npm_config_offline"),
    ],
)
async def test_offline_setting_of_a_tool_is_respected(
    scene: Scene, ecosystem: Ecosystem, name: str
) -> None:
    scene.env[name] = "true"
    with pytest.raises(OfflineError, match="set to stay offline"):
        await scene.finder(ecosystem).find("nosuch")
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.offline-is-not-absent")
async def test_malformed_index_is_a_separate_error(scene: Scene) -> None:
    scene.web.answers["/simple/click/"] = reply(b"", status=503)
    with pytest.raises(OfflineError, match="503"):
        await scene.finder(Ecosystem.PYTHON).find("click")
    scene.web.answers["/npm/click"] = reply(b"{nonsense")
    with pytest.raises(DamagedError):
        await scene.finder(Ecosystem.NPM).find("click")


@pytest.mark.requirement("package-sources.checksum")
async def test_archive_without_a_published_checksum_is_used(scene: Scene) -> None:
    body = json.dumps({"files": [{"filename": "left-1.0.tar.gz", "url": "../../f", "hashes": {}}]})
    scene.web.answers["/simple/left/"] = reply(body.encode())
    scene.web.answers["/f"] = reply(tar_gz({"a/x": b"x"}))

    found = await scene.finder(Ecosystem.PYTHON).find("left")

    assert [each.name for each in found.place.root.iterdir()] == ["x"]


@pytest.mark.requirement("package-sources.checksum", "package-sources.whole-or-absent")
@pytest.mark.parametrize("ecosystem", Ecosystem)
async def test_another_archive_than_the_published_one_is_refused(
    scene: Scene, ecosystem: Ecosystem
) -> None:
    body = tar_gz({"a/x": b"x"})
    scene.publish_crate("left", {"1.0.0": body})
    scene.publish_npm("left", {"1.0.0": body})
    scene.publish_python("left", {"left-1.0.0.tar.gz": body})
    other = reply(tar_gz({"a/x": b"worse"}))
    for path in ("/dl/left/1.0.0/download", "/npm/-/1.0.0.tgz", "/files/left-1.0.0.tar.gz"):
        scene.web.answers[path] = other
    with pytest.raises(DamagedError, match="is not the published one") as caught:
        await scene.finder(ecosystem).find("left")
    assert caught.value.message.startswith("left 1.0.0: the file from http://127.0.0.1:")
    digits = "[0-9a-f]{16}…"
    assert re.search(rf"\(sha(256|512) {digits} instead of {digits}\)", caught.value.message)
    assert not [each for each in (scene.home / ".cache").rglob("*") if each.name == "x"]


@pytest.mark.requirement("package-sources.names")
@pytest.mark.parametrize(
    "name", ["", "..", "../x", "a/b/c", "a b", "x" * 300, "a\0b", "@a", "@../x", "-x/..", "a?b"]
)
@pytest.mark.parametrize("ecosystem", Ecosystem)
async def test_invalid_name_is_rejected(scene: Scene, ecosystem: Ecosystem, name: str) -> None:
    with pytest.raises(PackageNameError):
        await scene.finder(ecosystem).find(name)
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.names")
def test_a_name_of_an_npm_package_may_have_214_characters() -> None:
    packages = NpmPackages(NpmSettings())

    assert packages.canonical("x" * 214) == "x" * 214
    with pytest.raises(PackageNameError):
        packages.canonical("x" * 215)


# -- Python


@pytest.mark.requirement("package-sources.python-installed", "package-sources.version-choice")
async def test_installed_package_has_only_its_own_files(scene: Scene) -> None:
    files = {"pil/__init__.py": "", "pil/a/b.py": "", "pil.py": "", "google/x/y.py": ""}
    site = scene.install("Pil_Low", "2.0", {**files, "__pycache__/pil.cpython-312.pyc": ""})
    scene.install("other", "1.0", {"other/__init__.py": "", "google/z/y.py": ""})
    found = await scene.finder(Ecosystem.PYTHON).find("pil.low")
    assert (found.version, found.place.root, found.place.origin) == ("2.0", site, "project")
    assert found.place.parts == ("Pil_Low-2.0.dist-info", "google/x", "pil", "pil.py")
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.python-installed")
async def test_a_record_that_names_files_elsewhere_makes_nothing_else_readable(
    scene: Scene,
) -> None:
    site = scene.install("left", "1.0", {"left.py": ""})
    with (site / "left-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("/etc/passwd,,\n\n../other/x.py,,\nother/../../y.py,,\n")

    found = await scene.finder(Ecosystem.PYTHON).find("left")

    assert found.place.parts == ("left-1.0.dist-info", "left.py")


@pytest.mark.requirement("package-sources.python-installed")
async def test_a_named_interpreter_s_distributions_count_instead(scene: Scene) -> None:
    scene.install("click", "1.0", {"click.py": ""})
    other = scene.home / "env"
    site = other / "lib/python3.11/site-packages"
    (site / "click-2.0.dist-info").mkdir(parents=True)
    (site / "click-2.0.dist-info" / "RECORD").write_text("click.py,,\n")
    finder = scene.finder(Ecosystem.PYTHON, other / "bin" / "python")
    assert (await finder.find("click")).version == "2.0"


@pytest.mark.requirement("package-sources.python-installed", "package-sources.read-stays-inside")
async def test_a_link_for_an_environment_must_lead_to_one(scene: Scene) -> None:
    secret = scene.home / "secret"
    info = secret / "site-packages" / "click-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "RECORD").write_text("click.py,,\n")
    lib = scene.project / ".venv" / "lib" / "python3.12"
    lib.mkdir(parents=True)
    (scene.project / ".venv" / "pyvenv.cfg").write_text("")
    (lib / "site-packages").symlink_to(secret / "site-packages")
    with pytest.raises(UnknownPackageError):
        await scene.finder(Ecosystem.PYTHON).find("click")


@pytest.mark.requirement("package-sources.python-installed")
async def test_nothing_of_the_workspace_is_run(scene: Scene) -> None:
    trap = "open(__file__ + '.ran', 'w').close()\n"
    site = scene.install("click", "1.0", {"click/__init__.py": trap, "x.pth": f"import os; {trap}"})
    python = scene.project / ".venv" / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\ntouch {scene.project}/ran\n")
    python.chmod(0o755)
    await scene.finder(Ecosystem.PYTHON).find("click")
    assert not [*site.rglob("*.ran"), *scene.project.glob("ran")]


@pytest.mark.requirement("package-sources.python-published")
async def test_a_source_distribution_is_taken_before_a_wheel(scene: Scene) -> None:
    scene.publish_python(
        "click",
        {
            "click-1.0-py3-none-any.whl": wheel({"click/a.py": b""}),
            "click-1.0.tar.gz": tar_gz({"click-1.0/tests/t.py": b""}),
            "click-2.0a1.tar.gz": b"a preview",
            "click-1.5-cp311-cp311-linux_x86_64.whl": wheel({"click/linux.py": b""}),
            "click-1.5-py3-none-any.whl": wheel({"click/any.py": b""}),
            "other-9.0.tar.gz": b"another's",
        },
    )
    finder = scene.finder(Ecosystem.PYTHON)
    assert ((await finder.find("click", "1.0")).place.root / "tests" / "t.py").is_file()
    assert ((await finder.find("click")).place.root / "any.py").is_file()


@pytest.mark.requirement("package-sources.python-published")
async def test_html_index_is_supported(scene: Scene) -> None:
    body = tar_gz({"click-1.0/a.py": b""})
    scene.web.answers["/simple/click/"] = reply(
        f'<html><a href="../../f/click-1.0.tar.gz#sha256={sha256(body)}">x</a>'
        '<a href="/f/click-1.1.tar.gz#sha256=0" data-yanked="bad">y</a></html>'.encode()
    )
    scene.web.answers["/f/click-1.0.tar.gz"] = reply(body)
    assert (await scene.finder(Ecosystem.PYTHON).find("Click")).version == "1.0"


@pytest.mark.requirement("package-sources.python-published")
async def test_an_extra_index_is_asked_for_what_the_first_has_not(scene: Scene) -> None:
    scene.publish_python("ours", {"ours-1.0.tar.gz": tar_gz({"a/x": b""})}, at="/extra")
    scene.env["PIP_EXTRA_INDEX_URL"] = scene.web.url("/extra")
    assert (await scene.finder(Ecosystem.PYTHON).find("ours")).version == "1.0"


# -- npm


def in_node_modules(scene: Scene, name: str, version: str) -> Path:
    folder = scene.project / "node_modules" / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"name": name, "version": version}))
    return folder


@pytest.mark.requirement("package-sources.npm-installed", "package-sources.version-choice")
async def test_package_in_node_modules_is_used(scene: Scene) -> None:
    folder = in_node_modules(scene, "@a/b", "1.0.0")
    found = await scene.finder(Ecosystem.NPM).find("@a/b")
    assert (found.place.root, found.version) == (folder, "1.0.0")
    assert scene.web.asked == []


@pytest.mark.requirement("package-sources.npm-installed", "package-sources.read-stays-inside")
@pytest.mark.parametrize("name", ["left", "secret"])
async def test_a_link_in_node_modules_that_leads_away_is_not_followed(
    scene: Scene, name: str
) -> None:
    secret = scene.home / "secret"
    secret.mkdir()
    (secret / "package.json").write_text(json.dumps({"name": name, "version": "1.0.0"}))
    (scene.project / "node_modules").mkdir()
    (scene.project / "node_modules" / "left").symlink_to(secret)
    with pytest.raises(UnknownPackageError):
        await scene.finder(Ecosystem.NPM).find("left")


@pytest.mark.requirement("package-sources.npm-installed")
async def test_a_link_to_the_store_of_a_package_manager_is_followed(scene: Scene) -> None:
    kept = scene.home / "store" / "node_modules" / "left"
    kept.mkdir(parents=True)
    (kept / "package.json").write_text(json.dumps({"name": "left", "version": "1.0.0"}))
    (scene.project / "node_modules").mkdir()
    (scene.project / "node_modules" / "left").symlink_to(kept)

    assert (await scene.finder(Ecosystem.NPM).find("left")).place.root == kept


@pytest.mark.requirement("package-sources.npm-installed")
async def test_a_directory_of_another_name_is_another_package(scene: Scene) -> None:
    other = in_node_modules(scene, "other", "1.0.0")
    (scene.project / "node_modules" / "left").symlink_to(other)
    with pytest.raises(UnknownPackageError):
        await scene.finder(Ecosystem.NPM).find("left")


@pytest.mark.requirement("package-sources.npm-published")
async def test_a_package_comes_from_the_registry(scene: Scene) -> None:
    scene.publish_npm("left", {"1.0.0": tar_gz({"package/index.js": b"//"}), "1.1.0-rc.1": b""})
    found = await scene.finder(Ecosystem.NPM).find("left")
    assert (found.version, found.place.origin) == ("1.0.0", "download")
    assert (found.place.root / "index.js").read_text() == "//"


@pytest.mark.requirement("package-sources.npm-published", "package-sources.secrets-stay")
async def test_a_scope_has_its_own_registry_and_only_that_one_gets_its_token(
    scene: Scene,
) -> None:
    scene.publish_npm("@ours/a", {"1.0.0": tar_gz({"package/x": b""})}, at="/private")
    scene.publish_npm("left", {"1.0.0": tar_gz({"package/x": b""})})
    host = scene.web.address.removeprefix("http:")
    scene.env["OURS"] = "hush"
    (scene.home / ".npmrc").write_text(
        f"@ours:registry={scene.web.url('/private')}\n"
        f"{host}/private/:_authToken=${{OURS}}\n; a comment = 1\n"
    )
    await scene.finder(Ecosystem.NPM).find("@ours/a")
    await scene.finder(Ecosystem.NPM).find("left")
    sent = {path: headers.get("Authorization") for path, headers in scene.web.asked}
    assert sent == {
        "/private/@ours%2Fa": "Bearer hush",
        "/private/-/1.0.0.tgz": "Bearer hush",
        "/npm/left": None,
        "/npm/-/1.0.0.tgz": None,
    }


# -- settings and secrets


@pytest.mark.requirement("package-sources.user-settings-only")
async def test_index_settings_of_a_workspace_are_ignored(scene: Scene) -> None:
    with serving() as other:
        at = other.url("/evil")
        (scene.project / ".cargo").mkdir()
        (scene.project / ".cargo" / "config.toml").write_text(
            f"[source.crates-io]\nreplace-with='x'\n[source.x]\nregistry='sparse+{at}/'\n"
        )
        (scene.project / ".npmrc").write_text(f"registry={at}\n")
        (scene.project / "pip.conf").write_text(f"[global]\nindex-url = {at}\n")
        (scene.project / "uv.toml").write_text(f'index-url = "{at}"\n')
        (scene.project / "pyproject.toml").write_text(
            f'[[tool.uv.index]]\nurl = "{at}"\ndefault = true\n'
        )
        scene.publish_crate("other", {})
        for ecosystem in Ecosystem:
            with pytest.raises(UnknownPackageError):
                await scene.finder(ecosystem).find("left")
        assert other.asked == []


@pytest.mark.requirement("package-sources.user-settings-only")
@pytest.mark.parametrize(
    ("file", "text"),
    [
        (".config/pip/pip.conf", "[global]\nindex-url = {at}\n"),
        (".pip/pip.conf", "[install]\ncert = %4\nindex_url = x\nindex_url = y\nindex-url = {at}\n"),
        (".config/uv/uv.toml", '[[index]]\nurl = "{at}"\ndefault = true\n'),
    ],
)
async def test_the_index_of_a_user_s_own_files_is_asked(scene: Scene, file: str, text: str) -> None:
    del scene.env["PIP_INDEX_URL"], scene.env["PIP_CONFIG_FILE"]
    place = scene.home / file
    place.parent.mkdir(parents=True)
    place.write_text(text.format(at=scene.web.url("/simple")))
    scene.publish_python("left", {"left-1.0.tar.gz": tar_gz({"a/x": b""})})
    assert (await scene.finder(Ecosystem.PYTHON).find("left")).version == "1.0"


@pytest.mark.requirement("package-sources.user-settings-only")
async def test_the_file_named_for_pip_precedes_the_user_s_own_and_a_broken_one_is_skipped(
    scene: Scene,
) -> None:
    del scene.env["PIP_INDEX_URL"]
    files = {
        ".pip/pip.conf": "[global\n",
        ".config/pip/pip.conf": "[global]\nindex-url = https://own.invalid\n",
        "named": f"[download]\nindex-url = {scene.web.url('/simple')}\n",
    }
    for name, text in files.items():
        (scene.home / name).parent.mkdir(parents=True, exist_ok=True)
        (scene.home / name).write_text(text)
    scene.env["PIP_CONFIG_FILE"] = str(scene.home / "named")
    # The name of the second file is that of no wheel.
    scene.publish_python("left", {"left-1.0.tar.gz": tar_gz({"a/x": b""}), "left-2.whl": b""})
    assert (await scene.finder(Ecosystem.PYTHON).find("left")).version == "1.0"


@pytest.mark.requirement("package-sources.secrets-stay")
async def test_a_password_in_an_index_s_address_is_sent_and_not_shown(scene: Scene) -> None:
    address = scene.web.url("/simple").replace("http://", "http://me:s%2Fcret@")
    scene.env["PIP_INDEX_URL"] = address
    with pytest.raises(UnknownPackageError) as caught:
        await scene.finder(Ecosystem.PYTHON).find("left")
    assert "cret" not in str(caught.value)
    ((_, headers),) = scene.web.asked
    assert base64.b64decode(headers["Authorization"].split()[1]) == b"me:s/cret"


@pytest.mark.requirement("package-sources.secrets-stay")
async def test_a_redirect_does_not_take_the_password_along(scene: Scene) -> None:
    scene.env["PIP_INDEX_URL"] = scene.web.url("/simple").replace("http://", "http://me:x@")
    scene.publish_python("left", {"left-1.0.tar.gz": tar_gz({"a/x": b""})})
    with serving() as mirror:
        mirror.answers["/moved"] = reply(tar_gz({"a/x": b""}))
        there: dict[str, Any] = {"status": 302, "headers": {"Location": mirror.url("/moved")}}
        scene.web.answers["/files/left-1.0.tar.gz"] = reply(b"", **there)
        await scene.finder(Ecosystem.PYTHON).find("left")
        assert [headers.get("Authorization") for _, headers in mirror.asked] == [None]
