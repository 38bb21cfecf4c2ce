"""Checks of a live cluster whose answers no server of the tests gives: old and new versions, clocks that differ."""

import json
from collections.abc import Mapping

import pytest

from reconciler.cluster.world import World
from reconciler.control.preflight import Preflight, RunMode
from reconciler.decisions.memory import Memory
from reconciler.kube.connection.api import ApiError
from reconciler.kube.watching.collection import cluster_api
from reconciler.policy.documents import DrainRules, PolicySet
from reconciler.providers.live_platforms import Check, State
from tests.policies import node_group
from tests.policies import policy as rules


class Server:
    """An API server that allows everything, serves Cluster API and has a version and a clock."""

    def __init__(self, minor: str, seconds: int, bounds: bytes | ApiError) -> None:
        self._minor = minor
        self._seconds = seconds
        self._bounds = bounds

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        kinds = ("MachineDeployment", "MachineSet", "Machine", "Cluster")
        if path == "/version":
            return json.dumps({"major": "1", "minor": self._minor, "gitVersion": f"v1.{self._minor}.0"}).encode()
        if path.startswith("/apis/cluster.x-k8s.io/"):
            return json.dumps({"resources": [{"name": kind.lower(), "kind": kind} for kind in kinds]}).encode()
        if path.startswith("/apis/reconciler.dev"):
            raise ApiError(404, "NotFound", "not served")
        if path == "/api/v1/namespaces/reconciler/configmaps/reconciler-bounds":
            if isinstance(self._bounds, ApiError):
                raise self._bounds
            return self._bounds
        return b"{}"

    def write(self, *_: object, **__: object) -> bytes:
        return b'{"status": {"allowed": true}}'

    def server_seconds(self) -> int:
        return self._seconds


def checks(
    minor: str = "36",
    seconds: int = 1000,
    memory: Memory | None = None,
    bounds: bytes | ApiError = b"{}",
    policy: PolicySet | None = None,
    mode: RunMode = RunMode.ENFORCE,
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
        world=World(captured_seconds=1000),
        memory=memory or Memory(),
        now_seconds=1000.9,
        policy=policy,
    ).checks()
    return {check.code: check for check in found}


@pytest.mark.parametrize(
    ("minor", "state"), [("29", State.FAIL), ("30", State.PASS), ("36", State.PASS), ("36+", State.PASS), ("37", State.WARN)]
)
def test_the_range_of_versions(minor: str, state: State) -> None:
    """1.30 to 1.36; some platforms write a plus behind."""
    assert checks(minor)["ServerVersion"].state is state


@pytest.mark.parametrize(("seconds", "state"), [(1000, State.PASS), (970, State.PASS), (969, State.WARN), (1031, State.WARN)])
def test_clocks_that_differ(seconds: int, state: State) -> None:
    """Half a minute is a request under way; more is a clock that is wrong, on either side."""
    assert checks(seconds=seconds)["Clock"].state is state


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
    (json.dumps({"data": CURRENT}).encode(), State.PASS, "is what the policy says"),
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


@pytest.mark.parametrize(("groups", "named", "more"), [(1, 5, ""), (2, 5, "; and 1 more")])
def test_bounds_that_differ_in_many_ways(groups: int, named: int, more: str) -> None:
    """Four settings and a range a group: five are named."""
    policy = rules(
        *(node_group(f"g{number}", max=5) for number in range(groups)), drain=DrainRules(blocked_namespaces=("payments",))
    )
    message = checks(bounds=b'{"data": {"adoptFrom": "x"}}', policy=policy)["Bounds"].message
    listed = message.partition("is not what the policy says: ")[2]
    assert (listed.removesuffix(more).count("; ") + 1, listed.endswith(" more")) == (named, bool(more))
    assert listed.endswith(more)


def test_bounds_matter_to_a_loop_that_writes() -> None:
    """Without a policy there is nothing to compare."""
    assert "Bounds" not in checks()
    assert "Bounds" in checks(policy=BOUNDED)
    assert "Bounds" not in checks(policy=BOUNDED, mode=RunMode.OBSERVE)
