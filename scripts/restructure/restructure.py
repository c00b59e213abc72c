#!/usr/bin/env python3
"""restructure.py STEP [CHECKOUT]: execute one step of redesign.md §7 in a checkout (default: the current directory)."""
import subprocess, sys
from pathlib import Path
from lib import *
import engine
import patches

def run(root, *words, check=True):
    return subprocess.run(words, cwd=root, check=check, capture_output=True, text=True)

def main():
    step = sys.argv[1]
    root = Path(sys.argv[2] if len(sys.argv) > 2 else ".").resolve()
    if run(root, "git", "status", "--porcelain").stdout.strip() and "-f" not in sys.argv:
        raise Stop("the checkout is not clean")
    if step == "2":
        table = [tuple(l.split()) for l in (HERE / "renames.txt").read_text().splitlines() if l.strip()]
        engine.rename(root, table)
    else:
        name = step
        patches.before(name, root)
        m = read_mapping()
        targets = patches.choose(m, name)
        if targets:
            tests = patches.tests_of(name, root)
            engine.move(root, targets, patches.packages_of(name), tests, patches.data_of(name))
        patches.after(name, root)
    ruff = root / ".venv/bin/ruff"
    trees = ["src", "tests", "examples", "bench", "docs"]
    run(root, ruff, "check", "-q", "--fix", "--select", "I,F401,B033", *trees, check=False)
    run(root, ruff, "format", "-q", *trees)
    patches.final(step, root)
    run(root, ruff, "check", "-q", "--fix", *trees, check=False)
    run(root, ruff, "format", "-q", *trees)
    run(root, "git", "add", "-A")
    print(run(root, "git", "diff", "--cached", "--shortstat", "HEAD").stdout)

main()
