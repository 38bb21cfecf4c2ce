"""Our verdicts against kube-scheduler 1.36.3's own filter plugins, on random clusters.

Compared are `fits` and the complete set of rejecting plugins for every waiting pod on every node, over all features that
the generator knows (`tests/differential/generator/cluster.py`); nothing is left out. More clusters:
`make differential N=1000 SEED=7`.
"""

import json
import os

import pytest

from tests.differential.campaign import COMPARED, compare, reproducer, trials
from tests.differential.generator.cluster import FEATURES
from tests.differential.oracle import Oracle

CLUSTERS = int(os.environ.get("RECONCILER_DIFFERENTIAL_CLUSTERS", "120"))
SEED = int(os.environ.get("RECONCILER_DIFFERENTIAL_SEED", "1"))
SHARES = 12


def test_all_features_are_compared() -> None:
    """No feature of the generator is left out of the comparison."""
    assert set(COMPARED) == set(FEATURES)


@pytest.mark.parametrize("share", range(SHARES))
def test_verdicts_equal_those_of_the_filter_plugins(oracle: Oracle, share: int) -> None:
    """Every waiting pod gets on every node the verdict and the reasons that kube-scheduler's plugins give."""
    for index, trial in enumerate(trials(CLUSTERS, SEED)):
        if index % SHARES != share:
            continue
        snapshot = trial.snapshot()
        found = compare(oracle, snapshot)
        if found:
            small = reproducer(oracle, snapshot, found[0])
            pytest.fail(
                f"{trial}: {len(found)} differences, the first:\n{found[0]}\nsmall snapshot that shows it:\n{json.dumps(small)}",
                pytrace=False,
            )
