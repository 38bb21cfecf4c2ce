"""Karpenter's NodePool: a tier with its defaults, limits, budgets, and a group without its target.

SOURCE: the API `karpenter.sh/v1`, and its order of NodePools: the higher weight first, among equals the later name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from reconciler.policy.import_fragment import Fragment, Leftover, Piece, TargetlessGroup
from reconciler.policy.object_part import ObjectPart
from reconciler.rendering.manifests.group_names import group_names
from reconciler.values.whole_number import whole_number

NODE_POOL = ("karpenter.sh", "NodePool")
CALLED = "Karpenter's NodePool"
"""What people call the kind."""
_LABEL = "karpenter.sh/nodepool"
_NEVER = "Never"
_REMOVALS = {"Empty": ("Empty",), "Underutilized": ("Underutilized", "Consolidated")}
_ON_EVERY_NODE = ("kubernetes.io/arch", "kubernetes.io/os", "node.kubernetes.io/instance-type", "topology.kubernetes.io/zone")
_MISSING = "Karpenter makes nodes without a group, so its NodePool names no target"
_BUDGETS = (
    "A budget of a NodePool counts its own nodes. A budget here counts the nodes of all groups. If several are open, the most "
    "restrictive one wins."
)
_OF_THE_TARGET = "the target of a group defines its nodes"
_REASONS = {
    "spec.template.spec.nodeClassRef": _OF_THE_TARGET,
    "spec.template.spec.kubelet": _OF_THE_TARGET,
    "spec.template.metadata.annotations": "annotations of nodes do not affect decisions here",
    "spec.template.spec.expireAfter": "the loop does not replace nodes because of their age: roll out the target's machines",
    "spec.disruption.expireAfter": "the loop does not replace nodes because of their age: roll out the target's machines",
    "spec.template.spec.terminationGracePeriod": "pods get their own grace period in full. `run --drain-timeout` undoes a drain",
    "spec.disruption.consolidateWhen": "`scaleDown.utilizationThresholdPercent` and `scaleDown.consolidation` define when",
    "spec.disruption.decisionRatioThreshold": "`scaleDown.consolidation.minSavingPercent` is the least saving of a replacement",
}


def node_pool(item: Mapping[str, Any], _: Callable[[], str]) -> Fragment:
    """The policy fragment for a NodePool."""
    whole = ObjectPart(item)
    whole.value("apiVersion"), whole.value("kind")
    meta, spec = whole.part("metadata"), whole.part("spec")
    name = meta.text("name") or "nodepool"
    (called,) = group_names([(name, name)])
    label = {_LABEL: called}
    tier: Mapping[str, Any] = {"name": called, "match": {"labels": {"matchLabels": label}}}
    weight = spec.whole("weight")
    disruption = spec.part("disruption")
    left: list[Leftover] = []
    defaults = (*_disruption(disruption, left), *_template(spec.part("template"), left))
    pieces = [Piece(path="spec.weight", value=weight or 0, tree={"tiers": [tier]})]
    pieces += [_of_tier(called, piece) for piece in defaults]
    budgets = tuple(_budgets(disruption, left))
    limits = spec.part("limits")
    for resource in limits.keys():  # noqa: SIM118 - not a mapping: it records which keys were asked for
        limit = {"name": f"nodepool-{called}", "groups": {"matchLabels": label}, "max": {resource: limits.value(resource)}}
        pieces.append(limits.piece(resource, {"limits": [limit]}))
    group = TargetlessGroup(name=name, missing=_MISSING, labels=label, pieces=tuple(_size(spec)))
    return Fragment(
        title=f"NodePool {name}",
        rank=(weight or 0, name),
        pieces=(*pieces, *budgets),
        groups=(group,),
        leftovers=(*left, *whole.leftovers(_REASONS)),
        remarks=(_BUDGETS,) if budgets else (),
    )


def _of_tier(called: str, piece: Piece) -> Piece:
    return Piece(path=piece.path, value=piece.value, tree={"tiers": [{"name": called, "defaults": piece.tree}]})


def _disruption(disruption: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    after = disruption.text("consolidateAfter")
    if after == _NEVER:
        yield disruption.piece("consolidateAfter", {"scaleDown": {"mode": "Disabled"}})
    elif after:
        yield disruption.piece("consolidateAfter", {"scaleDown": {"unneededTime": after}})
    match disruption.text("consolidationPolicy"):
        case "WhenEmpty":
            # Empty nodes are removed whatever their utilization, and at 0 no other node is.
            yield disruption.piece("consolidationPolicy", {"scaleDown": {"utilizationThresholdPercent": 0}})
        case "":
            pass
        case _:
            why = (
                "nodes below `scaleDown.utilizationThresholdPercent` go. `scaleDown.consolidation` replaces nodes by cheaper ones"
            )
            left.append(disruption.leftover("consolidationPolicy", why))


def _template(template: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    labels = template.part("metadata").part("labels")
    for key in labels.keys():  # noqa: SIM118 - not a mapping: it records which keys were asked for
        yield labels.piece(key, {"template": {"labels": {key: labels.value(key)}}})
    spec = template.part("spec")
    for kind in ("taints", "startupTaints"):
        for number, taint in enumerate(spec.values(kind)):
            yield Piece(path=f"{spec.path(kind)}[{number}]", value=taint, tree={"template": {kind: [taint]}})
    for requirement in spec.parts("requirements"):
        yield from _requirement(requirement, left)


def _requirement(requirement: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    """A label with one value, which every node has, becomes a label of the template."""
    key, operator, values = requirement.text("key"), requirement.text("operator"), requirement.values("values")
    requirement.value("minValues")
    if operator == "In" and len(values) == 1 and key in _ON_EVERY_NODE:
        yield Piece(path=requirement.here, value=requirement.content, tree={"template": {"labels": {key: values[0]}}})
    else:
        why = f"{_OF_THE_TARGET}: name targets that match it"
        left.append(Leftover(path=requirement.here, value=requirement.content, why=why))


def _budgets(disruption: ObjectPart, left: list[Leftover]) -> Iterator[Piece]:
    for budget in disruption.parts("budgets"):
        nodes, reasons = budget.value("nodes"), budget.value("reasons")
        # There every number is a text.
        number = whole_number(nodes) if isinstance(nodes, str) else None
        tree: dict[str, Any] = {"nodes": nodes if number is None else number}
        if isinstance(reasons, list) and reasons:
            tree["reasons"] = [own for reason in reasons for own in _removals(reason)]
        elif reasons:
            tree["reasons"] = reasons
        tree |= {key: value for key in ("schedule", "duration") if (value := budget.value(key)) is not None}
        if reasons == ["Drifted"]:
            why = "the loop does not replace nodes because of drift: roll out the target's machines"
            left.append(Leftover(path=budget.here, value=budget.content, why=why))
        else:
            yield Piece(path=budget.here, value=budget.content, tree={"budgets": [tree]})


def _removals(reason: object) -> Sequence[object]:
    """The reasons for removal here. A budget for drift alone has none. Unknown reasons are left to the policy reader."""
    if reason == "Drifted":
        return ()
    return _REMOVALS.get(reason, (reason,)) if isinstance(reason, str) else (reason,)


def _size(spec: ObjectPart) -> Iterator[Piece]:
    """A static NodePool has a number of nodes; others have no range."""
    if (replicas := spec.whole("replicas")) is not None:
        yield spec.piece("replicas", {"size": {"min": replicas, "max": replicas}})
