"""What the exit code of a command means."""

from symposium.cli.ending import MEANINGS

PAGE = "reference/exit-codes.md"

HEAD = """# Exit codes and errors

Every command ends with one of these.

| Code | Name | Meaning |
|---|---|---|
"""

TAIL = """
## The error object

With `--json` an error is an event of the type `error`: one line on stdout, the same for every
command, whatever else that prints. The exit code is as without it. Commands that print one
document say the error in words on stderr, too.

```json
{"v": 1, "seq": 1, "ts": "2026-11-21T16:00:00.000+00:00", "type": "error", "data": {},
 "session": null, "taskspace": null}
```

Its `data` is one object:

| Member | Holds |
|---|---|
| `code` | the name from the table above |
| `detailCode` | which kind of it: `bad_spec`, `exited`, `no_answer`, `agent_error`, … |
| `message` | what failed, and where |
| `hint` | how to mend it; may be empty |
| `retryable` | whether the same command may well succeed next time |
| `origin` | whose error it is: `cli`, `host`, `component` or `agent` |
| `docs` | this page |

## JSON of other kinds

A list is one array, a report one object; what goes on is events or entries, a line each. Times are
ISO 8601 with their offset; only what `symposium bus tail` and `symposium daemon logs` have recorded
keeps its seconds since 1970. Members have the names that they have on the wire, or in the file they
come from: `camelCase` where that has it, else `snake_case`.
"""


def render() -> str:
    """The page: the table, in the order of the codes."""
    rows = [f"| {int(code)} | `{code.name}` | {text} |" for code, text in MEANINGS.items()]
    return HEAD + "\n".join(rows) + "\n" + TAIL.rstrip()
