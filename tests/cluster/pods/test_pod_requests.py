"""What a pod asks for, as kube-scheduler counts it. Expected sums are done by hand from KEP-753, 1287 and 2837."""

from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import SnapshotError
from reconciler.cluster.values.resources import Resources
from tests.cluster.objects import Object, container, pod, world_of


def requests(version: str = "v1.36.3", **spec: Any) -> Resources:
    status = spec.pop("status", None)
    return world_of(pod(status=status, **spec), version=version).pod_shapes[0].requests


def sidecar(cpu: str, name: str = "side") -> Object:
    return container(cpu, name=name, restartPolicy="Always")


def test_containers_add_up() -> None:
    """A pod asks for the sum of its containers, and for one pod."""
    asked = requests(containers=[container("250m", "64Mi"), container("1", "1Gi")])
    assert asked == Resources(cpu_milli=1250, memory_bytes=1_140_850_688, pods=1)


def test_nothing_asked_is_zero() -> None:
    """Containers without requests ask for nothing but the pod itself."""
    assert requests(containers=[{"name": "main"}]) == Resources(pods=1)


def test_init_containers_run_one_after_the_other() -> None:
    """The largest init container counts where it asks for more than all containers together."""
    asked = requests(containers=[container("1", "1Gi")], initContainers=[container("3"), container("2", "4Gi")])
    assert (asked.cpu_milli, asked.memory_bytes) == (3000, 4 << 30)


def test_sidecars_add_to_containers() -> None:
    """A restartable init container runs beside the containers."""
    assert requests(containers=[container("1")], initContainers=[sidecar("500m")]).cpu_milli == 1500


def test_sidecars_run_while_later_init_containers_run() -> None:
    """An init container after a sidecar needs room for both; one before it does not (2 + 0.5 beats 1 + 0.5)."""
    after = requests(containers=[container("1")], initContainers=[sidecar("500m"), container("2", name="init")])
    before = requests(containers=[container("1")], initContainers=[container("2", name="init"), sidecar("500m")])
    assert (after.cpu_milli, before.cpu_milli) == (2500, 2000)


def test_overhead_comes_on_top() -> None:
    """The overhead of a runtime class is added."""
    assert requests(containers=[container("1")], overhead={"cpu": "250m"}).cpu_milli == 1250


def test_pod_level_requests_replace_sums() -> None:
    """`spec.resources` replaces cpu, memory and huge pages, and nothing else; overhead still comes on top."""
    gpu = {"name": "main", "resources": {"requests": {"cpu": "3", "nvidia.com/gpu": "2"}}}
    asked = requests(
        containers=[gpu],
        resources={"requests": {"cpu": "1", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": "9"}},
        overhead={"cpu": "100m"},
    )
    assert asked == Resources(cpu_milli=1100, pods=1, extended=(("hugepages-2Mi", 4_194_304), ("nvidia.com/gpu", 2)))


def test_limits_stand_in_for_missing_requests() -> None:
    """A resource with a limit and no request asks for the limit, as the API server defaults it."""
    limited = {"name": "main", "resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "1", "memory": "1Gi"}}}
    asked = requests(containers=[limited])
    assert (asked.cpu_milli, asked.memory_bytes) == (100, 1 << 30)


def test_extended_resources_and_ephemeral_storage() -> None:
    """Every resource counts, those of devices in units."""
    many = {
        "name": "main",
        "resources": {"requests": {"ephemeral-storage": "1Gi", "example.com/foo": "3", "hugepages-1Gi": "1Gi"}},
    }
    assert requests(containers=[many]) == Resources(
        ephemeral_bytes=1 << 30, pods=1, extended=(("example.com/foo", 3), ("hugepages-1Gi", 1 << 30))
    )


def test_fractions_are_summed_before_rounding() -> None:
    """Three containers of a third of a byte and a bit are one byte and a bit: two, not three."""
    assert requests(containers=[container(memory="340m", name=name) for name in "abc"]).memory_bytes == 2


def resize(spec: str, actual: str, allocated: str, *, node: str = "n1", conditions: list[Object] | None = None) -> int:
    status = {
        "phase": "Running",
        "conditions": conditions or [],
        "containerStatuses": [
            {"name": "main", "resources": {"requests": {"cpu": actual}}, "allocatedResources": {"cpu": allocated}}
        ],
    }
    return requests(containers=[container(spec)], nodeName=node, status=status).cpu_milli


@pytest.mark.parametrize(
    ("spec", "actual", "allocated", "counted"),
    [("2", "1", "1", 2000), ("1", "2", "1", 2000), ("1", "1", "2", 2000), ("1", "1", "1", 1000)],
)
def test_resize_under_way_holds_the_largest(spec: str, actual: str, allocated: str, counted: int) -> None:
    """Until a resize is done, the node holds the largest of what is asked, allocated and set."""
    assert resize(spec, actual, allocated) == counted


def test_infeasible_resize_asks_for_nothing_more() -> None:
    """A resize that the node can never do does not count."""
    never = {"type": "PodResizePending", "status": "True", "reason": "Infeasible"}
    assert resize("8", "1", "2", conditions=[never]) == 2000


def test_deferred_resize_counts() -> None:
    """A resize that waits for room does count."""
    waits = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    assert resize("8", "1", "2", conditions=[waits]) == 8000


def test_status_of_a_pod_on_no_node_does_not_count() -> None:
    """Before a pod is placed only its spec says what it asks for."""
    assert resize("1", "4", "4", node="") == 1000


def test_pod_level_resize() -> None:
    """A pod-level resize under way holds the larger of spec and status."""
    status = {"phase": "Running", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}
    assert (
        requests(containers=[container("1")], resources={"requests": {"cpu": "2"}}, nodeName="n1", status=status).cpu_milli
        == 3000
    )


def test_sidecar_resize_counts_and_init_container_status_does_not() -> None:
    """Only what keeps running can be resized: the status of a plain init container is ignored."""
    status = {
        "phase": "Running",
        "initContainerStatuses": [
            {"name": "side", "resources": {"requests": {"cpu": "2"}}},
            {"name": "init", "resources": {"requests": {"cpu": "9"}}},
        ],
    }
    asked = requests(
        containers=[container("1")], initContainers=[sidecar("1"), container("1", name="init")], nodeName="n1", status=status
    )
    assert asked.cpu_milli == 3000


def _two_containers(reason: str, *, version: str, level: str = "") -> int:
    """The first container is growing from 1 to 3 cpus, the second one shrinking from 4 to 2."""
    rows = (("a", "1", "1"), ("b", "4", "4"))
    status: Object = {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        "containerStatuses": [
            {"name": name, "resources": {"requests": {"cpu": now}}, "allocatedResources": {"cpu": held}}
            for name, now, held in rows
        ],
    }
    if level:
        status |= {"resources": {"requests": {"cpu": level}}, "allocatedResources": {"cpu": level}}
    containers = [container("3", name="a"), container("2", name="b")]
    return requests(version, containers=containers, nodeName="n1", status=status).cpu_milli


@pytest.mark.parametrize(("version", "counted"), [("v1.36.9", 7000), ("v1.37.0", 5000), ("v1.38.1", 5000), ("", 7000)])
def test_what_is_compared_hangs_on_the_release(version: str, counted: int) -> None:
    """Until 1.36, 3 and 4 cpus are the most of each container. Since 1.37, both sums are 5. Of an unknown version, the larger
    one counts."""
    assert _two_containers("Deferred", version=version) == counted


def test_a_status_of_the_whole_pod_stands_for_those_of_its_containers() -> None:
    """Since 1.37: 6 cpus of the pod against 5 of its spec. An infeasible resize leaves the 4 of the status."""
    assert _two_containers("Deferred", version="v1.37.0", level="6") == 6000
    assert _two_containers("Infeasible", version="v1.37.0", level="4") == 4000
    assert _two_containers("Deferred", version="v1.36.0", level="6") == 7000


def test_statuses_of_init_containers_count_since_1_37() -> None:
    """The init container holds 9 cpus, whatever its spec says, and its requests are the most at any time."""
    status = {"phase": "Running", "initContainerStatuses": [{"name": "init", "resources": {"requests": {"cpu": "9"}}}]}
    spec = {"containers": [container("1")], "initContainers": [container("1", name="init")], "nodeName": "n1"}
    assert [requests(version, status=status, **spec).cpu_milli for version in ("v1.36.0", "v1.37.0")] == [1000, 9000]


def test_an_allocation_counts_without_a_status_since_1_37() -> None:
    """A kubelet has allocated 2 cpus and not yet said what is set."""
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "2"}}]}
    spec = {"containers": [container("1")], "nodeName": "n1"}
    assert [requests(version, status=status, **spec).cpu_milli for version in ("v1.36.0", "v1.37.0")] == [1000, 2000]


def test_a_resource_that_only_the_status_of_the_pod_has_counts_since_1_37() -> None:
    """The spec of the pod asks for cpu alone."""
    status = {"phase": "Running", "resources": {"requests": {"cpu": "1", "memory": "2Gi"}}}
    spec = {"containers": [container("1", "1Gi")], "resources": {"requests": {"cpu": "1"}}, "nodeName": "n1"}
    found = [requests(version, status=status, **spec).memory_bytes for version in ("v1.36.0", "v1.37.0")]
    assert found == [1 << 30, 2 << 30]


def test_an_unknown_version_is_named_where_it_matters() -> None:
    """One problem for the whole view, which counts the pods."""
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "2"}}]}
    objects = [pod(name, containers=[container("1")], nodeName="n1", status=status) for name in ("a", "b")]
    (problem,) = [one for one in world_of(*objects).problems if one.code == "KubernetesVersionUnknown"]
    assert "Its releases judge 2 pods differently" in problem.message
    assert not world_of(*objects, version="v1.37.0").problems
    assert not world_of(pod("c", containers=[container("1")], nodeName="n1")).problems


def test_bad_request_names_file_item_and_field() -> None:
    """A request that is no quantity is refused with its place."""
    with pytest.raises(SnapshotError) as refused:
        world_of(pod("bad", containers=[container("lots")]))
    assert str(refused.value).startswith(
        'all.json: item 1 (Pod shop/bad): spec.containers[0].resources.requests: cpu: invalid quantity "lots"'
    )


def test_huge_request_is_cut_and_reported() -> None:
    """A request beyond 64 bits does not stop the view: it counts as the most that 64 bits hold, and is reported."""
    world = world_of(pod("vast", containers=[container(memory="16E")]))
    assert world.pod_shapes[0].requests.memory_bytes == 2**63 - 1
    assert [(item.code, item.object) for item in world.problems] == [("QuantityOutOfRange", "Pod shop/vast")]
