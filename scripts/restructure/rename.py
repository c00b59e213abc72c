"""Step 12: rename classes and constants by renames.txt, following imports.

    /root-of-python-3.12-or-newer/python scripts/restructure/rename.py .

Each row is: module, name, new name. Names of modules are those of today, or of before a step in
mapping.txt. Every name is renamed in its module, in all that import it (also through another module),
in quoted annotations, and in backticks of docstrings. Rows of functions and methods are left to
rename_members.py, since a local name may hide a function. Python 3.12 or newer, which reads f-strings.
"""

import ast
import collections
import io
import re
import sys
import tokenize
from pathlib import Path

HERE = Path(__file__).parent
FOLDERS = ("src", "tests", "examples", "bench", "docs")


def modules_of(root):
    """Every Python file by the name of its module."""
    found = {}
    for folder in FOLDERS:
        for file in (root / folder).rglob("*.py"):
            parts = list(file.relative_to(root / "src" if folder == "src" else root).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            found[".".join(parts)] = file
    return found


def defined(tree):
    """The names that a module defines at its top level."""
    for statement in tree.body:
        match statement:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                yield statement.name
            case ast.Assign(targets=targets):
                yield from (each.id for each in targets if isinstance(each, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name


def moves():
    """Where each module goes or has gone, by mapping.txt."""
    found = collections.defaultdict(set)
    for line in (HERE / "mapping.txt").read_text().splitlines():
        if "<-" in line and not line.startswith("#"):
            target, rest = line.split("<-")
            for source in rest.split("|")[0].split():
                found[source.split(":")[0]].add(target.strip())
    return found


def rows():
    """The rows of renames.txt."""
    for line in (HERE / "renames.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield tuple(line.split())


def is_followed(name):
    """Whether this program renames it: a class or a constant."""
    return "." not in name and re.match(r"_?[A-Z]", name) is not None


def home_of(module, name, names, moved):
    """The module that defines the name today; None if that is not clear."""
    homes = [each for each, held in names.items() if name in held]
    for wanted in ({module}, moved[module], {*homes}):
        if len(fitting := [each for each in homes if each in wanted]) == 1:
            return fitting[0]
    return None


def imported_from(module, node, files):
    """The absolute name of the module in `from … import`."""
    if not node.level:
        return node.module or ""
    base = module.split(".")
    if files[module].name != "__init__.py":
        base = base[:-1]
    base = base[: len(base) - node.level + 1]
    return ".".join([*base, node.module] if node.module else base)


def exported(renamed, trees, files):
    """The renamed names that each module offers, those that it only imports too."""
    offered = {module: dict(names) for module, names in renamed.items()}
    is_changed = True
    while is_changed:
        is_changed = False
        for module, tree in trees.items():
            for node in ast.walk(tree):
                if not isinstance(node, ast.ImportFrom):
                    continue
                source = offered.get(imported_from(module, node, files), {})
                for each in node.names:
                    if each.name in source and not each.asname and each.name not in offered.get(module, {}):
                        offered.setdefault(module, {})[each.name] = source[each.name]
                        is_changed = True
    return offered


def annotations_of(tree):
    """The places of quoted annotations."""
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        match node:
            case ast.Call(func=ast.Name(id="cast"), args=[first, *_]):
                parts.append(first)
            case ast.Subscript(slice=inner):
                parts.append(inner)
            case ast.AnnAssign(value=ast.expr() as value) if not isinstance(value, ast.Call):
                parts.append(value)
        for part in parts:
            if isinstance(part, ast.AST):
                for each in ast.walk(part):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield each.lineno, each.col_offset


def renamed_text(module, text, tree, offered, files):
    """The text of a module with the new names."""
    local, aliases, only = dict(offered.get(module, {})), {}, collections.defaultdict(dict)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            source = imported_from(module, node, files)
            for each in node.names:
                if each.asname and each.name in offered.get(source, {}):
                    only[each.lineno][each.name] = offered[source][each.name]
                if (inner := f"{source}.{each.name}") in offered:
                    aliases[each.asname or each.name] = offered[inner]
    if not (local or aliases or only):
        return text
    quoted = {*annotations_of(tree)}
    tokens = [*tokenize.generate_tokens(io.StringIO(text).readline)]
    edits = []
    for at, token in enumerate(tokens):
        new = None
        if token.type == tokenize.NAME:
            if at and tokens[at - 1].string == ".":
                is_alone = at < 3 or tokens[at - 3].string != "."
                new = aliases.get(tokens[at - 2].string, {}).get(token.string) if is_alone else None
            else:
                new = local.get(token.string)
            new = only.get(token.start[0], {}).get(token.string, new)
        elif token.type == tokenize.STRING and local:
            new = re.sub(r"`(\w+)", lambda found: f"`{local.get(found[1], found[1])}", token.string)
            is_type = re.fullmatch(r"[\"'][\w\[\]., |]+[\"']", token.string) and not token.string[1:-1].isupper()
            if token.start in quoted and is_type:
                new = re.sub(r"\w+", lambda found: local.get(found[0], found[0]), token.string)
        if new and new != token.string:
            edits.append((token.start, token.end, new))
    lines = text.splitlines(keepends=True)
    for (first, left), (last, right), new in sorted(edits, reverse=True):
        lines[first - 1 : last] = [lines[first - 1][:left] + new + lines[last - 1][right:]]
    return "".join(lines)


def main(root):
    """Rename, and print the rows that could not be placed."""
    files = modules_of(root)
    trees = {module: ast.parse(file.read_text()) for module, file in files.items()}
    names = {
        module: {*defined(tree)} for module, tree in trees.items() if files[module].is_relative_to(root / "src")
    }
    moved = moves()
    renamed = collections.defaultdict(dict)
    for module, name, new in rows():
        if not is_followed(name):
            continue
        home = home_of(module, name, names, moved)
        if home is None or new in names[home]:
            print("left:", module, name, new)
        else:
            renamed[home][name] = new
    offered = exported(renamed, trees, files)
    for module, file in files.items():
        text = file.read_text()
        if (new := renamed_text(module, text, trees[module], offered, files)) != text:
            file.write_text(new)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
