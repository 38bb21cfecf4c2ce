"""Every row of the topics `decide`, `report` and `lint` has a test of its name, or a reason why not."""

import csv
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOPICS = ("decide", "report", "lint")
NOT_YET = {
    2: "a lost node is told as one asked for and not registered, not as a replacement that the desired count causes",
    5: "no finding warns that a replacement takes the reserved slot of a stopped node",
    27: "NoPlaceToMove tells what the pods need, not which rule rejects them on each of the other nodes",
    33: "the provider's quota is no input",
    54: "the machine types of a mixed group are not compared",
    56: "the machine types of a mixed group are not compared",
    61: "the old and the new zone label are equal for volumes and similarity only, not for the affinity of pods",
    70: "nothing marks a group as scarce, so a plan that takes it to 0 warns of nothing",
    77: "no finding speaks of a group for each team",
    88: "the on-demand base of a mixed group is not read",
    134: "the type in the accelerator label is compared with nothing",
}


def _wanted() -> set[int]:
    with (HERE / "rows.csv").open(encoding="utf-8", newline="") as rows:
        return {int(row["row"].removeprefix("S")) for row in csv.DictReader(rows) if row["topic"] in TOPICS}


def _covered() -> set[int]:
    files = [*HERE.glob("test_rows_decide_*.py"), HERE.parent / "decisions" / "test_lints.py"]
    return {
        int(number)
        for file in files
        for number in re.findall(r"^def test_s(\d+)_", file.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_each_row_is_covered_or_says_why_not() -> None:
    """The rows with a test are those of the three topics without the ones that are not done yet."""
    assert _covered() == _wanted() - NOT_YET.keys()


def test_what_is_not_done_yet_is_a_row_and_has_a_reason() -> None:
    """No reason outlives its row."""
    assert NOT_YET.keys() <= _wanted()
    assert all(NOT_YET.values())
