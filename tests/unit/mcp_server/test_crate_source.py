"""`get_rust_crate_source` on crates that a local index publishes."""

import hashlib
import json
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.support.mcp_harness import call_tool, workplace_in
from tests.support.packages import tar_gz
from tests.support.web import Web, reply, serving

from symposium.mcp_server.server_context import ServerContext

VERSIONS = ("1.0.5", "1.0.9", "1.2.0", "2.0.0")


def crate(version: str) -> bytes:
    files = {
        "src/lib.rs": b"//! top\npub trait Serialize {}\n",
        "examples/a.rs": b"// first\nuse serde::Serialize;\n",
        "README.md": b"Serialize\n",
    }
    return tar_gz({f"serde-{version}/{path}": body for path, body in files.items()})


def publish(web: Web) -> None:
    rows: list[str] = []
    for version in VERSIONS:
        body = crate(version)
        digest = hashlib.sha256(body).hexdigest()
        rows.append(json.dumps({"name": "serde", "vers": version, "cksum": digest}))
        web.answers[f"/dl/serde/{version}/download"] = reply(body)
    config = json.dumps({"dl": web.url("/dl")}).encode()
    web.answers |= {
        "/crates/config.json": reply(config),
        "/crates/se/rd/serde": reply("\n".join(rows).encode()),
    }


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[ServerContext]:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CARGO_HOME", "XDG_CACHE_HOME", "SYMPOSIUM_HOME"):
        monkeypatch.delenv(name, raising=False)
    with serving() as web:
        publish(web)
        (tmp_path / ".cargo").mkdir()
        (tmp_path / ".cargo" / "config.toml").write_text(
            "[source.crates-io]\nreplace-with = 'ours'\n"
            f"[source.ours]\nregistry = 'sparse+{web.address}/crates/'\n",
            encoding="utf-8",
        )
        yield workplace_in(tmp_path)


@pytest.mark.requirement("mcp-server.s11")
async def test_path_of_the_crate_is_returned_without_a_pattern(workplace: ServerContext) -> None:
    answer = await call_tool(workplace, "get_rust_crate_source", {"crate_name": "serde"})
    result = json.loads(answer.text)

    assert not answer.is_error
    assert result.keys() == {"crate_name", "version", "checkout_path", "message"}
    assert (result["crate_name"], result["version"]) == ("serde", "2.0.0")
    assert (Path(result["checkout_path"]) / "src" / "lib.rs").is_file()
    assert result["message"]


@pytest.mark.requirement("mcp-server.s12")
async def test_matches_in_examples_and_in_other_files_are_returned_for_a_pattern(
    workplace: ServerContext,
) -> None:
    arguments = {"crate_name": "serde", "pattern": r"\bSerialize\b"}
    result = json.loads((await call_tool(workplace, "get_rust_crate_source", arguments)).text)
    (example,), (other,) = result["example_matches"], result["other_matches"]

    assert (example["file_path"], example["line_number"]) == ("examples/a.rs", 2)
    assert (other["file_path"], other["line_number"]) == ("src/lib.rs", 2)
    for match in (example, other):
        assert match["context_start_line"] == 1
        assert match["context_end_line"] == 2
        assert "Serialize" in match["context"]


@pytest.mark.requirement("mcp-server.s12")
async def test_list_without_matches_is_empty(workplace: ServerContext) -> None:
    arguments = {"crate_name": "serde", "pattern": "nowhere to be found"}
    result = json.loads((await call_tool(workplace, "get_rust_crate_source", arguments)).text)

    assert (result["example_matches"], result["other_matches"]) == ([], [])


@pytest.mark.requirement("mcp-server.s13")
@pytest.mark.parametrize(
    ("version", "found"),
    [("1.0", "1.2.0"), ("~1.0", "1.0.9"), ("=1.0.5", "1.0.5"), ("2", "2.0.0")],
)
async def test_version_has_the_meaning_of_cargo(
    workplace: ServerContext, version: str, found: str
) -> None:
    arguments = {"crate_name": "serde", "version": version}
    answer = await call_tool(workplace, "get_rust_crate_source", arguments)

    assert not answer.is_error, answer.text
    assert answer.value["version"] == found
