"""Our verdicts against kube-scheduler 1.36.3's own filter plugins, on random clusters.

Compared are `fits` and the complete set of rejecting plugins for every waiting pod on every node, over the features in
`COMPARED` (`tests/differential/campaign.py`; what is left out is listed there). More clusters: `make differential N=1000
SEED=7`.
"""

import json
import os

import pytest

from tests.differential.campaign import COMPARED, NOT_COMPARED, compare, reproducer, trials
from tests.differential.generator.cluster import FEATURES
from tests.differential.oracle import Oracle

CLUSTERS = int(os.environ.get("RECONCILER_DIFFERENTIAL_CLUSTERS", "120"))
SEED = int(os.environ.get("RECONCILER_DIFFERENTIAL_SEED", "1"))
SHARES = 12


def test_what_is_left_out_is_known() -> None:
    """Every feature of the generator is either compared or listed as left out."""
    assert set(COMPARED) | set(NOT_COMPARED) == set(FEATURES)


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
