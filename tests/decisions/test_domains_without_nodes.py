"""Zones that have no node yet: kube-scheduler counts a domain only once a node is there."""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.pods.pod import AffinityTerm, SpreadConstraint
from reconciler.cluster.target import FieldOwner
from reconciler.decisions.memory import BackoffState, Memory
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import Tier
from tests.builders import NOW, ClusterBuilder, node_group, policy, selector
from tests.decisions.deciding import plan_of

ZONE, RACK, HOST = "topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname"
WEB = selector(app="web")
SPREAD = SpreadConstraint(topology_key=ZONE, max_skew=1, selector=WEB)
NEAR = AffinityTerm(topology_key=ZONE, selector=WEB, namespaces=("shop",))
ALONE = AffinityTerm(topology_key=HOST, selector=WEB, namespaces=("shop",))

RULES: dict[str, dict[str, object]] = {
    "spread": {"spread": (SPREAD,)},
    "spread of two": {"spread": (msgspec.structs.replace(SPREAD, max_skew=2),)},
    "spread that honors taints": {"spread": (msgspec.structs.replace(SPREAD, node_taints_policy="Honor"),)},
    "spread that ignores affinity": {"spread": (msgspec.structs.replace(SPREAD, node_affinity_policy="Ignore"),)},
    "spread over zones and hosts": {"spread": (SPREAD, msgspec.structs.replace(SPREAD, topology_key=HOST))},
    "spread over racks": {"spread": (SPREAD, msgspec.structs.replace(SPREAD, topology_key=RACK))},
    "minimum of one domain": {"spread": (msgspec.structs.replace(SPREAD, min_domains=1),)},
    "near each other": {"affinity": (NEAR,)},
    "near each other and spread": {"affinity": (NEAR,), "spread": (SPREAD,)},
    "alone": {"anti_affinity": (ALONE,)},
    "alone and spread": {"anti_affinity": (ALONE,), "spread": (SPREAD,)},
}


def _small(cluster: ClusterBuilder) -> Memory:
    cluster.group("other", nodes=0, cpu="2", labels={ZONE: "a", RACK: "1"})
    return Memory()


def _tainted(cluster: ClusterBuilder) -> Memory:
    cluster.group("other", nodes=0, cpu="8", labels={ZONE: "a", RACK: "1"}, taints=("dedicated:NoSchedule",))
    return Memory()


def _held(cluster: ClusterBuilder) -> Memory:
    owners = (FieldOwner(manager="argocd-controller", operation="Apply", time_seconds=NOW - 9),)
    cluster.group("other", nodes=0, cpu="8", labels={ZONE: "a", RACK: "1"}, owners=owners)
    return Memory()


def _backed_off(cluster: ClusterBuilder) -> Memory:
    cluster.group("other", nodes=0, cpu="8", labels={ZONE: "a", RACK: "1"})
    return Memory(backoffs={"other": BackoffState(failures=1, failed_seconds=NOW - 9, until_seconds=NOW + 99)})


OTHERS = {"small": _small, "tainted": _tainted, "held": _held, "backed off": _backed_off}


def _plan(
    rule: dict[str, object], add_other: Callable[[ClusterBuilder], Memory], other_max: int, other_tier: str, running: int
) -> Plan:
    """Four pods of 5 cpu, of which nodes of 8 in zone b take one each. The group of zone a has no node."""
    cluster = ClusterBuilder()
    names = cluster.group("big", nodes=running, cpu="8", labels={ZONE: "b", RACK: "1"})
    cluster.pods("web", 4 + running, cpu="5", on=[*names, None, None, None, None], shape=rule)
    memory = add_other(cluster)
    groups = (node_group("big", max=9, tier="lower"), node_group("other", max=other_max, tier=other_tier))
    return plan_of(cluster.world(), policy(*groups, tiers=(Tier(name="upper"), Tier(name="lower"))), memory)


@pytest.mark.parametrize("tier", ["upper", "lower"])
@pytest.mark.parametrize("running", [0, 1])
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("rule", RULES)
def test_a_group_without_nodes_that_takes_no_pod_changes_nothing(rule: str, other: str, running: int, tier: str) -> None:
    """The zone of a group that adds no node is no domain. So the pods get what they get if the group may have no node at all."""
    plans = [_plan(RULES[rule], OTHERS[other], most, tier, running) for most in (0, 5)]
    outcomes = [[line.outcome for line in plan.pods] for plan in plans]
    assert outcomes[0] == outcomes[1]
    assert set(outcomes[1]) == {PodOutcome.TRIGGERS_SCALE_UP}
    assert {line.name: line.desired for line in plans[1].groups} == {"big": 4 + running, "other": 0}
