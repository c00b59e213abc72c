"""Headless Chromium, controlled over its debugging pipe."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

CHROMIUM: Final = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
"""Path of the installed browser, or None."""

FLAGS: Final = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--remote-debugging-pipe", "about:blank"),
)
FAULTS: Final = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}
"""Events that a page of Symposium must not cause."""


class Browser:
    """One tab of a headless browser, controlled over its debugging pipe."""

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
        """Run a command and wait for its result."""
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
        """Show a page in a window of that width, and wait until it is drawn."""
        metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
        self.tell("Emulation.setDeviceMetricsOverride", metrics)
        wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.tell("Emulation.setEmulatedMedia", {"features": wanted})
        self.tell("Page.navigate", {"url": page.as_uri()})
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def look(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        request = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.tell("Runtime.evaluate", request)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def drawn(self, script: str) -> Any:
        """Return the value of an expression once it is neither empty nor false."""
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
        """Return the text of each matching element."""
        query = json.dumps(selector)
        return self.look(f"[...document.querySelectorAll({query})].map((e) => e.textContent)")


@contextmanager
def started_browser() -> Generator[Browser]:
    """Start a browser that ends with the block."""
    with ExitStack() as stack:
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        command = [CHROMIUM or "", f"--user-data-dir={profile}", *FLAGS]
        their_input, commands = os.pipe()
        answers, their_output = os.pipe()
        for end in (commands, answers):
            stack.callback(os.close, end)
        # The browser expects its pipe at 3 and 4: the shell moves it there.
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
