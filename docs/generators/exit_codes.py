"""Generate the page of exit codes and errors."""

from symposium.cli.exit_codes import MEANINGS

PAGE = "reference/exit-codes.md"

HEAD = """# Exit codes and errors

Every command exits with one of these codes.

| Code | Name | Meaning |
|---|---|---|
"""

TAIL = """
## The error object

With `--json`, an error is an event of the type `error`: one line on stdout, in the same form for
every command. The exit code is the same as without `--json`. Commands that print one document also
print the error as text on stderr.

```json
{"v": 1, "seq": 1, "ts": "2026-11-21T16:00:00.000+00:00", "type": "error", "data": {},
 "session": null, "taskspace": null}
```

Its `data` is one object:

| Member | Value |
|---|---|
| `code` | the name from the table above |
| `detailCode` | the kind of error: `bad_spec`, `exited`, `no_answer`, `agent_error`, … |
| `message` | what failed, and where |
| `hint` | how to fix it; may be empty |
| `retryable` | whether the same command may succeed next time |
| `origin` | the source of the error: `cli`, `host`, `component`, or `agent` |
| `docs` | this page |

## Other JSON output

A list is one array, a report is one object, and a stream has one event or entry per line. Times are
ISO 8601 with their offset, except in records of `symposium bus tail` and `symposium daemon logs`:
these are seconds since 1970. Members have their names on the wire or in the source file:
`camelCase` if those use it, else `snake_case`.
"""


def render() -> str:
    """The page: the table, in the order of the codes."""
    rows = [f"| {int(code)} | `{code.name}` | {text} |" for code, text in MEANINGS.items()]
    return HEAD + "\n".join(rows) + "\n" + TAIL.rstrip()
