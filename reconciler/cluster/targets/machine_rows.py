"""Machines of whatever platform, joined with the nodes that they became."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from reconciler.cluster.nodes.node import Node
from reconciler.cluster.target import Machine

_SCALE_SET = "/virtualMachineScaleSets/"


def normalized_provider_id(provider_id: str) -> str:
    """What identifies an instance in a provider id: its last path segment.

    As upstream; the whole id for Azure scale sets, where that segment is only a number.
    """
    if _SCALE_SET.lower() in provider_id.lower():
        return provider_id
    return provider_id.rpartition("/")[2]


def with_nodes(machines: Iterable[Machine], nodes: Iterable[Node]) -> tuple[Machine, ...]:
    """Machines, sorted. A machine without a node reference is joined by provider id if exactly one node has it.

    A node without a provider id (no cloud provider runs) is matched by name. On AWS it has the name of its instance, with or
    without the domain. The match counts only if exactly one machine and one node have that name.
    """
    by_id: dict[str, list[str]] = {}
    by_word: dict[str, list[str]] = {}
    for node in nodes:
        if node.provider_id:
            by_id.setdefault(normalized_provider_id(node.provider_id), []).append(node.name)
        else:
            for word in {text.partition(".")[0] for text in (node.name, node.hostname) if text}:
                by_word.setdefault(word, []).append(node.name)
    rows = list(machines)
    if by_word:
        ids = Counter(normalized_provider_id(item.provider_id) for item in rows)
        by_id.update((word, names) for word, names in by_word.items() if ids[word] == 1 and word not in by_id)
    joined = [_joined(item, by_id) for item in rows]
    return tuple(sorted(joined, key=lambda item: (item.namespace, item.name, str(item.target))))


def _joined(item: Machine, by_id: Mapping[str, list[str]]) -> Machine:
    if item.node or not item.provider_id:
        return item
    names = by_id.get(normalized_provider_id(item.provider_id), [])
    return msgspec.structs.replace(item, node=names[0]) if len(names) == 1 else item
