"""Language servers on demand, against a scripted one."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from peerwire.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from peerwire.jsonrpc.connection import Connection
from peerwire.jsonrpc.handlers import Handlers, Request
from peerwire.jsonrpc.transport import Transport
from peerwire.testing import Recorder
from peerwire.transports.memory import memory_pair
from symposium.code.ide_operations import (
    DIAGNOSTICS,
    FIND_DEFINITIONS,
    FIND_REFERENCES,
    GET_SELECTION,
    HOVER,
    RESOLVE_SYMBOL,
    EditorSelection,
)
from symposium.code.lsp import documents
from symposium.code.lsp.documents import first_file
from symposium.code.lsp.headless import MAX_PAUSE, Headless, PoolSettings, next_pause
from symposium.code.lsp.server import ServerNotifications
from symposium.code.lsp.servers import TYPESCRIPT, ServerSpec, launch_of

SHELL = ServerSpec("shell", {".sh": "shellscript"}, [["sh"]], [], "nothing to do")
"""A language whose server is sure to be found; what is started instead is scripted."""

SPAN = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 9}}
NAME = {"start": {"line": 0, "character": 5}, "end": {"line": 0, "character": 8}}


class ScriptedServer:
    """A language server that answers from a table, and pushes diagnostics."""

    tasks: asyncio.TaskGroup

    def __init__(self) -> None:
        self.starts: Recorder[Sequence[str]] = Recorder()
        self.received: Recorder[tuple[str, Any]] = Recorder()
        self.asked: Recorder[str] = Recorder()
        self.answers: dict[str, Any] = {"initialize": {"capabilities": {}}, "shutdown": None}
        self.connections: list[Connection] = []
        self.ended = asyncio.Event()

    async def spawn(self, argv: Sequence[str], root: Path) -> Transport:
        del root
        near, far = memory_pair()
        handlers = Handlers(other_request=self._answer, other_notification=self._note)
        connection = Connection(far, handlers)
        self.connections.append(connection)
        self.tasks.create_task(self._serve(connection))
        self.starts.note(argv)
        return near

    async def _serve(self, connection: Connection) -> None:
        await connection.run()
        self.ended.set()

    def push(self, path: Path, *diagnostics: Any) -> None:
        params = {"uri": path.as_uri(), "diagnostics": diagnostics}
        self.connections[-1].notify("textDocument/publishDiagnostics", params)

    def _answer(self, request: Request) -> Any:
        self.asked.note(request.method)
        if request.method not in self.answers:
            raise RpcError(METHOD_NOT_FOUND, request.method)
        return self.answers[request.method]

    def _note(self, method: str, params: Any) -> None:
        self.received.note((method, params))
        if method == "textDocument/didOpen":
            self.push(Path(params["textDocument"]["uri"].removeprefix("file://")))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.sh"
    path.write_text("😀 f() { echo; }\n", encoding="utf-8")
    return path


@asynccontextmanager
async def headless(
    server: ScriptedServer, *, idle: float = 60.0, pause: float = 60.0
) -> AsyncGenerator[Headless, None]:
    settings = PoolSettings([SHELL], server.spawn, idle_timeout=idle, first_pause=pause)
    made = Headless(settings, answer_timeout=5)
    async with asyncio.TaskGroup() as tasks:
        server.tasks = tasks
        running = tasks.create_task(made.run())
        yield made
        running.cancel()


def at(path: Path, line: int = 1, column: int = 3) -> dict[str, Any]:
    return {"sessionId": "s", "path": path.name, "line": line, "column": column}


@pytest.mark.requirement("ide.on-demand")
async def test_a_server_starts_at_the_first_question_and_serves_the_next(file: Path) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = {"contents": "`f`"}
    async with headless(server) as ide:
        assert server.starts.items == []
        for _ in range(2):
            assert await ide.answer(HOVER, at(file), file.parent) == {"text": "`f`"}
        assert len(server.starts.items) == 1
        assert ide.pool.running == ["shell"]
    opened = [
        params for method, params in server.received.items if method == "textDocument/didOpen"
    ]
    assert [each["textDocument"]["languageId"] for each in opened] == ["shellscript"]


@pytest.mark.requirement("ide.on-demand")
async def test_an_idle_server_is_asked_to_leave_and_started_again_when_needed(file: Path) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = None
    async with headless(server, idle=0.01) as ide:
        await ide.answer(HOVER, at(file), file.parent)
        async with asyncio.timeout(45):
            await server.ended.wait()
        assert server.asked.items[-1] == "shutdown"
        assert ide.pool.running == []
        await ide.answer(HOVER, at(file), file.parent)
        assert len(server.starts.items) == 2


async def reason(ide: Headless, file: Path) -> str:
    """Why a question is refused."""
    with pytest.raises(RpcError) as caught:
        await ide.answer(HOVER, at(file), file.parent)
    assert caught.value.code == INTERNAL_ERROR
    return caught.value.data["reason"]


@pytest.mark.requirement("ide.crash-backoff")
async def test_after_a_crash_questions_are_refused_for_a_while(file: Path) -> None:
    server = ScriptedServer()
    async with headless(server) as ide:
        server.answers["textDocument/hover"] = None
        await ide.answer(HOVER, at(file), file.parent)
        server.connections[-1].close()
        async with asyncio.timeout(45):
            await server.ended.wait()
        assert await reason(ide, file) == "ide_server_failed"
        assert await reason(ide, file) == "ide_server_crashed"
        assert len(server.starts.items) == 1


@pytest.mark.requirement("ide.crash-backoff")
def test_the_pause_doubles_until_a_server_has_lived_long() -> None:
    pauses = [0.0]
    for _ in range(4):
        pauses.append(next_pause(MAX_PAUSE, pauses[-1], MAX_PAUSE / 3))

    assert pauses == [0.0, MAX_PAUSE / 3, MAX_PAUSE * 2 / 3, MAX_PAUSE, MAX_PAUSE]
    assert next_pause(MAX_PAUSE + 1, MAX_PAUSE, 2.0) == 2.0


@pytest.mark.requirement("ide.crash-backoff")
async def test_after_the_pause_the_server_is_started_again(file: Path) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = None
    async with headless(server, pause=0.0) as ide:
        await ide.answer(HOVER, at(file), file.parent)
        server.connections[-1].close()
        async with asyncio.timeout(45):
            await server.ended.wait()
        assert await reason(ide, file) == "ide_server_failed"
        assert await ide.answer(HOVER, at(file), file.parent) == {"text": None}
        assert len(server.starts.items) == 2


@pytest.mark.requirement("ide.same-shape")
async def test_definitions_links_and_outlines_become_ranges_of_the_name(file: Path) -> None:
    server = ScriptedServer()
    uri = file.as_uri()
    link = {"targetUri": uri, "targetRange": SPAN, "targetSelectionRange": NAME}
    symbol = {"name": "f", "kind": 12, "location": {"uri": uri, "range": SPAN}}
    like = {"name": "fg", "kind": 99, "location": {"uri": uri, "range": SPAN}}
    outline = [{"name": "f", "range": SPAN, "selectionRange": NAME}]
    server.answers |= {
        "textDocument/definition": [link],
        "workspace/symbol": [like, symbol],
        "textDocument/documentSymbol": outline,
    }
    name = {"start": {"line": 1, "column": 5}, "end": {"line": 1, "column": 8}}
    where = {"path": str(file), **name, "content": "😀 f() { echo; }"}
    async with headless(server) as ide:
        found = await ide.answer(FIND_DEFINITIONS, at(file), file.parent)
        assert found == {"ranges": [where]}
        found = await ide.answer(RESOLVE_SYMBOL, {"sessionId": "s", "name": "f"}, file.parent)
        assert found == {
            "symbols": [{"name": "f", "kind": "Function", "definedAt": where}],
            "isExact": True,
        }
        found = await ide.answer(RESOLVE_SYMBOL, {"sessionId": "s", "name": "x"}, file.parent)
        assert [each["name"] for each in found["symbols"]] == ["fg", "f"]
        assert not found["isExact"]


@pytest.mark.requirement("ide.references-without-definition")
async def test_references_leave_the_definition_out(file: Path) -> None:
    server = ScriptedServer()
    uri = file.as_uri()
    definition, use = {"uri": uri, "range": NAME}, {"uri": uri, "range": SPAN}
    server.answers["textDocument/definition"] = definition
    server.answers["textDocument/references"] = [definition, use]
    async with headless(server) as ide:
        found = await ide.answer(FIND_REFERENCES, at(file), file.parent)
    assert [each["start"]["column"] for each in found["ranges"]] == [1]


def change(file: Path) -> None:
    file.write_text("changed\n", encoding="utf-8")


@pytest.mark.requirement("ide.diagnostics-both-ways")
@pytest.mark.parametrize("pulls", [None, False])
async def test_diagnostics_are_pushed_or_pulled_and_renewed_after_a_change(
    file: Path, pulls: object
) -> None:
    server = ScriptedServer()
    server.answers["initialize"] = {"capabilities": {"diagnosticProvider": pulls}}
    wrong = {"range": NAME, "message": "no", "severity": 2, "code": 7}
    ask = {"sessionId": "s", "path": str(file)}
    async with headless(server) as ide:
        assert await ide.answer(DIAGNOSTICS, ask, file.parent) == {"diagnostics": []}
        server.push(file, {**wrong, "message": "outdated"})
        change(file)
        asking = server.tasks.create_task(ide.answer(DIAGNOSTICS, ask, file.parent))
        await server.received.until(
            lambda received: any(method == "textDocument/didChange" for method, _ in received)
        )
        server.push(file, wrong)
        (found,) = (await asking)["diagnostics"]
    assert (found["severity"], found["code"], found["message"]) == ("warning", "7", "no")
    pulling = ScriptedServer()
    pulling.answers["initialize"] = {"capabilities": {"diagnosticProvider": {}}}
    pulling.answers["textDocument/diagnostic"] = {"kind": "full", "items": [wrong]}
    async with headless(pulling) as ide:
        found = await ide.answer(DIAGNOSTICS, ask, file.parent)
    assert [each["message"] for each in found["diagnostics"]] == ["no"]


@pytest.mark.requirement("house.odd-files")
@pytest.mark.timeout(240)
async def test_pipe_among_the_files_delays_no_answer(file: Path) -> None:
    pipe = file.with_name("A.sh")
    os.mkfifo(pipe)
    server = ScriptedServer()
    server.answers["workspace/symbol"] = []
    server.answers["textDocument/definition"] = {"uri": pipe.as_uri(), "range": SPAN}
    async with headless(server) as ide:
        await ide.answer(RESOLVE_SYMBOL, {"sessionId": "s", "name": "f"}, file.parent)
        opened = [params for method, params in server.received.items if method.endswith("didOpen")]
        assert [each["textDocument"]["uri"] for each in opened] == [file.as_uri()]
        found = await ide.answer(FIND_DEFINITIONS, at(file), file.parent)
        (there,) = found["ranges"]
        assert there["path"] == str(pipe)
        with pytest.raises(RpcError):
            await ide.answer(HOVER, at(pipe), file.parent)


@pytest.mark.requirement("ide.no-editor")
async def test_without_an_editor_nothing_is_selected(tmp_path: Path) -> None:
    answer = await Headless().answer(GET_SELECTION, {"sessionId": "s"}, tmp_path)
    assert answer == {"selectedText": None, "message": "no editor"}
    assert convert(answer, EditorSelection).selected_text is None


@pytest.mark.requirement("ide.says-what-is-wrong")
async def test_unanswerable_request_is_an_error(file: Path) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = {"odd": 1}
    with pytest.raises(RpcError) as unknown:
        await Headless().answer("_symposium/ide/fly", {}, file.parent)
    assert unknown.value.code == METHOD_NOT_FOUND
    async with headless(server) as ide:
        with pytest.raises(RpcError) as odd:
            await ide.answer(HOVER, at(file), file.parent)
        with pytest.raises(RpcError) as absent:
            await ide.answer(HOVER, at(Path("absent.sh")), file.parent)
        with pytest.raises(RpcError) as wrong:
            await ide.answer(HOVER, {"sessionId": "s", "path": "a.sh"}, file.parent)
        with pytest.raises(RpcError) as malformed:
            await ide.answer(HOVER, {"sessionId": "s", "path": 3}, file.parent)
    assert odd.value.data["reason"] == "ide_odd_answer"
    assert malformed.value.code == INVALID_PARAMS
    assert absent.value.code == wrong.value.code == INVALID_PARAMS


@pytest.mark.requirement("ide.faults-are-told-apart")
async def test_unexpected_response_is_logged_with_its_traceback(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = ScriptedServer()
    server.answers["textDocument/definition"] = {"uri": "file://[", "range": SPAN}
    async with headless(server) as ide:
        with pytest.raises(RpcError) as odd:
            await ide.answer(FIND_DEFINITIONS, at(file), file.parent)

    assert odd.value.data["reason"] == "ide_odd_answer"
    assert "Invalid IPv6 URL" in odd.value.data["detail"]
    (record,) = [each for each in caplog.records if "unexpected response" in each.getMessage()]
    assert record.exc_info


@pytest.mark.requirement("ide.faults-are-told-apart")
@pytest.mark.parametrize("fault", [ValueError("oops"), KeyError("oops"), OSError("oops")])
async def test_fault_of_symposium_is_not_reported_as_one_of_the_params_or_the_server(
    file: Path, fault: Exception
) -> None:
    async def spawn(argv: Sequence[str], root: Path) -> Transport:
        del argv, root
        raise fault

    ide = Headless(PoolSettings([SHELL], spawn))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(ide.run())
        with pytest.raises(type(fault)) as raised:
            await ide.answer(HOVER, at(file), file.parent)
        running.cancel()

    assert raised.value is fault


@pytest.mark.requirement("ide.says-what-is-wrong")
async def test_missing_server_and_workspace_without_code_are_named(file: Path) -> None:
    missing = ServerSpec("shell", {".sh": "sh"}, [["no-such-server"]], ["marker"], "buy one")
    bare = Headless(PoolSettings([missing]))
    name, folder = {"sessionId": "s", "name": "f"}, file.parent / "folder"
    folder.mkdir()
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bare.run())
        with pytest.raises(RpcError) as none:
            await bare.answer(HOVER, at(file), file.parent)
        with pytest.raises(RpcError) as empty:
            await bare.answer(RESOLVE_SYMBOL, name, folder)
        (folder / "marker").touch()
        with pytest.raises(RpcError) as marked:
            await bare.answer(RESOLVE_SYMBOL, name, folder)
        running.cancel()
    assert (
        none.value.data
        == marked.value.data
        == {
            "reason": "no_language_server",
            "language": "shell",
            "detail": "no language server for shell is installed (no-such-server)",
            "hint": "install it with: buy one",
        }
    )
    assert empty.value.data == {
        "reason": "ide_language",
        "detail": f"{folder} contains no files of a known language (shell)",
    }


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.requirement("ide.no-workspace-code")
def test_no_server_is_taken_from_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = program(tmp_path / "work" / "bin" / "evil-server")
    spec = ServerSpec("evil", {}, [["evil-server"]], [], "never")
    monkeypatch.setenv("PATH", str(planted.parent))
    assert launch_of(spec, tmp_path / "work") is None
    found = launch_of(spec, tmp_path / "elsewhere")
    assert found is not None
    assert found.argv == [str(planted)]

    monkeypatch.setattr(sys, "executable", str(planted.with_name("python")))
    monkeypatch.setenv("PATH", "/nowhere")
    assert launch_of(spec, tmp_path / "work") is None
    assert launch_of(spec, tmp_path / "elsewhere") == found


@pytest.mark.requirement("ide.no-workspace-code")
def test_the_compiler_of_the_workspace_never_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = program(tmp_path / "node_modules" / "bin" / "typescript-language-server")
    monkeypatch.setenv("PATH", str(server.parent))
    work = tmp_path / "work"
    program(work / "node_modules" / "typescript" / "lib" / "tsserver.js")
    assert launch_of(TYPESCRIPT, work) is None
    own = program(tmp_path / "node_modules" / "typescript" / "lib" / "tsserver.js")
    found = launch_of(TYPESCRIPT, work)
    assert found is not None
    assert found.options["tsserver"] == {"path": str(own)}


@pytest.mark.requirement("ide.bounded-walk")
def test_files_are_looked_for_near_the_root_and_among_so_many_entries_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (".venv/a.py", "node_modules/b.py", "deep/deeper/c.py", "deep/d.py", "deep/e.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "deeper")
    (tmp_path / "a.go").symlink_to(tmp_path / "deep" / "e.rs")

    assert first_file(tmp_path, frozenset({".py"})) == tmp_path / "deep" / "d.py"
    assert first_file(tmp_path, frozenset({".go"})) is None
    assert first_file(tmp_path / "missing", frozenset({".go"})) is None
    monkeypatch.setattr(documents, "MAX_ENTRIES", 6)
    assert first_file(tmp_path, frozenset({".py"})) == tmp_path / "deep" / "d.py"
    assert first_file(tmp_path, frozenset({".rs"})) is None


@pytest.mark.requirement("ide.same-shape")
@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (" `f` ", "`f`"),
        ({"kind": "markdown", "value": "`f`\n"}, "`f`"),
        ([{"language": "sh", "value": "f"}, "says nothing"], "f\n\nsays nothing"),
    ],
    ids=["text", "markup", "list"],
)
async def test_every_shape_of_a_hover_is_one_text(file: Path, contents: Any, text: str) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = {"contents": contents}
    async with headless(server) as ide:
        assert await ide.answer(HOVER, at(file), file.parent) == {"text": text}


@pytest.mark.requirement("ide.server-asks")
async def test_requests_of_a_server_are_answered(file: Path) -> None:
    server = ScriptedServer()
    server.answers["textDocument/hover"] = None
    async with headless(server) as ide:
        await ide.answer(HOVER, at(file), file.parent)
        (connection,) = server.connections
        for method in (
            "client/registerCapability",
            "client/unregisterCapability",
            "window/workDoneProgress/create",
        ):
            assert await connection.request(method, {}) is None
        (folder,) = await connection.request("workspace/workspaceFolders", None)
        items = {"items": [{"section": "a"}, {"section": "b"}]}
        assert len(await connection.request("workspace/configuration", items)) == 2
    assert folder["uri"] == file.parent.as_uri()


@pytest.mark.requirement("ide.real-servers")
def test_a_server_is_at_rest_once_all_work_that_it_reported_has_ended() -> None:
    news = ServerNotifications()
    seen = [news.is_at_rest]
    for token, kind in ((1, "begin"), ("2", "begin"), (1, "report"), (1, "end"), ("2", "end")):
        news.progressed({"token": token, "value": {"kind": kind}})
        seen.append(news.is_at_rest)

    assert seen == [False, False, False, False, False, True]
