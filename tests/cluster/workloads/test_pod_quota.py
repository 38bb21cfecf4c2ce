"""How many pods objects may ask room for, by namespace."""

import pytest

from reconciler.cluster.workloads.pod_quota import shares


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ({}, {}),
        ({"a": 5, "b": 0}, {"a": 5, "b": 0}),
        # 10,000 in one namespace.
        ({"a": 10_001}, {"a": 10_000}),
        ({"a": 1 << 62, "b": 10_000, "c": 10_000}, {"a": 10_000, "b": 10_000, "c": 10_000}),
        # 30,000 in the cluster: small ones get all, and the two large ones half of the remaining 18,000 each.
        ({"a": 10_000, "b": 6_000, "c": 10_000, "d": 6_000}, {"a": 9_000, "b": 6_000, "c": 9_000, "d": 6_000}),
    ],
)
def test_shares(asked: dict[str, int], given: dict[str, int]) -> None:
    """Nobody gets more than asked for, than 10,000 in a namespace, or than an equal part of what is left of 30,000."""
    assert shares(asked) == given
