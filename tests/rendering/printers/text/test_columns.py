"""Tables on a terminal: sentences break over lines in every column that wraps."""

import re

from reconciler.rendering.documents.blocks import Column
from reconciler.rendering.printers.columns import Row, table
from reconciler.rendering.printers.lines import Style

COLUMNS = (Column(heading="what"), Column(heading="main", wraps=True), Column(heading="this PR", wraps=True), Column(heading="+"))


def _shown(*cells: str, width: int = 60) -> list[str]:
    return table(COLUMNS, [Row(mark="~", cells=cells)], width, Style(colour=False))


def test_columns_of_sentences_share_the_room() -> None:
    """Neither is cut in the middle. The mark and the other cells stand on the first line alone."""
    lines = _shown("doubled", "auto 10, big 4, 11 pods wait", "auto 4, big 5, 15 pods wait", "4 more")
    assert max(map(len, lines)) <= 60
    assert [re.split(" {2,}", line.strip()) for line in lines[1:]] == [
        ["~ doubled", "auto 10, big 4, 11", "auto 4, big 5, 15", "4 more"],
        ["pods wait", "pods wait"],
    ]
    assert lines[2].index("pods") == lines[1].index("auto")


def test_a_table_that_fits_is_not_wrapped() -> None:
    assert len(_shown("doubled", "auto 10", "auto 4", "4 more")) == 2


def test_a_line_that_follows_is_no_command_of_a_runner() -> None:
    """The first text of its line would be one."""
    lines = _shown("doubled", f"{'a' * 20} x::error::y ::error::z {'b' * 20}", "auto 4", "4 more")
    assert not any(line.lstrip().startswith("::") for line in lines)
