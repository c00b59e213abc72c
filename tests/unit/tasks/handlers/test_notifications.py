"""Notifications for a user who is away."""

from pathlib import Path

import pytest

from symposium.bus.messages.tasks import InboxItem
from symposium.tasks.handlers.notification_log import (
    PERIOD,
    REMEMBERED,
    NotificationLog,
    grouped,
)
from symposium.tasks.handlers.notifications import Channels, filled, read_channels

NOW = 1_800_000_000.0


def item(number: int, task: str = "one") -> InboxItem:
    return InboxItem(f"question:{number}", "question", task, f"name of {task}", "", f"why {number}")


@pytest.mark.requirement("tasks.notify")
def test_items_are_notified_once_with_five_minutes_between_notifications(
    tmp_path: Path,
) -> None:
    notices = NotificationLog(tmp_path / "notified.json")

    assert notices.due([item(1)], NOW) == [item(1)]
    assert notices.due([item(1), item(2)], NOW + 1) == []
    assert notices.due([item(1), item(2), item(3)], NOW + 299) == []
    assert notices.due([item(1), item(2), item(3)], NOW + 300) == [item(2), item(3)]
    assert notices.due([item(1), item(2), item(3)], NOW + 3 * PERIOD) == []


@pytest.mark.requirement("tasks.notify")
def test_restarted_daemon_repeats_no_notification(tmp_path: Path) -> None:
    file = tmp_path / "notified.json"
    NotificationLog(file).due([item(1)], NOW)

    assert NotificationLog(file).due([item(1), item(2)], NOW + 1) == []
    assert NotificationLog(file).due([item(1), item(2)], NOW + PERIOD) == [item(2)]
    file.write_text("no object")
    assert NotificationLog(file).due([item(1)], NOW) == [item(1)]


@pytest.mark.requirement("tasks.notify")
def test_notices_are_grouped_by_task_with_reason_and_link() -> None:
    waiting = [item(1), item(2, "two"), item(3)]

    one, two = grouped(waiting, {"one": ("/p", "/p.tasks/one")})

    assert (one.task, one.reasons) == ("name of one", ("question: why 1", "question: why 3"))
    assert (one.project, one.link) == ("/p", "file:///p.tasks/one")
    assert (two.reasons, two.link) == (("question: why 2",), "")
    words = filled(["x", "{task}: {reason}", "--at={link}"], [one])
    assert words == ["x", "name of one: question: why 1; question: why 3", f"--at={one.link}"]


@pytest.mark.requirement("tasks.notify")
def test_task_name_stays_one_argument_and_is_not_expanded() -> None:
    (odd,) = grouped([InboxItem("q", "question", "x", "{reason}; rm -rf ~", "", "$(x) {task}")], {})

    assert filled(["{task}"], [odd]) == ["{reason}; rm -rf ~"]
    assert filled(["{reason}"], [odd]) == ["question: $(x) {task}"]


@pytest.mark.requirement("tasks.notify")
@pytest.mark.parametrize(
    ("text", "channels"),
    [
        ("{}", Channels()),
        ("no json", Channels()),
        ('{"notify": {"command": ["say", "{task}"]}}', Channels(("say", "{task}"))),
        ('{"notify": {"webhook": "https://x.example/y"}}', Channels((), "https://x.example/y")),
        ('{"notify": {"webhook": "http://x.example/y"}}', Channels()),
        ('{"notify": {"webhook": "file:///etc/passwd"}}', Channels()),
        ('{"notify": {"command": "say it"}}', Channels()),
        ('{"notify": {"command": [1]}}', Channels()),
        ('{"notify": true}', Channels()),
    ],
)
def test_only_valid_configured_channels_are_used(
    text: str, channels: Channels, tmp_path: Path
) -> None:
    (tmp_path / "config.jsonc").write_text(text)

    assert read_channels(tmp_path / "config.jsonc") == channels
    (tmp_path / "binary.jsonc").write_bytes(b"\xff")
    for name in ("nothing.jsonc", "binary.jsonc"):
        assert read_channels(tmp_path / name).is_empty


@pytest.mark.requirement("tasks.notify")
def test_new_items_are_sent_at_once_when_the_clock_was_set_back(tmp_path: Path) -> None:
    notices = NotificationLog(tmp_path / "told.json")
    notices.due([item(1)], NOW)

    assert notices.due([item(1), item(2)], NOW - 3600) == [item(2)]


@pytest.mark.requirement("tasks.notify")
def test_newest_notifications_are_remembered(tmp_path: Path) -> None:
    file = tmp_path / "told.json"
    items = [item(number) for number in range(REMEMBERED + 2)]
    NotificationLog(file).due(items, NOW)

    assert NotificationLog(file).due(items, NOW + PERIOD) == items[:2]
