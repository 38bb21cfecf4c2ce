"""Extended resources that devices serve: where reconciler leaves the answer open, kube-scheduler has yes and no."""

from collections.abc import Iterator

import pytest

from tests.differential.generator.cluster import generate
from tests.differential.oracle import Oracle
from tests.differential.ours import our_fit


@pytest.fixture(scope="module")
def with_devices() -> Iterator[Oracle]:
    """kube-scheduler's filter plugins, devices included."""
    with Oracle("-devices") as running:
        yield running


def test_an_open_answer_is_open(oracle: Oracle, with_devices: Oracle) -> None:
    """Among the pairs that are not modelled some fit: a no of NodeResourcesFit would have been wrong for them."""
    del oracle  # it skips where no oracle can be had
    said = {True: 0, False: 0}
    for seed in range(3):
        snapshot = generate(seed, ["devices"])
        theirs = {pod["pod"]: pod["nodes"] for pod in with_devices.ask(snapshot)["pods"]}
        for pod in our_fit(snapshot)["pods"]:
            for ours, real in zip(pod["nodes"], theirs[pod["pod"]], strict=True):
                if ours["reasons"] == ["NotModelled"]:
                    said[real["fits"]] += 1
                else:
                    assert ours == real, pod["pod"]
    assert said[True] > 50
    assert said[False] > 50
