"""Our verdicts against kube-scheduler's own filter plugins, of each version that is modelled, on random clusters.

Compared are `fits` and the complete set of rejecting plugins for every waiting pod on every node, over the features in
`COMPARED` (`tests/differential/campaign.py`; what is left out is listed there). More clusters: `make differential N=1000
SEED=7`.
"""

import json
import os
import secrets
from collections.abc import Iterator

import pytest

from tests.differential.campaign import COMPARED, NOT_COMPARED, compare, reproducer, trials
from tests.differential.conftest import started
from tests.differential.generator.cluster import FEATURES
from tests.differential.oracle import RELEASES, Oracle

CLUSTERS = int(os.environ.get("RECONCILER_DIFFERENTIAL_CLUSTERS", "120"))
SEED = int(os.environ.get("RECONCILER_DIFFERENTIAL_SEED", secrets.randbelow(1_000_000)))
SHARES = 12


@pytest.fixture(scope="module", params=RELEASES, ids=str)
def plugins(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    """The filter plugins of a version of kube-scheduler."""
    with started(request, release=request.param) as running:
        yield running


def test_what_is_left_out_is_known() -> None:
    """Every feature of the generator is either compared or listed as left out."""
    assert set(COMPARED) | set(NOT_COMPARED) == set(FEATURES)


@pytest.mark.parametrize("share", range(SHARES))
def test_verdicts_equal_those_of_the_filter_plugins(plugins: Oracle, share: int) -> None:
    """Every waiting pod gets on every node the verdict and the reasons that kube-scheduler's plugins give."""
    for index, trial in enumerate(trials(CLUSTERS, SEED)):
        if index % SHARES != share:
            continue
        snapshot = trial.snapshot()
        found = compare(plugins, snapshot)
        if found:
            small = reproducer(plugins, snapshot, found[0])
            pytest.fail(
                f"{trial}: {len(found)} differences, the first:\n{found[0]}\nsmall snapshot that shows it:\n{json.dumps(small)}",
                pytrace=False,
            )
