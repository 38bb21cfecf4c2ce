"""What capacity without requests costs, by what keeps its nodes, and the line of the policy that would change it.

A node costs its price, and the share that its utilization leaves is idle. So a cluster costs what is requested and what is idle.
The idle part is split by the first blocker of each node. Without it, the cluster would cost what is requested.
"""

from collections.abc import Iterator, Mapping

import msgspec

from reconciler.plan.plan import ActionKind, NodeLine, Plan
from reconciler.plan.reason import Blocker
from reconciler.values.money import HOURS_PER_MONTH, parse_money, price_text

FREE = "Removable"
"""Instead of the code of a blocker: nothing keeps the node."""
SETTINGS: Mapping[str, str] = {
    "BlockedNamespace": "drain.blockedNamespaces",
    "Budget": "budgets",
    "CoolDown": "pace",
    "CustomController": "drain.customControllers",
    "GangIndivisible": "drain.podGroups",
    "GangMinimum": "drain.podGroups",
    "GroupHeld": "hold",
    "Headroom": "headroom",
    "JobAwaited": "drain.maxPodAge",
    "JobRunning": "drain.jobs",
    "KeptByShare": "tiers[].share",
    "KeptByWindow": "windows",
    "LimitMin": "limits[].min",
    "LocalStorage": "drain.localStorage",
    "MinReplicas": "drain.minReplicas",
    "MinSize": "size.min",
    "NeedsApproval": "pace.requireApprovalAbove",
    "NoPlaceToMove": "scaleDown.consolidation.mode",
    "NotSelectable": "scaleDown.withoutMachines",
    "NotUnderutilized": "scaleDown.utilizationThresholdPercent",
    "NotUnneededLongEnough": "scaleDown.unneededTime",
    "NotUnreadyLongEnough": "scaleDown.unreadyTime",
    "Observe": "mode",
    "Pace": "pace.maxRemovedPercent",
    "RemovalsOffByWindow": "windows",
    "ScaleDownDisabled": "scaleDown.mode",
    "SystemPod": "drain.systemPodsWithoutPDB",
    "Unreplicated": "drain.unreplicated",
    "ZoneBudget": "budgets",
}
"""By the code of a blocker, the key of the policy that would let its nodes go. Without an entry, no line of the policy does."""
_ABOUT = ("budget", "limit", "tier", "buffer", "request")


class Waste(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """Idle capacity of `nodes` nodes of one group, kept by one cause. `code` is that of their first blocker, or `FREE`. `object`
    is what the blocker is about: a pod or a disruption budget (`namespace/name`), a limit, or the group. Of several pods, it is
    the first by name. `alone_per_month` is the part on nodes with no other blocker. `setting` is the key of the policy that would
    change it (empty: none). `place` is where that key is written (empty: not asked)."""

    code: str
    group: str
    object: str
    nodes: int
    per_month: str
    alone_per_month: str
    setting: str = ""
    place: str = ""


class Wastes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All amounts are for a month at the prices of the plan. `cost_per_month` is that of `nodes` nodes, those whose price and
    utilization are known. `requested_per_month` is the part that pods request. `leaving_per_month` is the idle part of nodes that
    leave by the plan. `rows` are the rest, the most expensive first."""

    currency: str = ""
    nodes: int = 0
    unknown_nodes: int = 0
    cost_per_month: str = "0.00"
    requested_per_month: str = "0.00"
    leaving_per_month: str = "0.00"
    rows: tuple[Waste, ...] = ()


class _Kept(msgspec.Struct):
    micros: int = 0
    alone_micros: int = 0
    nodes: int = 0
    object: str = ""


def wastes(plan: Plan) -> Wastes:
    """The table of a plan. Nodes of groups without a price, and nodes that the policy does not manage, are not in it."""
    prices = {line.name: parse_money(line.price_per_hour) for line in plan.groups if line.price_per_hour is not None}
    gone = {
        name for action in plan.actions if action.kind in (ActionKind.REMOVE_NODE, ActionKind.REPLACE) for name in action.nodes
    }
    kept: dict[tuple[str, str, str], _Kept] = {}
    cost = requested = leaving = nodes = unknown = 0
    for line in plan.nodes:
        price, used = prices.get(line.group or ""), line.utilization_permille
        if line.group is not None and (price is None or used is None):
            unknown += 1
        if line.group is None or price is None or used is None:
            continue
        idle = price * max(0, 1000 - used) // 1000
        nodes, cost, requested = nodes + 1, cost + price, requested + price - idle
        if line.node in gone:
            leaving += idle
            continue
        about = _about(line)
        codes = {blocker.code for blocker in line.blockers}
        code = line.blockers[0].code if line.blockers else FREE
        one = kept.setdefault((code, line.group, "" if _is_pod(line) else about), _Kept())
        one.micros += idle
        one.alone_micros += idle if len(codes) <= 1 else 0
        one.nodes += 1
        one.object = min(one.object or about, about)
    return Wastes(
        currency=plan.cost.currency,
        nodes=nodes,
        unknown_nodes=unknown,
        cost_per_month=_month(cost),
        requested_per_month=_month(requested),
        leaving_per_month=_month(leaving),
        rows=tuple(_rows(kept)),
    )


def _rows(kept: Mapping[tuple[str, str, str], _Kept]) -> Iterator[Waste]:
    order = sorted(kept.items(), key=lambda item: (-item[1].micros, item[0]))
    for (code, group, _), one in order:
        if one.micros:
            yield Waste(
                code=code,
                group=group,
                object=one.object,
                nodes=one.nodes,
                per_month=_month(one.micros),
                alone_per_month=_month(one.alone_micros),
                setting=SETTINGS.get(code, ""),
            )


def _is_pod(line: NodeLine) -> bool:
    """Whether a pod keeps the node. Pods share a row, because each node has other pods."""
    return bool(line.blockers) and bool(line.blockers[0].pod) and not _named(line.blockers[0])


def _about(line: NodeLine) -> str:
    if not line.blockers:
        return line.group or ""
    first = line.blockers[0]
    return _named(first) or first.pod or line.group or ""


def _named(blocker: Blocker) -> str:
    found = (blocker.data.get(key) for key in _ABOUT)
    return next((name for name in found if isinstance(name, str) and name), "")


def _month(micros: int) -> str:
    return price_text(micros * HOURS_PER_MONTH)
