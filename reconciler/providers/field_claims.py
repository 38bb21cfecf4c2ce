"""Removing `spec.replicas` from other managers' field sets, and nothing else.

SOURCE: measured on kube-apiserver 1.36. A merge patch with the current value changes nothing, so the owner stays. Our apply of
that value makes us a second owner, and our apply of another value conflicts with the first owner again. A merge patch with
another value records us as an Update, and our own apply then conflicts with that. What works is an edit of
`metadata.managedFields`, in one write that the resourceVersion guards. Kubernetes' own upgrade from client-side to server-side
apply does the same. It does not touch the object's spec, so no defaulting changes replicas. The client-side last-applied
manifest loses its `spec.replicas` as well, because it declares the value. Otherwise the next `kubectl apply` of a manifest
without replicas would remove the field, and the defaulting webhook would set 1 or the minimum.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from reconciler.cluster.targets.owner_evidence import LAST_APPLIED
from reconciler.decisions.ownership.owner import OUR_MANAGER

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
