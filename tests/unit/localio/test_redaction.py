"""Redaction removes every planted secret and keeps the rest of the text."""

import json
import re
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from localio.redaction import REDACTED, SHAPES, UNREADABLE, Redactor, names_secret, secret_values

pytestmark = pytest.mark.requirement("conductor.trace-redaction")

ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PLAIN_WORDS = st.lists(st.text("abcdefghijlmnoqrtuvwz äöü.,\n", max_size=12), max_size=5).map(
    " ".join
)


def token(size: int, alphabet: str = ALNUM) -> st.SearchStrategy[str]:
    return st.text(alphabet, min_size=size, max_size=size + 40)


OPAQUE = token(24)
BASE64 = st.text(ALNUM + "+/", min_size=40, max_size=90)
WELL_KNOWN = st.one_of(
    token(20).map("sk-{}".format),
    token(20).map("sk-ant-api03-{}".format),
    token(30).map("ghp_{}".format),
    token(30).map("github_pat_{}".format),
    token(20).map("glpat-{}".format),
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", min_size=16, max_size=16).map("AKIA{}".format),
    token(35).map("AIza{}".format),
    token(20).map("xoxb-12345-{}".format),
    token(30).map("hf_{}".format),
    token(40).map("pypi-{}".format),
    st.tuples(token(12), token(12), token(12)).map(lambda t: "eyJ{}.{}.{}".format(*t)),
)
UNDER_A_NAME = st.sampled_from(
    [
        "Authorization: Bearer {}",
        "authorization=Basic {}",
        "AUTHORIZATION: {}",
        '{{\\"authorization\\": \\"Bearer {}\\"}}',
        "curl -H 'X-Api-Key: {}' x",
        "OPENAI_API_KEY={}",
        'export DB_PASSWORD="{} with more"',
        "MY_SECRET: {}",
        "aws_secret_access_key = {}1",
        "client-secret: '{}1'",
        "Set-Cookie: session={}; HttpOnly",
        "deploy --api-key {} --verbose",
        "deploy --token={}",
        'a file with {{"client_secret": "{}"}}',
        'a text {{\\"password\\":\\"{}\\"}}',
        "https://user:{}@example.org/x",
        "https://example.org/x?access_token={}&page=2",
    ]
)


@given(PLAIN_WORDS, WELL_KNOWN, PLAIN_WORDS)
def test_secret_with_a_known_pattern_is_removed(before: str, secret: str, after: str) -> None:
    found = Redactor().text(f"{before} {secret}\n{after}")

    assert found == f"{before} {REDACTED}\n{after}"


@given(PLAIN_WORDS, UNDER_A_NAME, OPAQUE, PLAIN_WORDS)
def test_secret_named_in_a_text_is_removed(before: str, form: str, secret: str, after: str) -> None:
    found = Redactor().text(f"{before}\n{form.format(secret)}\n{after}")

    assert secret not in found
    assert found.startswith(f"{before}\n")
    assert found.endswith(f"\n{after}")


KEY_ENDS = st.sampled_from(["-----END RSA PRIVATE KEY-----", '"'])


@given(PLAIN_WORDS, BASE64, KEY_ENDS, PLAIN_WORDS)
def test_private_key_is_removed(before: str, key: str, end: str, after: str) -> None:
    lines = "\n".join(re.findall(".{1,20}", key))

    found = Redactor().text(f"{before}-----BEGIN RSA PRIVATE KEY-----\n{lines}\n{end}{after}")

    assert found == f"{before}-----BEGIN RSA PRIVATE KEY-----{REDACTED}{end}{after}"


SECRET_NAMES = st.sampled_from(
    [
        *("Authorization", "api_key", "apiKey", "API-KEY", "token", "access_token", "refreshToken"),
        *("GITHUB_TOKEN", "SORT_KEY", "clientSecret", "client_secret", "password", "DB_PASS"),
        *("Cookie", "set-cookie", "x-api-key", "private_key", "AWS_SECRET_ACCESS_KEY"),
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN_WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcdfg", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES, SECRET_NAMES, st.text(min_size=9).filter(lambda s: s not in json.dumps(REDACTED)))
def test_value_with_a_secret_name_is_removed(text: Any, name: str, secret: str) -> None:
    planted = {"text": text, "deep": [{name: secret}, {"name": name, "value": [secret]}]}

    found = json.loads(Redactor().json(json.dumps(planted).encode()))

    masked: list[Any] = [{name: REDACTED}, {"name": name, "value": [REDACTED]}]
    assert found == {"text": text, "deep": masked}


@given(st.text(min_size=12).filter(str.isprintable), PLAIN_WORDS)
def test_known_value_is_removed_everywhere(secret: str, context: str) -> None:
    redactor = Redactor([secret])
    planted = {"text": f"{context}{secret}{context}", secret: 1}

    for text in (json.dumps(planted), json.dumps(planted, ensure_ascii=False)):
        found = json.loads(redactor.json(text.encode()))
        assert secret not in "".join([*found, *map(str, found.values())]).replace(REDACTED, "")


@given(VALUES)
@example({"a": "jwt"})
def test_text_without_secrets_is_unchanged(value: Any) -> None:
    body = json.dumps(value, indent=None, ensure_ascii=False).encode()

    assert Redactor().json(body) == body


@given(st.binary(max_size=200))
def test_bytes_that_are_not_json_are_accepted(body: bytes) -> None:
    found = Redactor(["a known value"]).json(body)

    assert b"\n" not in found


def test_every_environment_value_is_removed() -> None:
    params = {
        "mcpServers": [
            {"env": [{"name": "PLAIN", "value": "one"}], "headers": {"X-Org": "two"}},
            {"env": {"ALSO": "three"}},
            {"env": ["LIKE=four"], "headers": [{"name": "Accept", "value": "text/html"}]},
        ]
    }

    found = Redactor().json(json.dumps(params).encode()).decode()

    assert not re.search("one|two|three|four", found)
    assert json.loads(found)["mcpServers"][2]["headers"][0]["value"] == "text/html"


def test_value_after_a_secret_option_is_removed_from_arguments() -> None:
    found = Redactor().json(b'{"args":["run","--api-key","hunter2","--verbose","x"]}')

    assert json.loads(found) == {"args": ["run", "--api-key", REDACTED, "--verbose", "x"]}


@pytest.mark.parametrize(
    "kept",
    [
        {"_meta": {"progressToken": "abc-1"}, "usage": {"inputTokens": 12, "maxTokens": 9}},
        {"pageToken": "a", "nextPageToken": "b", "next_token": "c", "continuationToken": "d"},
        {"cancellationToken": "e", "cancelToken": "f"},
        {"type": "object", "properties": {"password": {"type": "string", "title": "Yours"}}},
        {"text": "The bearer of good news; authorization is required: basic understanding."},
        {"text": "token: TokenKind = self.token_of_kind(4); secret = read_secret(path)"},
        {"text": "for key in keys: token = next(tokens); a task-list-of-many-small-things"},
        {"text": "export TOKEN=$GITHUB_TOKEN and https://example.org:8080/path@v2"},
        {"sessionId": "sess_0123456789abcdef0123456789abcdef", "key": "Enter"},
        {"headers": ["Name", "Age"], "isSecret": True, "token": None},
        {"uri": "git@github.com:owner/name.git", "monkey": "a word"},
        {"args": ["gh", "auth", "token", "status", "password", "the next word"]},
    ],
)
def test_text_that_only_resembles_a_secret_is_kept(kept: dict[str, Any]) -> None:
    assert json.loads(Redactor().json(json.dumps(kept).encode())) == kept


def test_escaped_secret_is_removed() -> None:
    assert b"hunter2" not in Redactor().json(rb'{"\u0070assword":"hunter2"}')
    assert b"pass1word" not in Redactor().json(rb'"https:\/\/user:pass1word@example.org\/"')


def test_suspicious_unreadable_text_is_removed() -> None:
    deep = b'{"password":' + b"[" * 100_000 + b'"hunter2"' + b"]" * 100_000 + b"}"

    assert Redactor().json(b'{"token":"hunter2"') == UNREADABLE
    assert Redactor().json(deep) == UNREADABLE


def test_secrets_of_the_environment_are_known() -> None:
    environment = {"OPENAI_API_KEY": "very-secret", "GH_TOKEN": "short", "PATH": "/usr/bin:/bin"}

    assert secret_values(environment) == {"very-secret"}
    assert names_secret("npm_config__authToken")


HOSTILE = [
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY",
    "eyJ",
    "eyJaaaaaaaa.",
    "eyJaaaaaaaa.b",
    "sk-",
    "sk-a ",
    "SG.aaaaaaaaaaaaaaaaaaaa",
    "bearer ",
    "bearer a",
    "authorization:",
    "Authorization: Basic ",
    "cookie: a",
    "cookie:",
    "x-key",
    "X-",
    "TOKEN",
    "TOKEN=",
    'TOKEN="',
    "A_",
    "KEY: ",
    "--token",
    "--a-",
    "-",
    'token"',
    'token\\"',
    "\\",
    "token': '",
    "?token",
    "?a_",
    "://",
    "://a:",
    "://a",
    "://aaaaaaaaaaaaaaaaaaaaaaaa",
    "a",
    " ",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_redaction_time_is_linear(unit: str) -> None:
    markers = " ".join(marker for shape in SHAPES for marker in shape.markers)
    text = markers + unit * (200_000 // len(unit))

    started = time.process_time()
    Redactor().text(text)

    assert time.process_time() - started < 2, "what goes back and forth takes minutes"


def test_pwd_is_not_a_password() -> None:
    environment = {
        "PWD": "/home/me/project",
        "OLDPWD": "/home/me/before",
        "DB_PWD": "hunter2hunter2",
    }

    assert secret_values(environment) == {"hunter2hunter2"}
