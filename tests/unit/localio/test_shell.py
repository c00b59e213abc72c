"""Scripts are read as bash reads them: no word of a command is lost, and doubts are reported."""

import pytest

from localio.shell import MAX_SCRIPT_BYTES, Script, read_script


def words(script: Script) -> list[str]:
    return [command.source for command in script.commands]


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize(
    "redirect",
    [
        *("> f", "2> f", ">> f", ">| f", "&> f", "&>> f", ">& f", "< f", "<&3", "2>&1", "<<< f"),
        *("<&-", ">&-", "2>&-", "> f <&-"),
    ],
)
def test_words_before_and_behind_a_redirect_belong_to_the_command(redirect: str) -> None:
    assert words(read_script(f"git {redirect} push --force")) == ["git push --force"]
    assert words(read_script(f"git {redirect} push origin")) == ["git push origin"]
    assert words(read_script(f"git push {redirect} origin")) == ["git push origin"]


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize(
    "text",
    [
        "> f git push origin",
        "<&- git push <&- origin",
        "git >&- push origin 2> f",
        "git <<E > f push origin\nE\n",
    ],
)
def test_words_are_found_in_their_order_between_redirects(text: str) -> None:
    assert words(read_script(text)) == ["git push origin"]


@pytest.mark.requirement("policy.no-way-around")
def test_variables_for_one_command_are_no_words_of_it() -> None:
    (command,) = read_script("A= B='x y' C=$z make all").commands

    found = [(name, value.text) for name, value in command.assignments]
    assert found == [("A", ""), ("B", "x y"), ("C", None)]
    assert command.texts == ("make", "all")


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize(
    ("text", "redirects"),
    [
        ("a < in > out", [("<", "in"), (">", "out")]),
        ("a <> both > out", [("<>", "both"), (">", "out")]),
        ("a 2>> log", [(">>", "log")]),
        ("a >& log", [(">&", "log")]),
        ("a > $log", [(">", None)]),
        ("a 2>&1 <&3 >&-", []),
    ],
)
def test_files_that_the_shell_opens_are_found(
    text: str, redirects: list[tuple[str, str | None]]
) -> None:
    found = read_script(text).redirects

    assert [(each.operator, each.target.text) for each in found] == redirects


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize("text", ["git push # origin", "git push; # origin", "# a\ngit push"])
def test_comment_is_no_word_of_a_command(text: str) -> None:
    assert words(read_script(text)) == ["git push"]


JOINED = ("r\\\nm x", "cat .\\\n./x", "a $x\\\n\\\nb", 'a "$\\\n(x)"', "cat <<E\n$\\\n(x)\nE")


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("cat >", "it is not a valid bash script"),
        ("a=1", "it changes variables of the shell"),
        ("export a=1", "it changes variables of the shell"),
        ("unset a", "it changes variables of the shell"),
        ("for x in a; do x; done", "it changes variables of the shell"),
        ("for ((;;)); do x; done", "it changes variables of the shell"),
        ("f() { x; }", "it defines a function, which can replace a program"),
        ("((1))", "it evaluates arithmetic, which can run commands and set variables"),
        ("a $((1))", "it evaluates arithmetic, which can run commands and set variables"),
        ("a ${x:=1}", "it expands a variable with an operator, which can run commands"),
        ("[[ 'a[$(x)]' -eq 0 ]]", "its condition can run commands or set variables"),
        ("[[ a -eq b=1 ]]", "its condition can run commands or set variables"),
        ("[[ a++ -lt 1 ]]", "its condition can run commands or set variables"),
        *((text, "it continues a word on the next line") for text in JOINED),
        ("a\x07", "it contains a control character or an unusual space"),
        ("a\u00a0b", "it contains a control character or an unusual space"),
        ("a\0", "it contains a NUL byte"),
        ("a" * (MAX_SCRIPT_BYTES + 1), "it is longer than 64 KiB"),
    ],
)
def test_construct_that_only_a_shell_understands_is_a_doubt(text: str, doubt: str) -> None:
    assert doubt in read_script(text).doubts


SEPARATE = ("a \\\nb", "a\\\n b", "a 'b\\\nc'", "a $'b\\\nc'", "# a\\\nb")


@pytest.mark.requirement("policy.no-way-around")
@pytest.mark.parametrize(
    "text",
    [
        "a" * MAX_SCRIPT_BYTES,
        "a=1 b",
        "a ${x}",
        "[[ a -eq 1 ]]",
        "[[ a == b ]]",
        "a \udcff",
        *SEPARATE,
    ],
)
def test_plain_script_has_no_doubt(text: str) -> None:
    assert read_script(text).doubts == ()


@pytest.mark.requirement("policy.doubt-is-asked")
@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\\ b", "a b"),
        ("'a b'", "a b"),
        ('"a \\" \\a"', 'a " \\a'),
        ("a'b'\"c\"", "abc"),
        ("12", "12"),
        ("\\*", "*"),
        *((live, None) for live in ("*", "a?", "[a]", "{a,b}", "~", "--x=~/y", "$x", '"$x"')),
        *((live, None) for live in ("$(x)", '"`x`"', "10#$(x)", "a$x")),
    ],
)
def test_word_is_known_only_if_no_shell_can_change_it(source: str, text: str | None) -> None:
    command = read_script(f"run {source}").commands[0]

    assert command.words[-1].text == text
    assert command.texts == (None if text is None else ("run", text))
