"""The page of a trace holds everything in itself, and what messages say stays data."""

import json
import re
import stat
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposium.errors import SymposiumError
from symposium.trace_view.views import MAX_BODY, write_page


class Page(HTMLParser):
    """A page as a browser would take it apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in {"script", "style"} else ""
        if tag == "script":
            self._inside = dict(attrs).get("id") or "program"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ""

    @property
    def index(self) -> dict[str, Any]:
        return json.loads(self.raw["index"])


def line_of(params: Any, *, method: str = "x/y", sender: str = "Client") -> dict[str, Any]:
    return {
        "type": "notification",
        "ts": 0.5,
        "protocol": "acp",
        "from": sender,
        "to": "Agent",
        "method": method,
        "session": None,
        "params": params,
    }


def page_of(directory: Path, *events: dict[str, Any]) -> Page:
    trace, page = directory / "t.jsons", directory / "t.html"
    trace.write_text("".join(json.dumps(event) + "\n" for event in events))
    write_page(trace, page)
    return Page(page.read_text())


@pytest.mark.requirement("cli.trace-view")
def test_a_page_asks_for_nothing_and_may_not(tmp_path: Path) -> None:
    page = page_of(tmp_path, line_of({"a": 1}))

    assert not [tag for tag, attrs in page.tags if {"src", "href", "srcset", "style"} & {*attrs}]
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "img", "iframe", "object", "base"})
    assert not re.search(r"url\(|@import", page.raw["style"])
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|innerHTML", page.raw["program"])
    [policy] = [
        attrs["content"] or ""
        for _, attrs in page.tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'{digest(page.raw['style'])}'",
        "script-src": f"'{digest(page.raw['program'])}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "-->]]>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "\u2028\u2029\x00\ud800",
    "&lt;b&gt;",
    "/*script*/ <!--index--> <!--bodies--> /*style*/",
]


@pytest.mark.requirement("cli.trace-view-escapes")
@pytest.mark.parametrize("text", HOSTILE)
def test_text_of_a_message_is_data_wherever_it_stands(tmp_path: Path, text: str) -> None:
    plain = page_of(tmp_path, line_of({"a": "plain"}))

    page = page_of(tmp_path, line_of({text: text}, method=text, sender=text) | {"session": text})

    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert (page.raw["program"], page.raw["style"]) == (plain.raw["program"], plain.raw["style"])
    assert json.loads(page.raw["bodies"]) == {text: text}
    assert page.index["sessions"] == [text]


@pytest.mark.requirement("cli.trace-view-escapes")
@given(text=st.text(alphabet="<!-/scriptSCRIPT>\\\"'&\u2028 ", max_size=60))
def test_no_text_ends_its_block(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    page = page_of(tmp_path_factory.mktemp("page"), line_of({"text": text}, method=text))

    assert json.loads(page.raw["bodies"]) == {"text": text}
    assert set(page.raw) == {"style", "bodies", "index", "program"}


@pytest.mark.requirement("cli.trace-view-escapes")
def test_the_name_of_the_file_is_text_too(tmp_path: Path) -> None:
    trace, page = tmp_path / "<script>alert(1)&.jsons", tmp_path / "t.html"
    trace.write_text(json.dumps(line_of(1)) + "\n")

    write_page(trace, page)

    assert "<title>&lt;script&gt;alert(1)&amp;.jsons · trace</title>" in page.read_text()


@pytest.mark.requirement("cli.trace-view")
def test_a_body_that_crosses_several_legs_is_in_the_page_once(tmp_path: Path) -> None:
    events = [
        line_of({"a": "same"}),
        line_of({"a": "same"}, sender="Proxy(0)"),
        line_of({"b": "other"}),
    ]

    page = page_of(tmp_path, *events)

    assert page.raw["bodies"].split("\n") == ['{"a": "same"}', '{"b": "other"}']
    assert [row[8] for row in page.index["rows"]] == [0, 0, 1]
    assert [page.index["lanes"][at] for at in page.index["order"]] == [
        *("Client", "Proxy(0)", "Agent")
    ]


@pytest.mark.requirement("cli.trace-page")
def test_a_long_body_is_cut_and_says_so(tmp_path: Path) -> None:
    page = page_of(tmp_path, line_of({"a": "ä" * MAX_BODY}), line_of({"b": 1}))

    long, short = page.raw["bodies"].split("\n")
    size, _, head = long.partition(" ")
    assert int(size.removeprefix("!")) > MAX_BODY
    assert json.loads(head).startswith('{"a": "')
    assert short == '{"b": 1}'


@pytest.mark.requirement("cli.trace-page")
def test_an_answer_knows_the_row_of_its_request(tmp_path: Path) -> None:
    ends = {"from": "Agent", "to": "Client"}
    asked = line_of(1) | {"type": "request", "id": "a"}
    answered = line_of(1) | ends | {"type": "response", "id": "a", "payload": {"b": 2}}

    page = page_of(tmp_path, line_of(0), asked, line_of(0), answered)

    assert [row[9] for row in page.index["rows"]] == [-1, -1, -1, 1]


@pytest.mark.requirement("cli.trace-page")
def test_a_page_is_as_private_as_the_trace_and_replaces_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "t.html").write_text("older")

    page_of(tmp_path, line_of(1))

    assert stat.S_IMODE((tmp_path / "t.html").stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.html", "t.jsons"]


@pytest.mark.requirement("cli.trace-page")
def test_a_page_that_cannot_be_written_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsons"
    trace.write_text(json.dumps(line_of(1)) + "\n")
    (tmp_path / "dir").mkdir()

    for place in (tmp_path / "none" / "t.html", tmp_path / "dir"):
        with pytest.raises(SymposiumError, match=re.escape(f"cannot write {place}")):
            write_page(trace, place)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["dir", "t.jsons"]
