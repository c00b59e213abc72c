"""The mod that answers for the user where the user's rules do, and asks where they say so.

It stands next to the agent in every chain (`symposium.planning.chain_spec`). A question of the
agent's that no rule decides passes unchanged, byte for byte. A rule never picks an answer by its
position or its name, only by its kind, and only where one option has that kind: an agent's odd
options mean what only the user can know (users A-7, A-8).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from peerwire.acp.names import SETUP_METHODS
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_object
from symposium.chain.messages import Answer, ChainMessage
from symposium.chain.mod import (
    ComponentSpec,
    Deferred,
    Forward,
    Interception,
    Mod,
    Outcome,
    Refuse,
    Reply,
    from_agent,
    from_client,
)
from symposium.config.paths import policy_file
from symposium.permissions.notes import NoteWriter
from symposium.permissions.recorder import DECIDED, POLICY_META
from symposium.permissions.verdict import UNREADABLE, Judges, RuleLocation, Verdict, exists

FORBIDDEN: Final = -32010
"""The error of a request that a rule forbids, or that waits for rules that can be read."""

APPLIES: Final = (
    "policy.toml ({count}) judges what this agent asks for. It cannot stop a tool that the agent "
    "runs without asking."
)

UNASKED: Final = (
    "This agent did not ask before `{what}`, so the rule `{rule}` of policy.toml could not stop "
    "it. Run the agent in a sandbox, or in a mode in which it asks; docs/how-to/policy.md says "
    "what else helps."
)

BeforeYes: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[None]]

_UPDATES: Final = "session/update"
_OVER: Final = frozenset({"completed", "failed"})
_DESCRIBING: Final = ("title", "kind", "rawInput", "locations", "content")
_ALLOW: Final = "allow"
_OPTIONS: Final = (
    {"optionId": _ALLOW, "name": "Allow once", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
)
_MAX_REMEMBERED: Final = 256
"""Tool calls, and permitted actions, that are kept of each session."""


class _Session:
    """State of one session.

    Attributes:
        place: where it works.
        calls: members of its tool calls, from its updates, by id.
        judged: the ids of calls that were asked for, and what the editor was asked to do.
        permitted: what the user has said yes to: the agent may do it without being asked again.
        is_replayed: whether the agent repeats what was said before.
        is_introduced: whether the user was notified that there are rules.
        is_warned: whether the user was warned that the agent does not ask.
    """

    def __init__(self, place: RuleLocation) -> None:
        self.place = place
        self.calls: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self.judged: OrderedDict[Hashable, None] = OrderedDict()
        self.permitted: OrderedDict[Hashable, None] = OrderedDict()
        self.is_replayed = False
        self.is_introduced = False
        self.is_warned = False

    def permit(self, actions: Sequence[Hashable]) -> None:
        """Remember a yes."""
        _remember(self.permitted, actions)

    def note_judged(self, *judged: Hashable) -> None:
        """Remember what the rules have been asked about."""
        _remember(self.judged, judged)


class PolicyMod(Mod):
    """Holds what the agent does against the rules.

    While there is no file, nothing is parsed or imported for it; one that appears later counts.

    Args:
        file: the rules; by default `policy.toml` in the user's directory.
        before_yes: awaited before a rule answers yes, given the tool call.
    """

    def __init__(self, file: Path | None = None, before_yes: BeforeYes | None = None) -> None:
        self._file = file or policy_file()
        self._path = str(self._file)
        self._before_yes = before_yes
        self._policy: Judges | None = None
        self._sees_updates = exists(self._file)
        self._sessions: dict[str, _Session] = {}
        self._notes = NoteWriter(self)

    def interceptions(self) -> list[Interception]:
        """All that is marked; what streams is left alone where there were no rules at the start."""
        found = super().interceptions()
        return [each for each in found if self._sees_updates or each.method != _UPDATES]

    @from_client(*SETUP_METHODS)
    def opening(self, message: ChainMessage) -> Outcome:
        """Learn where the session works; refuse it while the rules cannot be read."""
        policy = self._rules()
        problem = None if policy is None else policy.problem()
        if problem is not None:
            data = {"reason": "policy", "detail": str(problem)}
            return Refuse(RpcError(FORBIDDEN, data, message=str(problem)))
        place = _place(as_object(message.params))
        named = None if message.method == "session/fork" else message.session_id
        if named is None:

            def opened(answer: Answer) -> None:
                made = as_object(answer.result).get("sessionId")
                if isinstance(made, str):
                    self._sessions[made] = _Session(place)

            return Forward(then=opened)

        # A loaded session tells its tool calls before its request is answered.
        session = self._sessions.setdefault(named, _Session(place))
        session.place, session.is_replayed = place, True

        def over(_: Answer) -> None:
            session.is_replayed = False

        return Forward(then=over, catch=over)

    @from_client("session/prompt")
    def begins(self, message: ChainMessage) -> Forward:
        """Tell the user once that there are rules, and what they cannot do."""
        session = self._session(message)
        policy = self._rules()
        if policy is not None and not session.is_introduced and (count := policy.limits()):
            session.is_introduced = True
            rules = "1 rule" if count == 1 else f"{count} rules"
            self._notes.remark(message.session_id, APPLIES.format(count=rules))
        return Forward()

    @from_client("session/close", "session/delete")
    def ending(self, message: ChainMessage) -> Forward:
        """Forget the session."""
        self._sessions.pop(message.session_id or "", None)
        return Forward()

    @from_agent(_UPDATES)
    def on_refusal(self, message: ChainMessage) -> Forward:
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
                session = self._session(message)
                call = session.calls.pop(call_id, {}) | _description(update)
                session.calls[call_id] = call
                if len(session.calls) > _MAX_REMEMBERED:
                    session.calls.popitem(last=False)
                if update.get("status") in _OVER:
                    self._ended(message, session, call_id, call)
            case _:
                pass
        return Forward()

    @from_agent("session/request_permission")
    def asked(self, message: ChainMessage) -> Outcome:
        """Answer the question, if a rule does."""
        if (policy := self._rules()) is None:
            return Forward()
        params = as_object(message.params)
        if not params:
            return Forward()
        session = self._session(message)
        asked_for = as_object(params.get("toolCall"))
        call_id = asked_for.get("toolCallId")
        known = session.calls.get(str(call_id), {}) | _description(asked_for)
        verdict = policy.of_call(known, session.place)
        if not known and not self._sees_updates and verdict.rule is None:
            problem = "the agent was started before policy.toml was written; start it again"
            verdict = Verdict("forbid", UNREADABLE, problem=problem)
        session.note_judged(str(call_id))
        match verdict.effect:
            case "forbid":
                self._notes.refused(message.session_id, call_id, verdict)
                return Reply(_outcome(_only_option(params, "reject_once"), verdict))
            case "allow":
                option = _only_option(params, "allow_once")
                if option is not None:
                    session.permit(verdict.actions)
                    yes = Reply(_outcome(option, verdict))
                    before = self._before_yes
                    return yes if before is None else Deferred(_after(before(known), yes))
            case "ask":
                pass

        def answered(answer: Answer) -> None:
            if _is_yes(params, answer.result):
                session.permit(verdict.actions)

        return Forward(then=answered)

    @from_agent("terminal/create")
    def runs(self, message: ChainMessage) -> Outcome:
        """Hold a command that the agent lets the editor run against the rules."""
        if (policy := self._rules()) is None:
            return Forward()
        params = as_object(message.params)
        if not params:
            return Forward()
        session = self._session(message)
        verdict = policy.of_terminal(params, session.place)
        arguments: Any = params.get("args")
        words = cast("list[Any]", arguments if isinstance(arguments, list) else [])
        title = " ".join(map(str, [params.get("command"), *words]))
        return self._held(message, verdict, {"kind": "execute", "title": title})

    @from_agent("fs/write_text_file", "fs/read_text_file")
    def touches(self, message: ChainMessage) -> Outcome:
        """Hold a file that the agent lets the editor read or write against the rules."""
        if (policy := self._rules()) is None:
            # Its params are not decoded: a file may have megabytes.
            return Forward()
        match message.params:
            case {"path": str(path)}:
                writes = message.method == "fs/write_text_file"
                verdict = policy.of_file(path, self._session(message).place, writes=writes)
                title = f"{'Write' if writes else 'Read'} {path}"
                shown = {"kind": "edit" if writes else "read", "title": title}
                return self._held(message, verdict, shown)
            case _:
                return Forward()

    def _held(self, message: ChainMessage, verdict: Verdict, shown: dict[str, Any]) -> Outcome:
        session = self._session(message)
        call = {"toolCallId": f"policy-{id(message)}", "status": "pending", **shown}
        question: dict[str, Any] = {"sessionId": message.session_id, "toolCall": call}
        question["options"] = list(_OPTIONS)
        if verdict.effect == "forbid":
            refusal = {"outcome": {"outcome": "refused"}, "_meta": {POLICY_META: _data(verdict)}}
            self._take_down(message, {**question, "options": []}, verdict, refusal)
            self._notes.refused_unseen(message.session_id, verdict, shown)
            return Refuse(_forbidden(verdict))
        session.note_judged(*verdict.actions)
        is_ruled = verdict.effect == "ask" and verdict.rule is not None
        if not is_ruled or all(action in session.permitted for action in verdict.actions):
            # No rule asks for a question here: the agent has asked, or the editor will.
            return Forward()
        return Deferred(self._once_asked(message, question, verdict))

    async def _once_asked(
        self, message: ChainMessage, question: dict[str, Any], verdict: Verdict
    ) -> Reply | Refuse:
        """Ask the user, and do what the agent wants if they agree."""
        answer: Any = None
        try:
            answer = await self.client.request("session/request_permission", question)
        finally:
            self._take_down(message, question, verdict, answer)
        if not _is_yes(question, answer):
            return Refuse(_forbidden(verdict))
        try:
            return Reply(await self.client.request(message.method, message.params))
        except RpcError as error:
            return Refuse(error)

    def _ended(
        self, message: ChainMessage, session: _Session, call_id: str, call: Mapping[str, Any]
    ) -> None:
        """Tell the user once that the agent has done, without asking, what a rule is against."""
        policy = self._rules()
        if policy is None or session.is_replayed or session.is_warned or call_id in session.judged:
            return
        verdict = policy.of_call(call, session.place)
        known = (session.judged, session.permitted)
        is_known = any(each in actions for each in verdict.actions for actions in known)
        if verdict.effect == "allow" or verdict.rule in {None, UNREADABLE} or is_known:
            return
        session.is_warned = True
        text = UNASKED.format(rule=verdict.rule, what=verdict.what)
        self._notes.remark(message.session_id, text, verdict.rule)

    def _take_down(
        self, message: ChainMessage, question: dict[str, Any], verdict: Verdict, result: Any
    ) -> None:
        """Have it on record: no question of the agent's shows it (users A-7)."""
        decided = {"method": message.method, "rule": verdict.rule}
        told = {"sessionId": message.session_id, **decided, "question": question}
        self.agent.notify(DECIDED, {**told, "result": result})

    def _session(self, message: ChainMessage) -> _Session:
        session_id = message.session_id or ""
        return self._sessions.setdefault(session_id, _Session(RuleLocation(Path.cwd())))

    def _rules(self) -> Judges | None:
        """The rules; None as long as there is no file."""
        if self._policy is None and exists(self._path):
            from symposium.permissions.live_policy import LivePolicy  # noqa: PLC0415 - see IMPORTS_LATE

            self._policy = LivePolicy(self._file)
        return self._policy


async def _after(work: Awaitable[None], reply: Reply) -> Reply:
    await work
    return reply


def _place(params: Mapping[str, Any]) -> RuleLocation:
    root: Any = params.get("cwd")
    others: Any = params.get("additionalDirectories")
    listed = cast("list[Any]", others if isinstance(others, list) else [])
    return RuleLocation(
        Path(root) if isinstance(root, str) else Path.cwd(),
        tuple(Path(each) for each in listed if isinstance(each, str)),
    )


def _description(tool_call: Mapping[str, Any]) -> dict[str, Any]:
    """The members that say what it is; an update leaves out, or sets to null, what is unchanged."""
    return {name: tool_call[name] for name in _DESCRIBING if tool_call.get(name) is not None}


def _remember(known: OrderedDict[Hashable, None], more: Sequence[Hashable]) -> None:
    for each in more:
        known[each] = None
    while len(known) > _MAX_REMEMBERED:
        known.popitem(last=False)


def _options(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    options: Any = params.get("options")
    listed = cast("list[Any]", options if isinstance(options, list) else [])
    return [cast("Mapping[str, Any]", each) for each in listed if isinstance(each, dict)]


def _only_option(params: Mapping[str, Any], kind: str) -> str | None:
    """The option of that kind; None unless there is exactly one."""
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


def _outcome(option: str | None, verdict: Verdict) -> dict[str, Any]:
    outcome = (
        {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
    )
    return {"outcome": outcome, "_meta": {POLICY_META: _data(verdict)}}


def _data(verdict: Verdict) -> dict[str, Any]:
    return {"rule": verdict.rule, "effect": verdict.effect}


def _forbidden(verdict: Verdict) -> RpcError:
    data = {**_data(verdict), "hint": "`symposium policy explain` shows why"}
    return RpcError(FORBIDDEN, data, message=verdict.refusal())


spec = ComponentSpec(
    name="policy",
    summary="Allows, asks or forbids what the agent does, by the rules of `policy.toml`.",
    make=PolicyMod,
)
