"""Pods and nodes of which the same is to be said, told once with a count."""

import re
from collections.abc import Sequence

import msgspec

from reconciler.plan.plan import NodeLine, NodeState, PodLine, PodOutcome
from reconciler.plan.reason import Blocker, Reason
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.plain import listed

# Kubernetes makes random name parts of consonants and digits that spell no words (k8s.io/apimachinery, util/rand).
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_GENERATED = re.compile(rf"^(?P<owner>.+?)(?:(?:-{_RANDOM}{{6,10}})?-{_RANDOM}{{5}}|-\d+)$")

# Which node has room is no difference between pods that get a place on nodes that are there or coming.
_PLACED = (PodOutcome.FITS_EXISTING, PodOutcome.FITS_UPCOMING)
_CANDIDATES = (NodeState.EMPTY, NodeState.UNDERUTILIZED, NodeState.UNREADY)


class AlikePods(msgspec.Struct, frozen=True, kw_only=True):
    """Pending pods of one owner, as far as names tell, with the same outcome for the same reasons."""

    label: str
    outcome: PodOutcome
    group: str | None
    reasons: tuple[Reason, ...]
    pods: tuple[str, ...]


class AlikeBlockers(msgspec.Struct, frozen=True, kw_only=True):
    """Blockers of one code and message; `pods` are distinct labels, empty where the node itself is meant."""

    code: str
    message: str
    pods: tuple[str, ...]
    count: int


class AlikeNodes(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes of one group in the same state, kept by the same blockers; only `candidate` lots are told blocker by blocker."""

    group: str | None
    state: NodeState
    removable: bool
    candidate: bool
    blockers: tuple[AlikeBlockers, ...]
    nodes: tuple[NodeLine, ...]


def owner_label(pod: str) -> str:
    """`shop/web-6d4cf56db6-x7k2p` -> `shop/web-*`, `shop/db-0` -> `shop/db-*`; a name that nobody generated stays."""
    match = _GENERATED.match(pod)
    return f"{match['owner']}-*" if match else pod


def pod_labels(pods: Sequence[str]) -> list[str]:
    """`shop/web-* (4)`, the largest lots first."""
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    ordered = sorted(lots.items(), key=lambda item: (-len(item[1]), item[0]))
    return [f"{label} ({len(names)})" if len(names) > 1 else names[0] for label, names in ordered]


def alike_pods(pods: Sequence[PodLine]) -> tuple[AlikePods, ...]:
    """Pods told together: the largest lots first, then by name."""
    lots: dict[tuple[str, PodOutcome, str | None, tuple[tuple[str, str], ...]], list[PodLine]] = {}
    for pod in pods:
        words = tuple((reason.code, "" if pod.outcome in _PLACED else reason.message) for reason in pod.reasons)
        lots.setdefault((owner_label(pod.pod), pod.outcome, pod.group, words), []).append(pod)
    alike = [
        AlikePods(
            label=label if len(lot) > 1 else lot[0].pod,
            outcome=outcome,
            group=group,
            reasons=lot[0].reasons if outcome not in _PLACED else _rooms(lot),
            pods=tuple(pod.pod for pod in lot),
        )
        for (label, outcome, group, _), lot in lots.items()
    ]
    return tuple(sorted(alike, key=lambda lot: (-len(lot.pods), lot.label, lot.outcome)))


def _rooms(pods: Sequence[PodLine]) -> tuple[Reason, ...]:
    """The reasons of one pod, or which nodes have room for several."""
    nodes = tuple(dict.fromkeys(pod.node for pod in pods if pod.node))
    if len(nodes) < 2:
        return pods[0].reasons
    return (Reason(pods[0].reasons[0].code, f"{listed(nodes, NAMES_SHOWN)} have room for them"),) if pods[0].reasons else ()


def alike_nodes(nodes: Sequence[NodeLine]) -> tuple[AlikeNodes, ...]:
    """Nodes told together, by group, state and size of the lot. Where messages carry numbers, the code decides.

    Nodes that could go if it were not for their blockers are told by blockers, all others by group and state alone.
    """
    lots: dict[tuple[str, NodeState, bool, tuple[tuple[str, str], ...]], list[NodeLine]] = {}
    for node in nodes:
        kept_by = tuple(sorted({(blocker.code, owner_label(blocker.pod)) for blocker in node.blockers}))
        key = (node.group or "", node.state, node.removable, kept_by if node.state in _CANDIDATES else ())
        lots.setdefault(key, []).append(node)
    alike = [
        AlikeNodes(
            group=group or None,
            state=state,
            removable=removable,
            candidate=state in _CANDIDATES,
            blockers=alike_blockers([blocker for node in lot for blocker in node.blockers]),
            nodes=tuple(lot),
        )
        for (group, state, removable, _), lot in lots.items()
    ]
    return tuple(
        sorted(alike, key=lambda lot: (not lot.candidate, lot.group or "~", lot.state, -len(lot.nodes), lot.nodes[0].node))
    )


def alike_blockers(blockers: Sequence[Blocker]) -> tuple[AlikeBlockers, ...]:
    """Blockers told together, by code and message."""
    lots: dict[tuple[str, str], list[str]] = {}
    for blocker in blockers:
        lots.setdefault((blocker.code, blocker.message), []).append(blocker.pod)
    together = []
    for (code, message), pods in sorted(lots.items()):
        labels: dict[str, list[str]] = {}
        for pod in pods:
            if pod:
                labels.setdefault(owner_label(pod), []).append(pod)
        names = tuple(sorted(label if len(lot) > 1 else lot[0] for label, lot in labels.items()))
        together.append(AlikeBlockers(code=code, message=message, pods=names, count=len(pods)))
    return tuple(together)
