"""Our verdicts against kube-scheduler's own filter plugins where feature gates are not as its version has them by default."""

import json
import secrets
from collections.abc import Iterator
from random import Random

import pytest

from tests.differential.campaign import compare, trials
from tests.differential.conftest import started
from tests.differential.generator.draft import Object
from tests.differential.oracle import NEWEST, Oracle

GATES = {"TaintTolerationComparisonOperators": True, "VolumeLimitScaling": False, "DRAFractionalCapacityRange": False}
FEATURES = ("taints", "requiredDrivers", "devices", "spread")
_NUMBERS = ("5", "-7", "07", "10", "9223372036854775808", "-9223372036854775808")


@pytest.fixture(scope="module")
def gated(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """The newest kube-scheduler with these gates."""
    written = ",".join(f"{name}={str(on).lower()}" for name, on in GATES.items())
    with started(request, f"-gates={written}", release=NEWEST) as running:
        yield running


def test_verdicts_follow_the_gates(gated: Oracle) -> None:
    """Tolerations compare numbers, and no node must have a driver."""
    seed = secrets.randbelow(1_000_000)
    compared = 0
    for trial in trials(24, seed, FEATURES):
        snapshot = trial.snapshot()
        compared += _with_numbers(snapshot, Random(trial.seed))
        assert not (found := compare(gated, snapshot, GATES)), f"{trial}: {found[0]}\n{json.dumps(snapshot)}"
    assert compared, f"seed {seed}: no toleration compares"


def _with_numbers(snapshot: Object, random: Random) -> int:
    """Gives taints numbers, and tolerations operators that compare with them; of how many tolerations."""
    count = 0
    for item in snapshot["items"]:
        for taint in item["spec"].get("taints", ()) if item["kind"] == "Node" else ():
            if random.random() < 0.5:
                taint["value"] = random.choice(_NUMBERS)
        for toleration in item["spec"].get("tolerations", ()) if item["kind"] == "Pod" else ():
            if "key" in toleration and random.random() < 0.5:
                toleration |= {"operator": random.choice(("Gt", "Lt")), "value": random.choice(_NUMBERS)}
                count += 1
    return count
