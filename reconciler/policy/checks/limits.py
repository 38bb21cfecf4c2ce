"""Limits against what groups need at least and may reach at most; expanders against prices."""

from reconciler.policy.checks.levels import Found, effective, levels_of, selects, strongest
from reconciler.policy.documents import Expander, Limit, NodeGroup, NodeGroupPolicy, Selector
from reconciler.policy.draft import Draft
from reconciler.policy.findings import Findings
from reconciler.policy.place import Place

MAX_RELATED = 5


def check_limits(policy: Draft[NodeGroupPolicy], groups: tuple[Draft[NodeGroup], ...], findings: Findings) -> None:
    """Every limit of a policy, over the groups that name it; the groups must have been read without errors in size."""
    for index, limit in enumerate(policy.document.limits):
        path = f"spec.limits[{index}]"
        if not limit.max and not limit.min and policy.sound(path):
            policy.report(
                findings, "EmptyLimit", path, f"limit {limit.name!r} sets neither max nor min", "write max: {nodes: 100}"
            )
        highest = dict(limit.max)
        for resource, amount in limit.min:
            if resource in highest and amount > highest[resource]:
                related = ((policy.place(f"{path}.max.{resource}"), "the max"),)
                message = f"limit {limit.name!r}: min {resource} is above its max"
                policy.report(
                    findings, "LimitMinAboveMax", f"{path}.min.{resource}", message, "lower min or raise max", related=related
                )
        _selects_nothing(policy, index, limit, groups, findings)
        low = [r for r, amount in limit.max if _below_minimums(policy, index, limit, r, amount, groups, findings)]
        if "nodes" in highest and "nodes" not in low and limit.groups is None and limit.nodes is None:
            _below_maximums(policy, index, limit.name, highest["nodes"], groups, findings)
    _prices(policy, groups, findings)


def _below_minimums(
    policy: Draft[NodeGroupPolicy],
    index: int,
    limit: Limit,
    resource: str,
    amount: int,
    groups: tuple[Draft[NodeGroup], ...],
    findings: Findings,
) -> bool:
    """An error where the sum of minimums alone is above the limit: some group could never reach its min."""
    total = 0
    related: list[tuple[Place, str]] = []
    for group in groups:
        levels = levels_of(group, policy)
        low = effective(levels, policy.document, lambda fields: fields.size.min)
        if low is None or not low.certain or not low.value or _counts(limit, group, policy) is not True:
            continue
        each = 1
        if resource != "nodes":
            capacity = strongest(levels, lambda fields: fields.template.capacity)
            each = dict(capacity[0]).get(resource, 0) if capacity else 0
        total += low.value * each
        if each:
            related.append((low.level.place("size.min"), f"{group.document.name}: min {low.value}"))
    if total <= amount:
        return False
    message = (
        f"limit {limit.name!r}: max {resource} {_text(resource, amount)} is below the sum of minimums, {_text(resource, total)}"
    )
    hint = f"raise it to {_text(resource, total)} or more, or lower the groups' min"
    path = f"spec.limits[{index}].max.{resource}"
    policy.report(findings, "LimitBelowMinimums", path, message, hint, related=tuple(related[:MAX_RELATED]))
    return True


def _below_maximums(
    policy: Draft[NodeGroupPolicy],
    index: int,
    name: str,
    amount: int,
    groups: tuple[Draft[NodeGroup], ...],
    findings: Findings,
) -> None:
    """A warning where groups cannot all reach their max. SOURCE: OpenShift's maxNodesTotal must cover the control plane
    and all compute nodes that may exist."""
    highs: list[tuple[Draft[NodeGroup], Found]] = []
    for group in groups:
        high = effective(levels_of(group, policy), policy.document, lambda fields: fields.size.max)
        if high is not None:
            highs.append((group, high))
    total = sum(high.value for _, high in highs)
    if not highs or amount > total:
        return
    largest = sorted(highs, key=lambda pair: (-pair[1].value, pair[0].document.name))[:MAX_RELATED]
    related = tuple((high.level.place("size.max"), f"{group.document.name}: max {high.value}") for group, high in largest)
    message = f"limit {name!r}: max nodes {amount} is below the sum of maximums, {total}, and the control plane, which counts too"
    hint = f"raise it above {total} by the number of control plane nodes, if all groups shall be able to reach their max"
    policy.warn(findings, "LimitBelowMaximums", f"spec.limits[{index}].max.nodes", message, hint, related=related)


def _counts(limit: Limit, group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy]) -> bool | None:
    """Whether the nodes of a group certainly count for a limit; None when that depends on labels not written here."""
    if limit.groups is not None and not selects(limit.groups, dict(group.document.labels), complete=True):
        return False
    if limit.nodes is None:
        return True
    template = strongest(levels_of(group, policy), lambda fields: fields.template.labels)
    labels = dict(template[0]) if template else {}
    architecture = strongest(levels_of(group, policy), lambda fields: fields.template.architecture)
    if architecture and architecture[0]:
        labels.setdefault("kubernetes.io/arch", architecture[0])
    return selects(limit.nodes, labels, complete=False)


def _selects_nothing(
    policy: Draft[NodeGroupPolicy], index: int, limit: Limit, groups: tuple[Draft[NodeGroup], ...], findings: Findings
) -> None:
    selector: Selector | None = limit.groups
    path = f"spec.limits[{index}].groups"
    if selector is None or policy.document.discovery or not groups or not policy.sound(path):
        return
    if not any(selects(selector, dict(group.document.labels), complete=True) for group in groups):
        message = f"limit {limit.name!r} selects no group"
        policy.warn(findings, "SelectsNothing", path, message, "groups are selected by metadata.labels of their NodeGroup")


def _prices(policy: Draft[NodeGroupPolicy], groups: tuple[Draft[NodeGroup], ...], findings: Findings) -> None:
    expanders = policy.document.expanders
    if Expander.LEAST_COST not in expanders or not policy.sound("spec.expanders"):
        return
    free = [
        g for g in groups if strongest(levels_of(g, policy), lambda f: f.price_per_hour) is None and g.sound("spec.pricePerHour")
    ]
    if not free:
        return
    path = f"spec.expanders[{expanders.index(Expander.LEAST_COST)}]"
    related = tuple((group.place("metadata.name"), "no pricePerHour") for group in free[:MAX_RELATED])
    names = ", ".join(group.document.name for group in free[:MAX_RELATED]) + (", …" if len(free) > MAX_RELATED else "")
    message = f"LeastCost cannot compare groups without a price: {names}"
    policy.warn(findings, "MissingPrice", path, message, "write pricePerHour for each, or for a whole tier", related=related)


def _text(resource: str, amount: int) -> str:
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage"):
        for suffix, power in (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)):
            if amount and amount % (1 << power) == 0:
                return f"{amount >> power}{suffix}"
    return str(amount)
