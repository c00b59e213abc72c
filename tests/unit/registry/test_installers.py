"""Choice of the program that a package is started with."""

import pytest

from symposium.registry.installers import InstallError, one_program


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("names", "chosen"), [(["only"], "only"), (["a", "wanted"], "wanted"), (["wanted"], "wanted")]
)
def test_the_only_program_is_chosen_or_the_one_with_the_package_s_name(
    names: list[str], chosen: str
) -> None:
    assert one_program(names, "wanted", "the package") == chosen


@pytest.mark.requirement("registry.install-npm")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], "the package contains no executable"),
        (["b", "a"], "the package contains several programs: a, b"),
    ],
)
def test_a_package_without_such_a_program_is_refused(names: list[str], message: str) -> None:
    with pytest.raises(InstallError) as caught:
        one_program(names, "wanted", "the package")
    assert caught.value.message == message
