"""From what was drafted to actions, in the order in which they are done, each bound to what it was judged on."""

from functools import reduce

from reconciler.cluster.target import TargetFacts
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.groups.cluster_names import cluster_mark, in_cloud, marked_by_other
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.handover import back
from reconciler.decisions.ownership.owner import Terms, judge, policy_mark
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons.nodes import NodesRepacked, NodesReplaced, NodesReturn
from reconciler.decisions.reasons.owners import Adoption, Released
from reconciler.decisions.reasons.provisioning import GrownForRequest
from reconciler.decisions.reasons.sizes import Probing, RoomBeforeEnd, RoomForRepair
from reconciler.decisions.removal.replacements.opportunity import Opportunity
from reconciler.decisions.removal.scale_down import Judged
from reconciler.decisions.situation.denied_writes import GROWTH, denied_now
from reconciler.plan.plan import Action, ActionKind, Bound, OwnerState
from reconciler.plan.reason import Because, Reason
from reconciler.policy.documents import PolicySet
from reconciler.values.cluster_identity import FleetPlace
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text
from reconciler.values.two_sentences import two_sentences


def actions(
    draft: Draft,
    judged: dict[int, Judged],
    policy_digest: str,
    releases: tuple[Action, ...],
    replacing: Opportunity | None = None,
) -> tuple[Action, ...]:
    """Adoptions, growth, what is taken back, removals node by node, the replacement that begins, releases; inside a kind by
    group and node name."""
    adopt: list[Action] = []
    resize: list[Action] = []
    cancel: list[Action] = []
    remove: list[Action] = []
    replace: list[Action] = []
    adds, names = ({}, ()) if replacing is None else (dict(replacing.adds), replacing.names(draft))
    for group in sorted(draft.groups, key=lambda entry: entry.group.name):
        facts = group.group.facts
        if facts is None or group.held_why:
            continue
        bound = _bound(group, facts, policy_digest)
        current = group.situation.current
        denied = denied_now(draft.memory, GROWTH, str(group.group.target), draft.now_seconds) is not None
        if group.judgement.ownership.state is OwnerState.ADOPTABLE and not denied:
            ownership = group.judgement.ownership
            why = Adoption(manager=ownership.by, why=ownership.evidence[-1]).reason()
            adopt.append(_action(ActionKind.ADOPT, group, current, current, (), bound, why))
        if replacing is not None and (added := adds.get(group.position)):
            why = _replacement(draft, replacing).reason()
            replace.append(_action(ActionKind.REPLACE, group, current, current + added, names, bound, why))
        elif group.desired > current:
            why = _growth_reason(group)
            resize.append(_action(ActionKind.RESIZE, group, current, group.desired, (), bound, why))
        taken_back = group.cancelled
        if taken_back is not None:
            left, why = current - taken_back.requests, taken_back.why.reason()
            cancel.append(_action(ActionKind.CANCEL, group, current, left, (), bound, why, machines=taken_back.machines))
        removed = sorted(
            {draft.world.nodes[index].name: judged[index].why for index in group.removed}.items(), key=lambda item: item[0]
        )
        # Nodes that are leaving already are off the count: the last value is the least that the target may be lowered to, and
        # one too high would refuse nodes that have been emptied.
        size = group.situation.without_leaving - (taken_back.requests if taken_back is not None else 0)
        for name, because in removed:
            if because is None:
                continue
            remove.append(_action(ActionKind.REMOVE_NODE, group, size, size - 1, (name,), bound, because.reason()))
            size -= 1
    return (*adopt, *resize, *cancel, *remove, *replace, *releases)


def _replacement(draft: Draft, replacing: Opportunity) -> Because:
    names, tier = replacing.names(draft), replacing.returns
    if replacing.elsewhere:
        return NodesRepacked(nodes=names, mix=replacing.mix(draft), **replacing.figures)
    by = replacing.by(draft)
    if tier is not None:
        saving = price_text(replacing.saving_micros) if replacing.saving_micros else ""
        return NodesReturn(
            nodes=names, by=by, tier=tier.name, since=instant_text(tier.state.since_seconds), saving_per_hour=saving
        )
    return NodesReplaced(
        nodes=names,
        by=by,
        saving_per_hour=price_text(replacing.saving_micros),
        saving_percent=replacing.saving_percent,
        pods=replacing.pods,
        young_pods=replacing.young_pods,
    )


_WHY_GROWN = ("PendingPods", "BelowMin", "Headroom", GrownForRequest.code, Probing.code, RoomBeforeEnd.code, RoomForRepair.code)


def _growth_reason(group: GroupDraft) -> Reason:
    """What the reasons that speak of pods, the minimum or headroom say, under the code of the first."""
    telling = [reason for reason in group.reasons if reason.code in _WHY_GROWN]
    return Reason(telling[0].code, reduce(two_sentences, (reason.message for reason in telling)), telling[0].data)


def _bound(group: GroupDraft, facts: TargetFacts, policy_digest: str) -> Bound:
    return Bound(
        resource_version=facts.resource_version,
        replicas=group.situation.current,
        owner_digest=group.judgement.digest,
        policy_digest=policy_digest,
    )


def _action(
    kind: ActionKind,
    group: GroupDraft,
    before: int,
    after: int,
    nodes: tuple[str, ...],
    bound: Bound,
    reason: Reason,
    machines: tuple[str, ...] = (),
) -> Action:
    return Action(
        kind=kind,
        group=group.group.name,
        target=str(group.group.target),
        from_=before,
        to=after,
        nodes=nodes,
        machines=machines,
        bound=bound,
        reason=reason,
    )


def releases(
    targets: tuple[TargetFacts, ...],
    claimed: frozenset[str],
    memory: Memory,
    terms: Terms,
    policy: PolicySet,
    place: FleetPlace | None = None,
) -> tuple[Action, ...]:
    """Targets that were ours and are in no group any more: known from memory, or by a mark of this policy on the object itself.

    In a fleet, `place` is the cluster of this loop: what the loop of another one marked is not ours.
    The target keeps its size; only our marks go. The field manager alone tells nothing: other policies write under it too.
    """
    released = []
    for facts in targets:
        target = str(facts.ref)
        if target in claimed or marked_by_other(facts, place.cluster.title if place is not None else ""):
            continue
        mark = policy_mark(facts)
        # All clusters of a fleet may have one policy, so its name alone does not show whose mark it is.
        ours = mark == policy.policy.name and (place is None or not in_cloud(facts.ref.kind) or bool(cluster_mark(facts)))
        name = memory.known_groups.get(target, facts.ref.name if ours else "")
        if not name or mark not in ("", policy.policy.name):
            continue
        replicas = facts.replicas or 0
        bound = Bound(
            resource_version=facts.resource_version,
            replicas=replicas,
            owner_digest=judge(facts, terms).digest,
            policy_digest=policy.digest,
        )
        left_out = facts.owner.topology_owned or (facts.min_size is not None and _in_manifests(facts.ref.kind))
        way = back(facts) if left_out and facts.owner.topology_replicas is None else None
        reason = Released(
            replicas=replicas, back=way.steps[-1] if way is not None else "", risk=way.risk if way is not None else ""
        ).reason()
        released.append(
            Action(kind=ActionKind.RELEASE, group=name, target=target, from_=replicas, to=replicas, bound=bound, reason=reason)
        )
    return tuple(sorted(released, key=lambda action: action.group))


def _in_manifests(kind: str) -> bool:
    rules = rules_of(kind)
    return rules is not None and rules.declared_in_manifests
