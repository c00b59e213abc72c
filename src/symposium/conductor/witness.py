"""Sees each question of an agent's and its answer, next to the agent, and has both taken down."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import Answer, Crossing
from symposium.chain.mod import Drop, Forward, Mod, from_agent, from_client

WITNESS: Final = "witness"
"""How the mod is called in errors."""

Entry: TypeAlias = Mapping[str, Any]
"""One line of the record."""

TakeDown: TypeAlias = Callable[[Callable[[], Entry]], None]
"""Takes what makes an entry: nothing is read while anybody waits for the answer."""

Chooser: TypeAlias = Callable[[Mapping[str, Any]], str]
"""Given a question that no rule of a mod has answered: who has; `user`, or `rule:<name>`."""

POLICY_META: Final = "symposium/policy"
"""The member of `_meta` by which a mod that answers says which rule it went by."""

DECIDED: Final = "_symposium/decided"
"""By this a mod tells us, towards the agent, what it has refused or asked of its own accord: the
question as it was or would have been asked, what was answered, and the rule. It goes no further."""


def the_user(_: Mapping[str, Any]) -> str:
    """Whoever sits at the editor."""
    return "user"


class Witness(Mod):
    """Changes nothing; what passes here is what the agent asked and what it was answered."""

    def __init__(self, agent: str, take_down: TakeDown, chooser: Chooser = the_user) -> None:
        self._agent = agent
        self._take_down = take_down
        self._chooser = chooser

    @from_agent("session/request_permission")
    def asked(self, message: Crossing) -> Forward:
        """Let the question pass as it came, and wait for its answer."""
        answered = partial(self._answered, message)
        return Forward(then=answered, catch=answered)

    @from_client(DECIDED)
    def decided(self, message: Crossing) -> Drop:
        """Take down a decision that no question of the agent's led to."""
        self._take_down(partial(self._told, message))
        return Drop()

    def _told(self, message: Crossing) -> Entry:
        told = as_object(message.params)
        question, result = as_object(told.get("question")), as_object(told.get("result"))
        named = {name: told.get(name) for name in ("method", "rule")}
        return {**named, **self._line(question, result)}

    def _answered(self, message: Crossing, answer: Answer) -> None:
        self._take_down(partial(self._entry, message, answer))

    def _entry(self, message: Crossing, answer: Answer) -> Entry:
        result = as_object(None if answer.error else answer.result)
        return self._line(as_object(message.params), result)

    def _line(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Entry:
        question = {name: params.get(name) for name in ("sessionId", "toolCall", "options")}
        return {"agent": self._agent, **question, **self._decision(params, result)}

    def _decision(self, params: Mapping[str, Any], result: Mapping[str, Any]) -> Entry:
        outcome = as_object(result.get("outcome"))
        kind = outcome.get("outcome")
        if not isinstance(kind, str):
            return {"outcome": "unanswered", "chosen": None, "by": "nobody"}
        ruled = as_object(as_object(result.get("_meta")).get(POLICY_META))
        rule = ruled.get("rule", "policy") if ruled else None
        by = f"rule:{rule}" if ruled else self._chooser(params)
        return {"outcome": kind, "chosen": outcome.get("optionId"), "by": by}
