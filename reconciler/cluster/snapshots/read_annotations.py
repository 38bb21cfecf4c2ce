"""Redacts annotations: those that decisions read stay, by exact key, with pseudonyms for their words."""

from collections.abc import Mapping

import msgspec

from reconciler.cluster import platform_reading
from reconciler.cluster.snapshots.pseudonyms import Pseudonyms
from reconciler.cluster.targets import capacity
from reconciler.cluster.targets.hold_mark import without_reason
from reconciler.cluster.targets.owner_evidence import HOLD, LAST_APPLIED, tells_who_keeps, without_words_of_others
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE
from reconciler.cluster.targets.target_options import OPTIONS
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.cluster.wire.pod import PodAnnotations
from reconciler.cluster.wire.replicas_fields import LastApplied
from reconciler.values.decoding import decode

HIDDEN = "redacted"
_OF_PLATFORMS = (
    MIN_SIZE,
    MAX_SIZE,
    *(f"autoscaling-options-{name}" for name in OPTIONS),
    "replicas-managed-by",
    "paused",
    "delete-machine",
    "update-in-progress",
    "pending-acknowledge-move",
    "cluster-api-delete-machine",
    "vCPU",
    "memoryMb",
    "GPU",
    "maxPods",
    "labels",
    "taints",
)
_OTHERS = frozenset(
    {
        *capacity.KEYS,
        *(field.encode_name for field in msgspec.structs.fields(PodAnnotations)),
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "pv.kubernetes.io/bind-completed",
        "reconciler.dev/policy",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
_DELAYS = "delay-deletion.cluster-autoscaler.kubernetes.io/"


def read_annotations(annotations: Mapping[str, str], words: Pseudonyms, capi_group: str) -> dict[str, str]:
    """Those that stay. Of a hold stays that there is one and when it ends, of an applied manifest its replicas."""
    kept = {}
    prefixes = platform_reading.read_annotations(capi_group)
    for key, text in annotations.items():
        if key == HOLD:
            kept[key] = without_reason(text, HIDDEN)
        elif key == LAST_APPLIED:
            kept[key] = _last_applied(text)
        elif tells_who_keeps(key):
            kept[without_words_of_others(key)] = words.tokens(text)
        elif key in _OTHERS or (key.startswith(prefixes) and key.partition("/")[2] in _OF_PLATFORMS):
            kept[key] = words.tokens(text)
        elif key.startswith(_DELAYS):
            kept[_DELAYS + words.word(key.removeprefix(_DELAYS))] = words.tokens(text)
    return kept


def _last_applied(text: str) -> str:
    """The replicas of a manifest; one that cannot be read stays one, which says that nobody knows."""
    try:
        spec = decode(text, LastApplied).spec
    except DECODING_ERRORS:
        return HIDDEN
    return "{}" if spec is None or spec.replicas is None else f'{{"spec":{{"replicas":{spec.replicas}}}}}'
