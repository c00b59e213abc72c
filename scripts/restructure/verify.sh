#!/bin/bash
# verify.sh: from a checkout, what must hold after a step (fast part)
cd "$(git rev-parse --show-toplevel)"
.venv/bin/python - <<'P'
import importlib, pathlib, sys
bad = 0
for p in sorted(pathlib.Path("src").rglob("*.py")):
    parts = p.relative_to("src").with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    if parts[-1] in ("__main__", "search_worker", "search_run", "shim", "start_elsewhere", "echo_server"): continue
    try: importlib.import_module(name)
    except Exception as e:  # an import runs a module, which may raise anything; the next one is tried
        bad += 1; print("IMPORT", name, type(e).__name__, str(e)[:200])
print("imports bad:", bad)
P
.venv/bin/ruff check -q src tests examples bench docs --output-format concise | head -40
.venv/bin/ruff format -q --check src tests examples bench docs
.venv/bin/lint-imports --no-cache 2>&1 | grep -E "BROKEN|->|not allowed|Missing|missing" | head -40
nice .venv/bin/pytest --collect-only -q 2>&1 | tail -12
