"""Two policies with different groups in one cluster: a pod for which one adds a node gets no second node from the other."""

import msgspec
import pytest

from reconciler.cluster.world import PolicyClaim, World
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.other_policies import promised_since
from reconciler.plan.plan import Plan, PodOutcome
from reconciler.policy.documents import PolicySet
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _policy(name: str, most: int = 9) -> PolicySet:
    made = policy(node_group(name, min=0, max=most))
    return msgspec.structs.replace(made, policy=msgspec.structs.replace(made.policy, name=name))


def _world(pods: int = 1, *, claims: tuple[PolicyClaim, ...] = (), nodes: int = 0) -> World:
    """Both policies' groups; each of the equal pods needs a node of its own. `nodes` of the first group are on their way."""
    cluster = ClusterBuilder()
    cluster.group("first", nodes=0, replicas=nodes)
    cluster.group("second", nodes=0)
    cluster.pods("web", pods, cpu="3")
    return cluster.world(claims=claims)


def _decide(name: str, world: World, memory: Memory | None = None) -> tuple[Plan, Memory]:
    return decide(world, _policy(name), memory or Memory(), NOW)


def _claims(name: str, memory: Memory, **fields: object) -> tuple[PolicyClaim, ...]:
    """What another policy reads of this memory."""
    return tuple(
        msgspec.structs.replace(
            PolicyClaim(
                target=target, policy=name, namespace="reconciler", holder=f"{name}-0", number=claim.number,
                promised=tuple(memory.promised.get(target, {}).items()),
            ),
            **fields,
        )
        for target, claim in memory.claims.items()
    )  # fmt: skip


def _added(plan: Plan) -> int:
    return sum(line.desired for line in plan.groups)


def test_a_pod_with_a_promise_of_another_policy_waits_for_that_node() -> None:
    """The first adds one node; the second one names that policy, its Lease and who holds it."""
    plan, memory = _decide("first", _world())
    assert _added(plan) == 1
    plan, _ = _decide("second", _world(claims=_claims("first", memory)))
    (pod,) = plan.pods
    assert (_added(plan), pod.outcome, pod.reasons[0].code) == (0, PodOutcome.FITS_UPCOMING, "PromisedElsewhere")
    assert pod.reasons[0].message == "policy first adds a node for it (its Lease is in namespace reconciler, held by first-0)"


def test_only_as_many_pods_wait_as_were_promised_nodes() -> None:
    """Two of five have promises: the second policy adds three nodes."""
    _, memory = _decide("first", _world(2))
    plan, _ = _decide("second", _world(5, claims=_claims("first", memory)))
    assert _added(plan) == 3


@pytest.mark.parametrize("fields", [{"live": False}, {"number": 0}], ids=["dead", "observes"])
def test_a_policy_that_adds_nothing_promises_nothing(fields: dict[str, object]) -> None:
    """Nobody renews its Lease, or it only observes."""
    _, memory = _decide("first", _world())
    plan, _ = _decide("second", _world(claims=_claims("first", memory, **fields)))
    assert _added(plan) == 1


def test_of_two_policies_that_promised_at_once_the_later_name_gives_up() -> None:
    """Neither has written. Each reads the other's promise and adds nothing; then only the first one's is left."""
    memories = {name: _decide(name, _world())[1] for name in ("first", "second")}
    after = {}
    for name, other in (("first", "second"), ("second", "first")):
        plan, after[name] = _decide(name, _world(claims=_claims(other, memories[other])), memories[name])
        assert _added(plan) == 0
    assert (after["first"].promised, after["second"].promised) == (memories["first"].promised, {})
    plan, _ = _decide("first", _world(claims=_claims("second", after["second"])), after["first"])
    assert _added(plan) == 1


def test_a_node_on_its_way_is_not_given_up() -> None:
    """The policy has written already: its pod has room there, whatever another policy promised."""
    _, memory = _decide("first", _world())
    _, other = _decide("second", _world())
    claims = tuple(msgspec.structs.replace(one, policy="earlier") for one in _claims("second", other))
    plan, after = _decide("first", _world(nodes=1, claims=claims), memory)
    assert (_added(plan), after.promised) == (1, memory.promised)
    assert plan.pods[0].reasons[0].code == "RoomOnUpcoming"


def test_a_policy_that_can_add_none_any_more_promises_nothing() -> None:
    """It promised and its maximum fell to 0 before it wrote: others need not wait for it."""
    _, memory = _decide("first", _world())
    _, after = decide(_world(), _policy("first", most=0), memory, NOW)
    assert (bool(memory.promised), after.promised) == (True, {})


def test_only_a_promise_to_more_pods_is_news() -> None:
    """One that ends, or is for fewer, leaves what was judged as it was."""
    one = PolicyClaim(target="t", policy="p", namespace="n", number=1, promised=(("a", 2),))
    none, more = (msgspec.structs.replace(one, promised=promised) for promised in ((), (("a", 2), ("b", 1))))
    assert promised_since((one,), (one,)) is promised_since((one,), (none,)) is promised_since((more,), (one,)) is None
    assert (promised_since((none,), (one,)), promised_since((one,), (more,))) == (one, more)
