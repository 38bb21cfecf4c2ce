"""Since when each request for a node is waited for, where the platform does not say."""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.target import Machine
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.memory import Memory, SizeState
from reconciler.decisions.situation.group_situation import unmade_key, waiting_key


def note_waiting(
    memory: Memory, groups: Sequence[EffectiveGroup], machines: Sequence[tuple[Machine, ...]], now_seconds: int
) -> Memory:
    """The memory with the first sight of everything that is waited for and does not say itself since when: machines without
    creation time (AWS does not tell it), and replicas for which no machine was made. A new size starts afresh."""
    before: Mapping[str, int] = memory.waiting_since
    found: dict[str, int] = {}
    sizes: dict[str, SizeState] = {}
    for group, mine in zip(groups, machines, strict=True):
        keys = [waiting_key(group, machine) for machine in mine if not machine.node and not machine.created_seconds]
        replicas = group.facts.replicas if group.facts is not None else None
        if replicas is not None and replicas > sum(1 for machine in mine if not machine.deleting):
            keys.append(unmade_key(group, replicas))
        if replicas is not None:
            known = memory.sizes.get(str(group.target))
            same = known is not None and known.replicas == replicas
            sizes[str(group.target)] = (
                known if known is not None and same else SizeState(replicas=replicas, since_seconds=now_seconds)
            )
        found.update((key, before.get(key, now_seconds)) for key in keys)
    return msgspec.structs.replace(memory, waiting_since=dict(sorted(found.items())), sizes=dict(sorted(sizes.items())))
