"""Whole plans as they print, each read and agreed on by a person: the text beside this file is the expectation.

The numbers in them are worked out in the docstrings; a change of wording changes the files, a change of a number is a
change of the product. `REGENERATE_GOLDEN=1` rewrites them, to be read again line by line before they are kept.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cluster.target import FieldOwner, OwnerEvidence
from reconciler.cluster.world import World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Hold, Limit, PolicySet
from reconciler.rendering.printers.text.plan import plan_text
from reconciler.values.instant import instant_text
from tests.builders import NOW, ClusterBuilder, node_group, policy

EXPECTED = Path(__file__).parent / "expected"
KUBECTL = (FieldOwner(manager="kubectl", operation="Apply", time_seconds=NOW - 86_400),)
Case = tuple[World, PolicySet, Memory]


def s29() -> Case:
    """At most 64 cores; 14 on unmanaged nodes and 16 on two workers make 30; 8-core machines: four more make 62, the
    fifth would make 70. Five pods of 7 cores want five."""
    cluster = ClusterBuilder()
    for number in range(3):
        cluster.node(f"control-plane-{number}", "4", "16Gi", taints=["node-role.kubernetes.io/control-plane:NoSchedule"])
    cluster.node("infra-0", "2", "8Gi", taints=["node-role.kubernetes.io/infra:NoSchedule"])
    names = cluster.group("workers", nodes=2, cpu="8", memory="32Gi")
    cluster.pods("full", 2, cpu="8", on=list(names))
    cluster.pods("web", 5, cpu="7")
    limit = Limit(name="cluster", max=(("cpu", 64_000),))
    return cluster.world(), policy(node_group("workers", max=40, price_per_hour="0.40"), limits=(limit,)), Memory()


def expired_hold() -> Case:
    """Two groups with the same demand: the hold of one ended this second, that of the other ends in an hour. The first
    grows by one, the second says that it would."""
    cluster = ClusterBuilder()
    for name in ("ended", "running"):
        cluster.group(name, nodes=1)
        cluster.pods(f"full-{name}", 1, cpu="4", on=f"{name}-1")
        cluster.pods(f"web-{name}", 1, cpu="4", node_selector={"pool": name})
    rules = policy(
        node_group("ended", hold=Hold(reason="recovering node ended-1", until_seconds=NOW)),
        node_group("running", hold=Hold(reason="recovering node running-1", until_seconds=NOW + 3600)),
    )
    return cluster.world(), rules, Memory()


def release() -> Case:
    """`old` was a group at the last decision and is in no document now: its target keeps two replicas."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1)
    cluster.group("old", nodes=2)
    world = cluster.world()
    known = {str(facts.ref): facts.ref.name for facts in world.targets}
    return world, policy(node_group("general", min=1)), Memory(known_groups=known)


def adopted() -> Case:
    """kubectl applied the replicas and adoptFrom names kubectl: taken over as an action of its own, then grown by one."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, owners=KUBECTL)
    cluster.pods("full", 1, cpu="4", on="general-1")
    cluster.pods("web", 1, cpu="4")
    return cluster.world(), policy(node_group("general"), adopt_from=("kubectl",)), Memory()


def held() -> Case:
    """The Cluster's topology declares one replica: nothing is written, and the plan says by what evidence it is held and
    that two pods would make it three."""
    evidence = OwnerEvidence(
        owners=(FieldOwner(manager="capi-topology", operation="Apply", time_seconds=NOW - 86_400),),
        topology_owned=True,
        topology_deployment="fixed",
        topology_replicas=1,
    )
    cluster = ClusterBuilder()
    cluster.group("fixed", nodes=1, evidence=evidence)
    cluster.pods("full", 1, cpu="4", on="fixed-1")
    cluster.pods("web", 2, cpu="4")
    return cluster.world(), policy(node_group("fixed")), Memory()


CASES: dict[str, Callable[[], Case]] = {case.__name__: case for case in (s29, expired_hold, release, adopted, held)}


@pytest.mark.parametrize("name", CASES)
def test_golden_plan(name: str) -> None:
    """The plan prints as agreed."""
    world, rules, memory = CASES[name]()
    plan, _ = decide(world, rules, memory, NOW)
    text = plan_text(plan)
    path = EXPECTED / f"{name}.txt"
    if os.environ.get("REGENERATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert instant_text(NOW) == plan.now
