"""Status of hosts as text: one line each, for any name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pytest

from symposium.cli.status import in_short, overview, servers

BAD: Final = "\x1b[2Jx\ny" + "z" * 500


def host(text: str) -> dict[str, Any]:
    latency = {"p50": text, "p95": text, "count": 1}
    server = {"name": text, "kind": text, "reaching": text, "why": text}
    chain = {
        "agent": text,
        "mods": [{"name": text}, {"name": text, "latencyMs": latency}],
        "sessions": [{"id": text, "mcp": [server]}],
    }
    return {"kind": text, "pid": 1, "started": text, "chains": [chain]}


@pytest.mark.requirement("cli.status-one-line")
@pytest.mark.parametrize(("view", "count"), [(overview, 5), (servers, 2)])
def test_name_with_control_characters_is_one_short_line(
    view: Callable[[Sequence[Mapping[str, Any]]], Iterator[str]], count: int
) -> None:
    lines = list(view([host(BAD)]))

    assert len(lines) == count
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= 124


@pytest.mark.requirement("cli.status-one-line")
def test_nested_host_is_listed_once_below_its_parent() -> None:
    outer, inner = {"kind": "run", "pid": 1}, {"kind": "session", "pid": 2, "parent": 1}
    orphan = {"kind": "chat", "pid": 3, "parent": 9}

    lines = [line.partition(" pid")[0] for line in overview([inner, outer, orphan])]

    assert lines == ["run", "    session", "chat"]


@pytest.mark.requirement("cli.status-one-line")
@pytest.mark.parametrize(
    ("hosts", "text"),
    [
        ([], "0 hosts, 0 sessions"),
        ([host("x")], "1 host, 1 session"),
        ([host("x"), host("y")], "2 hosts, 2 sessions"),
        ([{"chains": "none"}], "1 host, 0 sessions"),
    ],
)
def test_short_form_counts_hosts_and_sessions(hosts: Any, text: str) -> None:
    assert in_short(hosts) == text
