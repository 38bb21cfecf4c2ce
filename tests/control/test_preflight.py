"""Checks of a live cluster whose answers no server of the tests gives: old and new versions, clocks that differ."""

import json
from collections.abc import Mapping

import pytest

from reconciler.cluster.workloads.capacity_quota import CapacityQuota
from reconciler.cluster.world import BufferPods, BufferProblem, RequestPods, World
from reconciler.control.needed_rights import RunMode
from reconciler.control.preflight import Preflight
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import cluster_api
from reconciler.policy.documents import (
    BufferReading,
    DrainRules,
    HeadroomFrom,
    LimitsFrom,
    PolicySet,
    QuotaReading,
    RequestReading,
    RequestsFrom,
)
from reconciler.providers.findings import Check, State
from tests.policies import node_group
from tests.policies import policy as rules


class Server:
    """An API server that allows everything, serves Cluster API and has a version and a clock."""

    quotas = True
    """Whether CapacityQuotas are served."""
    denied = ""
    """A resource that may not be read."""

    def __init__(self, minor: str, seconds: int, bounds: bytes | ApiError) -> None:
        self._minor = minor
        self._seconds = seconds
        self._bounds = bounds

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        kinds = ("MachineDeployment", "MachineSet", "Machine", "Cluster")
        if path == "/version":
            return json.dumps({"major": "1", "minor": self._minor, "gitVersion": f"v1.{self._minor}.0"}).encode()
        if path == "/apis/autoscaling.x-k8s.io" and self.quotas:
            return json.dumps({"preferredVersion": {"version": "v1beta1"}, "versions": [{"version": "v1beta1"}]}).encode()
        if path.startswith("/apis/cluster.x-k8s.io/"):
            return json.dumps({"resources": [{"name": kind.lower(), "kind": kind} for kind in kinds]}).encode()
        if path.startswith("/apis/reconciler.dev") or (path == "/apis/autoscaling.x-k8s.io" and not self.quotas):
            raise ApiError(404, "NotFound", "not served")
        if path == "/api/v1/namespaces/reconciler/configmaps/reconciler-bounds":
            if isinstance(self._bounds, ApiError):
                raise self._bounds
            return self._bounds
        return b"{}"

    def write(self, *asked: object, **more: object) -> bytes:
        allowed = not self.denied or self.denied not in f"{asked} {more}"
        return json.dumps({"status": {"allowed": allowed}}).encode()

    def server_seconds(self) -> int:
        return self._seconds


def checks(
    minor: str = "36",
    seconds: int = 1000,
    memory: Memory | None = None,
    bounds: bytes | ApiError = b"{}",
    policy: PolicySet | None = None,
    mode: RunMode = RunMode.ENFORCE,
    quotas: tuple[CapacityQuota, ...] = (),
    buffers: tuple[BufferPods, ...] = (),
    requests: tuple[RequestPods, ...] = (),
) -> dict[str, Check]:
    server = Server(minor, seconds, bounds)
    found = Preflight(
        workload=server,
        management=server,
        served=(cluster_api(version="v1beta2"),),
        mode=mode,
        namespace="reconciler",
        target_namespaces=(),
        templates=(),
        world=World(captured_seconds=1000, quotas=quotas, buffers=buffers, provisioning_requests=requests),
        memory=memory or Memory(),
        now_seconds=1000.9,
        policy=policy,
    ).checks()
    return {check.code: check for check in found}


@pytest.mark.parametrize(
    ("minor", "state"), [("29", State.FAIL), ("30", State.PASS), ("36", State.PASS), ("37+", State.PASS), ("38", State.WARN)]
)
def test_the_range_of_versions(minor: str, state: State) -> None:
    """1.30 to 1.37; some platforms write a plus behind."""
    assert checks(minor)["ServerVersion"].state is state


@pytest.mark.parametrize(("seconds", "state"), [(1000, State.PASS), (970, State.PASS), (969, State.WARN), (1031, State.WARN)])
def test_clocks_that_differ(seconds: int, state: State) -> None:
    """Half a minute is a request under way; more is a clock that is wrong, on either side."""
    assert checks(seconds=seconds)["Clock"].state is state


READS = rules(node_group("general"), limits_from=LimitsFrom(capacity_quotas=QuotaReading.READ))


def test_quotas_that_the_policy_does_not_read() -> None:
    """Nobody asks for them."""
    assert "CapacityQuotas" not in checks(policy=rules(node_group("general")))


def test_quotas_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are served and understood; then the definition is not there; then the right is not."""
    good, odd = CapacityQuota(name="good", max=(("nodes", 3),)), CapacityQuota(name="odd", problem="it names no resource")
    found = checks(policy=READS, quotas=(good,))["CapacityQuotas"]
    assert (found.state, found.message) == (State.PASS, "1 CapacityQuota can be read")
    found = checks(policy=READS, quotas=(good, odd))["CapacityQuotas"]
    assert (found.state, found.message) == (State.FAIL, "no group grows: CapacityQuota odd: it names no resource")
    monkeypatch.setattr(Server, "quotas", False)
    found = checks(policy=READS)["CapacityQuotas"]
    assert (found.state, "is not served: only limits of the policy apply" in found.message) == (State.WARN, True)
    monkeypatch.setattr(Server, "denied", "capacityquotas")
    found = checks(policy=READS)["CapacityQuotas"]
    assert (found.state, "we may not get, list, watch capacityquotas" in found.message) == (State.FAIL, True)


READS_BUFFERS = rules(node_group("general"), headroom_from=HeadroomFrom(capacity_buffers=BufferReading.READ))


def test_buffers_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks for them; they are served and understood; one is not; the definition is not there; a right is not."""
    assert "CapacityBuffers" not in checks(policy=rules(node_group("general")))
    good = BufferPods(namespace="shop", name="spare", strategy="s", count=1)
    bad = BufferPods(namespace="shop", name="bad", strategy="s", code=BufferProblem.NOT_FOUND, problem="there is no Job x")
    found = checks(policy=READS_BUFFERS, buffers=(good,))["CapacityBuffers"]
    assert (found.state, found.message) == (State.PASS, "1 CapacityBuffer can be read")
    found = checks(policy=READS_BUFFERS, buffers=(good, bad))["CapacityBuffers"]
    assert (found.state, found.message) == (
        State.WARN,
        "no room is kept for 1 CapacityBuffer: CapacityBuffer shop/bad: there is no Job x",
    )
    for denied, mode in (("podtemplates", RunMode.READ_ONLY), ("resourcequotas", RunMode.OBSERVE), ("'status'", RunMode.ENFORCE)):
        monkeypatch.setattr(Server, "denied", denied)
        assert checks(policy=READS_BUFFERS, mode=mode)["CapacityBuffers"].state is State.FAIL
    assert checks(policy=READS_BUFFERS, mode=RunMode.OBSERVE)["CapacityBuffers"].state is State.PASS
    monkeypatch.setattr(Server, "denied", "")
    monkeypatch.setattr(Server, "quotas", False)
    found = checks(policy=READS_BUFFERS)["CapacityBuffers"]
    assert (found.state, "is not served: only headroom of the policy applies" in found.message) == (State.WARN, True)


def test_requests_that_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As buffers. One of a class that nobody here answers is told, one that is over is not."""
    reads = rules(node_group("general"), requests_from=RequestsFrom(provisioning_requests=RequestReading.READ))
    assert "ProvisioningRequests" not in checks(policy=rules(node_group("general")))
    good, over, other = (
        RequestPods(namespace="ml", name=name, class_name=f"{kind}.autoscaling.x-k8s.io", valid_seconds=1, over=name == "over")
        for name, kind in (("good", "check-capacity"), ("over", "check-capacity"), ("other", "x"))
    )
    found = checks(policy=reads, requests=(good, over))["ProvisioningRequests"]
    assert (found.state, found.message) == (State.PASS, "1 ProvisioningRequest can be read")
    found = checks(policy=reads, requests=(good, other))["ProvisioningRequests"]
    assert (found.state, "ProvisioningRequest ml/other: its class x.autoscaling.x-k8s.io is not served" in found.message) == (
        State.WARN,
        True,
    )
    for denied, mode in (("podtemplates", RunMode.READ_ONLY), ("'status'", RunMode.ENFORCE)):
        monkeypatch.setattr(Server, "denied", denied)
        assert checks(policy=reads, mode=mode)["ProvisioningRequests"].state is State.FAIL
    monkeypatch.setattr(Server, "denied", "")
    monkeypatch.setattr(Server, "quotas", False)
    found = checks(policy=reads)["ProvisioningRequests"]
    assert (found.state, "nodes are added only for pods that exist" in found.message) == (State.WARN, True)


def test_definitions_that_are_not_served() -> None:
    """It runs without them; the advice installs them."""
    found = checks()["CustomResources"]
    assert (found.state, "reconciler schema crds" in found.advice) == (State.WARN, True)


def test_no_node_came_back() -> None:
    """A removal alone is no suspicion."""
    assert checks(memory=Memory(last_removed_seconds=500))["NodesComeBack"].state is State.PASS


BOUNDED = rules(node_group("a", max=5), drain=DrainRules(blocked_namespaces=("payments",)))
TOOLS = "Mozilla\nk9s\nkubectl-create\nkubectl-edit\nkubectl-patch\nkubectl-replace\nkubectl-set"
CURRENT = {
    "adoptFrom": "",
    "personTools": TOOLS,
    "personToolsAtScale": "kubectl\noc",
    "blockedNamespaces": "payments",
    "MachineDeployment_prod_a": "0-5",
}


@pytest.mark.parametrize(("answer", "state", "said"), [
    (json.dumps({"data": CURRENT}).encode(), State.PASS, "matches the policy"),
    (
        json.dumps({"data": {**CURRENT, "MachineDeployment_prod_a": "0-99"}}).encode(), State.WARN,
        "MachineDeployment_prod_a: 0-99 in the cluster, 0-5 by the policy",
    ),
    (b"{}", State.WARN, "MachineDeployment_prod_a: nothing in the cluster, 0-5 by the policy"),
    (ApiError(404, "NotFound", "x"), State.PASS, "by the reconciler alone"),
    (ApiError(403, "Forbidden", "configmaps is forbidden"), State.WARN, "configmaps is forbidden"),
], ids=["current", "wider", "empty", "none", "unreadable"])  # fmt: skip
def test_bounds_are_those_of_the_policy(answer: bytes | ApiError, state: State, said: str) -> None:
    """What admission policies read is compared with what would be rendered now."""
    found = checks(bounds=answer, policy=BOUNDED)["Bounds"]
    assert (found.state, said in found.message) == (state, True), found.message


@pytest.mark.parametrize(("groups", "named", "more"), [(1, 5, ""), (2, 5, ", and 1 more")])
def test_bounds_that_differ_in_many_ways(groups: int, named: int, more: str) -> None:
    """Four settings and a range a group: five are named."""
    policy = rules(
        *(node_group(f"g{number}", max=5) for number in range(groups)), drain=DrainRules(blocked_namespaces=("payments",))
    )
    message = checks(bounds=b'{"data": {"adoptFrom": "x"}}', policy=policy)["Bounds"].message
    listed = message.partition("differs from the policy: ")[2]
    assert (listed.count(" by the policy"), listed.endswith(" more")) == (named, bool(more))
    assert listed.endswith(more)


def test_bounds_matter_to_a_loop_that_writes() -> None:
    """Without a policy there is nothing to compare."""
    assert "Bounds" not in checks()
    assert "Bounds" in checks(policy=BOUNDED)
    assert "Bounds" not in checks(policy=BOUNDED, mode=RunMode.OBSERVE)
