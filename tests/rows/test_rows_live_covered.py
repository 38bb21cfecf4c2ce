"""Every row of the topic `live` has a test of its name."""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent


def test_each_row_is_covered() -> None:
    """Rows with a test are those of the topic; a test of a row of another topic beside them is no harm."""
    with (HERE / "rows.csv").open(encoding="utf-8", newline="") as rows:
        wanted = {int(row["row"].removeprefix("S")) for row in csv.DictReader(rows) if row["topic"] == "live"}
    covered = {
        int(number)
        for file in HERE.glob("test_rows_live_*.py")
        for number in re.findall(r"def test_s(\d+)_", file.read_text(encoding="utf-8"))
    }
    assert wanted - covered == set()
