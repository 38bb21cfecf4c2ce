"""PodGroups: which pods kube-scheduler binds only together.

SOURCE: the plugin GangScheduling of kube-scheduler 1.36 and 1.37. With the policy `gang`, it binds none unless so many as
`minCount` are bound or can be bound at once. With the policy `basic`, it binds each pod by itself.
"""

import msgspec
from msgspec import Raw

from reconciler.cluster.values.object_parts import DECODING_ERRORS, RawPart, finding
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire import pod_group as wire
from reconciler.values.decoding import decode

POD_GROUP = "PodGroup"
_KNOWN = frozenset(wire.PodGroupSpec.__struct_encode_fields__)
_ABSENT = (b"null", b"[]", b"{}")
_MOST_NAMED, _LONGEST_NAME = 4, 63
_BEYOND_INT32 = 1 << 31
# As 1.36 and 1.37 write it. Without a mode, pods may go one by one.
_DIVISIBLE: tuple[object, ...] = ("Pod", {"single": {}})
_INDIVISIBLE: tuple[object, ...] = ("PodGroup", {"all": {}})
_fields = RawPart(dict[str, Raw], "spec")


class PodGroup(msgspec.Struct, frozen=True, order=True, kw_only=True):
    """How kube-scheduler binds the pods of one group: none of them, or at least `min_count` (1: each by itself).

    `priority` is what their own must be, and so is `preemption_policy` (empty: they only have to agree). `indivisible`: they may
    only be disrupted together (`spec.disruptionMode.all`). `not_modelled` names fields of `spec` whose meaning is not known here.
    `problem` is why the group cannot be understood (empty: it can).
    """

    namespace: str
    name: str
    min_count: int = 1
    priority: int = 0
    preemption_policy: str = ""
    indivisible: bool = False
    not_modelled: tuple[str, ...] = ()
    problem: str = ""


def pod_group(item: wire.PodGroup) -> PodGroup:
    """One group. A tenant writes it, so it never raises."""
    read = PodGroup(namespace=item.metadata.namespace, name=item.metadata.name)
    try:
        fields = _fields.read(item.spec) or {}
        unknown = sorted(
            name[:_LONGEST_NAME] for name, part in fields.items() if name not in _KNOWN and bytes(part) not in _ABSENT
        )
        if unknown:
            return msgspec.structs.replace(read, not_modelled=tuple(unknown[:_MOST_NAMED]))
        known = {name: part for name, part in fields.items() if name in _KNOWN}
        spec = decode(msgspec.json.encode(known), wire.PodGroupSpec)
    except DECODING_ERRORS as error:
        return msgspec.structs.replace(read, problem=f"spec: {finding(error)}")
    except UnreadableError as error:
        return msgspec.structs.replace(read, problem=str(error))
    policy = spec.scheduling_policy
    if (policy.basic is None) == (policy.gang is None):
        return msgspec.structs.replace(read, problem="spec.schedulingPolicy must have exactly one of basic and gang")
    if policy.basic:
        return msgspec.structs.replace(read, not_modelled=("schedulingPolicy.basic",))
    mode = spec.disruption_mode
    if mode is not None and mode not in _DIVISIBLE and mode not in _INDIVISIBLE:
        return msgspec.structs.replace(read, not_modelled=("disruptionMode",))
    least = 1 if policy.gang is None else policy.gang.min_count
    if not 0 < least < _BEYOND_INT32:
        return msgspec.structs.replace(
            read, problem=f"spec.schedulingPolicy.gang.minCount {least} is not between 1 and 2147483647"
        )
    return msgspec.structs.replace(
        read,
        min_count=least,
        priority=spec.priority or 0,
        preemption_policy=spec.preemption_policy or "",
        indivisible=mode in _INDIVISIBLE,
    )
