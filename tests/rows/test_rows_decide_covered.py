"""Every row of the topics `decide`, `report` and `lint` has a test of its name."""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOPICS = ("decide", "report", "lint")


def _wanted() -> set[int]:
    with (HERE / "rows.csv").open(encoding="utf-8", newline="") as rows:
        return {int(row["row"].removeprefix("S")) for row in csv.DictReader(rows) if row["topic"] in TOPICS}


def _covered() -> set[int]:
    files = [*HERE.glob("test_rows_decide_*.py"), HERE.parent / "decisions" / "lints" / "test_lints.py"]
    return {
        int(number)
        for file in files
        for number in re.findall(r"^def test_s(\d+)_", file.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_each_row_is_covered() -> None:
    """The rows with a test are those of the three topics."""
    assert _covered() == _wanted()
