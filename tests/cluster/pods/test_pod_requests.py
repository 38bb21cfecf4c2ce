"""What a pod asks for, as kube-scheduler counts it. Expected sums are done by hand from KEP-753, 1287 and 2837."""

from typing import Any

import pytest

from reconciler.cluster.snapshots.snapshot import SnapshotError
from reconciler.cluster.values.resources import Resources
from tests.cluster.objects import Object, container, pod, world_of


def requests(**spec: Any) -> Resources:
    status = spec.pop("status", None)
    return world_of(pod(status=status, **spec)).pod_shapes[0].requests


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
