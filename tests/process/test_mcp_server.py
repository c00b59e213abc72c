"""`symposium mcp` as a program: with and without a daemon, over both transports."""

import asyncio
import http.client
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.daemons import DaemonFolder, daemon_folder
from tests.support.mcp_harness import TASK
from tests.support.mcp_process import INITIALIZE, Spoken, joined, repository_in, speaking

from symposium.bus.envelope import Address
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import Presence, WindowKind
from symposium.bus.messages.editor import GetSelection, Selection, StoreReference
from symposium.bus.protocol import Role

pytestmark = pytest.mark.timeout(240)

Begin = Callable[..., subprocess.Popen[str]]


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


@pytest.mark.requirement("mcp-server.process", "mcp-server.degraded")
async def test_server_works_without_a_daemon_and_ends_with_its_input(tmp_path: Path) -> None:
    async with speaking(tmp_path, "--join", SYMPOSIUM_TASKSPACE=TASK) as server:
        prompt = await server.result("prompts/get", {"name": "yiasou"})
        report = await server.call("signal_user", {"message": "I am stuck"})

    assert "`main.md`" in prompt["messages"][0]["content"]["text"]
    assert report["structuredContent"] == {"status": "queued", "watchers": 0}
    assert b"I am stuck" in (tmp_path / "outbox" / "reports.jsonl").read_bytes()
    assert server.child.returncode == 0


@pytest.mark.requirement("mcp-server.code-tools", "mcp-server.references")
async def test_editor_on_a_real_bus_answers_references(home: DaemonFolder) -> None:
    answers = HandlerTable()

    async def select(message: GetSelection, asked: RequestContext) -> Selection:
        del message, asked
        return Selection(selected_text="x = 1", file_path="/a.py", start_line=1, end_line=1)

    answers.on_request(GetSelection, select)
    window = Presence(kind=WindowKind.EDITOR, workspace_folders=(str(home.folder),))
    await home.start()
    async with home.client(Role.EDITOR, answers, window) as editor:
        await editor.ready()
        async with speaking(home.folder, "--join") as server:
            selected = await until(server, "get_selection", "x = 1")

    assert selected["structuredContent"]["filePath"] == "/a.py"


async def until(server: Spoken, tool: str, text: str) -> Any:
    """Repeat the call until the result has a text: the server joins the bus later."""
    async with asyncio.timeout(45):
        while True:
            answer = await server.call(tool, {})
            if text in answer["content"][0]["text"]:
                return answer


@pytest.mark.requirement("mcp-server.references")
async def test_reference_stored_by_a_peer_is_expanded(home: DaemonFolder) -> None:
    """The reference's test F7, through a real daemon."""
    await home.start()
    async with speaking(home.folder, "--join") as server, home.client(Role.EDITOR) as editor:
        us = await joined(editor)
        store = StoreReference(key="abc", value={"a": 1})
        await editor.request(store, to=Address(connection=us.connection))
        answer = await server.call("expand_reference", {"id": "abc"})

    assert json.loads(answer["content"][0]["text"]) == {"a": 1}


@pytest.mark.requirement("mcp-server.references")
async def test_broadcast_is_stored_by_the_daemon(home: DaemonFolder) -> None:
    """An editor of version 1 sends it; no server needs to run then."""
    await home.start()
    async with home.client(Role.EDITOR) as editor:
        await editor.request(StoreReference(key="abc", value=[1]))
    async with speaking(home.folder, "--join") as server:
        answer = await server.call("expand_reference", {"id": "abc"})

    assert json.loads(answer["content"][0]["text"]) == [1]


@pytest.mark.requirement(
    "mcp-server.taskspace-tools", "mcp-server.prompts", "guidance.read-visible"
)
async def test_task_of_a_real_daemon_is_shown_updated_and_announced(
    home: DaemonFolder, tmp_path: Path
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    await home.start()
    order = ["--agent", "eliza", "--project", str(clone), "--json"]
    made = await home.symposium("task", "new", "Import", "Fix the import.", *order)
    assert made.code == 0, made.err
    worktree = clone.with_name("app.tasks") / "import"
    async with speaking(worktree, "--join", SYMPOSIUM_HOME=str(home.folder)) as server:
        before = await server.result("prompts/get", {"name": "yiasou"})
        said = await until_recorded(server, {"message": "Half of it", "category": "milestone"})
        updated = await server.call("update_taskspace", {"name": "Importer", "description": "d"})
        after = await server.result("prompts/get", {"name": "hi"})
        await server.result("resources/read", {"uri": "main.md"})
        readings = await until_read(home, json.loads(made.out)["id"], "main.md")
    await home.symposium("session", "kill", json.loads(made.out)["id"])

    assert "Fix the import." in before["messages"][0]["content"]["text"]
    assert said["structuredContent"]["status"] == "recorded"
    assert updated["structuredContent"]["initial_prompt_cleared"] is True
    text = after["messages"][0]["content"]["text"]
    assert "<name>Importer</name>" in text
    assert "Fix the import." not in text
    assert readings["main.md"]["layer"] == "built-in"
    assert readings.keys() == {"yiasou", "hi", "main.md"}


async def until_read(home: DaemonFolder, task: str, text: str) -> dict[str, Any]:
    """Wait until `task show` lists a text among the read guidance."""
    async with asyncio.timeout(20):
        while True:
            shown = await home.symposium("task", "show", task, "--json")
            found = {each["id"]: each for each in json.loads(shown.out)["guidance"]}
            if text in found:
                return found


async def until_recorded(server: Spoken, report: dict[str, str]) -> Any:
    """Report until the daemon accepts it: the server joins the bus later."""
    async with asyncio.timeout(45):
        while True:
            answer = await server.call("log_progress", report)
            if answer["structuredContent"]["status"] == "recorded":
                return answer


@pytest.mark.requirement("mcp-server.detection", "mcp-server.terminal")
def test_probe_prints_the_environment(
    symposium: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    place = tmp_path / "App.symposium" / f"task-{TASK}" / "app"
    place.mkdir(parents=True)
    said = json.loads(symposium("mcp", "--probe", "--directory", str(place)).stdout)

    assert (said["taskspace"], said["project"]) == (TASK, str(tmp_path / "App.symposium"))
    assert said["guidance"]["main.md"] == "built-in"
    assert {"shell_pid", "editor_pid", "untrusted", "troubles"} <= said.keys()


def spoken_over(url: str, token: str, message: Any, session: str = "") -> tuple[int, str, str]:
    """Post a message; return the status, the body, and the session."""
    host = url.removeprefix("http://").removesuffix("/mcp")
    connection = http.client.HTTPConnection(host, timeout=45)
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {token}",
    }
    if session:
        headers["Mcp-Session-Id"] = session
    connection.request("POST", "/mcp", json.dumps(message), headers)
    response = connection.getresponse()
    found = response.getheader("mcp-session-id") or ""
    body = response.read().decode()
    connection.close()
    return response.status, body, found


@pytest.mark.requirement("mcp-server.process", "mcp-server.http-guard")
def test_http_requires_the_token(start: Begin) -> None:
    server = start("mcp", "--join", "--http")
    assert server.stderr is not None
    url = server.stderr.readline().strip()
    token = server.stderr.readline().strip().removeprefix("Authorization: Bearer ")
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    listed: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    refused = spoken_over(url, "another-token", initialize)
    status, body, session = spoken_over(url, token, initialize)
    tools = spoken_over(url, token, listed, session)
    server.terminate()

    assert refused[0] == 403
    assert (status, "symposium" in body) == (200, True)
    initialized = json.loads(body.partition("data: ")[2] or body)
    resources = initialized["result"]["capabilities"]["resources"]
    assert resources == {"subscribe": True, "listChanged": True}
    assert "expand_reference" in tools[1]
    assert server.wait(45) == 143


@pytest.mark.requirement("mcp-server.sdk-late")
@pytest.mark.parametrize("words", [["--help"], ["mcp", "--help"], ["run", "--help"]])
def test_sdk_is_imported_only_by_the_server(words: list[str]) -> None:
    program = (
        "import sys\n"
        "from symposium.__main__ import main\n"
        f"try: main({words!r})\n"
        "except SystemExit: pass\n"
        "print('mcp' in sys.modules, 'pydantic' in sys.modules, 'uvicorn' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "False False False"
