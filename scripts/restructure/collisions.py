"""Names that two sources of one target define or import differently."""
import ast, sys
from collections import defaultdict
from lib import *


def stmt_text(f: File, s: ast.stmt) -> str:
    return ast.unparse(s)


def unit_names(f: File, part_names):
    """Statements of a unit: names it defines."""
    names = own_names(f.tree)
    return {n: s for n, s in names.items() if part_names is None or n in part_names}


def parts_of(m: Mapping_, mod: str):
    return {p for t in m.targets.values() for x, p in t.sources if x == mod and p not in (None, "*")}


def local_refs(names: dict, s: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(s) if isinstance(n, ast.Name)} & set(names)


def check(root, steps=None, quiet=False):
    files = {f.module: f for f in read_tree(root, ("src",)).values() if f.module}
    m = read_mapping()
    out = []
    for t in m.targets.values():
        if len(t.sources) < 2 or (steps and t.step not in steps):
            continue
        defs = defaultdict(list)
        imps = defaultdict(lambda: defaultdict(list))
        inside = {mod for mod, _ in t.sources}
        for mod, part in t.sources:
            f = files.get(mod)
            if f is None:
                continue
            if part is None:
                names = unit_names(f, None)
            elif part == "*":
                names = {n: s for n, s in own_names(f.tree).items() if n not in parts_of(m, mod)}
            else:
                names = unit_names(f, {part})
            for n, s in names.items():
                defs[n].append((mod, stmt_text(f, s)))
            if part in (None, "*"):
                for n, origin in bound_imports(f.tree).items():
                    o = origin.partition(":")
                    if o[0] in inside and o[2] == n:
                        continue
                    full = f"{o[0]}.{o[2]}"
                    imps[n][origin].append(mod)
        for n in sorted(set(defs) | set(imps)):
            d, i = defs.get(n, []), imps.get(n, {})
            if len(d) > 1 and len({x for _, x in d}) > 1:
                out.append((t.name, n, "def/def", [x for x, _ in d]))
            elif len(d) > 1 and n != "_log":
                out.append((t.name, n, "same", [x for x, _ in d] + [d[0][1][:60]]))
            if d and i:
                o = [f"{k} in {v}" for k, v in i.items()]
                out.append((t.name, n, "def/import", [x for x, _ in d] + o))
            if len(i) > 1:
                out.append((t.name, n, "import/import", [f"{k} in {v}" for k, v in i.items()]))
    return out


if __name__ == "__main__":
    steps = {int(x) for x in sys.argv[2:]} or None
    for t, n, k, where in check(Path(sys.argv[1]), steps):
        print(t, n, k, where)
