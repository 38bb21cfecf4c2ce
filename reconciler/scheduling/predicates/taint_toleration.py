"""TaintToleration and NodeUnschedulable: a node keeps pods away that do not tolerate what it says."""

import re
from collections.abc import Iterable

from reconciler.cluster.nodes.node import NodeShape, Taint
from reconciler.cluster.pods.pod import Toleration
from reconciler.scheduling.shapes import COMPARING
from reconciler.scheduling.verdict import Rejection

_DECIMAL = re.compile(r"0|-?[1-9][0-9]{0,18}", re.ASCII)
_INT64 = 2**63
_HARD = frozenset({"NoSchedule", "NoExecute"})
_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Does one toleration cover one taint?

    Source: core/v1 `Toleration.ToleratesTaint`, 1.36 and 1.37. If the toleration has an effect or a key, it must equal the
    taint's. Exists matches any value. Equal (or no operator) matches the same value. Gt and Lt compare 64-bit integers. Without
    the gate TaintTolerationComparisonOperators they match nothing, and nobody asks about them here.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    if toleration.operator in COMPARING:
        there, wanted = _integer(taint.value), _integer(toleration.value)
        if there is None or wanted is None:
            return False
        return there > wanted if toleration.operator == "Gt" else there < wanted
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def _integer(text: str) -> int | None:
    """Source: `content.IsDecimalInteger`: no sign but a minus, no leading zeros."""
    number = int(text) if _DECIMAL.fullmatch(text) else _INT64
    return number if -_INT64 <= number < _INT64 else None


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """The taints that keep the pod away.

    Source: plugin TaintToleration, Filter: NoSchedule and NoExecute count, PreferNoSchedule is only a score.
    """
    hard = [taint for taint in taints if taint.effect in _HARD]
    if not hard:
        return ()
    known = tuple(tolerations)
    return tuple(taint for taint in hard if not any(tolerates(toleration, taint) for toleration in known))


def taint_rejection(shape: NodeShape, tolerations: Iterable[Toleration]) -> Rejection | None:
    """What TaintToleration says, naming every taint that is not tolerated."""
    taints = untolerated(shape.taints, tolerations)
    if not taints:
        return None
    return Rejection("TaintToleration", f"untolerated taint {', '.join(taint_text(taint) for taint in taints)}")


def unschedulable_rejection(shape: NodeShape, tolerations: Iterable[Toleration]) -> Rejection | None:
    """What NodeUnschedulable says.

    Source: plugin NodeUnschedulable, Filter: a cordoned node (`spec.unschedulable`) takes only pods that tolerate the
    taint `node.kubernetes.io/unschedulable:NoSchedule`, whether the node carries that taint or not.
    """
    if not shape.unschedulable or not untolerated((_CORDON,), tolerations):
        return None
    return Rejection("NodeUnschedulable", "the node is cordoned (spec.unschedulable)")


def taint_text(taint: Taint) -> str:
    """As kubectl writes it: `dedicated=gpu:NoSchedule`."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
