"""The kept evidence of KAR-0055 is whole, and of the test as it is now."""

import json
import re
from pathlib import Path

import pytest

from tests.live.accelerator_scaling import REQUIREMENT, STEPS

REFERENCE = Path(__file__).parents[2] / "docs/reference"


@pytest.mark.parametrize("mode", ["device-plugin", "dra"])
def test_the_kept_run_passed_every_step(mode: str) -> None:
    """The result and the log tell the same steps: 2, 3 and 2 nodes."""
    stem = f"conformance/accelerators-{mode}"
    result = json.loads((REFERENCE / f"{stem}.json").read_text(encoding="utf-8"))
    lines = (REFERENCE / f"{stem}.log").read_text(encoding="utf-8").splitlines()
    page = (REFERENCE / "accelerators.md").read_text(encoding="utf-8")

    assert (result["requirement"], result["mode"], result["passed"]) == (REQUIREMENT, mode, True)
    assert tuple(one["name"] for one in result["steps"] if one["passed"]) == STEPS
    assert [one["nodes"] for one in result["steps"] if "nodes" in one] == [2, 3, 2]
    assert tuple(line.split()[2] for line in lines if line.split()[1] == "PASS") == STEPS
    assert f"({stem}.log)" in page
    assert f"({stem}.json)" in page
    assert tuple(re.findall(r"^\| `([A-Z]\w+)` \|", page, re.M)) == STEPS
