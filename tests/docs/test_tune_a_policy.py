"""The tutorial about tuning is true: its commands run in one shell, and print what the page shows."""

import re

import pytest

from tests.docs.shell_page import ROOT, expected, parts, printed

PAGE = ROOT / "docs" / "tutorials" / "tune-a-policy.md"
PARTS = 5


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each part of the page printed."""
    return printed(PAGE, tmp_path_factory.mktemp("page"))


def test_every_command_is_followed_by_what_it_prints() -> None:
    """No block of commands is left out."""
    assert len(parts(PAGE)) == PAGE.read_text(encoding="utf-8").count("```sh\n") == PARTS


@pytest.mark.parametrize("number", range(PARTS))
def test_a_part_prints_what_the_page_shows(output: list[str], number: int) -> None:
    """Line by line, in this order."""
    assert re.search(expected(parts(PAGE)[number][1]), output[number], re.M), output[number]
