"""Pods with claims in whole decisions. Every outcome was worked out by hand first."""

import msgspec

from reconciler.cluster.pods.pod import ClaimUse
from reconciler.plan.plan import PodOutcome
from tests.builders import node_group, policy
from tests.decisions.deciding import group, plan_of, pod
from tests.decisions.device_cluster import DeviceCluster, request


def _outcomes(cluster: DeviceCluster, **sizes: int) -> dict[str, tuple[PodOutcome, str | None]]:
    plan = plan_of(cluster.world(), policy(node_group("gpu", **{"min": 0, "max": 9, **sizes})))
    return {line.pod: (line.outcome, line.node or line.group) for line in plan.pods}


def test_pods_go_where_devices_are_left() -> None:
    """gpu-1 has one of two devices left, gpu-2 both: three of four pods fit, by first fit."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=2, cpu="32"), 2)
    cluster.train("run", on={"gpu-1": ["gpu-0"]})
    cluster.train("wait", 4)

    assert _outcomes(cluster) == {
        "shop/wait-1-1": (PodOutcome.FITS_EXISTING, "gpu-1"),
        "shop/wait-2-1": (PodOutcome.FITS_EXISTING, "gpu-2"),
        "shop/wait-3-1": (PodOutcome.FITS_EXISTING, "gpu-2"),
        "shop/wait-4-1": (PodOutcome.TRIGGERS_SCALE_UP, "gpu"),
    }


def test_the_shared_claim_of_pods_gets_its_devices_once() -> None:
    """One device is left. Three pods share a claim of one device, so that all of them go there."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="32"), 1)
    cluster.claim("c", request())
    cluster.pods("web", 3, cpu="1", shape={"claims": (ClaimUse(name="c", claim="c"),)})

    assert set(_outcomes(cluster).values()) == {(PodOutcome.FITS_EXISTING, "gpu-1")}


def test_what_nobody_knows_is_held() -> None:
    """A claim that is not made yet: no node is added, and the reason says so."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=1, cpu="32"), 1)
    cluster.pods("web", 1, cpu="1", shape={"claims": (ClaimUse(name="c", generated=True),)})

    plan = plan_of(cluster.world(), policy(node_group("gpu", min=0, max=9)))
    line = pod(plan, "shop/web-1")
    assert line.outcome is PodOutcome.NOT_MODELLED
    assert "a claim that is not made yet" in line.reasons[0].message
    assert not plan.actions


def test_a_cluster_without_claims_decides_the_same_with_devices_and_without() -> None:
    """Slices and classes that no pod asks for change nothing."""
    cluster = DeviceCluster()
    cluster.gpus(cluster.group("gpu", nodes=3, cpu="4"), 2)
    cluster.pods("web", 30, cpu="1")
    rules = policy(node_group("gpu", min=0, max=9))
    world = cluster.world()
    bare = msgspec.structs.replace(world, device_classes=(), resource_slices=())

    assert plan_of(world, rules) == plan_of(bare, rules)
    assert group(plan_of(world, rules), "gpu").desired == 8
