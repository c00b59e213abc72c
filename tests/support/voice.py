"""The check of texts: banned words, first words of docstrings, names, and commit subjects.

`python -m tests.support.voice` prints each violation and exits with 1 if there is one. It reads
comments, docstrings, string literals, and names of `src` and `tests`, the Markdown pages, the
comments of the Makefile and of pyproject.toml, and the commit subjects since the check exists.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SINCE: Final = "55428f9bdbb17ba84efc4edb7e7dab771bbddcb3"
"""The last commit before the rule of subjects applied."""

MAX_SUBJECT: Final = 72

BANNED: Final = re.compile(
    (
        r"\b(?:who(?:m)?ever|nobody|somebody|anew|mend(?:s|ed|ing)?|for ever|all the same|besides"
        r"|whilst|hence|thus|lest|albeit|hitherto|herein|thereof|farewell|strangers?(?:'s?)?"
        r"|altogether|errand|purse|ward|lobby|turnstile|neutral ground|undertakings?|audience"
        r"|bur(?:y|ied|ial)|told|tells? (?:of|it|them)|speaks? of|hears? of"
        r"|put(?:s|ting)? (?:off|down|away)|let(?:s|ting)? go"
        r"|stands? (?:in|for|beside|behind|before|there)"
        r"|(?:is|are|was|were) (?:not there|none|no more)|of ours|go(?:es)? on|went on"
        r"|as it (?:was|came|is|stands)|in its place|to its end|has the word|may well"
        r"|any (?:more|longer) than|no longer wanted)\b"
    ).replace(" ", r"\s+"),
    re.IGNORECASE,
)
PRONOUNS: Final = re.compile(r"(?<![-\w])(?:we|us|ours?|ourselves)(?![-\w:])")
"""Words for the authors in texts of `src`; not an option as `--ours`, nor a member as `ours:`."""

DOCSTRING_START: Final = re.compile(
    r"^(?:What|Who|Whom|Whose|Where|How|Those|Which|As|Nothing|Never)\b"
)
IDENTIFIER_WORDS: Final = frozenset(
    {
        *("floor", "lobby", "desk", "purse", "ward", "turnstile", "reception", "audience"),
        *("wish", "wishes", "care", "effort", "crossing", "ground", "mending", "trouble"),
        *("witness", "ledger", "told", "anew", "bury", "burial", "around", "surroundings"),
        *("undertakings", "halting", "overheard", "talker", "fate", "lend", "patience", "most"),
        "longest",
    }
)

_STORED: Final = frozenset({"nobody", "audience", "told", "put_off_at"})
"""Fixed: a value of the audit log, a member of MCP, a key of files, and a member of the bus."""

_QUOTED: Final = re.compile(r"`[^`\n]*`")
"""Names of the wire and of programs."""

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_FIXED: Final = re.compile(r"[a-z0-9-]+\.[a-z0-9-]+|nobody")
"""Ids of requirements, and the value `nobody` of the audit log, never change."""

_COMMENT: Final = re.compile(r"""^(?:[^"'#]|"[^"]*"|'[^']*')*?#(.*)""")
"""The comment of a line of TOML or of a Makefile."""

_RELEASED: Final = re.compile(r"^## \[?\d", re.MULTILINE)
_READ: Final = ("src/*.py", "tests/*.py", "*.md", "Makefile", "pyproject.toml")
_EXEMPT: Final = (
    "docs/transcripts/",
    "src/symposium/agents/eliza/doctor.py",  # the script, in the style of 1966
    "src/symposium/agents/eliza/programming.py",
    "tests/golden/",
    "tests/traces/",
    "tests/support/voice.py",
    "tests/test_voice.py",
)


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """A place and what is wrong there."""

    path: str
    line: int
    problem: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}"


def problems_of_source(path: str, source: str) -> Iterator[Violation]:
    """Violations in a Python file."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 1)
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and text not in _STORED:
            yield from _banned(path, line, text)
            if " " in text:
                yield from _pronouns(path, line, text)
        text = ast.get_docstring(node) if isinstance(node, documented) else None
        if text and (found := DOCSTRING_START.match(text)):
            yield Violation(path, line, f"a docstring starts with {found[0]!r}")
        for name in _names_of(node):
            if wrong := IDENTIFIER_WORDS & {word.lower() for word in _WORDS.findall(name)}:
                yield Violation(path, line, f"the name {name} contains {min(wrong)!r}")
            if name not in _STORED:
                plain = name.replace("stand_in", "stand-in").replace("_", " ")
                yield from _banned(path, line, plain)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _banned(path, token.start[0], token.string)
            yield from _pronouns(path, token.start[0], token.string)


def _pronouns(path: str, line: int, text: str) -> Iterator[Violation]:
    if path.startswith("src/"):
        yield from _found(PRONOUNS, path, line, _QUOTED.sub("` `", text))


def _names_of(node: ast.AST) -> Iterator[str]:
    """Names of classes, functions, and constants of modules and classes."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    if isinstance(node, ast.Module | ast.ClassDef):
        for statement in node.body:
            match statement:
                case ast.Assign(targets=targets):
                    yield from (each.id for each in targets if isinstance(each, ast.Name))
                case ast.AnnAssign(target=ast.Name(id=name)):
                    yield name
                case _:
                    pass


def problems_of_page(path: str, text: str) -> Iterator[Violation]:
    """Violations in a Markdown page; released sections of a changelog are history."""
    if path.endswith("CHANGELOG.md") and (released := _RELEASED.search(text)):
        text = text[: released.start()]
    yield from _banned(path, 1, text)


def problems_of_comments(path: str, text: str) -> Iterator[Violation]:
    """Violations in the comments of a Makefile or a TOML file; `make` prints those after `##`."""
    for number, line in enumerate(text.splitlines(), start=1):
        if comment := _COMMENT.match(line):
            yield from _banned(path, number, comment[1])


def problems_of_subject(commit: str, subject: str) -> Iterator[Violation]:
    """Violations in the subject of a commit."""
    if len(subject) > MAX_SUBJECT:
        problem = f"the subject has {len(subject)} characters, at most {MAX_SUBJECT}"
        yield Violation(f"commit {commit}", 1, problem)
    yield from _banned(f"commit {commit}", 1, subject)


def _banned(path: str, line: int, text: str) -> Iterator[Violation]:
    plain = "" if _FIXED.fullmatch(text) else _QUOTED.sub("` `", text)
    yield from _found(BANNED, path, line, plain)


def _found(pattern: re.Pattern[str], path: str, line: int, plain: str) -> Iterator[Violation]:
    for found in pattern.finditer(plain):
        words = " ".join(found[0].split())
        problem = f"write something plainer than {words!r}"
        yield Violation(path, line + plain.count("\n", 0, found.start()), problem)


def problems_of_file(path: str) -> list[Violation]:
    """Violations in a file of the repository."""
    name = Path(path)
    if path.startswith(_EXEMPT):
        return []
    words = (each.lower() for each in _WORDS.findall(name.stem))
    wrong = IDENTIFIER_WORDS.intersection(words) if name.suffix == ".py" else set[str]()
    named = [Violation(path, 1, f"the name of the file contains {each!r}") for each in wrong]
    text = (ROOT / path).read_text()
    readers = {".py": problems_of_source, ".md": problems_of_page}
    read = readers.get(name.suffix, problems_of_comments)
    return sorted({*named, *read(path, text)})


def files() -> list[str]:
    """Every file that the check reads."""
    return _git("ls-files", "--", *_READ).splitlines()


def subjects() -> list[tuple[str, str]]:
    """Short hash and subject of each commit since the rule applies."""
    log = _git("log", "--format=%h %s", f"{SINCE}..HEAD").splitlines()
    return [(each.partition(" ")[0], each.partition(" ")[2]) for each in log]


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> int:
    """Print violations; the exit code."""
    wrong = [each for path in files() for each in problems_of_file(path)]
    for commit, subject in subjects():
        wrong += problems_of_subject(commit, subject)
    sys.stdout.write("".join(f"{each}\n" for each in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
