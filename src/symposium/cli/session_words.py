"""Print the answers of a session server."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import click

from localio.text import one_line
from peerwire.jsonrpc.values import as_object
from symposium.agent_sessions.keeper_client import CANCEL, DESCRIBE, QUESTIONS, SAY
from symposium.cli.event_words import WIDTH, event_text


def say_answer(method: str, answer: Mapping[str, Any]) -> None:
    """Print requested data to stdout, and the outcome of an action to stderr."""
    if method == QUESTIONS:
        _questions(answer)
    elif method == DESCRIBE:
        _description(answer)
    else:
        click.echo(_done(method, answer), err=True)


def _done(method: str, answer: Mapping[str, Any]) -> str:
    if method == SAY:
        return f"sent; prompts in the queue: {answer.get('waiting')}"
    if method == CANCEL:
        return "canceled the turn" if answer.get("cancelled") else "the agent is in no turn"
    return "answered"


def _questions(answer: Mapping[str, Any]) -> None:
    asked = _listed(answer)
    for each in asked:
        click.echo(event_text("question", each))
    if not asked:
        click.echo("no open questions", err=True)


def _description(answer: Mapping[str, Any]) -> None:
    for name, value in answer.items():
        if name != "questions":
            click.echo(f"{name:12} {_word(value)}")
    for each in _listed(answer):
        click.echo(event_text("question", each))


def _word(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case _:
            return one_line(str(value), width=WIDTH)


def _listed(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [as_object(each) for each in cast("list[Any]", answer.get("questions") or [])]
