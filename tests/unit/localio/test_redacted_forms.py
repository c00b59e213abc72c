"""Every form of a secret is removed, in a text and in JSON, and what is no secret is kept."""

import json
from typing import Any

import pytest

from localio.redaction import LEAST_KNOWN, REDACTED, Redactor, agent_secrets, secret_values

pytestmark = pytest.mark.requirement("conductor.trace-redaction")

RANDOM = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3nR6"

TOKENS = [
    *("sk-{}", "sk_live_{}", "sk_test_{}", "pk_live_{}", "pk_test_{}", "rk_live_{}", "rk_test_{}"),
    *("ghp_{}", "gho_{}", "ghs_{}", "ghu_{}", "ghr_{}", "github_pat_{}", "glpat-{}"),
    *("xoxa-{}", "xoxb-{}", "xoxc-{}", "xoxe-{}", "xoxo-{}", "xoxp-{}", "xoxr-{}", "xoxs-{}"),
    *("AIza{}", "hf_{}", "gsk_{}", "npm_{}", "pypi-{}", "xai-{}", "key-{}", "ya29.{}"),
    *("SG.{0}.{0}", "eyJ{0}.{0}.{0}", "eyJ{0}.{0}"),
]


@pytest.mark.parametrize("form", [*TOKENS, "AKIA234567ABCDEFGHIJ", "ASIA234567ABCDEFGHIJ"])
def test_token_of_a_known_service_is_removed(form: str) -> None:
    token = form.format(RANDOM)

    assert Redactor().text(f"a {token}.\n") in {f"a {REDACTED}.\n", f"a {REDACTED}\n"}
    assert Redactor().text(f"a\\n{token} b") == f"a\\n{REDACTED} b"
    assert json.loads(Redactor().json(json.dumps({"t": token}).encode())) == {"t": REDACTED}
    assert Redactor().text(f"of_{token}") == f"of_{token}"


@pytest.mark.parametrize(
    "form",
    [
        *(f"--{name} {{}}" for name in ("token", "secret", "passwd", "password", "passphrase")),
        *(f"-{name}={{}}" for name in ("api-key", "access_key", "private-key", "credentials")),
        *(f"https://x/?a=1&{name}={{}}" for name in ("token", "key", "secret", "password", "sig")),
        *(f"https://x/?{name}={{}}" for name in ("signature", "credential", "auth", "x-api_key")),
        *(f"X_{name}={{}}" for name in ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASS")),
        *(f"{name}: {{}}" for name in ("PWD", "CREDENTIAL", "CREDENTIALS")),
        *("authorization={}", "Bearer {}", "bearer: {}", "x-auth-token: {}", "x-client-secret={}"),
        *('X-Key: "{}', "https://a:{}@b"),
        *("https://{}@b", 'passphrase": "{}', "credential\\': \\'{}", "private_key = '{}"),
    ],
)
def test_secret_is_removed_from_every_syntax(form: str) -> None:
    assert Redactor().text(form.format(RANDOM)) == form.format(REDACTED)
    assert RANDOM.encode() not in Redactor().json(json.dumps(form.format(RANDOM)).encode())


@pytest.mark.parametrize("scheme", ["Basic", "token", "digest", "ApiKey", "Negotiate"])
def test_short_credentials_are_removed_with_their_scheme(scheme: str) -> None:
    assert Redactor().text(f"authorization: {scheme} a1b2, x") == f"authorization: {REDACTED}, x"


def test_cookies_are_removed_to_the_end_of_the_line() -> None:
    assert Redactor().text("cookie: a=1; b=2\nx") == f"cookie: {REDACTED}\nx"


NAMES = (
    *("token", "apikey", "secret", "password", "passwd", "passphrase", "passcode", "jwt", "bearer"),
    *("authorization", "cookie", "credential", "credentials", "privatekey", "secretkey"),
    *("accesskey", "accesskeyid", "authkey", "signingkey", "encryptionkey", "sessionkey"),
    *("clientkey", "KEY", "PASS", "PWD", "TOKENS", "SECRETS", "A1_KEY", "my-api.key", "a b_Token"),
)


@pytest.mark.parametrize("name", NAMES)
def test_member_with_the_name_of_a_secret_is_removed(name: str) -> None:
    for secret, shown in (("hunter2", REDACTED), (7, REDACTED), ([["x"]], [[REDACTED]])):
        found: Any = json.loads(Redactor().json(json.dumps({"a": {name: secret}}).encode()))
        assert found == {"a": {name: shown}}
    for pair in ("name", "key", "id"):
        entry = {pair: name, "value": "hunter2"}
        found = json.loads(Redactor().json(json.dumps([entry]).encode()))
        assert found == [{pair: name, "value": REDACTED}]


@pytest.mark.parametrize("empty", [None, True, False, ""])
def test_member_without_a_value_is_kept(empty: object) -> None:
    body = json.dumps({"password": empty, "env": {"A": empty}}).encode()

    assert Redactor().json(body) == body


@pytest.mark.parametrize("kind", ["string", "number", "integer", "boolean", "array", "object"])
def test_schema_of_a_secret_is_kept(kind: str) -> None:
    schema = json.dumps({"token": {"type": kind, "default": "x"}}).encode()

    assert Redactor().json(schema) == schema
    other = json.dumps({"token": {"type": "other", "default": "x"}}).encode()
    assert json.loads(Redactor().json(other)) == {"token": {"type": REDACTED, "default": REDACTED}}


@pytest.mark.parametrize("name", ["env", "headers", "http_headers", "environment"])
def test_every_value_of_an_environment_is_removed_except_plain_headers(name: str) -> None:
    plain = ("Accept", "Content-Type", "Content-Length", "Host", "User-Agent")
    kept = dict.fromkeys((*plain, "MCP-Protocol-Version"), "text")
    entries = [{"name": each, "value": value} for each, value in kept.items()]
    given = {name: {"X": "one", **kept}, "token": "", "also": {name: [*entries, "Y=two", "Z"]}}

    found = json.loads(Redactor().json(json.dumps(given).encode()))

    listed = [*entries, f"Y={REDACTED}", "Z"]
    assert found == {name: {"X": REDACTED, **kept}, "token": "", "also": {name: listed}}


def test_longer_of_two_known_values_is_removed_completely() -> None:
    redactor = Redactor(["bcdefghij", "abcdefghijk", "cdefghij", "zabcdefghijkl"])

    assert redactor.text("a zabcdefghijkl b abcdefghijk c") == f"a {REDACTED} b {REDACTED} c"


def test_short_values_are_not_known() -> None:
    short, least = "x" * (LEAST_KNOWN - 1), "y" * LEAST_KNOWN
    environment = {"A_TOKEN": short, "B_TOKEN": least}

    assert Redactor([short, least]).text(f"{short} {least}") == f"{short} {REDACTED}"
    assert secret_values(environment) == {least}


@pytest.mark.parametrize(
    ("value", "is_secret"),
    [
        ("aB3" + "x" * 17, True),
        ("aB3" + "x" * 16, False),
        ("ab3" + "x" * 17, False),
        ("aBc" + "x" * 17, False),
        ("AB3" + "X" * 17, False),
        ("aB3/" + "x" * 17, False),
        ("0f" * 16, True),
        ("0f" * 15, False),
    ],
)
def test_random_value_of_an_agents_variable_is_a_secret(value: str, *, is_secret: bool) -> None:
    assert (value in agent_secrets({"PLAIN": value})) is is_secret


def test_bytes_that_are_no_text_are_kept_beside_a_secret() -> None:
    raw = b"\xff\xfe Bearer " + RANDOM.encode() + b" \x80"

    assert Redactor().raw(raw) == b"\xff\xfe Bearer [redacted] \x80"
    assert Redactor().raw(b"\xff plain") == b"\xff plain"
