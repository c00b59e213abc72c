"""Trace page in a real browser, Chromium, without network.

Without Chromium these tests are skipped, with that reason.
"""

import json
from base64 import b64decode
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.support.browser import CHROMIUM, FAULTS, Browser, started_browser

from symposium.trace_view.views import write_page

pytestmark = [
    pytest.mark.requirement("cli.trace-view", "cli.trace-view-escapes"),
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium"
    ),
]


@pytest.fixture
def browser() -> Generator[Browser, None, None]:
    with started_browser() as tab:
        yield tab


HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"


def write_trace(directory: Path, prompts: int) -> Path:
    """Write a page with this many prompts through one proxy, each with an update and a response."""
    trace, page = directory / "t.jsons", directory / "t.html"
    lines: list[str] = []

    def add(kind: str, ends: str, **members: Any) -> None:
        sender, receiver = ends.split()
        event = {"type": kind, "ts": len(lines) / 1000, "from": sender, "to": receiver}
        lines.append(json.dumps({**event, "protocol": "acp", "session": "s1", **members}))

    for number in range(prompts):
        text = HOSTILE if number == 0 else f"prompt {number}"
        params = {"prompt": [{"type": "text", "text": text}], "big": 12345678901234567890}
        asked: dict[str, Any] = {"id": number, "method": "session/prompt", "params": params}
        add("request", "Client Proxy(0)", **asked)
        add("request", "Proxy(0) Agent", **asked)
        add("notification", "Agent Proxy(0)", method="session/update", params={"n": number})
        answer: dict[str, Any] = {"id": number, "payload": {"stopReason": "end_turn"}}
        add("response", "Agent Proxy(0)", **answer)
        add("response", "Proxy(0) Client", **answer, is_error=number == 1)
    trace.write_text("\n".join(lines) + "\n")
    write_page(trace, page)
    return page


def faults(browser: Browser) -> list[dict[str, Any]]:
    return [event for event in browser.events if event["method"] in FAULTS]


def test_page_shows_its_messages_and_executes_none(browser: Browser, tmp_path: Path) -> None:
    page = write_trace(tmp_path, 4)
    browser.open(page)

    assert browser.drawn("document.querySelectorAll('.row').length") == 20
    assert browser.texts("#heads span") == ["Client", "Proxy(0)", "Agent"]
    assert browser.look("document.title") == "t.jsons · trace"
    assert HOSTILE in browser.texts(".row .words")
    for _ in range(2):
        browser.press("ArrowDown")
    browser.press("Enter")
    [body] = browser.texts("#body")
    assert HOSTILE in body
    assert "12345678901234567890" in body
    assert faults(browser) == []
    asked = [e for e in browser.events if e["method"] == "Network.requestWillBeSent"]
    assert {e["params"]["request"]["url"] for e in asked} <= {page.as_uri(), "about:blank"}


def test_page_works_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_trace(tmp_path, 4))
    browser.drawn("document.querySelectorAll('.row').length")

    browser.press("End")
    browser.press("Enter")
    assert browser.texts("#what") == ["Answer: session/prompt"]
    browser.press("p")
    assert browser.texts("#what") == ["Request: session/prompt"]
    assert browser.texts(".row.mate .said b") == ["session/prompt"]
    browser.press("k")
    browser.press("Escape")
    assert browser.look("document.getElementById('detail').hidden")
    browser.press("/")
    assert browser.look("document.activeElement.id") == "text"


@pytest.mark.parametrize(
    ("act", "rows"),
    [
        ("type('prompt 3')", 2),
        ("type('</SCRIPT>')", 2),
        ("type('1234567890')", 8),
        ("pick('protocol', '2')", 0),
        ("pick('leg', '0-1')", 8),
        ("uncheck('kind1')", 12),
        ("document.getElementById('errors').click()", 1),
    ],
)
def test_page_can_be_filtered(browser: Browser, tmp_path: Path, act: str, rows: int) -> None:
    browser.open(write_trace(tmp_path, 4))
    browser.drawn("document.querySelectorAll('.row').length === 20")

    browser.look(
        "const changed = (e) => e.dispatchEvent(new Event('input', {bubbles: true}));"
        "const pick = (id, value) => { const e = document.getElementById(id);"
        " e.value = value; changed(e); };"
        "const type = (value) => pick('text', value);"
        f"const uncheck = (id) => document.getElementById(id).click(); {act}"
    )

    assert browser.drawn(f"document.querySelectorAll('.row').length === {rows}")
    assert browser.look("document.getElementById('none').hidden") == (rows > 0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_a_narrow_window(browser: Browser, tmp_path: Path, scheme: str) -> None:
    browser.open(write_trace(tmp_path, 4), width=390, scheme=scheme)
    browser.drawn("document.querySelectorAll('.row').length")
    browser.press("ArrowDown")
    browser.press("Enter")

    assert browser.look("document.documentElement.scrollWidth") == 390
    assert browser.look("document.getElementById('scroll').scrollWidth") <= 390
    shot = b64decode(browser.tell("Page.captureScreenshot")["data"])
    (tmp_path / f"{scheme}.png").write_bytes(shot)
    light = browser.look("getComputedStyle(document.body).backgroundColor")
    assert light == ("rgb(251, 252, 254)" if scheme == "light" else "rgb(16, 20, 27)")


def test_page_of_fifty_thousand_messages_opens_and_renders_only_visible_ones(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(write_trace(tmp_path, 10_000))

    assert browser.drawn("document.getElementById('count').textContent") == "50,000 messages"
    browser.press("End")
    assert browser.drawn("document.querySelector('.row.chosen')?.getAttribute('aria-posinset')")
    assert browser.look("document.querySelectorAll('.row').length") < 100
    assert browser.texts(".row:last-child .time") == ["49.999s"]
