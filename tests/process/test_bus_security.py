"""Refused actions of a client of the same user, and hostile input, at a real daemon."""

import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.daemons import DaemonFolder, RawSocket, daemon_folder
from tests.support.mcp_process import repository_in

from symposium.bus.errors import BusRefusedError
from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.broker import Presence, WindowKind
from symposium.bus.messages.editor import GetSelection, Selection
from symposium.bus.messages.tasks import AdoptTaskspace, CreateTaskspace, ListTaskspaces
from symposium.bus.protocol import Role

pytestmark = pytest.mark.timeout(240)

HERE = {"workingDirectory": "/"}
UUID = "0f6f3f2e-6a86-4b1e-9d5c-3c1a9f2b7d10"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[DaemonFolder]:
    async with daemon_folder(tmp_path / "home") as found:
        found.folder.mkdir()
        yield found


def line(type_: str, payload: Any, id_: str = "1") -> bytes:
    return json.dumps({"type": type_, "id": id_, "sender": HERE, "payload": payload}).encode()


def hello(role: str) -> bytes:
    return line("hello", {"protocol": 2, "role": role, "name": "other"}, "hello")


def outcome(written: object) -> Any:
    assert isinstance(written, bytes)
    return json.loads(written)["payload"]


def entries(folder: str | Path) -> set[str]:
    return {each.name for each in Path(folder).iterdir()}


def worktrees(clone: Path) -> str:
    listed = ["/usr/bin/env", "git", "worktree", "list", "--porcelain", "-z"]
    return subprocess.run(listed, cwd=clone, capture_output=True, text=True, check=True).stdout


@pytest.mark.requirement("bus.hello", "bus.security")
@pytest.mark.parametrize("role", [None, "observer", "daemon", "legacy"])
@pytest.mark.parametrize("type_", ["delete_taskspace", "remove_taskspace", "stop_daemon"])
async def test_client_without_a_role_deletes_and_ends_nothing(
    home: DaemonFolder, tmp_path: Path, role: str | None, type_: str
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    await home.start()
    async with home.client(Role.CLI) as person:
        made = await person.request(CreateTaskspace(project=str(clone), name="mine"))
        payload = {"project_path": str(clone), "taskspace_uuid": made.taskspace.id}
        raw = RawSocket(home.socket)
        if role is not None:
            raw.write(hello(role))
        raw.write(line(type_, {**payload, "id": made.taskspace.id}))
        messages = [outcome(each) for each in await raw.lines(2 if role == "observer" else 1)]
        raw.close()
        (left,) = (await person.request(ListTaskspaces())).taskspaces

    codes = {None: "hello_required", "observer": "forbidden"}
    assert messages[-1]["code"] == codes.get(role, "bad_hello")
    assert messages[-1]["error"]
    assert left.id == made.taskspace.id
    assert entries(made.taskspace.worktree) == {".git"}


@pytest.mark.requirement("bus.forged-response", "bus.security")
@pytest.mark.parametrize("role", [None, "observer", "cli", "editor"])
async def test_only_the_asked_client_can_answer(home: DaemonFolder, role: str | None) -> None:
    """The other client even knows the id of the request."""
    strangers: list[Any] = []
    answers = HandlerTable()

    async def select(message: GetSelection, asked: RequestContext) -> Selection:
        del message
        raw = RawSocket(home.socket)
        forged = {"success": True, "data": {"selected_text": "forged"}}
        raw.write(*([] if role is None else [hello(role)]), line("response", forged, asked.id))
        raw.write(line("who", {}, "after"))
        strangers.append([outcome(each) for each in await raw.lines(2)])
        raw.close()
        return Selection(selected_text="true")

    answers.on_request(GetSelection, select)
    window = Presence(kind=WindowKind.EDITOR, workspace_folders=(str(home.folder),))
    await home.start()
    async with home.client(Role.EDITOR, answers, window) as editor, home.client() as agent:
        await editor.ready()
        selection = await agent.request(GetSelection())

    assert selection.selected_text == "true"
    (received,) = strangers
    codes = {None: "hello_required", "observer": "forbidden"}
    assert codes.get(role, "forbidden") in {each.get("code") for each in received}
    log = (home.folder / "log" / "daemon.log").read_text(encoding="utf-8")
    # A client that may answer nothing is refused before the message is examined.
    assert ("of another peer" in log) == (role in {"cli", "editor"})


@pytest.mark.requirement("bus.malformed", "bus.security")
async def test_each_of_a_hundred_malformed_lines_gets_a_clear_error(home: DaemonFolder) -> None:
    good = line("polo", {})
    bad = [b"{", b"null", b"[]", b"\xff\xfe", b'{"type":1,"id":"i"}', b"[" * 5000]
    bad += [good[:cut] for cut in range(1, len(good))]
    bad = (bad * 2)[:100]
    await home.start()
    raw = RawSocket(home.socket)
    raw.write(hello("cli"), *bad)
    _, *messages = [outcome(each) for each in await raw.lines(101)]
    raw.write(line("who", {}, "after"))
    *_, still = await raw.lines(102)
    raw.close()

    assert {each["code"] for each in messages} == {"bad_message"}
    assert all(each["error"] for each in messages)
    assert outcome(still)["success"] is True


REFUSED = {
    **dict.fromkeys(["", " ", "\u2003"], "the name is blank"),
    **dict.fromkeys(["x\0y", "x\ny", "\x1b[31mred"], "control character"),
    "x" * 5000: "5000 characters",
}
HARMLESS = ["../x", "/etc/x", "-rf", "..", ".git", "HEAD", "$(touch pwned)", "@{-1}", "x.lock"]


@pytest.mark.requirement("bus.security")
async def test_hostile_name_is_refused_or_harmless(home: DaemonFolder, tmp_path: Path) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    await home.start()
    async with home.client(Role.CLI) as person:
        for name, reason in REFUSED.items():
            with pytest.raises(BusRefusedError, match=reason):
                await person.request(CreateTaskspace(project=str(clone), name=name))
        made = [
            (await person.request(CreateTaskspace(project=str(clone), name=name))).taskspace
            for name in HARMLESS
        ]

    assert [each.name for each in made] == HARMLESS
    assert {Path(each.worktree).parent for each in made} == {tmp_path / "app.tasks"}
    assert entries(tmp_path) == {"app", "app.tasks", "home"}
    words = worktrees(clone)
    assert words.count("worktree ") == len(HARMLESS) + 1


@pytest.mark.requirement("bus.security")
@pytest.mark.parametrize("kind", ["create", "adopt"])
async def test_hostile_path_is_refused_with_the_reason(
    home: DaemonFolder, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "elsewhere").symlink_to("/proc")
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe")
    paths = {
        **{str(tmp_path / each): "is not a directory" for each in ("file", "pipe")},
        **{str(tmp_path / each): "does not exist" for each in ("dangling", "gone")},
        str(tmp_path / "loop"): "cannot open",
        **dict.fromkeys(("/", str(tmp_path / "elsewhere")), "is not in a git repository"),
        **dict.fromkeys(["/x\0y", "/" + "a" * 5000], "cannot open"),
        **dict.fromkeys(["", "-C", "~", "file:///etc"], "not an absolute path"),
    }
    await home.start()
    async with home.client(Role.CLI) as person:
        for path, reason in paths.items():
            asked = (
                CreateTaskspace(project=path, name="x")
                if kind == "create"
                else AdoptTaskspace(worktree=path)
            )
            with pytest.raises(BusRefusedError, match=reason) as caught:
                await person.request(asked)
            assert "bug" not in str(caught.value)
            assert caught.value.hint or ";" in str(caught.value)
        assert (await person.request(ListTaskspaces())).taskspaces == ()
