"""How much of each resource one new node has: what the policy writes, over what is known besides."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.values.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources
from reconciler.policy.documents import GroupFields
from reconciler.policy.levels import CAPACITY, RESERVED

DEFAULT_MAX_PODS = 110
"""As kubelet has it where nothing is configured."""
_OF_ANY_MACHINE = (EPHEMERAL_STORAGE, PODS)
"""What the configuration of a node says, whatever machine it is."""
_UNKNOWN = (
    "no template.capacity, no capacity annotation or tag, no infrastructure template that gives capacity, and no ready node"
)


class Offered(msgspec.Struct, frozen=True):
    """What a machine has, and what of it pods may use (None: nobody says)."""

    capacity: Resources
    allocatable: Resources | None = None


class Amounts(msgspec.Struct, frozen=True):
    """Capacity and allocatable, or the `problem` that leaves them unknown. `levels` are the indices of those that wrote some of
    it, `from_base`: which machine it is, the base said."""

    capacity: Resources = Resources()
    allocatable: Resources = Resources()
    levels: tuple[int, ...] = ()
    from_base: bool = False
    problem: str = ""


def amounts_of(levels: Sequence[GroupFields], base: Offered | None, usual_pods: int) -> Amounts:
    """`template.capacity` of the levels over `base`. For each resource, the nearest level with it counts.

    If both cpu and memory are written, and one of them differs from the base, the policy describes another machine type. Then
    only the base's node configuration counts, not its devices. `usual_pods` is how many pods the nodes of the group take (0: the
    group has no nodes).

    Allocatable is the capacity minus `template.reserved`, if that is written. Otherwise the reserve of the base stays. Nothing is
    known about the reserve of another machine type.
    """
    counting = CAPACITY.counting(levels, 0)
    written = {name: amount for _, pairs in counting for name, amount in pairs}
    if not written:
        return Amounts(problem=_UNKNOWN) if base is None else _unwritten(levels, base, usual_pods)
    known = dict(base.capacity.items()) if base is not None else {}
    other_machine = CPU in written and MEMORY in written and any(written[name] != known.get(name, 0) for name in (CPU, MEMORY))
    taken = {name: amount for name, amount in known.items() if not other_machine or name in _OF_ANY_MACHINE}
    missing = [name for name in (CPU, MEMORY) if name not in {**taken, **written}]
    if missing:
        return Amounts(
            problem=f"template.capacity gives no {' and no '.join(missing)}, and no other source does: write it as well"
        )
    capacity = Resources.of({**taken, **written})
    if not capacity.pods:
        capacity = msgspec.structs.replace(capacity, pods=usual_pods or DEFAULT_MAX_PODS)
    reserved = RESERVED.nearest(levels)
    if reserved is not None:
        allocatable = _less(capacity, dict(reserved[1]))
    else:
        allocatable = _kept(capacity, base, taken, () if not other_machine else tuple(written))
    return Amounts(
        capacity=capacity,
        allocatable=allocatable,
        levels=tuple(level for level, _ in counting),
        from_base=any(amount and name not in (*written, *_OF_ANY_MACHINE) for name, amount in taken.items()),
    )


def _unwritten(levels: Sequence[GroupFields], base: Offered, usual_pods: int) -> Amounts:
    """What the base says alone."""
    capacity, allocatable = base.capacity, base.allocatable
    if not capacity.pods:
        capacity = msgspec.structs.replace(capacity, pods=usual_pods or DEFAULT_MAX_PODS)
    reserved = RESERVED.nearest(levels)
    if reserved is not None:
        allocatable = _less(capacity, dict(reserved[1]))
    elif allocatable is None:
        allocatable = capacity
    elif not allocatable.pods:
        allocatable = msgspec.structs.replace(allocatable, pods=capacity.pods)
    return Amounts(capacity=capacity, allocatable=allocatable, from_base=True)


def same_machine(left: Resources, right: Resources) -> bool:
    """Whether two capacities may be those of one machine type."""
    return (left.cpu_milli, left.memory_bytes) == (right.cpu_milli, right.memory_bytes)


def _less(capacity: Resources, reserved: Mapping[str, int]) -> Resources:
    """What is left for pods: of a resource that the node does not list nothing can be reserved, and none is below zero."""
    return Resources.of({name: max(0, amount - reserved.get(name, 0)) for name, amount in capacity.items()})


def _kept(capacity: Resources, base: Offered | None, taken: Mapping[str, int], whole: Sequence[str]) -> Resources:
    """What is left when the base's part stays kept of what was `taken` from it; but for these resources."""
    if base is None or base.allocatable is None:
        return capacity
    # A base whose allocatable lists no pods keeps none of them back.
    offered = msgspec.structs.replace(base.allocatable, pods=base.allocatable.pods or base.capacity.pods)
    return _less(capacity, {name: amount - offered.get(name) for name, amount in taken.items() if name not in whole})
