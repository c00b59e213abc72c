"""Programs in the languages of sed, awk and jq: whether one only transforms its input."""

import re
from typing import Final

_SED_SIMPLE: Final = frozenset("dpqQxhHgGnNDPlzF=")
_SED_ADDRESS: Final = re.compile(r"[\d$~+,! \tIM]")
_SED_LABEL: Final = re.compile(r"[\w.-]*")
_SED_FLAGS: Final = re.compile(r"[gpiImM0-9]*")
_AWK_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"', re.DOTALL)
_AWK_RUNS: Final = re.compile(r"system|getline|ARGV|@|\\\n|(?<!\|)\|(?!\|)")
_STRINGS: Final = re.compile(r"\"((?:\\.|[^\"\\])*)\"", re.DOTALL)


def texts_within(program: str) -> tuple[str, ...]:
    """The quoted texts of a program, any of which it can run as a command."""
    return tuple(_STRINGS.findall(program))


def awk_is_plain(program: str) -> bool:
    """Whether an awk program runs nothing, and writes and reads no files of its own."""
    if _AWK_RUNS.search(program):
        return False
    # A quote in a regular expression shifts what counts as text: with one, look at it all.
    code = program if "/" in program else _AWK_TEXT.sub('""', program)
    return not ("print" in code and ">" in code)


def jq_is_plain(program: str) -> bool:
    """Whether a jq program loads no modules."""
    return re.search(r"\b(?:import|include)\b", program) is None


def sed_is_plain(program: str) -> bool:
    """Whether a sed script runs nothing, and writes and reads no files of its own.

    It knows a part of the language, and says no to everything else.
    """
    at = 0
    while at < len(program):
        character = program[at]
        if character in " \t\n;{}" or _SED_ADDRESS.match(character):
            at += 1
        elif character in "/\\":
            at += character == "\\"
            end = _sed_part(program, at + 1, program[at : at + 1])
            if end is None:
                return False
            at = end
        else:
            end = _sed_command(program, at)
            if end is None:
                return False
            at = end
    return True


def _sed_command(program: str, at: int) -> int | None:
    """The place behind one command; None if it does more than transform its input."""
    command = program[at]
    if command in "aic":
        return _sed_text(program, at)
    if command in ":btT":
        label = _SED_LABEL.match(program, at + 1 + (program[at + 1 : at + 2] == " "))
        return at + 1 if label is None else label.end()
    if command in _SED_SIMPLE:
        return at + 1
    return _sed_change(program, at) if command in "sy" else None


def _sed_change(program: str, at: int) -> int | None:
    """The place behind `s///` or `y///`; None if it does more than that."""
    delimiter = program[at + 1 : at + 2]
    middle = _sed_part(program, at + 2, delimiter)
    end = None if middle is None else _sed_part(program, middle, delimiter)
    if end is None:
        return None
    flags = _SED_FLAGS.match(program, end) if program[at] == "s" else None
    end = end if flags is None else flags.end()
    return end if program[end : end + 1] in {"", " ", "\t", "\n", ";", "}"} else None


def _sed_part(program: str, at: int, delimiter: str) -> int | None:
    """The place behind the delimiter that closes a part; None where versions of sed differ."""
    if delimiter in {"", "\n", "\\"}:
        return None
    start = at
    while at < len(program):
        if program[at] == "\\":
            at += 2
        elif program[at] == delimiter:
            part = re.sub(r"\\.", "", program[start:at], flags=re.DOTALL)
            # Some versions take a delimiter within brackets for a plain character.
            is_open = part.rfind("[") > part.rfind("]") or re.search(r"\[\^?\]", part)
            return None if is_open else at + 1
        else:
            at += 1
    return None


def _sed_text(program: str, at: int) -> int:
    """The place behind the text of `a`, `i` or `c`, which ends at a line without a backslash."""
    while at < len(program) and program[at] != "\n":
        at += 2 if program[at] == "\\" else 1
    return at
