"""The last look before a write: the same judgement as the decision's, on what has been read just now.

SOURCE: rule 1 of the product. That a target is ours follows from the evidence alone, without policy or clock. That it may be
taken over depends on both, but only in one direction: with the same evidence, time and the policy of the decision can turn a
hold into an adoption and not back. So the terms here are the widest, and the digest of the decision binds them: it is
equal only where the decision, under its own terms, came to the same state by the same evidence.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.owner_evidence import LAST_APPLIED, read_hold
from reconciler.decisions.ownership.owner import NO_OWNER, OUR_MANAGER, Judgement, Terms, judge
from reconciler.plan.plan import Bound, OwnerState
from reconciler.providers.contract import WriteCode, WriteResult

# Taking `spec.replicas` out of other managers' field sets, and nothing else.
#
# SOURCE: measured on kube-apiserver 1.36. A merge patch with the value that is there changes nothing, so the owner stays; our
# apply of that value makes us a second owner, and our apply of another one meets the first again. A merge patch with another
# value records us as an Update, which our own apply then conflicts with. What does work, in one write that the resourceVersion
# guards, is editing `metadata.managedFields`, as Kubernetes' own upgrade from client-side to server-side apply does. The
# object's spec is not touched by it, so that no defaulting changes replicas.
#
# The client-side last-applied manifest loses its `spec.replicas` as well: it declares the value, and the next `kubectl apply`
# of a manifest without replicas would else remove the field, upon which the defaulting webhook sets 1 or the minimum.

_REPLICAS, _SPEC = "f:replicas", "f:spec"


def claim(body: bytes) -> dict[str, Any]:
    """The merge patch after which nobody but our own apply owns the field."""
    metadata = msgspec.json.decode(body)["metadata"]
    patch = _without(metadata, lambda entry: entry.get("manager") != OUR_MANAGER or entry.get("operation") != "Apply")
    manifest = _undeclared((metadata.get("annotations") or {}).get(LAST_APPLIED))
    if manifest is not None:
        patch["annotations"] = {LAST_APPLIED: manifest}
    return {"metadata": patch}


def disclaim(body: bytes, annotations: tuple[str, ...]) -> dict[str, Any] | None:
    """The merge patch that takes our marks off: our entries of the field, and those of `annotations` that are there. None
    when there is nothing of ours."""
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
    # An empty list would mean "forget all owners", and the next apply would meet an invented owner of everything.
    if not entries:
        entries = [{**there[0], "fieldsV1": {_SPEC: {}}}]
    return {"resourceVersion": metadata["resourceVersion"], "managedFields": entries}


def _undeclared(manifest: str | None) -> str | None:
    """The last-applied manifest without `spec.replicas`; None when it declares none or cannot be read."""
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
    """The state of the target under the widest terms: Ours, or Adoptable where some policy might take it over."""
    managers = tuple(sorted({owner.manager for owner in facts.owner.owners} | {"kubectl"}))
    return judge(facts, Terms(adopt_from=managers, human_hold_seconds=0, now_seconds=1 << 40, first_seen_seconds=0))


def moved(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Stale when replicas are not those that were judged.

    A resourceVersion that moved for another reason is no obstacle: status is written to a busy target several times a second.
    What was read just now is judged, and the write goes under its resourceVersion.
    """
    if (facts.replicas or 0) == bound.replicas:
        return None
    message = f"{facts.ref} has {facts.replicas} replicas, {bound.replicas} were judged"
    return WriteResult(code=WriteCode.STALE, message=message)


def not_ours(facts: TargetFacts) -> WriteResult | None:
    """Why replicas may not be written, with the evidence; None when they are ours. Conflict names another manager."""
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


def objection(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Why replicas may not be written under `bound`; None when they may."""
    return moved(facts, bound) or not_ours(facts) or _evidence_moved(facts, bound)


def objection_to_adopt(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    """Why the field may not be taken over under `bound`; None when it may."""
    stale = moved(facts, bound)
    if stale is not None:
        return stale
    if _held(facts) or judged_now(facts).ownership.state is not OwnerState.ADOPTABLE:
        return not_ours(facts) or _evidence_moved(facts, bound)
    return _evidence_moved(facts, bound)


def _held(facts: TargetFacts) -> bool:
    """Whether the annotation holds at this moment: what names its end is over then, though nobody has taken it off."""
    mark = read_hold(facts.owner.hold)
    return mark is not None and mark.holds(int(time.time()))


def _evidence_moved(facts: TargetFacts, bound: Bound) -> WriteResult | None:
    if judged_now(facts).digest == bound.owner_digest:
        return None
    message = f"who owns the replicas of {facts.ref} is not as it was judged"
    return WriteResult(code=WriteCode.STALE, message=message)


def held_by_others(facts: TargetFacts) -> bool:
    """Whether a manager other than us, or an Update of our own, stands on `spec.replicas`: our next apply would meet it."""
    return any(owner.manager != OUR_MANAGER or owner.operation != "Apply" for owner in facts.owner.owners)
