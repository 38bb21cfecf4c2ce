"""Plans made by hand for the renderings."""

import pytest

from reconciler.plan.plan import (
    Action,
    ActionKind,
    Blocker,
    Bound,
    Cost,
    GroupLine,
    NodeLine,
    NodeState,
    Ownership,
    OwnerState,
    Plan,
    PlanProblem,
    PodLine,
    PodOutcome,
)
from reconciler.plan.reason import Reason

BOUND = Bound(resource_version="812", replicas=4, owner_digest="sha256:aa", policy_digest="sha256:bb")
OURS = Ownership(state=OwnerState.OURS, evidence=("nobody else holds spec.replicas",))
PENDING = Reason("PendingPods", "9 pending pods on 3 new nodes, chosen by LeastWaste over general-b", {"pods": 9, "nodes": 3})


def _pod(name: str, outcome: PodOutcome, *reasons: Reason, group: str | None = None, node: str | None = None) -> PodLine:
    return PodLine(pod=name, outcome=outcome, group=group, node=node, reasons=reasons)


@pytest.fixture
def mixed_plan() -> Plan:
    """One group up, one down, one held, pods with and without a place, nodes that stay for several reasons."""
    nowhere = (
        Reason("NoGroupFits", "no new node of any of 2 groups could run it", {"groups": 2}),
        Reason("GroupRejects", "general-a: needs 500 cpu, a new node has 15.5", {"group": "general-a"}),
        Reason("GroupRejects", "spot-b: needs 500 cpu, a new node has 7.5, and taint spot=true:NoSchedule is not tolerated", {}),
    )
    giants = [_pod(f"batch/giant-{number}", PodOutcome.UNPLACEABLE, *nowhere) for number in range(40)]
    web = [_pod(f"shop/web-6d4cf56db6-x7k2{letter}", PodOutcome.TRIGGERS_SCALE_UP, group="general-a") for letter in "bcdfghjkl"]
    return Plan(
        digest="sha256:0123",
        now="2026-11-21T18:00:00Z",
        cluster="prod",
        policy="prod",
        mode="Observe",
        policy_revision="3f2a1b9c",
        summary="Plan: 1 group up (+3 nodes), 1 group down (-1 node), 40 pods cannot be placed, 1 held, +$2.094/h.",
        groups=(
            GroupLine(
                name="h100",
                target="MachineDeployment prod/h100",
                tier="reserved",
                current=2,
                desired=2,
                settled=2,
                wanted=3,
                min=2,
                max=4,
                owner=Ownership(
                    state=OwnerState.HELD,
                    by="capi-topology",
                    evidence=(
                        "label topology.cluster.x-k8s.io/owned",
                        "the topology of Cluster prod/prod declares 2 replicas for h100",
                    ),
                ),
                held=True,
            ),
            GroupLine(
                name="general-a",
                target="MachineDeployment prod/general-a",
                tier="on-demand",
                current=4,
                desired=7,
                settled=6,
                min=2,
                max=40,
                owner=OURS,
                price_per_hour="0.768",
                reasons=(PENDING, Reason("WindowOpen", "window office is open until 2026-11-21T19:00:00Z")),
            ),
            GroupLine(
                name="spot-b",
                target="MachineDeployment prod/spot-b",
                tier="on-demand",
                current=3,
                desired=2,
                settled=2,
                min=0,
                max=10,
                owner=Ownership(state=OwnerState.ADOPTABLE, by="kubectl-scale"),
                price_per_hour="0.21",
            ),
            GroupLine(
                name="quiet",
                target="MachineDeployment prod/quiet",
                tier="on-demand",
                current=0,
                desired=0,
                settled=0,
                min=0,
                max=5,
                owner=OURS,
            ),
        ),
        actions=(
            Action(
                kind=ActionKind.RESIZE,
                group="general-a",
                target="MachineDeployment prod/general-a",
                from_=4,
                to=7,
                bound=BOUND,
                reason=PENDING,
            ),
            Action(
                kind=ActionKind.REMOVE_NODE,
                group="spot-b",
                target="MachineDeployment prod/spot-b",
                from_=3,
                to=2,
                nodes=("spot-b-x2",),
                bound=BOUND,
                reason=Reason("Empty", "spot-b-x2 runs no pod that has to move, unneeded since 2026-11-21T17:50:00Z"),
            ),
        ),
        pods=(
            *giants,
            _pod(
                "ops/probe-1",
                PodOutcome.FITS_EXISTING,
                Reason("RoomOnNode", "general-a-1 has room for it", {"node": "general-a-1"}),
                node="general-a-1",
            ),
            *web,
        ),
        nodes=(
            *(
                NodeLine(
                    node=f"general-a-{n}", group="general-a", state=NodeState.IN_USE, utilization_permille=u, removable=False
                )
                for n, u in ((1, 562), (2, 810), (3, 700), (4, 655), (5, 999))
            ),
            NodeLine(
                node="spot-b-x1",
                group="spot-b",
                state=NodeState.UNDERUTILIZED,
                utilization_permille=120,
                removable=False,
                blockers=(
                    Blocker(code="LocalStorage", pod="shop/cache-0", message="local storage would be lost: volume data"),
                    Blocker(code="LocalStorage", pod="shop/cache-1", message="local storage would be lost: volume data"),
                    Blocker(code="SystemPod", pod="kube-system/dns", message="kube-system pod without a PodDisruptionBudget"),
                ),
            ),
            NodeLine(node="spot-b-x2", group="spot-b", state=NodeState.EMPTY, utilization_permille=0, removable=True),
            NodeLine(
                node="spot-b-x3",
                group="spot-b",
                state=NodeState.EMPTY,
                utilization_permille=0,
                removable=True,
                unneeded_since="2026-11-21T17:55:00Z",
                removable_at="2026-11-21T18:05:00Z",
            ),
        ),
        cost=Cost(
            current_per_hour="3.702",
            desired_per_hour="5.796",
            settled_per_hour="5.028",
            currency="USD",
            unpriced_groups=("h100", "quiet"),
        ),
        settled_loops=5,
        not_captured=("PodDisruptionBudget",),
        problems=(PlanProblem(code="QuantityUnreadable", object="Pod shop/odd", message="requests.cpu: invalid quantity '1x'"),),
    )
