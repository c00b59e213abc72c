"""Simulates the merged tree: coverage, sizes, cycles, layers, collisions."""
import ast, sys, statistics as st, math
from collections import defaultdict
from pathlib import Path
from lib import *

root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
verbose = "-v" in sys.argv
files = {f.module: f for f in read_tree(root, ("src",)).values() if f.module}
m = read_mapping()
src_mods = {n for n, f in files.items() if not f.is_package}
where = {}  # (mod,name|None) -> target
default = {}
for t in m.targets.values():
    for mod, part in t.sources:
        if mod not in src_mods:
            if mod.split('.')[0]: print("GONE", t.name, mod)
            continue
        if part in (None, "*"):
            if mod in default: print("TWICE", mod)
            default[mod] = t.name
        else:
            where[mod, part] = t.name
for k in m.keep:
    default[k] = k
for mod in sorted(src_mods - set(default)):
    print("UNMAPPED", mod, files[mod].text.count("\n"))
def to(mod, name=None):
    if name and f"{mod}.{name}" in default: return default[f"{mod}.{name}"]
    if (mod, name) in where: return where[mod, name]
    return default.get(mod, mod)
graph = defaultdict(set); why = defaultdict(set); late = defaultdict(set)
size = defaultdict(int); sources = defaultdict(list)
for mod in src_mods:
    f = files[mod]
    top = set(map(id, f.tree.body))
    names = own_names(f.tree)
    parts = {p: t for (x, p), t in where.items() if x == mod}
    body = f.text.count("\n")
    if parts:
        for p, t in parts.items():
            if p not in names: print("NO NAME", mod, p); continue
            n = names[p]; l = n.end_lineno - n.lineno + 3
            size[t] += l; body -= l
    imp = imports_of(f.tree)
    first = imp[0].lineno if imp else 0
    last = imp[-1].end_lineno if imp else (f.tree.body[0].end_lineno if ast.get_docstring(f.tree) else 0)
    bodylines = body - last
    size[default.get(mod, mod)] += bodylines
    sources[default.get(mod, mod)].append(mod)
    for node in ast.walk(f.tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in ROOTS:
            for a in node.names:
                T = to(node.module, a.name); S = default.get(mod, mod)
                if T == S: continue
                (graph if id(node) in top else late)[S].add(T)
                why[S, T].add(f"{mod}->{node.module}:{a.name}")
# imports lines per target estimate
for t, mods in sources.items():
    ext = defaultdict(set)
    for mod in mods:
        for s in imports_of(files[mod].tree):
            for a in s.names:
                if isinstance(s, ast.Import): ext["import " + a.name]
                else:
                    T = to(s.module, a.name) if s.module.split(".")[0] in ROOTS else s.module
                    if T != t: ext[T].add(a.name)
    lines = 0
    for k, v in ext.items():
        one = len(f"from {k} import {', '.join(sorted(v))}") if v else 0
        lines += 1 if one <= 100 else len(v) + 2
    doc = 1
    for mod in mods:
        d = ast.get_docstring(files[mod].tree) or ""
        if len(mods) > 1 and "\n" in d: doc += d.count("\n")
        elif len(mods)==1: doc = d.count("\n") + (2 if "\n" in d else 1)
    size[t] += lines + doc + 4
all_t = set(size)
print("targets", len(all_t))
big = sorted(((s, t) for t, s in size.items() if s > 460), reverse=True)
print("BIG", big)
pk = set()
for t in all_t:
    parts = t.split(".")
    for i in range(1, len(parts)): pk.add(".".join(parts[:i]))
sizes = sorted(size.values())
nfiles = len(all_t) + len(pk)
print(f"files {nfiles} (of which packages {len(pk)}), lines ~{sum(sizes)+40*len(pk)//10}, median {st.median(sizes)}, p90 {sizes[math.ceil(len(sizes)*.9)-1]}, max {sizes[-1]}")
fullsizes = sorted(sizes + [1]*len(pk)); print("with package files: median", st.median(fullsizes), "p90", fullsizes[math.ceil(len(fullsizes)*.9)-1])
parts = sorted({".".join(t.split(".")[:2]) for t in all_t if t.count(".")>1 or True})
top = sorted({".".join(t.split(".")[:2]) if t.startswith("symposium.") else t.split(".")[0]+"."+t.split(".")[1] for t in all_t})
print("first-level:", len(top), [x for x in top])
# cycles at every depth: siblings
def scc(g):
    index={};low={};st_=[];on=set();out=[];c=[0]
    sys.setrecursionlimit(10000)
    def go(v):
        index[v]=low[v]=c[0];c[0]+=1;st_.append(v);on.add(v)
        for w in g.get(v,()):
            if w not in index: go(w);low[v]=min(low[v],low[w])
            elif w in on: low[v]=min(low[v],index[w])
        if low[v]==index[v]:
            comp=[]
            while True:
                w=st_.pop();on.discard(w);comp.append(w)
                if w==v: break
            if len(comp)>1: out.append(comp)
    for v in list(g):
        if v not in index: go(v)
    return out
both = defaultdict(set)
for g in (graph, late):
    for a,bs in g.items(): both[a] |= bs
n=0
for parent in sorted(pk|{""}):
    g=defaultdict(set); ex=defaultdict(set)
    pre = parent+"." if parent else ""
    for a,bs in both.items():
        if not a.startswith(pre): continue
        ca=pre+a[len(pre):].split(".")[0]
        for b in bs:
            if b.startswith(pre):
                cb=pre+b[len(pre):].split(".")[0]
                if ca!=cb: g[ca].add(cb); ex[ca,cb]|=why[a,b]
    for comp in scc(g):
        n+=1
        print("CYCLE in", parent or "/", comp)
        cs=set(comp)
        for a in comp:
            for b in g[a]&cs:
                e=sorted(ex[a,b]); print("    ",a,"->",b,len(e),e[:4])
print("cycles", n)
# layers
LAYERS = {
 "": ["symposium","localio","peerwire"],
 "symposium": ["__main__ testing","cli","web run_mode daemon mcp_server","tasks","sessions","planning registry client","catalog","mods agents","documents","bridge code bus permissions","chain trace_view editors","config","errors"],
 "symposium.tasks": ["handlers","engine","recovery land","deletion","records","spawning overlaps","creation","setup projects","recipe context","store snapshots repository files","model"],
 "symposium.chain": ["standalone","conductor","runner","assembly intake trace","ends","handshake","link","monitoring routing","blueprint calls tool_mod","mod ordering","tools recording capabilities recovery messages"],
 "symposium.run_mode": ["config_agent","router","new_sessions session_requests","menu","offers restart responses","connection","supervisor sessions","open_chain directory composition","editor_end registry_agents","suggestions failure_text settings chat launch_directory"],
}
for parent, rows in LAYERS.items():
    rank={x:i for i,row in enumerate(rows) for x in row.split()}
    pre=parent+"." if parent else ""
    viol=defaultdict(set); unknown=set()
    for a,bs in both.items():
        if not a.startswith(pre): continue
        ca=a[len(pre):].split(".")[0]
        if ca not in rank: unknown.add(ca)
        for b in bs:
            if not b.startswith(pre): continue
            cb=b[len(pre):].split(".")[0]
            if ca==cb: continue
            if cb not in rank: unknown.add(cb); continue
            if ca in rank and rank[ca]>=rank[cb]: viol[ca,cb]|=why[a,b]
    print("LAYERS", parent or "/", "unknown:", sorted(unknown))
    for (a,b),e in sorted(viol.items()):
        print("    ",a,"->",b,len(e),sorted(e)[:(30 if verbose else 5)])
if "-s" in sys.argv:
    print("SMALL")
    for t, s in sorted(size.items(), key=lambda x: (x[0].rpartition(".")[0], x[1])):
        print(f"  {s:4} {t}")
