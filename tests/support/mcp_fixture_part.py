"""Tools, resources, and prompts that the conformance suite expects; tests only.

The suite uses fixed names. Results are MCP's own JSON.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcp import types
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError

from symposium.mcp_server.server import SymposiumMcpServer
from symposium.mcp_server.tool import Json, ToolCaller

_HEADER = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
PIXEL = f"{_HEADER}AAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STEP = 0.05
"""Seconds between the steps of a tool, as the suite describes its fixtures."""
SECRET = b"a secret of this fixture only"

TEXT = {"type": "string"}
NO_ARGUMENTS: Json = {"type": "object", "properties": {}}

SCHEMA_2020_12: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": TEXT, "city": TEXT},
        }
    },
    "properties": {
        "name": TEXT,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": TEXT,
        "email": TEXT,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

DEFAULTS: Json = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}


def choices(pairs: Mapping[str, str]) -> list[Json]:
    return [{"const": value, "title": title} for value, title in pairs.items()]


ENUMS: Json = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": choices({"value1": "First", "value2": "Second", "value3": "Third"}),
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        "titledMulti": {
            "type": "array",
            "items": {"anyOf": choices({"value1": "First", "value2": "Second", "value3": "Third"})},
        },
    },
}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def said(*blocks: Json, is_error: bool = False) -> Json:
    return {"content": list(blocks), "isError": is_error}


def image() -> Json:
    return {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def embedded(uri: str, mime: str, words: str) -> Json:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": words}}


def form(message: str, fields: Mapping[str, str]) -> Json:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in fields.items()},
        "required": list(fields),
    }
    params = {"mode": "form", "message": message, "requestedSchema": schema}
    return {"method": "elicitation/create", "params": params}


NAME = form("What is your name?", {"name": "string"})
CONFIRM = form("Please confirm", {"ok": "boolean"})


def sample(question: str) -> Json:
    messages = [{"role": "user", "content": text(question)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 50}}


ROOTS: Json = {"method": "roots/list", "params": {}}


def more(requests: Json, state: str | None = None) -> Json:
    """Return a result that requests input before it can be complete."""
    result: Json = {"resultType": "input_required", "inputRequests": requests}
    return result if state is None else result | {"requestState": sealed(state)}


def sealed(state: str) -> str:
    """Return a state that a client carries and cannot change."""
    mark = hmac.new(SECRET, state.encode(), hashlib.sha256).hexdigest()
    return base64.urlsafe_b64encode(f"{mark}:{state}".encode()).decode()


def opened(params: Mapping[str, Any]) -> str | None:
    """Open the returned state; refuse a changed one."""
    given = params.get("requestState")
    if given is None:
        return None
    try:
        mark, _, state = base64.urlsafe_b64decode(given).decode().partition(":")
    except ValueError:
        mark, state = "", ""
    if not hmac.compare_digest(sealed(state), str(given)) or not mark:
        raise MCPError(types.INVALID_PARAMS, "the request state was changed on its way")
    return state


def arguments_of(params: Mapping[str, Any]) -> Json:
    return params.get("arguments") or {}


Call = Callable[[Mapping[str, Any], ToolCaller], Awaitable[Json]]


class FixturePart:
    """Test tools, resources, and prompts, beside those of the server."""

    def __init__(self) -> None:
        self.server: SymposiumMcpServer | None = None
        self._calls: dict[str, Call] = {
            "test_simple_text": self._plain(text("This is a simple text response for testing.")),
            "test_image_content": self._plain(image()),
            "test_audio_content": self._plain(
                {"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}
            ),
            "test_embedded_resource": self._plain(
                embedded(
                    "test://embedded-resource",
                    "text/plain",
                    "This is an embedded resource content.",
                )
            ),
            "test_multiple_content_types": self._plain(
                text("Multiple content types test:"),
                image(),
                embedded(
                    "test://mixed-content-resource",
                    "application/json",
                    json.dumps({"test": "data", "value": 123}),
                ),
            ),
            "test_error_handling": self._failing,
            "test_tool_with_logging": self._logging,
            "test_logging_tool": self._logging,
            "test_streaming_elicitation": self._asks({"user_name": NAME}),
            "test_tool_with_progress": self._progress,
            "test_sampling": self._sampling,
            "test_elicitation": self._elicitation,
            "test_elicitation_sep1034_defaults": self._elicit(DEFAULTS),
            "test_elicitation_sep1330_enums": self._elicit(ENUMS),
            "test_reconnection": self._reconnection,
            "test_x_mcp_header": self._plain(text("region")),
            "test_missing_capability": self._capability,
            "json_schema_2020_12_tool": self._plain(text("plain")),
            "test_trigger_tool_change": self._publish(ToolsListChanged()),
            "test_trigger_prompt_change": self._publish(PromptsListChanged()),
            "test_input_required_result_elicitation": self._asks({"user_name": NAME}),
            "test_input_required_result_sampling": self._asks(
                {"capital_question": sample("What is the capital of France?")}
            ),
            "test_input_required_result_list_roots": self._asks({"client_roots": ROOTS}),
            "test_input_required_result_request_state": self._asks({"confirm": CONFIRM}, "nonce"),
            "test_input_required_result_tampered_state": self._asks({"confirm": CONFIRM}, "one"),
            "test_input_required_result_multiple_inputs": self._asks(
                {"user_name": NAME, "greeting": sample("Say hello"), "client_roots": ROOTS}, "many"
            ),
            "test_input_required_result_multi_round": self._rounds,
            "test_input_required_result_capabilities": self._capable,
        }

    # -- the offers of the part

    def tools(self) -> Sequence[Json]:
        schemas: dict[str, Json] = {
            "json_schema_2020_12_tool": SCHEMA_2020_12,
            "test_sampling": {"type": "object", "properties": {"prompt": TEXT}},
            "test_elicitation": {"type": "object", "properties": {"message": TEXT}},
            "test_x_mcp_header": {
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            },
        }
        return [
            {
                "name": name,
                "description": "For the conformance suite",
                "inputSchema": schemas.get(name, NO_ARGUMENTS),
            }
            for name in self._calls
        ]

    async def call_tool(
        self, name: str, params: Mapping[str, Any], caller: ToolCaller
    ) -> Json | None:
        call = self._calls.get(name)
        return None if call is None else await call(params, caller)

    def resources(self) -> Sequence[Json]:
        return [
            {"uri": "test://static-text", "name": "text", "mimeType": "text/plain"},
            {"uri": "test://static-binary", "name": "binary", "mimeType": "image/png"},
            {"uri": "test://watched-resource", "name": "watched", "mimeType": "text/plain"},
        ]

    def templates(self) -> Sequence[Json]:
        return [{"uriTemplate": "test://template/{id}/data", "name": "template"}]

    async def read(self, uri: str, caller: ToolCaller) -> Json | None:
        del caller
        plain = {"uri": uri, "mimeType": "text/plain"}
        match uri.removeprefix("test://").split("/"):
            case ["static-text"]:
                words = "This is the content of the static text resource."
                return {"contents": [plain | {"text": words}]}
            case ["watched-resource"]:
                return {"contents": [plain | {"text": "Watched resource content"}]}
            case ["static-binary"]:
                return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]}
            case ["template", id_, "data"]:
                told = {"id": id_, "templateTest": True, "data": f"Data for ID: {id_}"}
                shown = {"uri": uri, "mimeType": "application/json", "text": json.dumps(told)}
                return {"contents": [shown]}
            case _:
                return None

    def prompts(self) -> Sequence[Json]:
        arguments = {
            "test_simple_prompt": [],
            "test_prompt_with_arguments": ["arg1", "arg2"],
            "test_prompt_with_embedded_resource": ["resourceUri"],
            "test_prompt_with_image": [],
            "test_input_required_result_prompt": [],
        }
        return [
            {
                "name": name,
                "description": "For the conformance suite",
                "arguments": [{"name": each, "required": True} for each in names],
            }
            for name, names in arguments.items()
        ]

    async def prompt(self, name: str, params: Mapping[str, Any], caller: ToolCaller) -> Json | None:
        del caller
        given = arguments_of(params)
        match name:
            case "test_simple_prompt":
                blocks = [text("This is a simple prompt for testing.")]
            case "test_prompt_with_arguments":
                words = f"arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'"
                blocks = [text(f"Prompt with arguments: {words}")]
            case "test_prompt_with_embedded_resource":
                uri = str(given.get("resourceUri"))
                blocks = [
                    embedded(uri, "text/plain", "Embedded resource content for testing."),
                    text("Please process the embedded resource above."),
                ]
            case "test_prompt_with_image":
                blocks = [image(), text("Please analyze the image above.")]
            case "test_input_required_result_prompt":
                if "user_context" not in (params.get("inputResponses") or {}):
                    return more({"user_context": form("Which context?", {"context": "string"})})
                blocks = [text("With the context that was given.")]
            case _:
                return None
        return {"messages": [{"role": "user", "content": block} for block in blocks]}

    def complete(self, ref: Mapping[str, Any], argument: str, begun: str) -> Sequence[str] | None:
        del argument, begun
        return [] if str(ref.get("name", "")).startswith("test_") else None

    # -- the tools

    def _plain(self, *blocks: Json) -> Call:
        async def call(params: Mapping[str, Any], caller: ToolCaller) -> Json:
            del params, caller
            return said(*blocks)

        return call

    async def _failing(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params, caller
        return said(text("This tool intentionally returns an error for testing"), is_error=True)

    async def _logging(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params
        for step in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await log(caller, step)
            await asyncio.sleep(STEP)
        return said(text("Logged."))

    async def _progress(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params
        for done in (0, 50, 100):
            await caller.news(done, 100, f"Completed step {done} of 100")
            await asyncio.sleep(STEP)
        return said(text("Done."))

    async def _sampling(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        question = str(arguments_of(params).get("prompt"))
        answer = await ask(caller, sample(question))
        return said(text(f"LLM response: {answer['content']['text']}"))

    async def _elicitation(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        message = str(arguments_of(params).get("message"))
        answer = await ask(caller, form(message, {"response": "string"}))
        content = json.dumps(answer.get("content"))
        return said(text(f"User response: action={answer['action']}, content={content}"))

    def _elicit(self, schema: Json) -> Call:
        async def call(params: Mapping[str, Any], caller: ToolCaller) -> Json:
            del params
            asked = {"mode": "form", "message": "Please choose", "requestedSchema": schema}
            answer = await ask(caller, {"method": "elicitation/create", "params": asked})
            content = json.dumps(answer.get("content"))
            return said(text(f"Elicitation: action={answer['action']}, content={content}"))

        return call

    async def _reconnection(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params
        await log(caller, "Before disconnect")
        if caller.context.close_sse_stream is not None:
            await caller.context.close_sse_stream()
        # The client reconnects after 100 ms (`retry`) while the tool still runs; this is longer.
        # No event can replace it: the SDK registers the resumed stream only after the replay, and
        # loses what is sent between the two. A slower client gets the stored events.
        await asyncio.sleep(4 * STEP)
        await log(caller, "After reconnect")
        return said(text("Reconnection test completed"))

    async def _capability(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params
        declared = caller.context.session.client_capabilities
        if declared is None or declared.sampling is None:
            raise MCPError(
                types.MISSING_REQUIRED_CLIENT_CAPABILITY,
                "This needs a client that samples",
                {"requiredCapabilities": {"sampling": {}}},
            )
        return said(text("The client samples."))

    def _publish(self, event: Any) -> Call:
        async def call(params: Mapping[str, Any], caller: ToolCaller) -> Json:
            del params, caller
            assert self.server is not None
            await self.server.bus.publish(event)
            return said(text("changed"))

        return call

    def _asks(self, requests: Json, state: str | None = None) -> Call:
        async def call(params: Mapping[str, Any], caller: ToolCaller) -> Json:
            del caller
            came_back = opened(params)
            answers: Json = params.get("inputResponses") or {}
            if requests.keys() <= answers.keys() and came_back == state:
                return said(text(f"state-ok: {json.dumps(answers)}"))
            return more(requests, state)

        return call

    async def _rounds(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del caller
        answers: Json = params.get("inputResponses") or {}
        match opened(params):
            case "1" if "step1" in answers:
                return more({"step2": form("Which color?", {"color": "string"})}, "2")
            case "2" if "step2" in answers:
                return said(text("All rounds are done."))
            case _:
                return more({"step1": NAME}, "1")

    async def _capable(self, params: Mapping[str, Any], caller: ToolCaller) -> Json:
        del params
        declared = caller.context.session.client_capabilities
        requests: Json = {}
        if declared is None or declared.sampling is not None:
            requests["sample"] = sample("Say hello")
        if declared is None or declared.elicitation is not None:
            requests["ask"] = NAME
        return more(requests, "gated")


async def ask(caller: ToolCaller, request: Json) -> Json:
    """Send a request to the client on the way that its request came."""
    context = caller.context
    outbound = context.session._request_outbound  # noqa: SLF001 - the SDK has only typed methods
    return await outbound.send_raw_request(request["method"], request["params"])


async def log(caller: ToolCaller, words: str) -> None:
    """Send an MCP log message on the way that the request came."""
    context = caller.context
    await context.session.send_log_message("info", words, related_request_id=context.request_id)
