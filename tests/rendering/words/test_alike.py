"""Pods, nodes and blockers told together."""

import pytest

from reconciler.plan.plan import NodeLine, NodeState, PodLine, PodOutcome
from reconciler.plan.reason import Blocker, Reason
from reconciler.rendering.words.alike import alike_blockers, alike_nodes, alike_pods, owner_label


@pytest.mark.parametrize(
    ("pod", "label"),
    [
        ("shop/web-6d4cf56db6-x7k2p", "shop/web-*"),  # Deployment: pod template hash and five random characters
        ("shop/api-server-7f9c8b5d4-zzzzz", "shop/api-server-*"),
        ("kube-system/kube-proxy-4xk9d", "kube-system/kube-proxy-*"),  # DaemonSet, Job: five random characters
        ("db/postgres-0", "db/postgres-*"),  # StatefulSet: ordinal
        ("batch/night-12", "batch/night-*"),
        ("ops/toolbox", "ops/toolbox"),
        ("ops/web-frontend", "ops/web-frontend"),  # vowels: nobody generated that
        ("ops/5", "ops/5"),
    ],
)
def test_owner_label(pod: str, label: str):
    """What Kubernetes appends to the name of an owner is taken off; other names stay whole."""
    assert owner_label(pod) == label


def pod(name: str, *messages: str, outcome: PodOutcome = PodOutcome.UNPLACEABLE) -> PodLine:
    return PodLine(pod=name, outcome=outcome, reasons=tuple(Reason("Code", message) for message in messages))


def test_pods_of_one_owner_with_equal_reasons_are_one_lot():
    """Reasons, outcome and owner together make a lot; the largest is told first."""
    lots = alike_pods(
        [pod("a/x-0", "full"), pod("a/x-1", "full"), pod("a/x-2", "taint"), pod("b/x-0", "full"),
         pod("a/x-3", "full", outcome=PodOutcome.DELAYED), pod("a/x-4", "full")]
    )  # fmt: skip
    assert [(lot.label, len(lot.pods)) for lot in lots] == [("a/x-*", 3), ("a/x-2", 1), ("a/x-3", 1), ("b/x-0", 1)]


def node(name: str, *blockers: Blocker, state: NodeState = NodeState.UNDERUTILIZED) -> NodeLine:
    return NodeLine(node=name, group="g", state=state, utilization_permille=1, removable=False, blockers=blockers)


def test_nodes_kept_by_the_same_kind_of_pod_are_one_lot():
    """Pods of one owner on several nodes, each with its own numbers, keep those nodes for one reason."""
    first = Blocker(code="NoRoom", pod="a/x-0", message="needs 1 cpu")
    second = Blocker(code="NoRoom", pod="a/x-1", message="needs 2 cpu")
    lots = alike_nodes([node("n1", first), node("n2", second), node("n3"), node("n4", state=NodeState.UNREADY)])
    assert [tuple(line.node for line in lot.nodes) for lot in lots] == [("n1", "n2"), ("n3",), ("n4",)]


def test_blockers_keep_every_message():
    """Two messages of one code stay two; pods of one owner are counted under one label."""
    found = alike_blockers(
        [
            Blocker(code="LocalStorage", pod="a/x-0", message="volume data"),
            Blocker(code="LocalStorage", pod="a/x-1", message="volume data"),
            Blocker(code="LocalStorage", pod="a/y", message="volume tmp"),
            Blocker(code="Disabled", message="scale-down disabled"),
        ]
    )
    assert [(entry.code, entry.message, entry.pods, entry.count) for entry in found] == [
        ("Disabled", "scale-down disabled", (), 1),
        ("LocalStorage", "volume data", ("a/x-*",), 2),
        ("LocalStorage", "volume tmp", ("a/y",), 1),
    ]


def test_nodes_in_use_are_told_by_group_and_state():
    """What keeps a node that nobody would remove anyway makes no lot of its own."""
    local = Blocker(code="LocalStorage", pod="a/x-0", message="volume data")
    (lot,) = alike_nodes([node("n1", local, state=NodeState.IN_USE), node("n2", state=NodeState.IN_USE)])
    assert (len(lot.nodes), lot.candidate, [entry.code for entry in lot.blockers]) == (2, False, ["LocalStorage"])


def test_pods_with_a_place_are_told_once_whatever_node_has_room():
    """Three pods of one owner on three nodes are one lot, and five nodes are told by three names."""
    pods = [
        PodLine(
            pod=f"shop/web-{number}", outcome=PodOutcome.FITS_EXISTING, node=f"n{number}",
            reasons=(Reason("RoomOnNode", f"n{number} has room for it"),),
        )
        for number in range(6)
    ]  # fmt: skip
    (lot,) = alike_pods(pods)
    assert (lot.label, len(lot.pods)) == ("shop/web-*", 6)
    assert lot.reasons == (Reason("RoomOnNode", "n0, n1, n2 and 3 more have room for them"),)
    (alone,) = alike_pods(pods[:1])
    assert alone.reasons == pods[0].reasons
