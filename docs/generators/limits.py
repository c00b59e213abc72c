"""Generate the page of limits and timeouts from the constants of the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

PAGE = "reference/limits.md"

SOURCE = Path(__file__).parents[2] / "src"

ENDINGS = ("_TIMEOUT", "_GRACE", "_PAUSE", "MAX_LINE", "_HITS", "HEARTBEAT")
"""Of imported names that are numbers."""

SMALL = ("0", "1", "-1", "0.0")
"""Mostly where counting starts."""

HEAD = """# Limits and timeouts

Every number that is a constant or a default in Symposium's source: sizes in bytes, times in
seconds, counts, and codes. You cannot change them, except where [the config file](config.md) or
[an option](cli.md) names one.

| Name | Value | Module |
|---|---|---|
"""


def is_number(value: ast.expr, names: set[str]) -> bool:
    """Whether an expression consists of numbers and of names of numbers."""
    parts: list[ast.expr] = []
    match value:
        case ast.Constant(value=number):
            return type(number) in {int, float}
        case ast.Name(id=name):
            return name in names
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.Tuple(elts=elements):
            parts = elements
        case _:
            pass
    return bool(parts) and all(is_number(each, names) for each in parts)


def numbers(body: list[ast.stmt], names: set[str], within: str = "") -> Iterator[tuple[str, str]]:
    """Names and values of the numbers that a module and its classes define."""
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if is_number(value, names):
                names.add(name)
                if (text := ast.unparse(value)) not in SMALL:
                    yield within + name, text
            case ast.ClassDef(name=name, body=inner):
                yield from numbers(inner, names, f"{within}{name}.")
            case _:
                pass


def imported(tree: ast.Module) -> set[str]:
    """Names of numbers that a module imports."""
    return {
        alias.name
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
        if alias.name.endswith(ENDINGS)
    }


def render() -> str:
    """The page: one row for each number, by module, in the order of the source."""
    rows: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        tree = ast.parse(path.read_bytes())
        rows += [
            f"| `{name}` | `{value}` | `{module}` |"
            for name, value in numbers(tree.body, imported(tree))
        ]
    return HEAD + "\n".join(rows)
