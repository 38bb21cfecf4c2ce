"""PodGroups in random clusters: a plan places as many pods of each as the whole kube-scheduler binds, in both versions."""

import json
import os
import secrets
from collections.abc import Iterator

import pytest

from tests.differential.conftest import started
from tests.differential.oracle import NEWEST, RELEASES, Oracle, Release
from tests.differential.pod_groups import bound, cluster, crowded, expected_to_preempt, placed, preempted_for

COUNT = int(os.environ.get("RECONCILER_POD_GROUPS", "60"))
"""The acceptance run of a release has 1,000."""
SEED = int(os.environ.get("RECONCILER_POD_GROUPS_SEED", secrets.randbelow(1_000_000)))


@pytest.fixture(scope="module", params=RELEASES, ids=str)
def release(request: pytest.FixtureRequest) -> Release:
    """A version of kube-scheduler."""
    return request.param


@pytest.fixture(scope="module")
def binding(request: pytest.FixtureRequest, release: Release) -> Iterator[Oracle]:
    """The whole kube-scheduler of that version, with pod groups."""
    with started(request, "-bind", f"-gates={release.pod_groups}", release=release) as running:
        yield running


def test_as_many_are_bound_as_a_plan_places(binding: Oracle, release: Release) -> None:
    """Of each kind of pods in each group."""
    total = 0
    for seed in range(SEED, SEED + COUNT):
        objects = cluster(seed, release.pod_group_api)
        theirs, ours = bound(binding, objects), placed(objects, release)
        assert theirs == ours, f"seed {seed}, {release}: kube-scheduler {theirs}, plan {ours}\n{json.dumps(objects)}"
        total += theirs.total()
    assert total, f"seed {SEED}: no pod was bound"


@pytest.mark.parametrize("release", [NEWEST], ids=str, indirect=True)
def test_a_plan_expects_the_preemptions_of_whole_gangs(binding: Oracle, release: Release) -> None:
    """kube-scheduler removes pods for a gang if and only if a plan says so. Until 1.36, it removes them for one pod at a time."""
    total = 0
    for seed in range(SEED, SEED + COUNT):
        objects = crowded(seed, release.pod_group_api)
        theirs, ours = preempted_for(binding, objects), expected_to_preempt(objects, release)
        assert theirs == ours, f"seed {seed}, {release}: kube-scheduler {theirs}, plan {ours}\n{json.dumps(objects)}"
        total += len(theirs)
    assert total, f"seed {SEED}: no gang preempts"
