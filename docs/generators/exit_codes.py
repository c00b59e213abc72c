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

With `--json` an error is an event of the type `error`. Its `data` is one object:

| Member | Holds |
|---|---|
| `code` | the name from the table above |
| `detailCode` | which kind of it: `bad_spec`, `exited`, `no_answer`, `agent_error`, … |
| `message` | what failed, and where |
| `hint` | how to mend it; may be empty |
| `retryable` | whether the same command may well succeed next time |
| `origin` | whose error it is: `cli`, `host`, `component` or `agent` |
| `docs` | this page |
"""


def render() -> str:
    """The page: the table, in the order of the codes."""
    rows = [f"| {int(code)} | `{code.name}` | {text} |" for code, text in MEANINGS.items()]
    return HEAD + "\n".join(rows) + "\n" + TAIL.rstrip()
