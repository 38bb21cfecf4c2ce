"""S76: how much a process needs that follows Auto Scaling groups, beside the table that says so."""

import re
from pathlib import Path

from tests.aws.sizes import CASES, cost

README = Path(__file__).parents[2] / "examples" / "eks" / "README.md"
_ROW = re.compile(r"^\| (\d+) \| (\d+) \| (\d+) MiB \| ([\d.]+) s \| (\d+) s \|$", re.M)


def test_s76_the_table_of_sizes() -> None:
    """Every case has a row, and a process of its own needs at most half as much memory again as the row of 100 groups says."""
    rows = {(int(row[1]), int(row[2])): int(row[3]) for row in _ROW.finditer(README.read_text(encoding="utf-8"))}
    assert set(rows) == {(groups, groups * instances) for groups, instances in CASES}
    assert list(rows.values()) == sorted(rows.values())
    assert cost(100, 2).memory_mib < 1.5 * rows[100, 200]
