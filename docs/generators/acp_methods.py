"""Generate the page of ACP methods, from the table that the program uses."""

from peerwire.acp.methods import METHODS, Method, MethodRole

PAGE = "reference/acp-methods.md"

HEAD = """# ACP methods

The methods of ACP v1. A chain also forwards any other method. The column Required lists the
required members of params. The column Needs names the capability in `initialize` without which the
method is not sent.
"""

GROUPS = (
    ("To the agent", frozenset({MethodRole.AGENT})),
    ("To the client", frozenset({MethodRole.CLIENT})),
    ("To both ends", frozenset({MethodRole.AGENT, MethodRole.CLIENT})),
    ("Between a conductor and its proxies", frozenset({MethodRole.PROXY, MethodRole.CONDUCTOR})),
)


def row(method: Method) -> str:
    """One line of a table."""
    required = ", ".join(f"`{name}`" for name in method.required)
    capability = f"`{method.capability}`" if method.capability else ""
    cells = [f"`{method.name}`", method.kind.value, required, capability, method.since, method.note]
    return "| " + " | ".join(cells) + " |"


def table(title: str, stable: list[Method]) -> str:
    """A heading and its rows."""
    head = ["| Method | Kind | Required | Needs | Since | Note |", "|---|---|---|---|---|---|"]
    return "\n".join([f"## {title}", "", *head, *map(row, stable)])


def render() -> str:
    """The page; in each group, stable methods precede unstable ones."""
    ends = frozenset({MethodRole.AGENT, MethodRole.CLIENT})
    parts = [HEAD.strip()]
    for title, receivers in GROUPS:
        found = [
            method
            for method in METHODS.values()
            if (method.receivers & ends or method.receivers | {MethodRole.CONDUCTOR}) == receivers
        ]
        parts.append(table(title, sorted(found, key=lambda method: not method.is_stable)))
    return "\n\n".join(parts)
