"""The functions of the Dialect, from their definitions."""

from collections.abc import Iterator
from inspect import getdoc

from symposium.ide.dialect.evaluator import FUNCTIONS, MOST_CALLS, signature
from symposium.ide.dialect.function import Function
from symposium.ide.dialect.parser import DEEPEST, MOST_CHARACTERS
from symposium.ide.dialect.search import MOST_HITS, PATIENCE

PAGE = "reference/dialect.md"

HEAD = f"""# Dialect

A program is one expression; what it comes to is JSON. Locations in walkthroughs are such programs,
and so is what the tool `ide_operation` takes.

```text
expr   := call | string | number | true | false | null | array | object
call   := name "(" [expr ("," expr)*] ")"
array  := "[" [expr ("," expr)*] "]"
object := "{{" [key ":" expr ("," key ":" expr)*] "}}"     key := string or name
string := "…" or '…' with \\n \\t \\r \\" \\' \\` \\\\ \\/ \\u0041,
          or `…` where a backslash is itself, but in \\`
```

Commas may be left out, and may stand at the end. Names of functions may be written in any case, a
regular expression is best written in backticks. Paths are relative to the base folder; nothing
outside it is looked at. At most {MOST_CHARACTERS // 1024} KiB, {DEEPEST} levels and {MOST_CALLS}
calls make a program; a search ends after {PATIENCE:g} seconds and {MOST_HITS} hits.

`FileRange` is `{{path, start: {{line, column}}, end: {{line, column}}, content?}}`, counted from 1,
in characters; `SymbolDef` is `{{name, kind?, definedAt: FileRange}}`, `SymbolRef` the same with
`referencedAt: FileRange`.
"""


def section(function: type[Function]) -> str:
    """One function: how it is written, what it gives, what it does."""
    said = getdoc(function) or ""
    also = ", ".join(f"`{name}`" for name in function.ALIASES)
    parts = [f"## `{signature(function)}`", f"Gives `{function.RESULT}`.", said]
    return "\n\n".join([*parts, f"Also called {also}."] if also else parts)


def render() -> str:
    """The page, in the order in which the program lists its functions."""
    return "\n\n".join(sections())


def sections() -> Iterator[str]:
    """The head, then a section for each function."""
    yield HEAD.strip()
    for function in FUNCTIONS:
        yield section(function)
