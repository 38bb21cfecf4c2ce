"""Limits against what groups need at least and may reach at most; expanders against prices."""

import msgspec

from reconciler.policy.checks.levels import EffectiveValue, effective, levels_of, strongest
from reconciler.policy.documents import Expander, Limit, NodeGroup, NodeGroupPolicy
from reconciler.policy.place import Place
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import Draft
from reconciler.policy.values.label_selector import may_match, selector_matches
from reconciler.values.money import PRICE_HOURS, MoneyError, parse_money
from reconciler.values.quantity import quantity_text

MAX_RELATED = 5


class Share(msgspec.Struct, frozen=True):
    """What one group can add to a sum: its bounds, the labels and the capacity of its nodes as far as they are written."""

    draft: Draft[NodeGroup]
    low: EffectiveValue | None
    high: EffectiveValue | None
    labels: dict[str, str]
    node_labels: dict[str, str]
    capacity: dict[str, int]
    price_micros: int | None
    priced: bool

    def amount(self, resource: str) -> int:
        """What one node adds to the sum of a resource, as far as it is written: 1 node, its price or its capacity."""
        if resource in PRICE_HOURS:
            return (self.price_micros or 0) * PRICE_HOURS[resource]
        return 1 if resource == "nodes" else self.capacity.get(resource, 0)


def check_limits(policy: Draft[NodeGroupPolicy], groups: tuple[Draft[NodeGroup], ...], findings: Findings) -> None:
    """Every limit of a policy, over the groups that name it."""
    shares = tuple(_share(group, policy) for group in groups)
    left_out: set[str] = set()
    for index, limit in enumerate(policy.document.limits):
        _amounts(policy, index, limit, findings)
        _selects_nothing(policy, index, limit, shares, findings)
        _unpriced(policy, index, limit, shares, findings)
        counted = [share for share in shares if _counts(limit, share)]
        low = [
            resource for resource, _ in limit.max if _below_minimums(policy, index, limit, resource, counted, left_out, findings)
        ]
        if "nodes" not in low and limit.groups is None and limit.nodes is None:
            _below_maximums(policy, index, limit, shares, findings)
    _prices(policy, shares, findings)


def _share(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy]) -> Share:
    levels = levels_of(group, policy)
    template = strongest(levels, lambda fields: fields.template.labels)
    architecture = strongest(levels, lambda fields: fields.template.architecture)
    node_labels = {"kubernetes.io/arch": architecture[0]} if architecture and architecture[0] else {}
    capacity = strongest(levels, lambda fields: fields.template.capacity)
    price = strongest(levels, lambda fields: fields.price_per_hour)
    return Share(
        draft=group,
        low=effective(levels, policy.document, lambda fields: fields.size.min),
        high=effective(levels, policy.document, lambda fields: fields.size.max),
        labels=dict(group.document.labels),
        node_labels=node_labels | (dict(template[0]) if template else {}),
        capacity=dict(capacity[0]) if capacity else {},
        price_micros=_micros(price[0]) if price is not None else None,
        priced=price is not None or not group.sound("spec.pricePerHour"),
    )


def _micros(text: str | None) -> int | None:
    """A price that was read; None for one that is reported as invalid."""
    try:
        return None if text is None else parse_money(text)
    except MoneyError:
        return None


def _amounts(policy: Draft[NodeGroupPolicy], index: int, limit: Limit, findings: Findings) -> None:
    path = f"spec.limits[{index}]"
    if not limit.max and not limit.min and policy.sound(path):
        message = f"limit {limit.name!r} sets neither max nor min"
        policy.report(findings, "EmptyLimit", path, message, "write max: {nodes: 100}")
    highest = dict(limit.max)
    for resource, amount in limit.min:
        if resource in highest and amount > highest[resource]:
            related = ((policy.place(f"{path}.max.{resource}"), "the max"),)
            message = f"limit {limit.name!r}: min {resource} is above its max"
            hint = "lower min or raise max"
            policy.report(findings, "LimitMinAboveMax", f"{path}.min.{resource}", message, hint, related=related)


def _below_minimums(
    policy: Draft[NodeGroupPolicy],
    index: int,
    limit: Limit,
    resource: str,
    counted: list[Share],
    left_out: set[str],
    findings: Findings,
) -> bool:
    """An error if the sum of the minimums alone is above the limit: some group could never reach its min. The cause is the groups
    that do not fit next to those before them. `left_out` has those that fit under no limit so far."""
    total = fits = 0
    amount = dict(limit.max)[resource]
    related: list[tuple[Place, str]] = []
    for share in counted:
        if share.low is None or not share.low.certain:
            continue
        added = share.low.value * share.amount(resource)
        total += added
        if share.draft.path not in left_out:
            if fits + added > amount:
                left_out.add(share.draft.path)
            else:
                fits += added
        if added and len(related) < MAX_RELATED:
            related.append((share.low.level.place("size.min"), f"{share.draft.document.name}: min {share.low.value}"))
    if total <= amount:
        return False
    needed = quantity_text(resource, total)
    message = f"limit {limit.name!r}: max {resource} {quantity_text(resource, amount)} is below the sum of minimums, {needed}"
    hint = f"raise it to {needed} or more, or lower the groups' min"
    path = f"spec.limits[{index}].max.{resource}"
    with findings.because_of(*left_out):
        policy.report(findings, "LimitBelowMinimums", path, message, hint, related=tuple(related))
    return True


def _below_maximums(
    policy: Draft[NodeGroupPolicy], index: int, limit: Limit, shares: tuple[Share, ...], findings: Findings
) -> None:
    """A warning where groups cannot all reach their max. SOURCE: OpenShift's maxNodesTotal must cover the control plane
    and all compute nodes that may exist."""
    amount = dict(limit.max).get("nodes")
    highs = [(share.high, share.draft.document.name) for share in shares if share.high is not None]
    total = sum(high.value for high, _ in highs)
    if amount is None or not highs or amount > total:
        return
    largest = sorted(highs, key=lambda pair: (-pair[0].value, pair[1]))[:MAX_RELATED]
    related = tuple((high.level.place("size.max"), f"{name}: max {high.value}") for high, name in largest)
    message = (
        f"limit {limit.name!r}: max nodes {amount} is below the sum of maximums, {total}, and the control plane, which counts too"
    )
    hint = f"raise it above {total} by the number of control plane nodes, so that all groups can reach their max"
    policy.warn(findings, "LimitBelowMaximums", f"spec.limits[{index}].max.nodes", message, hint, related=related)


def _counts(limit: Limit, share: Share) -> bool:
    """Whether the nodes of a group certainly count for a limit, whatever labels are not written here."""
    if limit.groups is not None and not selector_matches(limit.groups, share.labels):
        return False
    return limit.nodes is None or may_match(limit.nodes, share.node_labels, complete=False) is True


def _selects_nothing(
    policy: Draft[NodeGroupPolicy], index: int, limit: Limit, shares: tuple[Share, ...], findings: Findings
) -> None:
    path = f"spec.limits[{index}].groups"
    if limit.groups is None or policy.document.discovery or not shares or not policy.sound(path):
        return
    if not any(selector_matches(limit.groups, share.labels) for share in shares):
        message = f"limit {limit.name!r} selects no group"
        policy.warn(findings, "SelectsNothing", path, message, "groups are selected by metadata.labels of their NodeGroup")


def _unpriced(policy: Draft[NodeGroupPolicy], index: int, limit: Limit, shares: tuple[Share, ...], findings: Findings) -> None:
    """An error where a spending limit may count nodes of a group whose price nobody has written."""
    spent = next((resource for resource, _ in limit.max if resource in PRICE_HOURS), None)
    if spent is None or not policy.sound(f"spec.limits[{index}]"):
        return
    for share in shares:
        if not share.priced and _may_count(limit, share):
            message = f"limit {limit.name!r} bounds {spent}, and group {share.draft.document.name!r} has no price"
            hint = "write spec.pricePerHour, or defaults.pricePerHour for its tier or for all groups"
            related = ((policy.place(f"spec.limits[{index}].max.{spent}"), "the limit"),)
            share.draft.report(findings, "UnpricedGroup", "metadata.name", message, hint, related=related)


def _may_count(limit: Limit, share: Share) -> bool:
    """Whether a limit may count nodes of a group: only labels that are written, and differ, rule that out."""
    if limit.groups is not None and not selector_matches(limit.groups, share.labels):
        return False
    return limit.nodes is None or may_match(limit.nodes, share.node_labels, complete=False) is not False


def _prices(policy: Draft[NodeGroupPolicy], shares: tuple[Share, ...], findings: Findings) -> None:
    expanders = policy.document.expanders
    free = [share.draft for share in shares if not share.priced]
    if Expander.LEAST_COST not in expanders or not policy.sound("spec.expanders") or not free:
        return
    path = f"spec.expanders[{expanders.index(Expander.LEAST_COST)}]"
    related = tuple((group.place("metadata.name"), "no pricePerHour") for group in free[:MAX_RELATED])
    names = ", ".join(group.document.name for group in free[:MAX_RELATED]) + (", …" if len(free) > MAX_RELATED else "")
    message = f"LeastCost cannot compare groups without a price: {names}"
    policy.warn(findings, "MissingPrice", path, message, "write pricePerHour for each, or for a whole tier", related=related)
