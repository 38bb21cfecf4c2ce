"""Which rights each mode asks for: nothing that writes before it is needed, each on its cluster."""

import json

import pytest

from reconciler.control.needed_rights import Right, RunMode, missing, needed
from reconciler.kube.watching.collection import DEVICES, POD_GROUPS, WORKLOAD, cluster_api

CAPI = "cluster.x-k8s.io"
_READ = ("get", "list", "watch")
_SERVED = (cluster_api(version="v1beta2"),)


def _needed(mode: RunMode, **more: object) -> tuple[Right, ...]:
    return needed(mode, _SERVED, "kube-system", **more)  # type: ignore[arg-type]


def test_reading_asks_for_no_write() -> None:
    """Every list of the workload cluster there, everything of the platform on the management cluster."""
    found = _needed(RunMode.READ_ONLY)

    assert {right.verbs for right in found} == {_READ}
    assert [(right.group, right.resource) for right in found if not right.management] == [
        (item.group, item.plural) for item in (*WORKLOAD, *DEVICES, POD_GROUPS)
    ]
    platform = {right.resource for right in found if right.management}
    assert {"machinedeployments", "machinesets", "machinepools", "machines", "clusters"} <= platform
    optional = {item.plural for item in (*DEVICES, POD_GROUPS)}
    assert not any(right.namespace or (right.optional and right.resource not in optional) for right in found)


@pytest.mark.parametrize("mode", RunMode)
def test_no_right_is_without_a_verb(mode: RunMode) -> None:
    """Of what is only read nothing is asked twice."""
    assert all(right.verbs for right in _needed(mode))


def test_observing_writes_its_own_objects_alone() -> None:
    """Lease and state in its namespace, Events wherever they happen, which it can do without."""
    more = [right for right in _needed(RunMode.OBSERVE) if right not in _needed(RunMode.READ_ONLY)]

    assert more == [
        Right(
            group="coordination.k8s.io", resource="leases", verbs=("get", "create", "update"), namespace="kube-system",
            management=True,
        ),
        Right(
            group="", resource="configmaps", verbs=("get", "list", "create", "update", "delete"), namespace="kube-system",
            management=True,
        ),
        Right(group="events.k8s.io", resource="events", verbs=("create", "patch"), optional="events", management=True),
    ]  # fmt: skip


def test_events_of_pods_are_beside_the_pods() -> None:
    """In the workload cluster, where that is another one."""
    more = [right for right in _needed(RunMode.OBSERVE, apart=True) if right not in _needed(RunMode.OBSERVE)]
    assert more == [Right(group="events.k8s.io", resource="events", verbs=("create", "patch"), optional="events")]
    assert _needed(RunMode.READ_ONLY, apart=True) == _needed(RunMode.READ_ONLY)


def test_enforcing_writes_nodes_evictions_and_targets() -> None:
    """Nodes and pods of the workload cluster, targets and machines of the other, in each namespace."""
    everywhere = [right for right in _needed(RunMode.ENFORCE) if right not in _needed(RunMode.OBSERVE)]
    assert everywhere[:2] == [
        Right(group="", resource="nodes", verbs=("get", "patch")),
        Right(group="", resource="pods/eviction", verbs=("create",)),
    ]
    targets = {right.resource: right for right in everywhere[2:]}
    assert {"machinedeployments", "machinesets", "machinepools", "machines"} <= set(targets)
    assert all(right.management and right.group == CAPI for right in everywhere[2:] if right.resource == "machinedeployments")
    assert "delete" in targets["machines"].verbs
    assert "delete" not in targets["machinedeployments"].verbs
    assert targets["machinepools"].optional == "MachinePools"
    assert targets["machinedeployments"].optional == ""
    assert all(right.verbs for right in everywhere), "nothing is asked for what is never written"

    two = _needed(RunMode.ENFORCE, target_namespaces=("blue", "green"))
    found = [right.namespace for right in two if right.resource == "machines" and "delete" in right.verbs]
    assert found == ["blue", "green"]


def test_templates_in_use_are_read_where_the_targets_are() -> None:
    """They tell of nodes of groups at zero, which a loop can do without."""
    found = _needed(RunMode.READ_ONLY, target_namespaces=("blue", "green"), templates=[("infra.example", "things")])
    assert [right for right in found if right.resource == "things"] == [
        Right(
            group="infra.example", resource="things", verbs=_READ, namespace=namespace, optional="nodes of groups at zero",
            management=True,
        )
        for namespace in ("blue", "green")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("right", "text"),
    [
        (Right(group="", resource="nodes", verbs=("get", "patch")), "get, patch nodes"),
        (Right(group="apps", resource="x", verbs=("get",), namespace="n"), "get x.apps in namespace n"),
    ],
)
def test_how_a_right_is_named(right: Right, text: str) -> None:
    assert str(right) == text


class _Server:
    """Allows these verbs, and remembers what it was asked."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed
        self.asked: list[str] = []

    def write(self, method: str, path: str, body: dict[str, dict[str, dict[str, str]]]) -> bytes:
        assert (method, path) == ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
        asked = body["spec"]["resourceAttributes"]
        self.asked.append(" ".join((asked["verb"], asked["resource"])))
        return json.dumps({"status": {"allowed": asked["verb"] in self.allowed}}).encode()


def test_the_verbs_that_are_missing() -> None:
    """Each right is asked of its own cluster; one that is there in full is not named."""
    workload, management = _Server("get", "patch"), _Server("list")
    rights = (
        Right(group="", resource="nodes", verbs=("get", "patch")),
        Right(group=CAPI, resource="machines", verbs=("get", "list"), management=True),
    )

    assert missing(workload, management, rights) == (  # type: ignore[arg-type]
        Right(group=CAPI, resource="machines", verbs=("get",), management=True),
    )
    assert workload.asked == ["get nodes", "patch nodes"]
    assert management.asked == ["get machines", "list machines"]


def test_services_are_asked_for_where_decisions_read_them() -> None:
    """With a default constraint of the scheduler that keeps pods pending."""
    more = [right for right in _needed(RunMode.READ_ONLY, services=True) if right not in _needed(RunMode.READ_ONLY)]
    assert more == [Right(group="", resource="services", verbs=_READ)]


def test_pod_groups_are_good_for_their_pods() -> None:
    """Without the right to read them, everything else is still decided."""
    found = [right for right in _needed(RunMode.READ_ONLY) if right.group == "scheduling.k8s.io"]
    assert [(right.resource, right.optional) for right in found] == [
        ("priorityclasses", ""),
        ("podgroups", "pods of a PodGroup"),
    ]


def test_devices_are_good_for_pods_with_claims() -> None:
    """Without the right to read slices and claims, everything else is still decided."""
    found = [right for right in _needed(RunMode.READ_ONLY) if right.group == "resource.k8s.io"]
    assert [(right.resource, right.optional) for right in found] == [
        ("deviceclasses", ""),
        ("resourceslices", "pods with resource claims"),
        ("resourceclaims", "pods with resource claims"),
        ("resourceclaimtemplates", "resource claims that are not made yet, also of DaemonSets on new nodes"),
    ]
