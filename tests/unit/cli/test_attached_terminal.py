"""A terminal that is attached to a session in this process."""

import asyncio
import io
import os
import signal
import sys
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from tests.support.scripted_session import SESSION, session_server
from tests.support.terminals import at_terminal

from symposium.cli.session_view import look
from symposium.cli.terminal import ask_line, attach_terminal, show_terminal
from symposium.sessions.client import ATTACH, ENDED, INPUT, OUTPUT, RESIZE
from symposium.sessions.session import TERMINAL_LOG, SessionKind

HINT = "[Ctrl-\\ detaches; the agent continues]\n"


def encoded(text: bytes) -> str:
    return b64encode(text).decode()


SHOWN = {ATTACH: {"scrollback": encoded(b"before\r\n")}}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SYMPOSIUM_HOME", str(tmp_path / "home"))


@pytest.mark.requirement("agent-sessions.outlive", "agent-sessions.leaving")
async def test_attached_terminal_passes_keys_size_and_output_until_the_user_detaches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with session_server(SessionKind.TERMINAL, tmp_path, SHOWN) as server:
        with at_terminal() as screen:
            async with asyncio.TaskGroup() as tasks:
                attached = tasks.create_task(attach_terminal(server.store, SESSION))
                size = await server.until(ATTACH)
                await screen.until(b"before\r\n")
                was_raw = screen.is_raw
                screen.type(b"\x03keys")
                typed = await server.until(INPUT)
                screen.resize(20, 70)
                os.kill(os.getpid(), signal.SIGWINCH)
                resized = await server.until(RESIZE)
                server.notify(OUTPUT, {"data": encoded(b"\xffoutput")})
                await screen.until(b"\xffoutput")
                screen.type(b"last\x1clost")
                last = await server.until(INPUT, 2)
            is_raw = screen.is_raw

    assert (size, resized) == ({"rows": 30, "columns": 90}, {"rows": 20, "columns": 70})
    assert [b64decode(each["data"]) for each in (typed, last)] == [b"\x03keys", b"last"]
    assert (was_raw, is_raw) == (True, False)
    assert signal.getsignal(signal.SIGWINCH) == signal.SIG_DFL
    assert attached.result() == 0
    assert capsys.readouterr().err == f"{HINT}\n[detached; the agent continues]\n"


@pytest.mark.requirement("agent-sessions.leaving")
@pytest.mark.parametrize("is_told", [True, False])
async def test_end_of_the_session_ends_the_attached_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_told: bool
) -> None:
    async with session_server(SessionKind.TERMINAL, tmp_path, SHOWN) as server:
        with at_terminal() as screen:
            async with asyncio.TaskGroup() as tasks:
                attached = tasks.create_task(attach_terminal(server.store, SESSION))
                await screen.until(b"before\r\n")
                if is_told:
                    server.notify(ENDED, {})
                else:
                    server.close()
            is_raw = screen.is_raw

    assert (attached.result(), server.of(INPUT), is_raw) == (0, [], False)
    assert capsys.readouterr().err == f"{HINT}\n[the session has ended]\n"


@pytest.mark.requirement("agent-sessions.outlive")
async def test_terminal_is_shown_without_resizing_it_and_its_record_after_its_end(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    async with session_server(SessionKind.TERMINAL, tmp_path, SHOWN) as server:
        lock = server.store.lock(SESSION)
        running = await show_terminal(server.store, SESSION)
        os.close(lock)
        nothing = await look(server.store, SESSION, 0, as_json=False)
        log = server.store.directory(SESSION) / TERMINAL_LOG
        log.write_bytes(b"\xff record")
        ended = await look(server.store, SESSION, 0, as_json=False)

    assert server.came == [(ATTACH, {})]
    assert (running, nothing, ended) == (0, 0, 0)
    assert capfdbinary.readouterr().out == b"before\r\n\xff record"


@pytest.mark.requirement("agent-sessions.outlive")
async def test_attached_file_and_pipe_have_no_hints_and_no_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys").write_bytes(b"keys")
    async with session_server(SessionKind.TERMINAL, tmp_path, SHOWN) as server:
        reading, writing = os.pipe()
        os.write(writing, b"typed")
        os.close(writing)
        with io.TextIOWrapper(io.FileIO(reading)) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            code = await attach_terminal(server.store, SESSION)
        typed = await server.until(INPUT)
        with (tmp_path / "keys").open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(attach_terminal(server.store, SESSION))
                await server.until(ATTACH, 2)
                server.notify(ENDED, {})

    assert (code, b64decode(typed["data"]), len(server.of(INPUT))) == (0, b"typed", 1)
    assert server.of(ATTACH) == [{}, {}]
    assert tuple(capfd.readouterr()) == ("before\r\nbefore\r\n", "")


@pytest.mark.requirement("cli.chat-typed-ahead")
async def test_line_typed_before_a_question_is_no_answer_to_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = os.dup(0)
    with at_terminal() as screen:
        os.dup2(screen.side, 0)
        screen.type(b"early\n")
        try:
            async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
                await screen.until(b"early\r\n")
                asked = tasks.create_task(ask_line("Sure? "))
                await asyncio.sleep(0)
                screen.type(b"yes\n")
        finally:
            os.dup2(before, 0)
            os.close(before)

    assert (asked.result(), capsys.readouterr().err) == ("yes", "Sure? ")
