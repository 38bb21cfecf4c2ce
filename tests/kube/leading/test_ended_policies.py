"""Which policies have ended, by their Leases in our namespace."""

import json
from collections.abc import Mapping

import pytest

from reconciler.kube.connection.api import ApiError, UnreachableError
from reconciler.kube.leading.ended_policies import EndedPolicies

LEASES = "/apis/coordination.k8s.io/v1/namespaces/reconciler/leases"


class Leases:
    """Leases by path, with the version of each; a path may fail instead."""

    def __init__(self, **versions: str) -> None:
        self.versions = {f"{LEASES}/reconciler-{name}": version for name, version in versions.items()}
        self.failure: Exception | None = None
        self.now = 100.0
        self.looks = 0

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        if path not in self.versions:
            raise ApiError(404, "NotFound", "not found")
        return json.dumps({"metadata": {"resourceVersion": self.versions[path]}}).encode()

    def policies(self) -> EndedPolicies:
        return EndedPolicies(self, "reconciler", lambda: self.now, silence_seconds=600)  # type: ignore[arg-type]


def test_a_policy_has_ended_when_nobody_writes_its_lease() -> None:
    """For as long as it takes, while we look: one that was written long ago is not judged by its own times."""
    leases = Leases(old="7")
    policies = leases.policies()
    assert not policies.ended("old")
    leases.now += 599
    assert not policies.ended("old")
    leases.now += 1
    assert policies.ended("old")


def test_a_policy_that_is_renewed_has_not_ended() -> None:
    """Each write of the Lease begins the count anew."""
    leases = Leases(other="1")
    policies = leases.policies()
    for version in range(2, 10):
        assert not policies.ended("other")
        leases.versions[f"{LEASES}/reconciler-other"] = str(version)
        leases.now += 300


@pytest.mark.parametrize("name", ["elsewhere", "no/lease", "x" * 60])
def test_a_policy_without_a_lease_of_ours_is_not_ours(name: str) -> None:
    """Another installation runs it, or the name is none: however long we look."""
    leases = Leases(old="7")
    policies = leases.policies()
    assert not policies.ended(name)
    leases.now += 10_000
    assert not policies.ended(name)


def test_what_cannot_be_asked_is_not_told() -> None:
    """A server that is away begins the count anew."""
    leases = Leases(old="7")
    policies = leases.policies()
    policies.ended("old")
    leases.now += 599
    leases.failure = UnreachableError("connection refused", sent=False)
    assert not policies.ended("old")
    leases.failure = None
    leases.now += 11
    assert not policies.ended("old")
    leases.now += 600
    assert policies.ended("old")


@pytest.mark.parametrize(
    ("label", "holder", "ended"),
    [("ended", "", True), ("ended", "a_1", False), ("loop", "", False), ("", "", False)],
)
def test_a_lease_that_says_that_its_policy_has_ended(label: str, holder: str, ended: bool) -> None:
    """It is proof at once, also right after a restart; one that was only released is not, nor one that somebody claims again."""
    leases = Leases(old="7")
    metadata = {"resourceVersion": "7", "labels": {"reconciler.dev/fleet": label} if label else {}}
    body = json.dumps({"metadata": metadata, "spec": {"holderIdentity": holder}}).encode()
    leases.get = lambda *_: body  # type: ignore[method-assign]
    assert leases.policies().ended("old") is ended


def test_it_looks_every_ten_seconds() -> None:
    """However often it is asked, with many nodes or few."""
    leases = Leases(old="7")
    policies = leases.policies()
    for _ in range(51):
        policies.ended("old")
        leases.now += 1
    assert leases.looks == 6
