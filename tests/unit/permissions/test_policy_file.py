"""Reading `policy.toml`: complete or not at all, with positions in errors."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from symposium.permissions.live_policy import OWN_FILE, LivePolicy
from symposium.permissions.policy import MAX_BYTES, check_file, load_policy, prove, read_policy
from symposium.permissions.rules import Access, PolicyWorkspace, RunScript, TouchFile
from symposium.permissions.verdict import UNREADABLE, PolicyError, RuleLocation, Verdict, exists

ROOT = Path(__file__).parents[3]
GOOD = '[[rule]]\nname = "x"\neffect = "allow"\ncommand = "ls"\n'
EXAMPLE = 'the page "Decide what agents may do" contains a complete example'
KEYS = (
    "known keys: name, effect, command, write, read, tool, options, anywhere, accepts, match, "
    "not_match"
)
FORBID = '[[rule]]\nname = "no-ls"\neffect = "forbid"\ncommand = "ls"\n'


def verdict(live: LivePolicy, command: str = "ls") -> Verdict:
    return live.of_terminal({"command": command}, RuleLocation(Path("/")))


HINTS = (
    ("the file is empty", "write a rule, or delete the file to have no rules"),
    ("its values are nested", EXAMPLE),
    ("`options` goes with `command` only", EXAMPLE),
    ("1: unknown key", "write each rule below a line [[rule]]"),
    ("(`x`): unknown key", KEYS),
    ("(`y`): unknown key", KEYS),
    ("`rule` is not a list of rules", "write [[rule]] above each rule"),
    ("this is not a table", "write [[rule]] above each rule"),
    ("it has no name", 'give it one: name = "no-force-push"'),
    ("another rule is named", "rename one of them"),
    ("(`x`): it names", "a rule needs exactly one of command, write, read, tool"),
    ("effect", 'write effect = "allow" or "ask" or "forbid"'),
    ("`command` has no words", 'for example command = "git push"'),
    ("No closing quotation", "close the quotes"),
    ("`write` names no files", 'for example write = ["outside-workspace"]'),
    ("`read` is not a list", 'for example read = ["…"]'),
    ("`match` is not a list", 'for example match = ["…"]'),
    ("of an unknown user", "write its absolute path"),
    ("`tool` is not a string", 'for example tool = "ide::*"'),
    ("`anywhere` is not true or false", "write anywhere = true"),
)
"""The hint of each error, by a part of its message."""


@pytest.mark.requirement("policy.file-errors")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rule]", "line 1, column 7: "),
        ("# rules\n[[rule]]\nname = 'x", "line 3, column 10: "),
        (GOOD + "[[rule]]\nname =", "line 6, column 7: "),
        ("", "line 1, column 1: the file is empty"),
        (" \n\t\n", "line 1, column 1: the file is empty"),
        ("# x\nrules = []", "line 2, column 1: unknown key `rules`"),
        ("\n rule = 1", "line 2, column 2: `rule` is not a list of rules"),
        ("rule = [1]", "line 1, column 1: rule 1: this is not a table"),
        ('\n[[rule]]\neffect = "allow"', "line 2, column 1: rule 1: it has no name"),
        (GOOD + GOOD, "line 6, column 1: rule 2: another rule is named `x`, too"),
        (GOOD + "  colour = 1", "line 5, column 3: rule 1 (`x`): unknown key `colour`"),
        (GOOD + "e = 1\nd = 1\nc = 1\nb = 1", "line 8, column 1: rule 1 (`x`): unknown key `b`"),
        ("e = 1\nd = 1\nc = 1\nb = 1", "line 4, column 1: unknown key `b`"),
        (GOOD + 'write = ["a"]', "line 5, column 1: rule 1 (`x`): it names `command` and `write`"),
        ('[[rule]]\nname = "x"\neffect = "allow"', "line 1, column 1: rule 1 (`x`): it names no"),
        (GOOD.replace("allow", "maybe"), "line 3, column 1: rule 1 (`x`): unknown effect 'maybe'"),
        (GOOD.replace('"allow"', "[]"), "line 3, column 1: rule 1 (`x`): unknown effect []"),
        ('[[rule]]\nname = "x"\ncommand = "ls"', "line 1, column 1: rule 1 (`x`): it has no ef"),
        (GOOD.replace("ls", ""), "line 4, column 1: rule 1 (`x`): `command` has no words"),
        (GOOD.replace("ls", "'ls"), "line 4, column 1: rule 1 (`x`): `command`: No closing quota"),
        (GOOD.replace('"ls"', "7"), "line 4, column 1: rule 1 (`x`): `command` has no words"),
        ('[[rule]]\nname = "x"\neffect = "ask"\nwrite = []', "line 4, column 1: rule 1 (`x`): `wr"),
        ('[[rule]]\nname = "x"\neffect = "ask"\nread = [1]', "line 4, column 1: rule 1 (`x`): `re"),
        (
            '[[rule]]\nname = "x"\neffect = "ask"\ntool = 1',
            "line 4, column 1: rule 1 (`x`): `tool`",
        ),
        (GOOD + "match = 7", "line 5, column 1: rule 1 (`x`): `match` is not a list of strings"),
        (GOOD + 'anywhere = "yes"', "line 5, column 1: rule 1 (`x`): `anywhere` is not true or"),
        (
            '[[rule]]\nname = "x"\neffect = "ask"\ntool = "t"\noptions = ["-f"]',
            "line 5, column 1: rule 1 (`x`): `options` goes with `command` only",
        ),
        # Text in a string is not a key or a rule.
        (
            GOOD + 'match = ["""\n[[rule]]\ncolour = 1\n"""]\n[[rule]]\nname = "y"\ncolour = 2\n',
            "line 11, column 1: rule 2 (`y`): unknown key `colour`",
        ),
        (GOOD.replace('"x"', '""'), "line 2, column 1: rule 1: it has no name"),
        (
            '[[rule]]\nname = "x"\neffect = "ask"\nread = ["a", "~no-such-user/b"]',
            "line 4, column 1: rule 1 (`x`): `read` names the home directory of an unknown user",
        ),
        ("x = " + "[" * 20_000, "line 1, column 1: its values are nested too deeply"),
    ],
)
def test_an_error_in_a_policy_names_its_line_and_column(text: str, says: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(text, "p.toml")

    assert caught.value.message.startswith(f"p.toml: {says}")
    assert caught.value.hint == next(
        (hint for part, hint in HINTS if part in caught.value.message),
        "fix it there, then run `symposium policy test`",
    )


def _link_to_nothing(file: Path) -> None:
    file.symlink_to("gone.toml")


def _link_to_itself(file: Path) -> None:
    file.symlink_to(file)


def _latin(file: Path) -> None:
    file.write_bytes(GOOD.encode() + b'match = ["caf\xe9"]')


def _long(file: Path) -> None:
    file.write_bytes(b"#" * (MAX_BYTES + 1))


def _open_to_all(file: Path) -> None:
    file.write_text(GOOD)
    file.chmod(0o666)


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _unreadable(file: Path) -> None:
    # It opens as a regular file, and reading its first byte fails.
    file.symlink_to("/proc/self/mem")


REPLACE = "replace it with a text file that contains your rules, or delete it"


@pytest.mark.requirement("policy.file-errors")
@pytest.mark.parametrize(
    ("make", "says", "hint"),
    [
        (Path.mkdir, "{file} is a directory", REPLACE),
        (_pipe, "{file} is not a regular file", REPLACE),
        (
            _link_to_nothing,
            "{file} links to gone.toml, which does not exist",
            "restore that file, or delete the link to have no rules",
        ),
        (
            _link_to_itself,
            "cannot read {file}: Too many levels of symbolic links",
            "check that it is a text file and that you can read it",
        ),
        (_unreadable, "cannot read {file}: Input/output error", "try again"),
        (
            _latin,
            "{file}: line 5, column 14: this is not UTF-8 text",
            "fix it there, then run `symposium policy test`",
        ),
        (_long, "{file} is longer than 1048576 bytes", "shorten it"),
        (
            _open_to_all,
            "every user may write to {file}",
            "check its content, then run `chmod o-w {file}`",
        ),
    ],
)
def test_a_policy_file_that_cannot_be_used_is_an_error_and_not_an_absent_one(
    make: Callable[[Path], None], says: str, hint: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    assert load_policy(file) is None
    make(file)
    with pytest.raises(PolicyError) as caught:
        load_policy(file)

    assert caught.value.message == says.format(file=file)
    assert caught.value.hint == hint.format(file=file)


@pytest.mark.requirement("policy.file-errors")
@pytest.mark.parametrize(("owner", "is_used"), [(1000, True), (0, True), (1001, False)])
def test_a_policy_file_of_another_user_is_not_used(
    owner: int, tmp_path: Path, *, is_used: bool
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(GOOD)
    found = list(file.stat())
    found[4] = owner
    if is_used:
        check_file(file, os.stat_result(found), 1000)
        return
    with pytest.raises(PolicyError) as caught:
        check_file(file, os.stat_result(found), 1000)
    assert caught.value.message == f"{file} belongs to user 1001, not to you"
    assert caught.value.hint == f"check its content, then run `chown 1000 {file}`"


@pytest.mark.requirement("policy.file-errors")
def test_reading_a_policy_leaves_no_file_open(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    before = len([*Path("/proc/self/fd").iterdir()])
    for text in (GOOD, "#" * (MAX_BYTES + 1)):
        file.write_text(text)
        with suppress(PolicyError):
            load_policy(file)

    assert len([*Path("/proc/self/fd").iterdir()]) == before


@pytest.mark.requirement("policy.cli-test")
def test_example_matches_if_the_rule_matches_a_part_of_it(tmp_path: Path) -> None:
    text = GOOD + 'match = "ls && unknown"\nnot_match = "unknown"\n'

    assert list(prove(read_policy(text, "p.toml"), PolicyWorkspace(tmp_path))) == []


@pytest.mark.requirement("policy.file-errors")
def test_a_policy_of_comments_has_no_rules() -> None:
    assert read_policy("# none yet\n", "p.toml").rules == ()


@pytest.mark.requirement("policy.files-and-tools")
@pytest.mark.parametrize("access", ["read", "write"])
def test_a_pattern_may_start_with_the_home_directory(access: str, tmp_path: Path) -> None:
    text = f'[[rule]]\nname = "x"\neffect = "forbid"\n{access} = ["~/.ssh/*", "notes/~/*"]'
    policy, workspace = read_policy(text, "p.toml"), PolicyWorkspace(tmp_path)

    def rule(path: str) -> str | None:
        return policy.judge([TouchFile(Access(access), path)], workspace).rule

    assert rule(str(Path.home() / ".ssh" / "id_rsa")) == "x"
    assert rule("notes/~/a") == "x"
    assert rule(str(tmp_path / "~/.ssh/id_rsa")) is None


@pytest.mark.requirement("policy.live")
def test_a_change_of_the_policy_counts_for_the_next_question(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    live = LivePolicy(file)
    assert verdict(live).effect == "ask"

    file.write_text(GOOD, encoding="utf-8")
    assert (verdict(live).effect, verdict(live).rule) == ("allow", "x")


@pytest.mark.requirement("policy.live")
def test_a_change_of_the_policy_counts_that_its_size_and_times_do_not_show(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    live = LivePolicy(file)
    # Many of these changes fall into one tick of the clock that files are dated by.
    for _ in range(50):
        file.write_text(GOOD, encoding="utf-8")
        assert verdict(live).effect == "allow"
        file.write_text(GOOD.replace('"ls"', '"lt"'), encoding="utf-8")
        assert verdict(live).effect == "ask"


@pytest.mark.requirement("policy.live")
def test_a_policy_that_has_settled_is_read_once(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(GOOD, encoding="utf-8")
    os.utime(file, ns=(0, 0))
    live = LivePolicy(file)
    # The inode's own time cannot be set: it must grow old by itself.
    first = live.now()
    while live.now() is not first:
        first = live.now()

    assert live.now() is first


@pytest.mark.requirement("policy.live")
def test_a_change_counts_that_has_settled_before_the_next_question(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(GOOD, encoding="utf-8")
    live, other = LivePolicy(file), LivePolicy(file)
    assert verdict(live).effect == "allow"

    file.write_text(FORBID, encoding="utf-8")
    os.utime(file, ns=(0, 0))
    while other.now() is not other.now():
        pass
    assert verdict(live).rule == "no-ls"


@pytest.mark.requirement("policy.live")
@pytest.mark.parametrize("broken", ["", "[[rule", GOOD + "colour = 1"])
def test_a_policy_that_becomes_unreadable_forbids_everything_and_says_why(
    broken: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(GOOD, encoding="utf-8")
    live = LivePolicy(file)
    assert verdict(live).effect == "allow"

    file.write_text(broken, encoding="utf-8")
    found = verdict(live)
    assert (found.effect, found.rule) == ("forbid", UNREADABLE)
    assert f"Refused, because your rules cannot be read: {file}: line " in found.refusal()
    assert live.problem() is not None

    file.write_text(GOOD, encoding="utf-8")
    assert verdict(live).effect == "allow"
    assert live.problem() is None


@pytest.mark.requirement("policy.live")
def test_a_policy_that_is_deleted_leaves_its_rules_to_agents_that_run(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(FORBID, encoding="utf-8")
    live = LivePolicy(file)
    assert verdict(live).rule == "no-ls"

    file.unlink()
    assert (verdict(live).effect, verdict(live).rule) == ("forbid", "no-ls")
    assert LivePolicy(file).now().rules == ()


@pytest.mark.requirement("policy.own-file")
def test_a_rule_that_allows_writing_does_not_allow_an_agent_to_change_the_rules(
    tmp_path: Path,
) -> None:
    file = tmp_path / "[my] policy.toml"
    (tmp_path / "link.toml").symlink_to(file)
    rule = '[[rule]]\nname = "mine"\neffect = "allow"\n'
    file.write_text(
        f'{rule}write = ["inside-workspace"]\n{rule.replace("mine", "echo")}command = "echo"\n'
    )
    live, place = LivePolicy(file), RuleLocation(tmp_path)

    for name in (file.name, str(file), "link.toml"):
        found = live.of_file(name, place, writes=True)
        assert (found.effect, found.rule) == ("ask", OWN_FILE)
    script = live.of_call({"rawInput": {"command": "echo x > link.toml"}}, place)
    assert (script.effect, script.rule) == ("ask", OWN_FILE)
    assert live.of_file("other.toml", place, writes=True).rule == "mine"
    assert live.of_file("other.toml", place, writes=False).rule is None
    assert live.limits() == 0


@pytest.mark.requirement("policy.how-to")
def test_the_policy_of_the_how_to_page_holds_by_its_own_examples(tmp_path: Path) -> None:
    page = (ROOT / "docs/how-to/policy.md").read_text(encoding="utf-8")
    policy = read_policy(page.split("```toml\n")[1].split("```")[0], "policy.md")

    assert list(prove(policy, PolicyWorkspace(tmp_path))) == []
    judged = policy.judge([RunScript("git status && git push --force")], PolicyWorkspace(tmp_path))
    shown = [judged.effect.value, *(f"- {reason}" for reason in judged.reasons)]
    assert "\n".join(shown) in page


@pytest.mark.requirement("policy.live")
def test_a_change_counts_where_two_have_the_same_time_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may note no change within one tick of its clock."""
    stat = Path.stat
    soon = time.time_ns() + 60 * 10**9

    def coarse(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = stat(path, follow_symlinks=follow_symlinks)
        return os.stat_result(found[:10], {"st_mtime_ns": soon, "st_ctime_ns": soon})

    file = tmp_path / "policy.toml"
    file.write_text(FORBID)
    live = LivePolicy(file)
    monkeypatch.setattr(Path, "stat", coarse)
    assert verdict(live).rule == "no-ls"
    file.write_text(FORBID.replace('"ls"', '"rm"'))

    assert verdict(live, "rm").rule == "no-ls"
    assert verdict(live).rule is None


@pytest.mark.requirement("policy.live")
def test_policy_that_cannot_be_seen_counts_as_there(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to("missing")
    (tmp_path / "file").touch()

    assert [
        exists(tmp_path / name) for name in ("file", "broken", "file/below", "no", "no/below")
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]
