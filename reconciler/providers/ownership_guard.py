"""The last check before a write: the same judgement as the decision's, on what was just read.

SOURCE: rule 1 of the product. The evidence alone decides whether a target is ours, without policy or clock. Whether it may be
taken over depends also on policy and clock, but only in one direction. With the same evidence, time and the decision's policy can
turn a hold into an adoption, but not back. So the terms here are the widest, and the digest of the decision binds them. The
digests are equal only if the decision, under its own terms, came to the same state by the same evidence.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.owner_evidence import LAST_APPLIED, read_hold
from reconciler.decisions.groups.cluster_names import cluster_mark
from reconciler.decisions.ownership.owner import NO_OWNER, OUR_MANAGER, Judgement, Terms, judge
from reconciler.decisions.reasons.machines import OtherClusterMark
from reconciler.plan.plan import Bound, OwnerState
from reconciler.providers.contract import WriteCode, WriteResult

# Removing `spec.replicas` from other managers' field sets, and nothing else.
#
# SOURCE: measured on kube-apiserver 1.36. A merge patch with the current value changes nothing, so the owner stays. Our apply of
# that value makes us a second owner, and our apply of another value conflicts with the first owner again. A merge patch with
# another value records us as an Update, and our own apply then conflicts with that. What works is an edit of
# `metadata.managedFields`, in one write that the resourceVersion guards. Kubernetes' own upgrade from client-side to server-side
# apply does the same. It does not touch the object's spec, so no defaulting changes replicas.
#
# The client-side last-applied manifest loses its `spec.replicas` as well, because it declares the value. Otherwise the next
# `kubectl apply` of a manifest without replicas would remove the field, and the defaulting webhook would set 1 or the minimum.

_REPLICAS, _SPEC = "f:replicas", "f:spec"


def claim(body: bytes) -> dict[str, Any]:
    """The merge patch after which only our own apply owns the field."""
    metadata = msgspec.json.decode(body)["metadata"]
    patch = _without(metadata, lambda entry: entry.get("manager") != OUR_MANAGER or entry.get("operation") != "Apply")
    manifest = _undeclared((metadata.get("annotations") or {}).get(LAST_APPLIED))
    if manifest is not None:
        patch["annotations"] = {LAST_APPLIED: manifest}
    return {"metadata": patch}


def disclaim(body: bytes, annotations: tuple[str, ...]) -> dict[str, Any] | None:
    """The merge patch that removes our marks: our entries of the field, and those of `annotations` that are there. None if
    nothing is ours."""
    metadata = msgspec.json.decode(body)["metadata"]
    ours = [key for key in annotations if key in (metadata.get("annotations") or {})]
    owning = any(
        entry.get("manager") == OUR_MANAGER and _REPLICAS in ((entry.get("fieldsV1") or {}).get(_SPEC) or {})
        for entry in metadata.get("managedFields") or ()
    )
    if not ours and not owning:
        return None
    patch = _without(metadata, lambda entry: entry.get("manager") == OUR_MANAGER)
    if ours:
        patch["annotations"] = dict.fromkeys(ours)
    return {"metadata": patch}


def _without(metadata: dict[str, Any], concerned: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    there = metadata.get("managedFields")
    if not there:
        return {"resourceVersion": metadata["resourceVersion"]}
    entries = []
    for entry in there:
        spec = (entry.get("fieldsV1") or {}).get(_SPEC)
        if spec is None or _REPLICAS not in spec or not concerned(entry):
            entries.append(entry)
            continue
        spec.pop(_REPLICAS)
        if not spec:
            del entry["fieldsV1"][_SPEC]
        if entry["fieldsV1"]:
            entries.append(entry)
    # An empty list would mean "forget all owners". The next apply would then conflict with an invented owner of everything.
    if not entries:
        entries = [{**there[0], "fieldsV1": {_SPEC: {}}}]
    return {"resourceVersion": metadata["resourceVersion"], "managedFields": entries}


def _undeclared(manifest: str | None) -> str | None:
    """The last-applied manifest without `spec.replicas`; None if it declares none or cannot be read."""
    if manifest is None:
        return None
    try:
        document = msgspec.json.decode(manifest)
    except msgspec.DecodeError:
        return None
    spec = document.get("spec") if isinstance(document, dict) else None
    if not isinstance(spec, dict) or "replicas" not in spec:
        return None
    del spec["replicas"]
    return msgspec.json.encode(document).decode()


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
    message = f"{facts.ref} has {facts.replicas} replicas, {bound.replicas} were judged"
    return WriteResult(code=WriteCode.STALE, message=message)


def not_ours(facts: TargetFacts) -> WriteResult | None:
    """Why replicas may not be written, with the evidence; None if they are ours. Conflict names another manager."""
    if _held(facts):
        message = f"{facts.ref} is held: {facts.owner.hold} (annotation reconciler.dev/hold)"
        return WriteResult(code=WriteCode.REFUSED, message=message)
    ownership = judged_now(facts).ownership
    if ownership.state is OwnerState.OURS:
        return None
    evidence = "; ".join(ownership.evidence)
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
