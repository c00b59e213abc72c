"""Documents that `symposium mcp` saves: walkthroughs for commands, reviews after a restart."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.daemons import DaemonFolder, daemon_folder
from tests.support.git_repository import GitRepository
from tests.support.mcp_process import joined, repository_in, speaking

from symposium.bus.handlers import HandlerTable, RequestContext
from symposium.bus.messages.editor import CreateSyntheticPr, UserFeedback
from symposium.bus.protocol import Role

pytestmark = pytest.mark.timeout(240)

ASKED = {"commit_range": "HEAD~1..HEAD", "title": "Two", "description": "why"}
WALKTHROUGH = """# What I did

```comment
location: lines(`app.py`, 1, 1)

The one line.
```

```comment
location: search(`app.py`, `o`)

Which?
```

```comment
location: lines(`lost.py`, 1, 1)

Nowhere.
```
"""


@pytest.fixture
async def home(tmp_path: Path) -> AsyncGenerator[DaemonFolder]:
    async with daemon_folder(tmp_path) as found:
        yield found


@pytest.mark.requirement("mcp-server.walkthroughs", "walkthroughs.store")
async def test_presented_walkthrough_is_listed_and_shown_in_the_task_and_the_clone(
    home: DaemonFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = tmp_path / "app"
    repository_in(clone)
    await home.start()
    made = await home.symposium("task", "new", "Import", "--agent", "none", "--project", str(clone))
    assert made.code == 0, made.err
    worktree = clone.with_name("app.tasks") / "import"
    (worktree / "app.py").write_text("one\ntwo\n", encoding="utf-8")
    async with speaking(worktree, "--join", SYMPOSIUM_HOME=str(home.folder)) as server:
        answer = await server.call("present_walkthrough", {"content": WALKTHROUGH})
    messages, text = answer["structuredContent"], answer["content"][0]["text"]
    monkeypatch.chdir(worktree)
    listed = await home.symposium("walkthrough", "list")
    shown = await home.symposium("walkthrough", "show", messages["id"], "--no-servers")
    newest = await home.symposium("walkthrough", "show", "--no-servers")
    monkeypatch.chdir(clone)
    elsewhere = await home.symposium("walkthrough", "list")

    assert messages["status"] == "stored"
    assert [(each["line"], each["status"]) for each in messages["faults"]] == [
        (9, "ambiguous"),
        (15, "error"),
    ]
    assert "ambiguous(2): found at app.py:1, app.py:2" in text
    assert "lost.py" in text
    assert messages["id"] in listed.out
    assert "What I did" in listed.out
    assert "The one line." in shown.out
    assert newest.out == shown.out
    assert messages["id"] in elsewhere.out, "read from the clone, too"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """Create a repository with a change."""
    repository = GitRepository(tmp_path / "code")
    repository.write("app.py", "one\n")
    repository.commit()
    repository.write("app.py", "two\n")
    repository.commit()
    return repository.path


def comment(review_id: str, text: str) -> UserFeedback:
    return UserFeedback(review_id=review_id, feedback_type="comment", comment_text=text)


@pytest.mark.requirement("mcp-server.reviews-kept", "mcp-server.reviews-arrive")
async def test_review_outlives_its_server_and_its_reviewer_answers_over_the_bus(
    home: DaemonFolder, changed: Path
) -> None:
    own = {"SYMPOSIUM_HOME": str(home.folder)}
    await home.start()
    async with home.client(Role.CLI) as person, speaking(changed, "--join", **own) as server:
        await joined(person)
        alone = (await server.call("request_review", ASKED))["structuredContent"]
        server.child.kill()
    async with home.client(Role.CLI) as person, speaking(changed, "--join", **own) as server:
        await joined(person)
        await person.request(comment(alone["review_id"], "I saw it later"))
        listed = (await server.call("get_review_status", {}))["structuredContent"]

    assert (alone["status"], listed["status"]) == ("no_reviewer", "answered")
    assert [each["review_id"] for each in listed["known"]] == [alone["review_id"]]
    assert listed["feedback"][0]["comment_text"] == "I saw it later"


@pytest.mark.requirement("mcp-server.reviews-arrive")
async def test_reviewer_on_the_bus_gets_the_change_and_the_tool_gets_the_comments(
    home: DaemonFolder, changed: Path
) -> None:
    answers, shown = HandlerTable(), list[CreateSyntheticPr]()
    came = asyncio.Event()

    async def take(message: CreateSyntheticPr, asked: RequestContext) -> str:
        del asked
        shown.append(message)
        came.set()
        return message.review_id

    answers.on_request(CreateSyntheticPr, take)
    await home.start()
    async with (
        home.client(Role.APP, answers) as reviewer,
        speaking(changed, "--join", SYMPOSIUM_HOME=str(home.folder)) as server,
        asyncio.TaskGroup() as tasks,
    ):
        await joined(reviewer)
        asking = tasks.create_task(server.call("request_review", ASKED))
        async with asyncio.timeout(45):
            await came.wait()
        await reviewer.request(comment(shown[0].review_id, "why two?"))
        async with asyncio.timeout(45):
            answer = await asking

    assert [each.path for each in shown[0].files_changed] == ["app.py"]
    assert answer["structuredContent"]["status"] == "answered"
    assert "why two?" in answer["content"][0]["text"]
