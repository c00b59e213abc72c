"""The mod that answers for the user where the user's rules do, and asks where they say so.

A question of the agent's that no rule decides passes as it came, byte for byte. A rule never picks
an answer by its position or its name, only by its kind, and only where one option has that kind:
an agent's odd options mean what only a person can know (users A-7, A-8).
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from peerwire.acp.mcp_names import SETUP_METHODS
from peerwire.jsonrpc.errors import RpcError
from symposium.conductor.component import (
    Answer,
    ComponentSpec,
    Crossing,
    Forward,
    Later,
    Mod,
    Outcome,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.conductor.witness import DECIDED, POLICY_META
from symposium.config.paths import policy_file
from symposium.policy.actions import Access, Action, TouchFile, Workspace
from symposium.policy.judge import Judgement
from symposium.policy.live_policy import LivePolicy
from symposium.policy.policy_file import FILE_NAME
from symposium.policy.rules import Effect
from symposium.policy.tool_calls import action_of_terminal, actions_of

FORBIDDEN: Final = -32010
"""The error of a request that a rule forbids."""

_ALLOW: Final = "allow"
_REJECT: Final = "reject"
_OPTIONS: Final = (
    {"optionId": _ALLOW, "name": "Allow once", "kind": "allow_once"},
    {"optionId": _REJECT, "name": "Reject", "kind": "reject_once"},
)
_REMEMBERED: Final = 256
"""Tool calls, and permitted actions, that are kept of each session."""


@dataclass(slots=True)
class _Session:
    """What is known of one session.

    Attributes:
        tool_calls: members of its tool calls, as the updates told them, by id.
        permitted: what the person has said yes to: the agent may go on with it unasked.
    """

    workspace: Workspace
    tool_calls: OrderedDict[str, dict[str, Any]] = field(
        default_factory=OrderedDict[str, dict[str, Any]]
    )
    permitted: OrderedDict[Action, None] = field(default_factory=OrderedDict[Action, None])

    def permit(self, actions: Sequence[Action]) -> None:
        """Remember a yes."""
        for action in actions:
            self.permitted[action] = None
        while len(self.permitted) > _REMEMBERED:
            self.permitted.popitem(last=False)


class PolicyMod(Mod):
    """Holds what the agent does against the rules.

    Args:
        policy: the rules; by default those of `policy.toml` in the user's directory.
    """

    def __init__(self, policy: LivePolicy | None = None) -> None:
        self._policy = policy or LivePolicy(policy_file())
        self._sessions: dict[str, _Session] = {}

    @from_client(*SETUP_METHODS)
    def opening(self, message: Crossing) -> Forward:
        """Learn where the session works."""
        workspace = _workspace(_object(message.params))
        named = message.session_id

        def opened(answer: Answer) -> None:
            made = _object(answer.result).get("sessionId")
            session_id = made if isinstance(made, str) else named
            if session_id is not None:
                self._sessions[session_id] = _Session(workspace)

        if named is not None:
            # A loaded session tells its tool calls before its request is answered.
            self._sessions.setdefault(named, _Session(workspace))
        return Forward(then=opened)

    @from_client("session/close", "session/delete")
    def ending(self, message: Crossing) -> Forward:
        """Forget the session."""
        self._sessions.pop(message.session_id or "", None)
        return Forward()

    @from_agent("session/update")
    def told(self, message: Crossing) -> Forward:
        """Remember what a tool call is: the question may name it by its id alone."""
        if message.line and b"tool_call" not in message.line:
            return Forward()
        match message.params:
            case {
                "update": {
                    "sessionUpdate": "tool_call" | "tool_call_update",
                    "toolCallId": str(call_id),
                } as update
            }:
                calls = self._session(message).tool_calls
                known = calls.pop(call_id, {})
                calls[call_id] = known | _telling(update)
                if len(calls) > _REMEMBERED:
                    calls.popitem(last=False)
            case _:
                pass
        return Forward()

    @from_agent("session/request_permission")
    def asked(self, message: Crossing) -> Outcome:
        """Answer the question, if a rule does."""
        params: Any = message.params
        if not isinstance(params, dict):
            return Forward()
        params = cast("dict[str, Any]", params)
        session = self._session(message)
        given: Any = params.get("toolCall")
        tool_call = cast("dict[str, Any]", given if isinstance(given, dict) else {})
        known = session.tool_calls.get(str(tool_call.get("toolCallId")), {})
        actions = actions_of(known | _telling(tool_call))
        judgement = self._policy.now().judge(actions, session.workspace)
        match judgement.effect:
            case Effect.FORBID:
                option = _only_option(params, "reject_once")
                self._explain(message.session_id, tool_call, judgement)
                return Reply(_outcome(option, judgement))
            case Effect.ALLOW:
                option = _only_option(params, "allow_once")
                if option is not None:
                    session.permit(actions)
                    return Reply(_outcome(option, judgement))
            case Effect.ASK:
                pass

        def answered(answer: Answer) -> None:
            if _is_yes(params, answer.result):
                session.permit(actions)

        return Forward(then=answered)

    @from_agent("terminal/create")
    def runs(self, message: Crossing) -> Outcome:
        """Hold a command that the agent lets the editor run against the rules."""
        params: Any = message.params
        if not isinstance(params, dict):
            return Forward()
        params = cast("dict[str, Any]", params)
        action = action_of_terminal(params)
        return self._held(message, action, {"kind": "execute", "title": action.text})

    @from_agent("fs/write_text_file", "fs/read_text_file")
    def touches(self, message: Crossing) -> Outcome:
        """Hold a file that the agent lets the editor read or write against the rules."""
        match message.params:
            case {"path": str(path)}:
                writes = message.method == "fs/write_text_file"
                access = Access.WRITE if writes else Access.READ
                title = f"{'Write' if writes else 'Read'} {path}"
                shown = {"kind": "edit" if writes else "read", "title": title}
                return self._held(message, TouchFile(access, path), shown)
            case _:
                return Forward()

    def _held(self, message: Crossing, action: Action, shown: dict[str, Any]) -> Outcome:
        session = self._session(message)
        judgement = self._policy.now().judge([action], session.workspace)
        call = {"toolCallId": f"policy-{id(message)}", "status": "pending", **shown}
        question: dict[str, Any] = {"sessionId": message.session_id, "toolCall": call}
        question["options"] = list(_OPTIONS)
        if judgement.effect is Effect.FORBID:
            refusal = {"outcome": {"outcome": "refused"}, "_meta": {POLICY_META: _data(judgement)}}
            self._take_down(message, {**question, "options": []}, judgement, refusal)
            return Refuse(_forbidden(judgement))
        is_ruled = judgement.effect is Effect.ASK and judgement.rule is not None
        if not is_ruled or action in session.permitted:
            # No rule asks for a question here: the agent has asked, or the editor will.
            return Forward()
        return Later(self._once_asked(message, question, judgement))

    async def _once_asked(
        self, message: Crossing, question: dict[str, Any], judgement: Judgement
    ) -> Reply | Refuse:
        """Ask the person, and do what the agent wants if they agree."""
        answer: Any = None
        try:
            answer = await self.client.request("session/request_permission", question)
        finally:
            self._take_down(message, question, judgement, answer)
        if not _is_yes(question, answer):
            return Refuse(_forbidden(judgement))
        try:
            return Reply(await self.client.request(message.method, message.params))
        except RpcError as error:
            return Refuse(error)

    def _take_down(
        self, message: Crossing, question: dict[str, Any], judgement: Judgement, result: Any
    ) -> None:
        """Have it on record: no question of the agent's shows it (users A-7)."""
        decided = {"method": message.method, "rule": judgement.rule}
        told = {"sessionId": message.session_id, **decided, "question": question}
        self.agent.notify(DECIDED, {**told, "result": result})

    def _session(self, message: Crossing) -> _Session:
        session_id = message.session_id or ""
        return self._sessions.setdefault(session_id, _Session(Workspace(Path.cwd())))

    def _explain(
        self, session_id: str | None, tool_call: Mapping[str, Any], judgement: Judgement
    ) -> None:
        call_id = tool_call.get("toolCallId")
        if session_id is None or not isinstance(call_id, str):
            return
        content = [{"type": "content", "content": {"type": "text", "text": _text(judgement)}}]
        update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": content}
        self.client.notify("session/update", {"sessionId": session_id, "update": update})


def _workspace(params: Mapping[str, Any]) -> Workspace:
    root: Any = params.get("cwd")
    others: Any = params.get("additionalDirectories")
    listed = cast("list[Any]", others if isinstance(others, list) else [])
    return Workspace(
        Path(root) if isinstance(root, str) else Path.cwd(),
        tuple(Path(each) for each in listed if isinstance(each, str)),
    )


def _object(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _telling(tool_call: Mapping[str, Any]) -> dict[str, Any]:
    """The members that say what it is; an update leaves out, or sets to null, what is unchanged."""
    named = ("title", "kind", "rawInput", "locations", "content")
    return {name: tool_call[name] for name in named if tool_call.get(name) is not None}


def _options(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    options: Any = params.get("options")
    listed = cast("list[Any]", options if isinstance(options, list) else [])
    return [cast("Mapping[str, Any]", each) for each in listed if isinstance(each, dict)]


def _only_option(params: Mapping[str, Any], kind: str) -> str | None:
    """The option of that kind; None where there is none, or more than one."""
    found = [option.get("optionId") for option in _options(params) if option.get("kind") == kind]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _is_yes(params: Mapping[str, Any], result: Any) -> bool:
    match result:
        case {"outcome": {"outcome": "selected", "optionId": chosen}}:
            return any(
                str(option.get("kind", "")).startswith("allow")
                for option in _options(params)
                if option.get("optionId") == chosen
            )
        case _:
            return False


def _outcome(option: str | None, judgement: Judgement) -> dict[str, Any]:
    outcome = (
        {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
    )
    return {"outcome": outcome, "_meta": {POLICY_META: _data(judgement)}}


def _text(judgement: Judgement) -> str:
    reason = judgement.decisive
    part = "" if reason is None else f": `{reason.what}`"
    return f"Refused by the rule `{judgement.rule}` of {FILE_NAME}{part}"


def _data(judgement: Judgement) -> dict[str, Any]:
    return {"rule": judgement.rule, "effect": judgement.effect.value}


def _forbidden(judgement: Judgement) -> RpcError:
    data = {**_data(judgement), "hint": f"`symposium policy explain` says why; see {FILE_NAME}"}
    return RpcError(FORBIDDEN, data, message=_text(judgement))


spec = ComponentSpec(
    name="policy",
    summary="Allows, asks or forbids what the agent does, by the rules of `policy.toml`.",
    make=PolicyMod,
)
