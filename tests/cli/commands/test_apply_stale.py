"""A saved plan on a cluster that has moved: the real loop on the embedded cluster."""

from collections.abc import Callable

import msgspec
import pytest

from reconciler.cluster.target import FieldOwner, TargetRef
from reconciler.control.saved_plans.apply import Applied, PlanApplication, RemovalTerms
from reconciler.control.turn.memory_store import InMemoryStore, StoreUnavailableError
from reconciler.control.turn.turn_report import ResultState
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.approvals.plan_approvals import Approval, Occasion
from reconciler.plan.plan import Plan
from reconciler.policy.documents import Mode, PolicySet, ScaleDown, Size
from reconciler.providers.simulated import SimulatedPort
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.field_owner import Via
from tests.builders import NOW, ClusterBuilder, machine_deployment, node_group, policy

GENERAL, SPOT = machine_deployment("general"), machine_deployment("spot")
DIGEST, OTHER = "sha256:" + "a" * 64, "sha256:" + "b" * 64


class Bench:
    """One cluster, one policy, and a plan made on it, or on what it was like before."""

    def __init__(self, cluster: ClusterBuilder, rules: PolicySet, earlier: ClusterBuilder | None = None) -> None:
        self.rules = msgspec.structs.replace(rules, digest=DIGEST)
        self.cluster = SimulatedCluster(cluster.world(), self.rules, NOW)
        self.cluster.advance_to(NOW)
        self.port = SimulatedPort(self.cluster)
        self.store = InMemoryStore()
        planned_on = self.cluster.world() if earlier is None else earlier.world()
        self.saved: Plan = decide(planned_on, self.rules, Memory(), NOW)[0]

    def current(self) -> PolicySet:
        return self.rules

    def apply(self, terms: RemovalTerms | None = None) -> Applied:
        return PlanApplication(self.port, self, self.store, self.saved, terms=terms).run()

    def replicas(self, target: TargetRef = GENERAL) -> int | None:
        return self.cluster.objects.targets[target].replicas


def hungry(pods: int = 3, owners: tuple[FieldOwner, ...] | None = None) -> ClusterBuilder:
    """Pods that fill a node each: `general` goes from 1 to 1 + `pods`."""
    cluster = ClusterBuilder()
    cluster.group("general", nodes=1, cpu="4", owners=owners)
    cluster.pods("old", 1, cpu="3", on="general-1")
    cluster.pods("web", pods, cpu="3")
    return cluster


def growing(owners: tuple[FieldOwner, ...] | None = None, **rules: object) -> Bench:
    """`general` goes from 1 to 4."""
    return Bench(hungry(owners=owners), policy(node_group("general"), **rules))


def idle(*busy: str) -> ClusterBuilder:
    """Five nodes, of which only the first and those named run something."""
    cluster = ClusterBuilder()
    names = cluster.group("general", nodes=5, cpu="4")
    cluster.pods("old", 1 + len(busy), cpu="3", on=[names[0], *busy])
    return cluster


ONE_STAYS = policy(node_group("general", min=1, scale_down=ScaleDown(unneeded_time_seconds=0)))


def shrinking() -> Bench:
    """Four of five nodes may go at first sight; the minimum of one keeps the one in use."""
    return Bench(idle(), ONE_STAYS)


def codes(applied: Applied) -> set[str]:
    return {reason.code for refusal in applied.refusals for reason in refusal.reasons}


def test_nothing_moved():
    """All of it is done."""
    bench = growing()
    applied = bench.apply()
    assert (applied.complete, bench.replicas()) == (True, 4)


def _policy(bench: Bench) -> None:
    bench.rules = msgspec.structs.replace(bench.rules, digest=OTHER)


def _owner(bench: Bench) -> None:
    bench.cluster.write_replicas(GENERAL, 1, "argocd-controller", Via.APPLY)


def _bounds(bench: Bench) -> None:
    group = msgspec.structs.replace(bench.rules.groups[0], size=Size(min=0, max=3))
    bench.rules = msgspec.structs.replace(bench.rules, groups=(group,))


def _replicas(bench: Bench) -> None:
    bench.cluster.write_replicas(GENERAL, 2, "nodegroup-reconciler", Via.APPLY)


@pytest.mark.parametrize(
    ("move", "code"), [(_policy, "PolicyMoved"), (_owner, "OwnerMoved"), (_bounds, "BoundsMoved"), (_replicas, "ReplicasMoved")]
)
def test_stale(move: Callable[[Bench], None], code: str):
    """Each bound input, moved under the plan: nothing is written, and the refusal names it."""
    bench = growing()
    move(bench)
    before = bench.replicas()
    applied = bench.apply()
    assert code in codes(applied)
    assert (applied.complete, applied.results, bench.replicas()) == (False, (), before)


def test_a_moved_resource_version_alone_is_judged_again():
    """A label that nobody reads moved the object: the plan is done all the same."""
    bench = growing()
    facts = bench.cluster.objects.targets[GENERAL]
    bench.cluster.store(msgspec.structs.replace(facts, labels=(*facts.labels, ("team", "shop"))), "kubectl")
    assert bench.cluster.objects.targets[GENERAL].resource_version != facts.resource_version
    assert bench.apply().complete
    assert bench.replicas() == 4


@pytest.mark.parametrize(("then", "now", "replicas"), [(3, 2, 3), (2, 3, 3)])
def test_demand_moved(then: int, now: int, replicas: int):
    """One pod fewer grows less; one more grows no further than was planned: 1 + 2 nodes either way."""
    bench = Bench(hungry(now), policy(node_group("general")), earlier=hungry(then))
    assert bench.apply().complete
    assert bench.replicas() == replicas


def test_demand_gone():
    """No pod waits any more: nothing is bought because a plan said so."""
    bench = Bench(hungry(0), policy(node_group("general")), earlier=hungry())
    applied = bench.apply()
    assert (codes(applied), bench.replicas()) == ({"NotDecidedNow"}, 1)


def test_observe_writes_nothing():
    """The mode of the policy is above a plan."""
    bench = growing(mode=Mode.OBSERVE)
    applied = bench.apply()
    assert [(result.state, result.code) for result in applied.results] == [(ResultState.SKIPPED, "Observe")]
    assert bench.replicas() == 1


def test_adoption_and_growth_in_one_go():
    """The owner moves by our own hand between the two; nobody else's hand would be taken for it."""
    owners = (FieldOwner(manager="kubectl", operation="Update", subresource="scale", time_seconds=NOW - 86_400),)
    bench = growing(owners)
    assert [action.kind for action in bench.saved.actions] == ["Adopt", "Resize"]
    applied = bench.apply()
    assert applied.complete
    assert [(result.action.kind, result.state) for result in applied.results] == [("Adopt", "Done"), ("Resize", "Done")]
    assert bench.replicas() == 4


def test_the_view_is_lost():
    """Nothing is done, and why."""
    bench = growing()
    bench.port.outage = "the API server does not answer"
    applied = bench.apply()
    assert (applied.complete, applied.unavailable, bench.replicas()) == (False, "the API server does not answer", 1)


def test_memory_that_cannot_be_kept():
    """What must be known after a crash is written before the act; without that there is no act."""

    class Broken(InMemoryStore):
        def save(self, memory: Memory) -> None:
            raise StoreUnavailableError("forbidden")

    bench = growing()
    bench.store = Broken()
    assert (bench.apply().unavailable, bench.replicas()) == ("forbidden", 1)


def test_removals_without_an_approval():
    """Four nodes would go, three are free: none goes, not even three of them."""
    bench = shrinking()
    assert len(bench.saved.actions) == 4
    applied = bench.apply(RemovalTerms(limit=3))
    assert codes(applied) == {"NotApproved"}
    assert (len(applied.refusals), applied.results) == (4, ())


@pytest.mark.parametrize(("nodes", "evictions", "changed", "gone"), [
    (4, 0, {}, 4), (3, 9, {}, 0), (9, 9, {"policy_digest": OTHER}, 0), (9, 9, {"plan_digest": OTHER}, 0),
    (9, 9, {"cluster": "staging"}, 0),
])  # fmt: skip
def test_removals_with_an_approval(nodes: int, evictions: int, changed: dict[str, str], gone: int):
    """Within its ceilings, for this policy, this plan and this cluster; a second time there is nothing left that it allows."""
    bench = shrinking()
    occasion = Occasion(policy_digest=DIGEST, plan_digest=bench.saved.digest, cluster=bench.saved.cluster)
    occasion = msgspec.structs.replace(occasion, **changed)
    terms = RemovalTerms(
        limit=3, approvals=(Approval(occasion=occasion, until_seconds=NOW + 60, nodes=nodes, evictions=evictions),)
    )
    applied = bench.apply(terms)
    assert sum(result.state is ResultState.DONE for result in applied.results) == gone
    again = bench.apply(terms)
    assert not any(result.state is ResultState.DONE for result in again.results)


def test_a_limit_does_not_stop_growth():
    """Only removals need an approval."""
    bench = growing()
    assert bench.apply(RemovalTerms(limit=0)).complete


def test_a_node_that_is_needed_again_stays():
    """A pod runs on one of four nodes that were empty: three go, the fourth is refused with what keeps it."""
    bench = Bench(idle("general-3"), ONE_STAYS, earlier=idle())
    applied = bench.apply()
    assert sorted(result.action.nodes[0] for result in applied.results) == ["general-2", "general-4", "general-5"]
    assert [result.action.to for result in applied.results] == [4, 3, 2]
    assert [(refusal.action.nodes, refusal.reasons[0].code) for refusal in applied.refusals] == [
        (("general-3",), "NotDecidedNow")
    ]
    assert "node general-3 stays" in applied.refusals[0].reasons[0].message
