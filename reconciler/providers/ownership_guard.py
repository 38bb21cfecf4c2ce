"""The last check before a write: the same judgement as the decision's, on what was just read.

SOURCE: rule 1 of the product. The evidence alone decides whether a target is ours, without policy or clock. Whether it may be
taken over depends also on policy and clock, but only in one direction. With the same evidence, time and the decision's policy can
turn a hold into an adoption, but not back. So the terms here are the widest, and the digest of the decision binds them. The
digests are equal only if the decision, under its own terms, came to the same state by the same evidence.
"""

import time

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.hold_mark import read_hold
from reconciler.decisions.groups.cluster_names import cluster_mark
from reconciler.decisions.ownership.owner import NO_OWNER, OUR_MANAGER, Judgement, Terms, judge
from reconciler.decisions.reasons.machines import OtherClusterMark
from reconciler.plan.plan import Bound, OwnerState
from reconciler.providers.contract import WriteCode, WriteResult
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text


def judged_now(facts: TargetFacts) -> Judgement:
    """The state of the target under the widest terms: Ours, or Adoptable if some policy might take it over."""
    managers = tuple(sorted({owner.manager for owner in facts.owner.owners} | {"kubectl"}))
    return judge(facts, Terms(adopt_from=managers, human_hold_seconds=0, now_seconds=1 << 40, first_seen_seconds=0))


def moved(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Stale if replicas differ from the judged ones.

    A resourceVersion that moved for another reason does not matter: a busy target's status is written several times a second.
    The latest read is judged, and the write has its resourceVersion.
    """
    if (facts.replicas or 0) == bound.replicas:
        return None
    message = f"{facts.ref} has {count_text(facts.replicas or 0, 'replica')}, and {bound.replicas} when the plan was made"
    return WriteResult(code=WriteCode.STALE, message=message)


def not_ours(facts: TargetFacts) -> WriteResult | None:
    """Why replicas may not be written, with the evidence; None if they are ours. Conflict names another manager."""
    if _held(facts):
        message = f"{facts.ref} is held: {facts.owner.hold} (annotation reconciler.dev/hold)"
        return WriteResult(code=WriteCode.REFUSED, message=message)
    ownership = judged_now(facts).ownership
    if ownership.state is OwnerState.OURS:
        return None
    evidence = clauses(ownership.evidence)
    if ownership.state is OwnerState.UNKNOWN or ownership.by in NO_OWNER:
        return WriteResult(code=WriteCode.REFUSED, message=f"{facts.ref} is not ours to write: {evidence}")
    message = f'{facts.ref}: conflict with "{ownership.by}": {evidence}'
    return WriteResult(code=WriteCode.CONFLICT, message=message)


def of_another_cluster(facts: TargetFacts, cluster: str) -> WriteResult | None:
    """Why the loop of `cluster` (empty: of no fleet) may write nothing at all on the target: the loop of another one has marked
    it. None if none has."""
    mark = cluster_mark(facts)
    if mark in ("", cluster):
        return None
    sentence = OtherClusterMark(target=str(facts.ref), mark=mark, here=cluster).sentence()
    return WriteResult(code=WriteCode.REFUSED, message=f"{OtherClusterMark.code}: {sentence}")


def objection(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Why replicas may not be written under `bound`; None if they may."""
    return moved(facts, bound) or not_ours(facts) or _evidence_moved(facts, bound)


def objection_to_adopt(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Why the field may not be taken over under `bound`; None if it may."""
    stale = moved(facts, bound)
    if stale is not None:
        return stale
    if _held(facts) or judged_now(facts).ownership.state is not OwnerState.ADOPTABLE:
        return not_ours(facts) or _evidence_moved(facts, bound)
    return _evidence_moved(facts, bound)


def _held(facts: TargetFacts) -> bool:
    """Whether the annotation holds now. A hold whose end has passed is over, even if nobody has removed it."""
    mark = read_hold(facts.owner.hold)
    return mark is not None and mark.holds(int(time.time()))


def _evidence_moved(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    if judged_now(facts).digest == bound.owner_digest:
        return None
    message = f"the owner of the replicas of {facts.ref} has changed since the decision"
    return WriteResult(code=WriteCode.STALE, message=message)


def held_by_others(facts: TargetFacts) -> bool:
    """Whether a manager other than us, or an Update of our own, owns `spec.replicas`: our next apply would conflict with it."""
    return any(owner.manager != OUR_MANAGER or owner.operation != "Apply" for owner in facts.owner.owners)
