"""The page of a trace in a real browser: Chromium, if there is one, with no network to ask.

Opt-in, as everything here: `make e2e`. Where no Chromium is installed, that is said and skipped.
"""

import json
import os
import shutil
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Generator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, cast

import pytest

from symposium.trace_view.page import write_page

CHROMIUM: Final = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

pytestmark = [
    pytest.mark.requirement("cli.trace-view", "cli.trace-view-escapes"),
    pytest.mark.skipif(
        CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium"
    ),
]

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-pipe", "about:blank"),
)
FAULTS: Final = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}


class Browser:
    """One tab of a headless browser, told what to do over its debugging pipe."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._read = b""
        self._last = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.tell("Target.createTarget", {"url": "about:blank"})["targetId"]
        attach = {"targetId": target, "flatten": True}
        self._session = self.tell("Target.attachToTarget", attach)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")

    def tell(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Do something, and wait until it is done."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": params or {}}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._last:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            self._read += os.read(self._answers, 1 << 20)
        line, _, self._read = self._read.partition(b"\0")
        return cast("dict[str, Any]", json.loads(line))

    def open(self, page: Path, *, width: int = 1280, scheme: str = "light") -> None:
        """Show a page in a window of that width, and wait until it has been drawn."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.tell("Emulation.setDeviceMetricsOverride", metrics)
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", {"features": wanted})
        self.tell("Page.navigate", {"url": page.as_uri()})
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def look(self, script: str) -> Any:
        """The value of an expression in the page."""
        wish = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.tell("Runtime.evaluate", wish)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def drawn(self, script: str) -> Any:
        """The value of an expression once it is neither empty nor false."""
        return self.look(
            "new Promise((done) => { const look = () => { const value = "
            f"({script}); if (value) done(value); else requestAnimationFrame(look); }}; look(); }})"
        )

    def press(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.tell("Input.dispatchKeyEvent", {"type": "keyDown", "key": key, **text})
        self.tell("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})

    def texts(self, selector: str) -> list[str]:
        """What elements say."""
        query = json.dumps(selector)
        return self.look(f"[...document.querySelectorAll({query})].map((e) => e.textContent)")


@pytest.fixture
def browser() -> Generator[Browser, None, None]:
    with ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        command = [CHROMIUM or "", f"--user-data-dir={profile}", *FLAGS]
        their_input, commands = os.pipe()
        answers, their_output = os.pipe()
        for end in (commands, answers):
            stack.callback(os.close, end)
        # The browser wants its pipe at 3 and 4: the shell puts it there.
        script = f'exec "$@" 3<&{their_input} 4>&{their_output}'
        process = subprocess.Popen(
            ["/bin/bash", "-c", script, "sh", *command],
            pass_fds=(their_input, their_output),
            stderr=subprocess.DEVNULL,
        )
        stack.callback(process.wait)
        for end in (their_input, their_output):
            os.close(end)
        tab = Browser(commands, answers)
        yield tab
        with suppress(AssertionError, OSError):
            tab.tell("Page.close")
        process.terminate()


HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>"


def write_trace(directory: Path, prompts: int) -> Path:
    """A page of that many prompts through one proxy, each with an update and an answer."""
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


def test_a_page_shows_its_messages_and_obeys_none(browser: Browser, tmp_path: Path) -> None:
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


def test_a_page_is_used_with_the_keyboard(browser: Browser, tmp_path: Path) -> None:
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
def test_a_page_can_be_filtered(browser: Browser, tmp_path: Path, act: str, rows: int) -> None:
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
def test_a_page_fits_a_narrow_window(browser: Browser, tmp_path: Path, scheme: str) -> None:
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


def test_fifty_thousand_messages_open_and_only_those_on_the_screen_exist(
    browser: Browser, tmp_path: Path
) -> None:
    browser.open(write_trace(tmp_path, 10_000))

    assert browser.drawn("document.getElementById('count').textContent") == "50,000 messages"
    browser.press("End")
    assert browser.drawn("document.querySelector('.row.chosen')?.getAttribute('aria-posinset')")
    assert browser.look("document.querySelectorAll('.row').length") < 100
    assert browser.texts(".row:last-child .time") == ["49.999s"]
