"""Sources of the index, with a local HTTP server."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from tests.support.web import Web, reply, serving

from localio.http import FetchError, HttpRequest, fetch
from localio.http_cache import CACHE_SECONDS
from symposium.registry.entries import Index
from symposium.registry.index import (
    OFFICIAL,
    LoadedIndex,
    RegistryIndex,
    registry_address,
)

BODY = json.dumps(
    {
        "version": "1.0.0",
        "agents": [
            {
                "id": "remote",
                "name": "R",
                "version": "1.0.0",
                "description": "d",
                "distribution": {"npx": {"package": "r"}},
            }
        ],
    }
).encode()
TAGGED = {"ETag": '"v1"'}


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as server:
        yield server


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def ids(loaded_from: RegistryIndex) -> list[str]:
    return [each.id for each in loaded_from.here().index.agents]


@pytest.mark.requirement("registry.cache")
async def test_index_is_requested_once_a_day_and_only_if_changed(web: Web, tmp_path: Path) -> None:
    clock = Clock()
    index = RegistryIndex(web.url("/registry.json"), tmp_path / "cache", clock=clock)
    web.answers["/registry.json"] = reply(BODY, headers=TAGGED)

    first = await index.current()
    second = await index.current()
    clock.now += CACHE_SECONDS - 1
    assert index.here().is_fresh
    clock.now += 1
    web.answers["/registry.json"] = reply(b"", status=304)
    copy = tmp_path / "cache" / "registry.json"
    before = copy.read_bytes()
    with copy.open("rb") as reader:
        third = await index.current()
        assert reader.read() == before
    fourth = await index.current()

    assert [each.origin for each in (first, second, third, fourth)] == [
        *("network", "cache", "network", "cache"),
    ]
    assert [headers.get("If-None-Match") for _, headers in web.asked] == [None, '"v1"']
    assert [each.id for each in third.index.agents] == ["remote"]
    assert fourth.as_of == clock.now
    assert list(copy.parent.iterdir()) == [copy]
    assert copy.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("registry.cache", "registry.offline")
async def test_old_copy_is_used_and_reported_when_the_server_fails(
    web: Web, tmp_path: Path
) -> None:
    clock = Clock()
    index = RegistryIndex(web.url("/registry.json"), tmp_path, clock=clock)
    web.answers["/registry.json"] = reply(BODY)
    await index.current()
    clock.now += 3 * CACHE_SECONDS
    web.answers["/registry.json"] = reply(b"down", status=503)

    stale, loaded = index.here(), await index.current()

    assert (stale.origin, stale.is_fresh) == ("cache", False)
    assert loaded.origin == "cache"
    assert "503" in loaded.problem


@pytest.mark.requirement("registry.cache-future")
async def test_copy_dated_in_the_future_is_not_fresh(web: Web, tmp_path: Path) -> None:
    clock = Clock()
    index = RegistryIndex(web.url("/registry.json"), tmp_path, clock=clock)
    web.answers["/registry.json"] = reply(BODY)
    await index.current()
    clock.now -= 10

    assert not index.here().is_fresh
    assert (await index.current()).origin == "network"


@pytest.mark.requirement("registry.offline", "registry.snapshot")
async def test_snapshot_is_used_without_network_and_copy(tmp_path: Path) -> None:
    with serving() as gone:
        address = gone.url("/registry.json")

    loaded = await RegistryIndex(address, tmp_path).current()

    assert loaded.origin == "snapshot"
    assert loaded.index.agents
    assert "update failed" in loaded.describe()
    assert replace(loaded, problem="no \x1b[2J").describe().endswith("; no ␛[2J")


@pytest.mark.requirement("registry.offline")
@pytest.mark.parametrize(
    "body", [b"<html>welcome to this hotel</html>", b"{}", b"\xff\xfe", b'{"agents": 3}']
)
async def test_malformed_response_changes_nothing(body: bytes, web: Web, tmp_path: Path) -> None:
    index = RegistryIndex(web.url("/registry.json"), tmp_path)
    web.answers["/registry.json"] = reply(BODY)
    await index.current()
    web.answers["/registry.json"] = reply(body)

    loaded = await index.refresh()

    assert (loaded.origin, ids(index)) == ("cache", ["remote"])
    assert "index" in loaded.problem


@pytest.mark.requirement("registry.cache")
@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b'{"address": "x"'])
async def test_damaged_copy_is_ignored(damage: bytes, web: Web, tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_bytes(damage)
    web.answers["/registry.json"] = reply(BODY)

    loaded = await RegistryIndex(web.url("/registry.json"), tmp_path).current()

    assert loaded.origin == "network"


@pytest.mark.requirement("registry.cache")
async def test_copy_is_used_for_its_own_address_only(web: Web, tmp_path: Path) -> None:
    web.answers["/one"] = reply(BODY)
    await RegistryIndex(web.url("/one"), tmp_path).current()

    assert RegistryIndex(web.url("/two"), tmp_path).here().origin == "snapshot"


@pytest.mark.requirement("registry.address")
@pytest.mark.parametrize("address", ["~no-such-user/mine.json", "file://~no-such-user/mine.json"])
def test_address_in_the_home_of_an_unknown_user_is_a_missing_file(
    address: str, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError):
        RegistryIndex(address, tmp_path / "cache").here()


@pytest.mark.requirement("registry.address")
async def test_address_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes(BODY)

    for address in (str(file), f"file://{file}"):
        loaded = await RegistryIndex(address, tmp_path / "cache").current()
        assert (loaded.origin, loaded.index.agents[0].id) == ("file", "remote")
        assert (await RegistryIndex(address, tmp_path / "cache").refresh()).problem == ""
    assert not (tmp_path / "cache").exists()


@pytest.mark.requirement("registry.address")
def test_address_comes_from_option_then_environment_then_default() -> None:
    env = {"SYMPOSIUM_REGISTRY": "https://mine"}

    assert registry_address(env, "https://now") == "https://now"
    assert registry_address(env) == "https://mine"
    assert registry_address({}) == OFFICIAL


@pytest.mark.requirement("registry.fetch-limits")
@pytest.mark.parametrize("declared", [True, False])
async def test_too_large_response_is_an_error(declared: bool, web: Web, tmp_path: Path) -> None:  # noqa: FBT001 - pytest passes it
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        if declared:
            request.send_header("Content-Length", "1000000000")
        request.end_headers()
        try:
            while True:
                request.wfile.write(bytes(65536))
        except OSError:
            pass

    web.answers["/big"] = endless

    with pytest.raises(FetchError, match="larger than 100000 bytes"):
        await fetch(HttpRequest(web.url("/big"), 5.0, 100_000), tmp_path / "got")


@pytest.mark.requirement("registry.fetch-limits")
async def test_silent_server_times_out(web: Web, tmp_path: Path) -> None:
    done = threading.Event()

    def silent(_: BaseHTTPRequestHandler) -> None:
        done.wait(45)

    web.answers["/silent"] = silent

    with pytest.raises(FetchError, match="timed out"):
        await fetch(HttpRequest(web.url("/silent"), 0.2, 1000), tmp_path / "got")
    done.set()


@pytest.mark.requirement("registry.fetch-limits")
async def test_slow_server_times_out(web: Web, tmp_path: Path) -> None:
    done = threading.Event()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while not done.wait(0.01):
                request.wfile.write(b"x")
        except OSError:
            pass

    web.answers["/slow"] = drip

    with pytest.raises(FetchError, match="timed out"):
        await fetch(HttpRequest(web.url("/slow"), 0.2, 1_000_000), tmp_path / "got")
    done.set()


@pytest.mark.requirement("registry.fetch-limits")
async def test_endless_headers_time_out(web: Web, tmp_path: Path) -> None:
    done = threading.Event()

    def drip(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not done.wait(0.01):
            request.wfile.write(b"x")

    web.answers["/slow"] = drip

    async with asyncio.timeout(45):
        with pytest.raises(FetchError, match="timed out"):
            await fetch(HttpRequest(web.url("/slow"), 0.2, 1_000_000), tmp_path / "got")
        done.set()


@pytest.mark.requirement("registry.fetch-limits")
async def test_truncated_response_is_an_error(web: Web, tmp_path: Path) -> None:
    def broken(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"x")

    web.answers["/broken"] = broken

    with pytest.raises(FetchError, match=r"ended after|bytes read"):
        await fetch(HttpRequest(web.url("/broken"), 5.0, 1000), tmp_path / "got")


@pytest.mark.requirement("registry.fetch-https")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "ftp://example.org/x",
        "file:///etc/passwd",
        "https://",
        "http://127.0.0.1.example.org/",
        "http://localhost@example.org/",
    ],
)
async def test_only_https_urls_are_fetched_from_other_hosts(url: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="not https"):
        await fetch(HttpRequest(url, 5.0, 1000), tmp_path / "got")


@pytest.mark.requirement("registry.fetch-https")
@pytest.mark.parametrize(
    "to", ["http://example.org/x", "ftp://example.org/x", "file:///etc/passwd"]
)
async def test_redirect_cannot_leave_https(to: str, web: Web, tmp_path: Path) -> None:
    web.answers["/away"] = reply(b"", status=302, headers={"Location": to})

    with pytest.raises(FetchError, match=r"not https|not allowed"):
        await fetch(HttpRequest(web.url("/away"), 5.0, 1000), tmp_path / "got")


@pytest.mark.requirement("showing.once")
def test_short_description_is_empty_when_the_index_is_up_to_date() -> None:
    index = Index((), (), "", ())
    old = 1_770_000_000.0
    reason = "update failed: https://registry.invalid/a/long/address: [Errno -2]"
    offline = LoadedIndex(index, "snapshot", old, is_fresh=False, problem=reason).in_short()

    assert "symposium agents update" in offline
    assert "https:" not in offline
    assert len(offline) <= 120
    assert (
        LoadedIndex(index, "file", old, is_fresh=True).in_short().startswith("registry: file of ")
    )
    assert LoadedIndex(index, "network", old, is_fresh=True).in_short() == ""
    assert LoadedIndex(index, "cache", old, is_fresh=True).in_short() == ""
    assert LoadedIndex(index, "cache", old, is_fresh=False).in_short() != ""


@pytest.mark.requirement("registry.fetch-limits")
@pytest.mark.parametrize(("max_bytes", "is_accepted"), [(4, True), (3, False)])
async def test_response_of_exactly_the_limit_is_accepted(
    max_bytes: int, web: Web, tmp_path: Path, *, is_accepted: bool
) -> None:
    def bare(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        request.wfile.write(b"1234")

    for path, answer in (("/bare", bare), ("/declared", reply(b"1234"))):
        web.answers[path] = answer
        with nullcontext() if is_accepted else pytest.raises(FetchError, match="larger than 3"):
            await fetch(HttpRequest(web.url(path), 5.0, max_bytes), tmp_path / "got")


@pytest.mark.requirement("registry.offline")
@pytest.mark.parametrize(("days", "said"), [(0, "today"), (1, "1 day old"), (2, "2 days old")])
def test_description_includes_the_age_of_the_copy(days: int, said: str) -> None:
    found = LoadedIndex(
        Index((), (), "", ()), "cache", time.time() - days * 86_400 - 5, is_fresh=False
    )

    assert found.in_short().endswith(f"({said})")


@pytest.mark.requirement("registry.offline")
@pytest.mark.parametrize(
    ("days", "age"), [(-2, "today"), (0, "today"), (1, "1 day old"), (2.5, "2 days old")]
)
def test_the_index_says_its_age_in_days(days: float, age: str) -> None:
    as_of = time.time() - days * 86400 - 60
    loaded = LoadedIndex(Index((), (), "", ()), "cache", as_of, is_fresh=True)

    assert loaded.describe().endswith(f"({age})")
