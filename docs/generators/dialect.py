"""Generate the page of the Dialect, from the definitions of its functions."""

from collections.abc import Iterator
from inspect import getdoc

from symposium.code.query.evaluator import FUNCTIONS, MAX_CALLS, signature
from symposium.code.query.functions import Function
from symposium.code.query.parser import DEEPEST, MAX_CHARACTERS
from symposium.code.query.search import MAX_HITS, SEARCH_TIMEOUT

PAGE = "reference/dialect.md"

HEAD = f"""# Dialect

The Dialect is the language of locations in walkthroughs and of the tool `ide_operation`. A program
is one expression; its value is JSON.

```text
expr   := call | string | number | true | false | null | array | object
call   := name "(" [expr ("," expr)*] ")"
array  := "[" [expr ("," expr)*] "]"
object := "{{" [key ":" expr ("," key ":" expr)*] "}}"     key := string or name
string := "…" or '…' with \\n \\t \\r \\" \\' \\` \\\\ \\/ \\u0041,
          or `…` where a backslash is itself, but in \\`
```

Commas are optional, and a trailing one is allowed. The case of function names does not matter.
Write regular expressions in backticks. Paths are relative to the base folder; files outside of it
are not used. A program has at most {MAX_CHARACTERS // 1024} KiB, {DEEPEST} levels, and
{MAX_CALLS} calls; a search ends after {SEARCH_TIMEOUT:g} seconds or {MAX_HITS} hits.

`FileRange` is `{{path, start: {{line, column}}, end: {{line, column}}, content?}}`, counted from 1,
in characters; `SymbolDef` is `{{name, kind?, definedAt: FileRange}}`, `SymbolRef` the same with
`referencedAt: FileRange`.
"""


def section(function: type[Function]) -> str:
    """Signature, result, and description of a function."""
    said = getdoc(function) or ""
    also = ", ".join(f"`{name}`" for name in function.ALIASES)
    parts = [f"## `{signature(function)}`", f"Returns `{function.RESULT}`.", said]
    return "\n\n".join([*parts, f"Other names: {also}."] if also else parts)


def render() -> str:
    """The page, in the order of the program's own list."""
    return "\n\n".join(sections())


def sections() -> Iterator[str]:
    """The head, then a section for each function."""
    yield HEAD.strip()
    for function in FUNCTIONS:
        yield section(function)
