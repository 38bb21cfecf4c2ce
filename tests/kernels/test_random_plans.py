"""Whole plans: the same bytes from both builds of the kernels. Two thousand: `make builds N=2000`."""

import subprocess
import sys

import pytest

pytest.importorskip(
    "reconciler.scheduling.kernels.compiled_passes", reason="no compiler was there at install time: the passes run interpreted"
)
PLANS = 8


def test_both_builds_make_the_same_plans() -> None:
    """Plan and memory of random clusters, in a process a build."""
    command = [sys.executable, "-m", "tests.kernels.random_plans", "--count", str(PLANS)]
    first, second = (
        subprocess.run([*command, *more], check=True, capture_output=True, text=True).stdout.splitlines()
        for more in ((), ("--interpreted",))
    )
    assert (first[0], second[0]) == ("# compiled", "# interpreted")
    assert first[1:] == second[1:]
    assert len(set(first[1:])) == PLANS
