"""Groups whose nodes differ in size, where nothing else says what a new one offers."""

import pytest

from reconciler.cluster.target import TargetTemplate
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.groups.group import EffectiveGroup
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _group(*nodes: tuple[str, str, int], rolling_out: bool = False, told: bool = False) -> EffectiveGroup:
    cluster = ClusterBuilder()
    template = TargetTemplate(capacity=Resources(cpu_milli=16_000, memory_bytes=64 << 30, pods=110)) if told else None
    ref = cluster.target("mixed", len(nodes), template=template, rolling_out=rolling_out)
    for number, (cpu, memory, gpu) in enumerate(nodes):
        cluster.node(f"n{number}", cpu, memory, gpu=gpu)
        cluster.machine(f"n{number}", ref, node=f"n{number}")
    (found,) = effective_groups(cluster.world(), policy(node_group("mixed")), NOW)
    return found


def _codes(found: EffectiveGroup) -> list[str]:
    return [reason.code for reason in found.reasons]


def test_the_least_of_each_resource_counts() -> None:
    """4 cores with 64 Gi beside 8 cores with 16 Gi: a new node may have 4 cores and 16 Gi, and the plan says so."""
    found = _group(("4", "64Gi", 0), ("8", "16Gi", 0), ("8", "16Gi", 0))
    assert found.template is not None
    assert (found.template.capacity.cpu_milli, found.template.allocatable.memory_bytes) == (4000, 16 << 30)
    assert [reason.message for reason in found.reasons] == [
        "its nodes have 2 sizes (cpu 4 and 8): a new one is assumed to offer the least of each resource"
    ]


@pytest.mark.parametrize(("memory", "said"), [("16280Mi", False), ("15Gi", True)])
def test_machines_of_one_type_may_differ_a_little_in_memory(memory: str, said: bool) -> None:
    """1.5 percent is what machines of one type report differently: 0.6 % is nothing to say, 6 % is."""
    found = _group(("4", "16Gi", 0), ("4", memory, 0))
    assert (_codes(found) == ["MixedShapes"]) is said


def test_nodes_whose_devices_are_late_do_not_take_the_devices_from_the_template() -> None:
    """One of two GPU nodes does not advertise its GPUs yet: a new one is taken to have them."""
    found = _group(("4", "16Gi", 8), ("4", "16Gi", 0))
    assert found.template is not None
    assert found.template.allocatable.get("nvidia.com/gpu") == 8


def test_nodes_that_have_less_than_the_target_says_are_believed() -> None:
    """16 cores by annotation, and nodes of 4 and 8: the least of all."""
    found = _group(("4", "16Gi", 0), ("8", "16Gi", 0), told=True)
    assert found.template is not None
    assert (found.template.capacity.cpu_milli, _codes(found)) == (4000, ["SmallerThanTemplate"])


def test_a_rollout_is_no_mixture() -> None:
    """Old and new machines side by side are what a rollout is; the least still counts."""
    found = _group(("4", "16Gi", 0), ("8", "16Gi", 0), rolling_out=True)
    assert found.template is not None
    assert (found.template.capacity.cpu_milli, _codes(found)) == (4000, [])
