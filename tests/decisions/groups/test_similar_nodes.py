"""In what two new nodes may differ and still be alike."""

import msgspec
import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.target import TargetTemplate
from reconciler.decisions.groups.similar_groups import difference, ignored_labels
from tests.builders import ClusterBuilder, amounts, node_group, policy
from tests.decisions.deciding import plan_of


def _difference(shapes: list[NodeShape], *presets: str) -> str:
    first, second = shapes
    return difference(first, second, ignored_labels(policy(balancing_presets=presets).policy))


def _shape(cpu: str = "4", **labels: str) -> NodeShape:
    size = amounts(cpu, "16Gi", 110)
    return NodeShape(
        labels=tuple(sorted((key.replace("__", "/"), value) for key, value in labels.items())), capacity=size, allocatable=size
    )


def test_labels_of_the_old_beta_names_are_left_out() -> None:
    """`beta.kubernetes.io/*` repeats others: no difference; any other label is one."""
    old = [_shape(**{"beta.kubernetes.io__instance-type": kind}) for kind in ("m5.xlarge", "m5a.xlarge")]
    assert _difference(old) == ""
    new = [_shape(**{"node.kubernetes.io__instance-type": kind}) for kind in ("m5.xlarge", "m5a.xlarge")]
    assert _difference(new) == "label node.kubernetes.io/instance-type: m5.xlarge and m5a.xlarge"


@pytest.mark.parametrize("cpu", ["3960m", "4040m"])
def test_one_percent_of_cpu_is_a_difference(cpu: str) -> None:
    """Memory alone may differ by 1.5 %: machines of one type have the same cores."""
    assert difference(_shape(), _shape(cpu), frozenset()).startswith("cpu 4 and ")


def test_the_preset_of_aws_lets_zones_by_id_differ() -> None:
    """`topology.k8s.aws/zone-id` is another name of the zone."""
    zones = [_shape(**{"topology.k8s.aws__zone-id": zone}) for zone in ("euc1-az1", "euc1-az2")]
    assert _difference(zones) == "label topology.k8s.aws/zone-id: euc1-az1 and euc1-az2"
    assert _difference(zones, "AWS") == ""


def test_two_amounts_that_differ_never_look_the_same() -> None:
    """80 GiB of disk, and a MiB less."""
    shapes = [_shape(), _shape()]
    disks = [80 << 30, (80 << 30) - (1 << 20)]
    for place, disk in enumerate(disks):
        size = msgspec.structs.replace(shapes[place].capacity, ephemeral_bytes=disk)
        shapes[place] = msgspec.structs.replace(shapes[place], capacity=size)
    assert _difference(shapes) == f"ephemeral-storage {disks[0]} and {disks[1]}"


@pytest.mark.parametrize(("labels", "sizes"), [(("one", "one"), [2, 2, 2]), (("one", "two"), [6, 0, 0])])
def test_a_group_with_a_node_balances_with_its_twin_without_one(labels: tuple[str, str], sizes: list[int]) -> None:
    """The node has a label, and a little less cpu than the templates say: group a wastes least. What templates say counts."""
    cluster = ClusterBuilder()
    for name, team in zip("abc", (labels[0], labels[1], labels[1]), strict=True):
        size = amounts("4", "16Gi", 110)
        template = TargetTemplate(
            capacity=size, allocatable=size, labels=(("team", team),), architecture="amd64", origins=("annotations",)
        )
        ref = cluster.target(name, int(name == "a"), template=template)
        if name == "a":
            cluster.machine("a-1", ref, node=cluster.node("a-1", cpu="3920m", labels={"team": team, "nodegroup-id": "7"}))
    cluster.pods("full", 1, cpu="3900m", on="a-1")
    cluster.pods("web", 5, cpu="3")
    plan = plan_of(cluster.world(), policy(*(node_group(name, balance_with="Auto") for name in "abc")))
    assert [line.desired for line in plan.groups] == sizes
