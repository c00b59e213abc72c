"""Mod that applies the user's rules to requests of the agent.

It is next to the agent in every chain (`symposium.planning.chain_spec`). A permission request that
no rule decides is forwarded byte for byte. A rule chooses an option only by its kind, and only if
exactly one option has that kind: only the user can judge unusual options (users A-7, A-8).
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from peerwire.acp.names import SETUP_METHODS
from peerwire.errors import RpcError
from peerwire.jsonrpc.values import as_list, as_object
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
from symposium.permissions.audit_entries import DECIDED, POLICY_META
from symposium.permissions.policy_notes import NoteWriter
from symposium.permissions.verdict import UNREADABLE, Judges, RuleLocation, Verdict, exists

FORBIDDEN: Final = -32010
"""Error code of a request that a rule forbids, or if the rules are invalid."""

APPLIES: Final = (
    "policy.toml ({count}) applies to requests of this agent. It cannot stop a tool that the agent "
    "runs without asking."
)

UNASKED: Final = (
    "This agent did not ask before `{what}`, so the rule `{rule}` of policy.toml could not stop "
    "it. Run the agent in a sandbox, or in a mode in which it asks; see docs/how-to/policy.md "
    "for other options."
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
"""Maximum stored tool calls, and permitted actions, of each session."""


class _Session:
    """State of one session.

    Attributes:
        place: directories of the session.
        calls: members of tool calls, from updates, by id.
        judged: ids of calls and actions to which the rules were applied.
        permitted: actions that the user allowed; the user is not asked again.
        is_replayed: whether the agent is replaying the history.
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
        _remember(self.permitted, actions)

    def note_judged(self, *judged: Hashable) -> None:
        """Store calls or actions to which the rules were applied."""
        _remember(self.judged, judged)


class PolicyMod(Mod):
    """Apply the rules to requests of the agent.

    Without a file nothing is parsed or imported; a file that is created later takes effect.

    Args:
        file: the rules. Default: `policy.toml` in the user's directory.
        before_yes: called with the tool call, and awaited, before a rule allows it.
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
        """All interceptions; without updates if there were no rules at the start."""
        found = super().interceptions()
        return [each for each in found if self._sees_updates or each.method != _UPDATES]

    @from_client(*SETUP_METHODS)
    def opening(self, message: ChainMessage) -> Outcome:
        """Store the directories of the session; reject it if the rules are invalid."""
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

        # A loaded session reports its tool calls before the response.
        session = self._sessions.setdefault(named, _Session(place))
        session.place, session.is_replayed = place, True

        def over(_: Answer) -> None:
            session.is_replayed = False

        return Forward(then=over, catch=over)

    @from_client("session/prompt")
    def begins(self, message: ChainMessage) -> Forward:
        """Notify the user once of the rules and their limits."""
        session = self._session(message)
        policy = self._rules()
        if policy is not None and not session.is_introduced and (count := policy.limits()):
            session.is_introduced = True
            rules = "1 rule" if count == 1 else f"{count} rules"
            self._notes.remark(message.session_id, APPLIES.format(count=rules))
        return Forward()

    @from_client("session/close", "session/delete")
    def ending(self, message: ChainMessage) -> Forward:
        """Remove the state of the session."""
        self._sessions.pop(message.session_id or "", None)
        return Forward()

    @from_agent(_UPDATES)
    def remember_call(self, message: ChainMessage) -> Forward:
        """Remember a tool call: the permission request may name it by its id alone."""
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
        """Answer a permission request if a rule decides it."""
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
            problem = "the agent was started before policy.toml was written; restart it"
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
        """Apply the rules to a command that the agent runs in the editor."""
        if (policy := self._rules()) is None:
            return Forward()
        params = as_object(message.params)
        if not params:
            return Forward()
        session = self._session(message)
        verdict = policy.of_terminal(params, session.place)
        arguments: Any = params.get("args")
        words = as_list(arguments)
        title = " ".join(map(str, [params.get("command"), *words]))
        return self._held(message, verdict, {"kind": "execute", "title": title})

    @from_agent("fs/write_text_file", "fs/read_text_file")
    def touches(self, message: ChainMessage) -> Outcome:
        """Apply the rules to a file that the agent reads or writes through the editor."""
        if (policy := self._rules()) is None:
            # Do not decode the params: a file may have megabytes.
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
            self._record(message, {**question, "options": []}, verdict, refusal)
            self._notes.refused_unseen(message.session_id, verdict, shown)
            return Refuse(_forbidden(verdict))
        session.note_judged(*verdict.actions)
        is_ruled = verdict.effect == "ask" and verdict.rule is not None
        if not is_ruled or all(action in session.permitted for action in verdict.actions):
            # No rule requires a question: the agent asked before, or the editor will ask.
            return Forward()
        return Deferred(self._once_asked(message, question, verdict))

    async def _once_asked(
        self, message: ChainMessage, question: dict[str, Any], verdict: Verdict
    ) -> Reply | Refuse:
        """Ask the user, and forward the request if they allow it."""
        answer: Any = None
        try:
            answer = await self.client.request("session/request_permission", question)
        finally:
            self._record(message, question, verdict, answer)
        if not _is_yes(question, answer):
            return Refuse(_forbidden(verdict))
        try:
            return Reply(await self.client.request(message.method, message.params))
        except RpcError as error:
            return Refuse(error)

    def _ended(
        self, message: ChainMessage, session: _Session, call_id: str, call: Mapping[str, Any]
    ) -> None:
        """Warn the user once that the agent broke a rule without asking."""
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

    def _record(
        self, message: ChainMessage, question: dict[str, Any], verdict: Verdict, result: Any
    ) -> None:
        """Record the decision, which no permission request of the agent shows (users A-7)."""
        decided = {"method": message.method, "rule": verdict.rule}
        decision = {"sessionId": message.session_id, **decided, "question": question}
        self.agent.notify(DECIDED, {**decision, "result": result})

    def _session(self, message: ChainMessage) -> _Session:
        session_id = message.session_id or ""
        return self._sessions.setdefault(session_id, _Session(RuleLocation(Path.cwd())))

    def _rules(self) -> Judges | None:
        """The rules; None while the file does not exist."""
        if self._policy is None and exists(self._path):
            from symposium.permissions.live_policy import LivePolicy

            self._policy = LivePolicy(self._file)
        return self._policy


async def _after(work: Awaitable[None], reply: Reply) -> Reply:
    await work
    return reply


def _place(params: Mapping[str, Any]) -> RuleLocation:
    root: Any = params.get("cwd")
    others: Any = params.get("additionalDirectories")
    listed = as_list(others)
    return RuleLocation(
        Path(root) if isinstance(root, str) else Path.cwd(),
        tuple(Path(each) for each in listed if isinstance(each, str)),
    )


def _description(tool_call: Mapping[str, Any]) -> dict[str, Any]:
    """Descriptive members of a tool call; updates omit unchanged ones, or set them to null."""
    return {name: tool_call[name] for name in _DESCRIBING if tool_call.get(name) is not None}


def _remember(known: OrderedDict[Hashable, None], more: Sequence[Hashable]) -> None:
    for each in more:
        known[each] = None
    while len(known) > _MAX_REMEMBERED:
        known.popitem(last=False)


def _options(params: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    options: Any = params.get("options")
    listed = as_list(options)
    return [cast("Mapping[str, Any]", each) for each in listed if isinstance(each, dict)]


def _only_option(params: Mapping[str, Any], kind: str) -> str | None:
    """Id of the only option of this kind; None unless there is exactly one."""
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
    summary="Allows, asks about, or forbids actions of the agent by the rules of `policy.toml`.",
    make=PolicyMod,
)
