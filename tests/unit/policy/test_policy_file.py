"""Reading `policy.toml`: whole or not at all, and errors that say where."""

from pathlib import Path

import pytest

from symposium.policy.actions import RunScript, Workspace
from symposium.policy.examples import prove
from symposium.policy.live_policy import UNREADABLE, LivePolicy
from symposium.policy.policy_file import PolicyError, load_policy, read_policy

ROOT = Path(__file__).parents[3]
GOOD = '[[rule]]\nname = "x"\neffect = "allow"\ncommand = "ls"\n'


@pytest.mark.requirement("policy.file-errors")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rule]", "p.toml: "),
        ("rules = []", "`rules` means nothing here"),
        ("rule = 1", "`rule` is not a list"),
        ("rule = [1]", "rule 1 is not a table"),
        ('[[rule]]\neffect = "allow"', "rule 1 has no name"),
        (GOOD + GOOD, "two rules are called `x`"),
        (GOOD + "colour = 1", "rule 1 (`x`): `colour` means nothing here"),
        (GOOD + 'write = ["a"]', "rule 1 (`x`) speaks of 2 things"),
        ('[[rule]]\nname = "x"\neffect = "allow"', "speaks of 0 things"),
        (GOOD.replace("allow", "maybe"), "no such effect: 'maybe'"),
        (GOOD.replace("ls", ""), "`command` holds no words"),
        (GOOD.replace("ls", "'ls"), "command: No closing quotation"),
        ('[[rule]]\nname = "x"\neffect = "ask"\nwrite = []', "`write` names no files"),
        ('[[rule]]\nname = "x"\neffect = "ask"\nread = [1]', "`read` is no list of texts"),
        ('[[rule]]\nname = "x"\neffect = "ask"\ntool = 1', "`tool` is no text"),
        (GOOD + "match = 7", "`match` is no list of texts"),
    ],
)
def test_a_rule_that_makes_no_sense_is_named_with_its_place(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(text, "p.toml")

    assert says in caught.value.message
    assert caught.value.message.startswith("p.toml")
    assert caught.value.hint


@pytest.mark.requirement("policy.file-errors")
def test_no_file_is_no_policy_and_a_directory_is_an_error(tmp_path: Path) -> None:
    assert load_policy(tmp_path / "none.toml") is None
    with pytest.raises(PolicyError):
        load_policy(tmp_path)


@pytest.mark.requirement("policy.live")
def test_a_change_of_the_file_counts_at_once_and_a_broken_one_asks_for_everything(
    tmp_path: Path,
) -> None:
    file = tmp_path / "policy.toml"
    live = LivePolicy(file)
    assert live.now().rules == ()

    file.write_text(GOOD, encoding="utf-8")
    assert [rule.name for rule in live.now().rules] == ["x"]

    file.write_text(GOOD + "colour = 1", encoding="utf-8")
    assert {rule.name for rule in live.now().rules} == {UNREADABLE}
    assert live.error is not None

    file.unlink()
    assert (live.now().rules, live.error) == ((), None)


@pytest.mark.requirement("policy.how-to")
def test_the_policy_of_the_how_to_page_holds_by_its_own_examples(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/policy.md").read_text(encoding="utf-8")
    policy = read_policy(page.split("```toml\n")[1].split("```")[0], "policy.md")

    assert list(prove(policy, Workspace(tmp_path))) == []
    judged = policy.judge([RunScript("git status && git push --force")], Workspace(tmp_path))
    shown = [judged.effect.value, *(f"- {reason}" for reason in judged.reasons)]
    assert "\n".join(shown) in page
