"""The user's trust decisions on stored content."""

import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from symposium.permissions.trust_store import MAX_LINES, MAX_PER_NAME, TrustStore, difference
from symposium.permissions.trusted_content import TrustError, TrustItem, TrustLink, read_item


def store(home: Path) -> TrustStore:
    clock = count(1)
    return TrustStore(home, now=lambda: float(next(clock)))


def item(content: bytes = b"one", *, workspace: str = "/w", name: str = "a.toml") -> TrustItem:
    return TrustItem(Path(workspace), "recommendations", name, content)


@pytest.mark.requirement("trust.once-per-content")
def test_what_was_trusted_is_not_asked_again(tmp_path: Path) -> None:
    asked = store(tmp_path)
    assert [each.item for each in asked.questions([item()])] == [item()]
    asked.grant([item()])
    assert store(tmp_path).questions([item()]) == []
    assert store(tmp_path).is_trusted(item())


@pytest.mark.parametrize(
    "other",
    [
        item(b"two"),
        item(workspace="/x"),
        item(name="b.toml"),
        TrustItem(Path("/w"), "mods", "a.toml", b"one"),
    ],
)
@pytest.mark.requirement("trust.once-per-content")
def test_other_content_or_another_place_is_another_question(
    tmp_path: Path, other: TrustItem
) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    assert not asked.is_trusted(other)
    assert [each.item for each in asked.questions([item(), other])] == [other]


@pytest.mark.requirement("trust.private-and-whole")
def test_the_first_decision_creates_the_home(tmp_path: Path) -> None:
    home = tmp_path / "config" / "symposium"
    store(home).grant([item()])

    assert store(home).is_trusted(item())
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.requirement("trust.change-asks-again")
def test_a_changed_byte_is_shown_against_what_was_trusted(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item(b"first\nsame\n")])
    (question,) = asked.questions([item(b"First\nsame\n")])
    assert question.before is not None
    assert "-first" in question.changes
    assert "+First" in question.changes
    assert "-same" not in question.changes


@pytest.mark.requirement("trust.change-asks-again")
def test_the_diff_is_against_the_newest_content_that_was_trusted(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item(b"old")])
    asked.grant([item(b"newer")])
    asked.refuse([item(b"bad")])
    (question,) = asked.questions([item(b"newest")])
    assert "-newer" in question.changes


@pytest.mark.requirement("trust.change-asks-again")
def test_content_that_was_trusted_long_ago_is_still_trusted_and_the_list_stays_short(
    tmp_path: Path,
) -> None:
    asked = store(tmp_path)
    for number in range(MAX_PER_NAME + 5):
        asked.grant([item(b"%d" % number)])
    assert len(asked.decisions()) == MAX_PER_NAME
    assert asked.is_trusted(item(b"%d" % MAX_PER_NAME))
    assert not asked.is_trusted(item(b"0"))
    assert len(list((tmp_path / "trust").iterdir())) == MAX_PER_NAME


@pytest.mark.requirement("trust.links-named")
def test_a_link_that_leads_elsewhere_is_asked_again_though_the_content_is_the_same(
    tmp_path: Path,
) -> None:
    asked = store(tmp_path)
    linked = TrustItem(Path("/w"), "mods", "m", b"one", (TrustLink("m", "/w/real"),))
    asked.grant([linked])
    assert asked.is_trusted(linked)
    moved = TrustItem(Path("/w"), "mods", "m", b"one", (TrustLink("m", "/etc/passwd"),))
    (question,) = asked.questions([moved])
    assert "another target" in question.changes
    assert "m -> /etc/passwd (outside the workspace)" in [e.detail for e in moved.effects]
    assert not asked.is_trusted(TrustItem(Path("/w"), "mods", "m", b"one"))


@pytest.mark.requirement("trust.revoke")
def test_a_refusal_is_kept_and_can_be_taken_back(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.refuse([item()])
    assert asked.questions([item()]) == []
    assert not asked.is_trusted(item())
    (gone,) = asked.revoke(lambda each: each.name == "a.toml")
    assert gone.verdict == "refused"
    assert len(asked.questions([item()])) == 1


@pytest.mark.requirement("trust.revoke")
def test_the_last_word_on_a_content_counts(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    asked.refuse([item()])
    assert not asked.is_trusted(item())
    asked.grant([item()])
    assert asked.is_trusted(item())
    assert len(asked.decisions()) == 1


@pytest.mark.requirement("trust.revoke")
def test_revoking_one_leaves_the_others(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item(), item(name="b.toml")])
    asked.revoke(lambda each: each.name == "a.toml")
    assert asked.trusted([item(), item(name="b.toml")]) == [item(name="b.toml")]


DAMAGES = [b"", b"{", b"[]", b'{"decisions": [{"workspace": 3}]}', b"\xff", b"[" * 100_000]


@pytest.mark.parametrize("text", DAMAGES)
@pytest.mark.requirement("trust.damage-trusts-nothing")
def test_a_damaged_file_trusts_nothing_and_the_next_answer_puts_it_aside(
    tmp_path: Path, text: bytes
) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    (tmp_path / "trust.json").write_bytes(text)
    assert not asked.is_trusted(item())
    assert asked.problem is not None
    assert "trust.json" in asked.problem
    assert len(asked.questions([item()])) == 1
    asked.grant([item(b"other")])
    assert asked.is_trusted(item(b"other"))
    assert asked.problem is None
    assert (tmp_path / "trust.json.damaged").read_bytes() == text


@pytest.mark.requirement("trust.damage-trusts-nothing")
@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_trusts_nothing(tmp_path: Path, mode: int) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    (tmp_path / "trust.json").chmod(mode)
    assert not asked.is_trusted(item())
    assert "it is writable for others" in str(asked.problem)


@pytest.mark.requirement("trust.damage-trusts-nothing")
def test_a_kept_copy_that_was_changed_is_not_used_for_a_diff(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    (tmp_path / "trust" / item().digest).write_bytes(b"two")
    (question,) = asked.questions([item(b"two")])
    assert "no longer stored" in question.changes


@pytest.mark.requirement("trust.damage-trusts-nothing")
def test_a_decision_with_an_impossible_digest_is_asked_again_without_a_diff(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    file = tmp_path / "trust.json"
    file.write_text(file.read_text().replace(item().digest, "\\u0000"))
    (question,) = asked.questions([item()])
    assert "no longer stored" in question.changes


@pytest.mark.requirement("trust.damage-trusts-nothing", "trust.revoke")
def test_revoking_nothing_keeps_a_damaged_file(tmp_path: Path) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    (tmp_path / "trust.json").write_bytes(b"{")
    assert asked.revoke(lambda _: True) == []
    assert (tmp_path / "trust.json").read_bytes() == b"{"
    assert (tmp_path / "trust" / item().digest).exists()


@pytest.fixture
def open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
@pytest.mark.requirement("trust.private-and-whole")
def test_everything_is_for_the_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store(home).grant([item()])
    modes = {each: each.stat().st_mode & 0o077 for each in (home, *home.rglob("*"))}
    assert len(modes) > 3
    assert not any(modes.values())


def _grant_one(home: str, number: int) -> None:
    TrustStore(Path(home)).grant([item(name=f"{number}.toml")])


@pytest.mark.requirement("trust.private-and-whole")
def test_several_processes_lose_no_decision(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2) as processes:
        list(processes.map(_grant_one, [str(tmp_path)] * 12, range(12)))
    assert len(store(tmp_path).decisions()) == 12


@pytest.mark.requirement("trust.private-and-whole")
def test_a_home_that_cannot_be_written_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrustError) as caught:
        store(tmp_path / "file").grant([item()])
    assert caught.value.message.startswith(f"could not write {tmp_path / 'file' / 'trust.json'}: ")
    assert caught.value.hint == "nothing was decided; fix the permissions of its directory"


@pytest.mark.requirement("trust.once-per-content")
def test_names_of_any_bytes_can_be_decided_on(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"w\xff")
    odd.mkdir()
    (odd / "a").write_text("x")
    found = read_item(odd, "mods", "a")
    assert found is not None
    asked = store(tmp_path / "home")
    asked.grant([found])
    assert asked.is_trusted(found)


@pytest.mark.requirement("trust.damage-trusts-nothing")
def test_a_file_of_another_user_trusts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not asked.is_trusted(item())
    reason = f"it belongs to user {os.getuid()}, not to you"
    assert asked.problem == (
        f"cannot use {tmp_path / 'trust.json'} ({reason}), so nothing is trusted; "
        "fix the file, or decide again"
    )


@pytest.mark.requirement("trust.private-and-whole")
def test_a_decision_waits_for_another_process_that_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = store(tmp_path)
    asked.grant([item()])
    flock = fcntl.flock

    def flock_at_once(file: int, how: int) -> None:
        flock(file, how | fcntl.LOCK_NB)

    monkeypatch.setattr(fcntl, "flock", flock_at_once)
    with (tmp_path / ".trust.json.lock").open() as another:
        flock(another, fcntl.LOCK_SH)
        with pytest.raises(TrustError, match="could not write"):
            asked.grant([item(b"two")])
    assert not asked.is_trusted(item(b"two"))


@pytest.mark.requirement("trust.change-asks-again")
@pytest.mark.parametrize(("more", "is_cut"), [(0, False), (1, True)])
def test_a_diff_of_exactly_the_bound_is_shown_whole(more: int, is_cut: bool) -> None:  # noqa: FBT001 - a case
    # Three lines of the diff are its head.
    lines = b"\n".join(b"%d" % number for number in range(MAX_LINES - 4 + more))
    shown = difference(b"", lines).split("\n")

    assert len(shown) == MAX_LINES + is_cut
    assert ("(and 1 more lines)" in shown) == is_cut
