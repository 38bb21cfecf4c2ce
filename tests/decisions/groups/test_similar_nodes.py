"""In what two new nodes may differ and still be alike."""

import pytest

from reconciler.cluster.nodes.node import NodeShape
from reconciler.decisions.groups.group import difference, ignored_labels
from tests.builders import amounts, policy


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
