"""Files that a prompt names with `@`."""

from pathlib import Path

import pytest

from symposium.client.attachments import MAX_ATTACHMENT_BYTES, AttachmentError, Attachments


@pytest.fixture
def root(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src/a.py").write_text("x = 1\n")
    (work / "two words.txt").write_text("two")
    (work / "Makefile").write_text("all:\n")
    (work / ".hidden").write_text("")
    (tmp_path / "secret.txt").write_text("secret")
    (work / "link.txt").symlink_to(tmp_path / "secret.txt")
    (work / "binary.bin").write_bytes(b"\x00\x01")
    (work / "latin.txt").write_bytes(b"\xe9")
    (work / "large.txt").write_bytes(b"x" * (MAX_ATTACHMENT_BYTES + 1))
    return work


def names(root: Path, text: str) -> list[str]:
    return [str(each["name"]) for each in Attachments(root).blocks(text)]


@pytest.mark.requirement("cli.chat-files")
def test_file_is_embedded_if_the_agent_supports_it_and_linked_otherwise(root: Path) -> None:
    uri = (root / "src/a.py").as_uri()

    assert Attachments(root, is_embedded=True).blocks("see @src/a.py") == [
        {"type": "resource", "resource": {"uri": uri, "text": "x = 1\n"}}
    ]
    link = {"type": "resource_link", "uri": uri, "name": "src/a.py"}
    assert Attachments(root).blocks("see @src/a.py") == [link]


@pytest.mark.requirement("cli.chat-files")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("@Makefile", ["Makefile"]),
        ("compare @src/a.py, @Makefile and (no) @src/a.py.", ["src/a.py", "Makefile"]),
        ('@"two words.txt"', ["two words.txt"]),
        ("mail me@example.org or a@src/a.py", []),
        ("what does @property do, @alice?", []),
        ("an @ alone", []),
        (f"a long word @{'x' * 300}", []),
    ],
)
def test_at_sign_names_a_file_except_inside_a_word(root: Path, text: str, found: list[str]) -> None:
    assert names(root, text) == found


@pytest.mark.requirement("cli.chat-files")
@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("nope.py", "does not exist"),
        ("../secret.txt", "is outside of"),
        ("/etc/passwd", "is outside of"),
        ("~/x.txt", "is outside of"),
        ("link.txt", "is outside of"),
        ("binary.bin", "is a binary file"),
        ("latin.txt", "is not UTF-8 text"),
        ("large.txt", "is larger than 512 KiB"),
        ("src/", "is not a regular file"),
        (f"src/{'x' * 300}", "does not exist"),
        ("src/a\0b", "is not a path"),
        ("~no-such-user/x", "is not a path"),
    ],
)
@pytest.mark.parametrize("is_embedded", [False, True])
def test_error_names_why_a_file_cannot_be_attached(
    root: Path, named: str, reason: str, *, is_embedded: bool
) -> None:
    with pytest.raises(AttachmentError, match=reason):
        Attachments(root, is_embedded=is_embedded).blocks(f"see @{named}")


@pytest.mark.requirement("cli.chat-files")
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("s", ["src/"]),
        ("li", ["link.txt"]),
        ("src/.", []),
        (
            "",
            [
                "Makefile",
                "binary.bin",
                "large.txt",
                "latin.txt",
                "link.txt",
                "src/",
                "two words.txt",
            ],
        ),
        ("src/", ["src/a.py"]),
        (".h", [".hidden"]),
        ("../", []),
        ("no/", []),
    ],
)
def test_paths_below_the_directory_are_completed(
    root: Path, typed: str, offered: list[str]
) -> None:
    assert Attachments(root).completions(typed) == offered


@pytest.mark.requirement("cli.chat-files")
def test_file_of_the_maximum_size_is_attached(root: Path) -> None:
    (root / "fits.txt").write_bytes(b"x" * MAX_ATTACHMENT_BYTES)

    assert names(root, "@fits.txt") == ["fits.txt"]


@pytest.mark.requirement("cli.chat-files")
def test_first_two_hundred_paths_are_offered(root: Path) -> None:
    for number in range(201):
        (root / f"many{number:03}").touch()

    offered = Attachments(root).completions("many")

    assert (len(offered), offered[-1]) == (200, "many199")
