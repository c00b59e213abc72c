"""Generate the page of sizes and packages of `src`."""

import ast
import math
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path

PAGE = "design/layout.md"
SOURCES = Path(__file__).parents[2] / "src"

HEAD = """# Layout

The sizes of `src`, and its packages with the first line of each docstring. `ARCHITECTURE.md` lists
the parts; [Layers](layers.md) lists the allowed imports.
[Decision 0065](../decisions/0065-size-of-the-tree.md) explains the bounds.

`make fix` updates this page. File sizes are rounded up to tens and sums to hundreds, so that small
changes do not change the page.
"""


def modules() -> dict[str, str]:
    """Text of each module by its dotted name; of a package, its `__init__`."""
    found: dict[str, str] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        name = ".".join(path.relative_to(SOURCES).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def packages() -> list[str]:
    """The dotted name of each package."""
    inits = sorted(SOURCES.rglob("__init__.py"))
    return [".".join(path.parent.relative_to(SOURCES).parts) for path in inits]


def imported(tree: ast.Module, known: Mapping[str, str]) -> Iterator[str]:
    """Modules of `src` that a module imports, including inside functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in inner]
        else:
            continue
        yield from (name for name in names if name in known)


def part_of(module: str) -> str:
    """First-level folder or module of a package of `src`; `localio` is one part."""
    names = module.split(".")
    return names[0] if names[0] == "localio" else ".".join(names[:2])


def rounded(lines: float, step: int) -> str:
    """A number of lines, rounded up."""
    return f"{math.ceil(lines / step) * step:,}"


def figures() -> Iterator[tuple[str, str]]:
    """Each figure with its name."""
    texts = modules()
    sizes = sorted(text.count("\n") for text in texts.values())
    edges: dict[str, set[str]] = {}
    for name, text in texts.items():
        edges[name] = {*imported(ast.parse(text), texts)} - {name}
    between = {(part_of(a), part_of(b)) for a, found in edges.items() for b in found}
    folders = {part_of(name) for name in packages()} - {"peerwire", "symposium"}
    yield "Files", f"{len(sizes):,}"
    yield "of these, package files (`__init__.py`)", f"{len(packages())}"
    yield "Lines", rounded(sum(sizes), 100)
    yield "Median of lines", rounded(statistics.median(sizes), 10)
    yield "90th percentile of lines", rounded(sizes[math.ceil(len(sizes) * 0.9) - 1], 10)
    yield "Largest file, in lines", rounded(sizes[-1], 10)
    yield "Parts (folders below `peerwire` and `symposium`, and `localio`)", f"{len(folders)}"
    yield "Imports between parts", f"{sum(a != b for a, b in between)}"
    yield "Modules on an import cycle", f"{sum(is_on_a_cycle(name, edges) for name in edges)}"


def is_on_a_cycle(module: str, edges: Mapping[str, set[str]]) -> bool:
    """Whether a module imports itself, directly or through others."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return module in seen


def tree() -> Iterator[str]:
    """A row for each package: files, lines, and the first line of its docstring."""
    texts = modules()
    for package in packages():
        inside = re.compile(re.escape(package) + r"(\.\w+)?$")
        own = {name for name in texts if inside.match(name)} - ({*packages()} - {package})
        lines = sum(texts[name].count("\n") for name in own)
        text = (ast.get_docstring(ast.parse(texts[package])) or "").split("\n")[0]
        yield f"| `{package.replace('.', '/')}/` | {len(own)} | {rounded(lines, 100)} | {text} |"


def render() -> str:
    """The figures, then the packages."""
    rows = [f"| {name} | {value} |" for name, value in figures()]
    return "\n".join(
        [
            *(HEAD.strip(), "", "## Figures", "", "| Figure | Value |", "|---|---|", *rows),
            *("", "## Packages", "", "Files and lines are those of the folder itself.", ""),
            *("| Package | Files | Lines | Holds |", "|---|---|---|---|", *tree()),
        ]
    )
