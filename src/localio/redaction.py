"""Remove secrets from recorded texts, by their name and by their form.

Forwarded messages are never changed, only records. For speed, the patterns run only on texts that
contain a plain marker, which few messages do. Each pattern takes linear time: it starts at a
literal or a word boundary, and its repetitions are unambiguous.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

from peerwire.jsonrpc.values import Body, decode_value, encode_value

REDACTED: Final = "[redacted]"

UNREADABLE: Final = b'"[redacted: could not be read]"'
"""Placeholder for a body that may contain a secret and cannot be parsed."""

LEAST_KNOWN: Final = 8
"""Minimum length of a known value; a shorter one would match in ordinary words."""


LEAST_RANDOM: Final = 20
"""Minimum length of a value that is treated as a secret because it looks random."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One form of secrets in text.

    Attributes:
        markers: in lower case; a text without them is not searched.
        pattern: matches the secret; its optional groups `before` and `after` are kept.
    """

    markers: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(markers: str, pattern: str) -> Shape:
    return Shape(tuple(markers.split()), re.compile(pattern, re.VERBOSE))


_NAMES: Final = (
    r"(?:token|secret|passw(?:or)?d|passphrase|(?:api|access|private)[_-]?key|credentials?)"
)
_EDGE: Final = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""Start of a word, also after an escape in a text that contains JSON."""

SHAPES: Final = (
    _shape(
        "-----begin",
        # To the end of the block, or if truncated, to the first invalid character.
        r"(?P<before>-----BEGIN\ [A-Z0-9 ]{0,40}PRIVATE\ KEY(?:\ BLOCK)?-----)"
        r"(?:[A-Za-z0-9+/=\s\\:,.()]|-(?!----))*+",
    ),
    _shape(
        "sk- pk_ sk_ rk_ ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- akia asia aiza xox "
        "hf_ npm_ pypi- sg. gsk_ xai- ya29. key-",
        _EDGE
        + r"""(?:
            sk-[A-Za-z0-9_-]{16,}+
          | (?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+
          | gh[opsur]_[A-Za-z0-9]{20,}+ | github_pat_[A-Za-z0-9_]{20,}+
          | glpat-[A-Za-z0-9_-]{16,}+
          | (?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])
          | AIza[A-Za-z0-9_-]{30,}+
          | xox[abceoprs]-[A-Za-z0-9-]{10,}+
          | (?:hf|gsk|npm)_[A-Za-z0-9]{20,}+
          | (?:pypi|xai|key)-[A-Za-z0-9_-]{30,}+
          | SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,}+
          | ya29\.[A-Za-z0-9_-]{20,}+
        )""",
    ),
    _shape("eyj", _EDGE + r"eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    _shape(
        "bearer",
        # A word of prose after "bearer" is not a token, which has a digit or is longer.
        r"(?P<before>(?i:bearer)[\s:]{1,4})"
        r"(?=[A-Za-z._~+/-]{0,64}[0-9]|[A-Za-z._~+/-]{24})[A-Za-z0-9._~+/-]{8,}+=*+",
    ),
    _shape(
        "authorization",
        r"""(?P<before>(?i:authorization)["'\\]{0,3}\s{0,2}[:=]\s{0,2}["'\\]{0,3})
        (?:(?i:basic|token|digest|apikey|negotiate)\s{1,3}[^\s"'\\,;]{4,}+|[^\s"'\\,;]{16,}+)""",
    ),
    _shape(
        "cookie",
        r"""(?P<before>(?i:cookie)["'\\]{0,3}\s{0,2}:\s{0,2}["'\\]{0,3})[^\s"'\\=;:]{1,128}=[^\r\n"'\\]*+""",
    ),
    _shape(
        "x-",
        r"""(?P<before>(?i:x-[a-z-]{0,30}(?:key|token|secret))["'\\]{0,3}\s{0,2}[:=]\s{0,2}["'\\]{0,3})
        [^\s"'\\,;]{6,}+""",
    ),
    _shape(
        "token key secret pass pwd credential",
        # The syntax of shells, .env files, and logs.
        r"""(?P<before>(?<![A-Za-z0-9_])
            [A-Z0-9_]{0,60}(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?)
            (?:=|[ ]=[ ]?|:[ ]?))
        (?!\$\{?[A-Za-z_]|\s|\[redacted)(?:\\{0,3}"[^"\n]++|\\{0,3}'[^'\n]++|[^\s"'`;,&|)}<>]++)""",
    ),
    _shape(
        "token secret passw passphrase key credential",
        # The syntax of settings files; in code, the value would be a name without digits.
        r"""(?P<before>(?i:"""
        + _NAMES
        + r""")[ ]{0,2}[=:][ ]{0,2}["']?)
        (?=[A-Za-z+/_~-]{0,64}[0-9])[A-Za-z0-9+/_~=-]{12,}+(?![(.\[])""",
    ),
    _shape(
        "token secret passw passphrase key credential",
        # A member of a JSON object inside a text, quoted once or more.
        r"""(?P<before>(?i:"""
        + _NAMES
        + r""")\\{0,3}["']\s{0,4}:\s{0,4}\\{0,3}["'])(?!\[redacted)(?:[^"'\\\n]|\\++[^"'\\\n])++""",
    ),
    _shape(
        "token secret passw passphrase key credential",
        # The syntax of command-line options.
        r"""(?P<before>(?<![A-Za-z0-9_-])--?[A-Za-z-]{0,40}?(?i:"""
        + _NAMES
        + r""")(?:=|\s{1,2})["']?)(?![-\$\[])[^\s"'\\]++""",
    ),
    _shape(
        "token= key= secret= password= sig= signature= credential= auth=",
        r"""(?P<before>[?&](?i:[a-z-]{0,30}_?(?:token|api_?key|key|secret|password|sig|signature|credential|auth))=)
        (?!\[redacted)[^&\s"'<>\#\\]++""",
    ),
    _shape("://", r"(?P<before>(?<=://)[^\s/@:\"'\\]{0,256}:)[^\s/@\"'\\]{1,256}(?P<after>@)"),
    _shape("://", r"(?<=://)[A-Za-z0-9_~.-]{20,256}(?P<after>@)"),
)

_SECRET_ENDINGS: Final = (
    *("token", "apikey", "secret", "password", "passwd", "passphrase", "passcode", "authorization"),
    *("cookie", "credential", "credentials", "privatekey", "secretkey", "accesskey", "accesskeyid"),
    *("authkey", "signingkey", "encryptionkey", "sessionkey", "clientkey", "jwt", "bearer"),
)
_NO_SECRETS: Final = frozenset(
    {"progresstoken", "pagetoken", "nextpagetoken", "nexttoken", "continuationtoken"}
    | {"cancellationtoken", "canceltoken"}
)
"""Names with the ending of a secret's name, for ids of requests and pages."""

_ENV_STYLE: Final = re.compile(r"(?:[A-Z0-9]+_)*(?:KEY|PASS|PWD|TOKENS|SECRETS)")
_ENVIRONMENTS: Final = frozenset(
    {"env", "environment", "headers", "httpheaders", "environmentvariables"}
)
_PLAIN_HEADERS: Final = frozenset(
    {"accept", "contenttype", "contentlength", "host", "useragent", "mcpprotocolversion"}
)
_SCHEMA_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object"})
_SEPARATORS: Final = re.compile(r"[-_. ]")

_MARKERS: Final = tuple(
    {
        *(marker.encode() for shape in SHAPES for marker in shape.markers),
        *(
            b"token",
            b"key",
            b"secret",
            b"passw",
            b"passphrase",
            b"passcode",
            b"_pass",
            b"pwd",
            b"authorization",
        ),
        *(b"cookie", b"credential", b"bearer", b"jwt", b'"env', b'headers"'),
        # Escapes can hide any of these markers.
        *(b"\\u00", b"\\/"),
    }
)
_PLAIN_RUN: Final = re.compile(r"[A-Za-z0-9_.+=-]{4,}")


def names_secret(name: str) -> bool:
    """Whether a value with this name is a secret: `api_key`, `Set-Cookie`; not `progressToken`."""
    plain = _SEPARATORS.sub("", name).lower()
    return plain not in _NO_SECRETS and (
        plain.endswith(_SECRET_ENDINGS) or _ENV_STYLE.fullmatch(name) is not None
    )


_DIRECTORIES: Final = frozenset({"PWD", "OLDPWD"})
"""Variables for the current directory, whose names resemble that of a password."""


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """Values in an environment with the name of a secret, for a `Redactor`."""
    return frozenset(
        value
        for name, value in environment.items()
        if names_secret(name) and name not in _DIRECTORIES and len(value) >= LEAST_KNOWN
    )


_RANDOM: Final = re.compile(
    rf"(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])[A-Za-z0-9+_=.~:-]{{{LEAST_RANDOM},}}|[0-9a-fA-F]{{32,}}"
)


def agent_secrets(environment: Mapping[str, str]) -> frozenset[str]:
    """Secrets among the variables that the user sets for an agent.

    These are values with the name of a secret, and random values: at least 20 characters, with
    small and capital letters and digits, or 32 hexadecimal digits. Paths, addresses, names of
    models, and other ordinary words do not count.
    """
    random = {value for value in environment.values() if _RANDOM.fullmatch(value)}
    return secret_values(environment) | random


_learned: set[str] = set()


def learn(secrets: Iterable[str]) -> None:
    """Add known values to all redactors that this process creates later.

    The code that records is often far from the code that sets a variable.
    """
    _learned.update(secrets)


class Redactor:
    """Remove secrets from texts and JSON; `known` values are removed everywhere."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Longest first, or a value that is a prefix of another would leave the rest.
        self._known = tuple(
            sorted({k for k in (*known, *_learned) if len(k) >= LEAST_KNOWN}, key=len, reverse=True)
        )

    @cached_property
    def _markers(self) -> tuple[bytes, ...]:
        markers = {*_MARKERS, *map(_marker, self._known)}
        needed = [m for m in markers if not any(other in m for other in markers - {m})]
        # Search separately: an alternation takes fifty times as long.
        return tuple(sorted(needed))

    def text(self, text: str) -> str:
        """Remove secrets from a text; a text without secrets is returned as the same object."""
        for value in self._known:
            if value in text:
                text = text.replace(value, REDACTED)
        lowered = text.lower()
        for shape in SHAPES:
            if any(marker in lowered for marker in shape.markers):
                text = shape.pattern.sub(_mask, text)
        return text

    def raw(self, data: bytes) -> bytes:
        """Remove secrets from an encoded text; invalid UTF-8 is preserved."""
        text = data.decode("utf-8", errors="surrogateescape")
        plain = self.text(text)
        return data if plain is text else plain.encode("utf-8", errors="surrogateescape")

    def json(self, body: Body) -> bytes:
        """Remove secrets from a JSON value, on one line; a value without secrets is unchanged."""
        raw = bytes(body)
        try:
            lowered = raw.lower()
            if any(marker in lowered for marker in self._markers):
                value = decode_value(raw)
                plain = self._value(value)
                if plain != value:
                    return encode_value(plain)
        except (ValueError, RecursionError):
            return UNREADABLE
        return raw if b"\n" not in raw else raw.replace(b"\n", b" ")

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.text(value)
            case dict():
                return self._object(cast("dict[str, Any]", value))
            case list():
                return self._list(cast("list[Any]", value))
            case _:
                return value

    def _object(self, members: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        named = next(
            (members[key] for key in ("name", "key", "id") if isinstance(members.get(key), str)), ""
        )
        for name, value in members.items():
            plain = _SEPARATORS.sub("", name).lower()
            if names_secret(name) or (name == "value" and names_secret(named)):
                value = value if _is_schema(value) else _masked(value)  # noqa: PLW2901 - the member, as recorded
            elif plain in _ENVIRONMENTS:
                value = _environment(value)  # noqa: PLW2901 - the member, as recorded
            found[self.text(name)] = self._value(value)
        return found

    def _list(self, items: list[Any]) -> list[Any]:
        found: list[Any] = []
        is_secret = False
        for item in items:
            found.append(REDACTED if is_secret and isinstance(item, str) else self._value(item))
            is_secret = isinstance(item, str) and item.startswith("-") and names_secret(item)
        return found


def _mask(found: re.Match[str]) -> str:
    kept: Mapping[str, str | None] = found.groupdict()
    return f"{kept.get('before') or ''}{REDACTED}{kept.get('after') or ''}"


def _masked(value: Any) -> Any:
    match value:
        case dict():
            return {name: _masked(inner) for name, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_masked(inner) for inner in cast("list[Any]", value)]
        case None | bool() | "":
            return value
        case _:
            return REDACTED


def _is_schema(value: Any) -> bool:
    """Whether a member describes a field called `password` rather than holding one."""
    return isinstance(value, dict) and cast("dict[str, Any]", value).get("type") in _SCHEMA_TYPES


def _environment(value: Any) -> Any:
    """Redact all values of an environment or of headers, where any name can be a secret."""
    match value:
        case dict():
            return {
                name: inner if _is_plain_header(name) else _masked(inner)
                for name, inner in cast("dict[str, Any]", value).items()
            }
        case list():
            return [_entry(inner) for inner in cast("list[Any]", value)]
        case _:
            return value


def _entry(entry: Any) -> Any:
    match entry:
        case {"name": str(name), "value": value}:
            return entry if _is_plain_header(name) else {**entry, "value": _masked(value)}
        case str() if "=" in entry:
            return f"{entry.partition('=')[0]}={REDACTED}"
        case _:
            return entry


def _is_plain_header(name: str) -> bool:
    return _SEPARATORS.sub("", name).lower() in _PLAIN_HEADERS


def _marker(value: str) -> bytes:
    """The part of a value that has only one spelling in JSON; may be empty."""
    runs: Iterable[str] = _PLAIN_RUN.findall(value)
    measure: Callable[[str], int] = len
    return max(runs, key=measure, default="").lower().encode()
