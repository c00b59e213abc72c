"""Inbox answers: failures, and which items each answer settles."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.support.task_harness import (
    EngineOptions,
    Scene,
    make_template,
    open_scene,
    settings_file,
)
from tests.support.task_views import asked, serve

from symposium.bus.errors import BusRefusedError
from symposium.bus.messages.tasks import (
    InboxAnswered,
    InboxCall,
    InboxChoice,
    InboxItem,
    PutOffInbox,
)
from symposium.config.paths import paths
from symposium.permissions.trust_store import TrustStore
from symposium.sessions.session import SessionError, SessionKind, SessionSpec, SessionStore
from symposium.tasks.conflict_resolutions import Resolution, ResolutionStage
from symposium.tasks.handlers import inbox
from symposium.tasks.handlers.approvals import SetUpQuestions, SetUpTrust
from symposium.tasks.handlers.live_sessions import AgentNow, LiveSessions
from symposium.tasks.land import Ready


@pytest.fixture
async def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Scene]:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings_file(tmp_path)))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    made = open_scene(make_template(tmp_path))
    yield made
    made.engine.close()


@pytest.mark.requirement("tasks.answer-fails")
@pytest.mark.parametrize("remembered", [0, 1000])
async def test_answer_that_fails_raises_its_own_error_and_the_item_still_waits(
    scene: Scene, tmp_path: Path, remembered: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "REMEMBERED", remembered)
    served = serve(scene.engine, tmp_path)
    made = await scene.make("has no agent")
    asked = await scene.engine.records.signal(made.id, "which one?")
    id_ = f"question:{asked.number}"
    with pytest.raises(SessionError):
        await served.inbox.answer(id_, "the first one", "me")

    assert [each.id for each in await served.inbox.items()] == [id_]
    assert await served.inbox.answer(id_, "seen", "me") == "seen"
    assert await served.inbox.items() == []
    with pytest.raises(BusRefusedError):
        await served.inbox.answer(id_, "seen", "me")


@pytest.mark.requirement("landing.approval")
async def test_landing_that_is_postponed_can_be_postponed_again_and_answered(
    scene: Scene, tmp_path: Path
) -> None:
    served = serve(scene.engine, tmp_path)
    made = await scene.make("has conflicts")
    ready = Ready("a" * 40, "main", "b" * 40, 1, is_news=True)
    at = "2026-01-01T00:00:00+00:00"
    await scene.engine.resolutions.put(
        Resolution(made.id, ResolutionStage.READY, 1, at, "main", "b" * 40, ready=ready)
    )
    (item,) = await served.inbox.items()

    snooze = PutOffInbox(item=item.id)
    said = await served.handlers.answers().requests[snooze.about.type](snooze, asked())
    assert said == InboxAnswered(
        text=f"{made.name} is snoozed; it stays in the inbox without notifications"
    )
    for _ in range(2):
        await served.inbox.answer(item.id, "later", "me")
        (postponed,) = await served.inbox.items()
        assert (postponed.id, bool(postponed.put_off_at)) == (item.id, True)
    assert "not landed" in await served.inbox.answer(item.id, "reject", "me")
    assert await served.inbox.items() == []


@pytest.mark.requirement("tasks.inbox")
@pytest.mark.parametrize("choice", ["seen", "the first one"])
async def test_answer_by_a_second_user_names_who_was_first(
    scene: Scene, tmp_path: Path, choice: str
) -> None:
    served = serve(scene.engine, tmp_path)
    made = await scene.make("has no agent")
    asked = await scene.engine.records.signal(made.id, "which one?")
    id_ = f"question:{asked.number}"
    await served.inbox.answer(id_, "seen", "me")

    with pytest.raises(BusRefusedError, match="already answered by me at") as refused:
        await served.inbox.answer(id_, choice, "another")
    assert refused.value.code == "already_answered"
    settled = served.inbox.settled(id_)
    assert settled is not None
    assert (settled.by, settled.answer) == ("me", "seen")


@pytest.mark.requirement("tasks.inbox")
async def test_answer_that_an_item_does_not_offer_is_refused_and_the_item_waits(
    scene: Scene, tmp_path: Path
) -> None:
    served = serve(scene.engine, tmp_path)
    made = await scene.make("lands")
    ready = Ready("a" * 40, "main", "b" * 40, 1, is_news=True)
    await scene.engine.resolutions.put(
        Resolution(made.id, ResolutionStage.READY, 1, "", "main", "b" * 40, ready=ready)
    )
    (item,) = await served.inbox.items()

    with pytest.raises(BusRefusedError, match="choices: land, later, reject") as bad:
        await served.inbox.answer(item.id, "retry", "me")
    with pytest.raises(BusRefusedError, match="no item landing:x") as unknown:
        await served.inbox.answer("landing:x", "land", "me")

    assert (bad.value.code, unknown.value.code) == ("bad_choice", "not_found")
    assert [each.id for each in await served.inbox.items()] == [item.id]
    assert served.inbox.settled(item.id) is None


@pytest.mark.requirement("tasks.setup-asks-once")
async def test_approval_of_a_set_up_is_refused_when_its_commands_have_changed(
    scene: Scene, tmp_path: Path
) -> None:
    trust = SetUpTrust(TrustStore(tmp_path))
    asking = open_scene(scene.root, EngineOptions(trust=trust))
    served = serve(asking.engine, tmp_path)
    file = scene.clone / "conductor.json"
    file.write_text('{"scripts":{"setup":"touch ran"}}', encoding="utf-8")
    made = await asking.make("has a set-up")
    (shown,) = await served.inbox.items()
    (Path(made.worktree) / "conductor.json").write_text(
        '{"scripts":{"setup":"touch stolen"}}', encoding="utf-8"
    )

    with pytest.raises(BusRefusedError, match="have changed since") as refused:
        await served.inbox.answer(shown.id, "trust", "me")
    # Simulate a change between the lookup and the answer.
    with pytest.raises(BusRefusedError, match="have changed since"):
        await SetUpQuestions(asking.engine, trust).answer(shown, "trust")
    (now,) = await served.inbox.items()
    declined = (
        await served.inbox.answer(now.id, "without", "me"),
        await served.inbox.items(),
    )
    texts: list[str] = []
    for content in ("touch third", ""):
        (Path(made.worktree) / "conductor.json").write_text(
            f'{{"scripts":{{"setup":"{content}"}}}}', encoding="utf-8"
        )
        texts += [each.text for each in await served.inbox.items()]
    asking.engine.close()

    assert refused.value.code == "changed"
    assert refused.value.message.split("\n") == [
        "its setup files have changed since you saw them; nothing was run:",
        "- conductor.json  setup: touch ran",
        "+ conductor.json  setup: touch stolen",
        "check the new commands with `symposium inbox`, then answer again",
    ]
    head = "its setup wants to run these commands; the task waits for your answer"
    assert shown.text == f"{head}\nconductor.json  setup: touch ran"
    assert now.text == f"{head}\nconductor.json  setup: touch stolen"
    assert now.id != shown.id
    assert declined == (
        "has a set-up is ready: continues without its setup, which you declined",
        [],
    )
    head = "the setup files that you skipped before have changed; they want to run this"
    assert texts == [f"{head}\nconductor.json  setup: touch third"]
    assert not TrustStore(tmp_path).decisions()
    assert not (Path(made.worktree) / "stolen").exists()


@pytest.mark.requirement("tasks.inbox")
async def test_permission_of_an_agent_is_shown_with_its_whole_call(
    scene: Scene, tmp_path: Path
) -> None:
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    old = {"question": 1, "options": [{"optionId": "yes", "name": "Allow"}]}
    new = {
        "question": 2,
        "options": options,
        "title": "Edit a.txt",
        "wish": "edit a.txt",
        "askedAt": "2026-01-01T00:00:00+00:00",
        "kind": "edit",
        "paths": ["a.txt"],
        "command": "sed",
        "diff": "-1 +1",
        "lines": ["-a", "+b"],
        "isCut": True,
    }

    async def ask(id_: str) -> AgentNow:
        del id_
        return AgentNow((old, new))

    made = await scene.make("asks")
    store = SessionStore(paths({"SYMPOSIUM_HOME": str(tmp_path / "home")}))
    store.add(SessionSpec(made.id, SessionKind.ACP, ("agent",), "/"))
    handle = store.lock(made.id)
    live = LiveSessions(store, ask)
    live.changed(made.id, "asked")
    served = serve(scene.engine, tmp_path, live)
    found = {each.id: each for each in await served.inbox.items()}
    os.close(handle)

    about = ("permission", made.id, "asks")
    assert found == {
        f"permission:{made.id}:1": InboxItem(
            f"permission:{made.id}:1",
            *(*about, made.activated_at, "a tool call"),
            (InboxChoice("yes", "Allow"),),
            InboxCall(title="a tool call"),
        ),
        f"permission:{made.id}:2": InboxItem(
            f"permission:{made.id}:2",
            *(*about, "2026-01-01T00:00:00+00:00", "wants to edit a.txt"),
            (InboxChoice("yes", "Allow", "allow_once"),),
            InboxCall("edit", "Edit a.txt", ("a.txt",), "sed", "-1 +1", ("-a", "+b"), is_cut=True),
        ),
    }
