"""Holds on targets: an annotation under our field manager, or its equivalent in a cloud."""

from enum import StrEnum

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.targets.owner_evidence import HOLD
from reconciler.decisions.ownership.handover import place
from reconciler.kube.connection.api import Api, ApiError, ContentType, UnreachableError
from reconciler.kube.watching.collection import Served
from reconciler.kube.watching.target_object import object_of
from reconciler.policy.documents import PolicySet
from reconciler.providers.cloud_answers import CloudError
from reconciler.providers.live_platforms import hold_in_cloud
from reconciler.values.decoding import decode

_CONFLICT = 409
_TRIES = 3


class HoldState(StrEnum):
    """Held, Released: written. Unchanged: it was so already. Refused: it may not be written here, `message` says where
    instead. Failed: the server did not take it."""

    HELD = "Held"
    RELEASED = "Released"
    UNCHANGED = "Unchanged"
    REFUSED = "Refused"
    FAILED = "Failed"


class HoldResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the hold of one group. `lines` are YAML to write elsewhere, where it was refused; `before` is the hold
    that was there (empty: none), `now` the one that is."""

    group: str
    target: str
    state: HoldState
    before: str = ""
    now: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()


class _Meta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    annotations: dict[str, str] | None = None


class _Object(msgspec.Struct):
    metadata: _Meta


def set_hold(api: Api, served: tuple[Served, ...], policy: PolicySet, group: str, facts: TargetFacts, text: str) -> HoldResult:
    """Write the annotation with `text` (empty: take it off). The object is read, and written with that resourceVersion. If
    somebody else was faster, it is read again, up to three times. A target of a cloud is written there, by whom `policy` says.
    Never raises for what the server or the cloud says."""
    target_object = object_of(facts.ref, served)
    if target_object is None:
        return _in_cloud(policy, group, facts, text)
    refused = _elsewhere(group, facts, text)
    if refused is not None:
        return refused
    path = target_object.path
    error: Exception | None = None
    for _ in range(_TRIES):
        try:
            meta = decode(api.get(path), _Object).metadata
            before = (meta.annotations or {}).get(HOLD, "")
            if before == text:
                return HoldResult(group=group, target=str(facts.ref), state=HoldState.UNCHANGED, before=before, now=text)
            change = {"metadata": {"resourceVersion": meta.resource_version, "annotations": {HOLD: text or None}}}
            api.write("PATCH", path, change, content_type=ContentType.MERGE_PATCH)
            state = HoldState.HELD if text else HoldState.RELEASED
            return HoldResult(group=group, target=str(facts.ref), state=state, before=before, now=text)
        except (ApiError, UnreachableError) as caught:
            error = caught
            if not isinstance(caught, ApiError) or caught.status != _CONFLICT:
                break
    return HoldResult(group=group, target=str(facts.ref), state=HoldState.FAILED, message=str(error))


def _in_cloud(policy: PolicySet, group: str, facts: TargetFacts, text: str) -> HoldResult:
    target = str(facts.ref)
    try:
        before = hold_in_cloud(facts.ref, policy, text)
    except CloudError as error:
        return HoldResult(group=group, target=target, state=HoldState.FAILED, message=str(error))
    if before is None:
        message = f"{target}: no hold can be written there. Hold the group in the policy (spec.hold)"
        return HoldResult(group=group, target=target, state=HoldState.REFUSED, message=message)
    if before == text:
        return HoldResult(group=group, target=target, state=HoldState.UNCHANGED, before=before, now=text)
    return HoldResult(group=group, target=target, state=HoldState.HELD if text else HoldState.RELEASED, before=before, now=text)


def _elsewhere(group: str, facts: TargetFacts, text: str) -> HoldResult | None:
    """What a topology makes is its own, annotations too: it is written on the Cluster, by whoever writes that."""
    if not facts.owner.topology_owned or facts.owner.hold == text:
        return None
    verb = "add to" if text else "take out of"
    value = msgspec.json.encode(text or facts.owner.hold).decode()
    return HoldResult(
        group=group,
        target=str(facts.ref),
        state=HoldState.REFUSED,
        before=facts.owner.hold,
        now=facts.owner.hold,
        message=f"a topology owns {facts.ref}, so nothing is written on it: {verb} {place(facts)}, "
        "or use spec.hold of the NodeGroup",
        lines=("metadata:", "  annotations:", f"    {HOLD}: {value}"),
    )
