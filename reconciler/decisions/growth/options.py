"""What each group of a tier would do for the pods that wait."""

from array import array
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.expanders import Option
from reconciler.decisions.growth.filling import Filling, Waiting
from reconciler.decisions.growth.zones import place
from reconciler.scheduling.filled_nodes import Filled

_NONE: frozenset[int] = frozenset()


def options_of(
    draft: Draft,
    groups: list[GroupDraft],
    waiting: Waiting,
    keys: frozenset[str],
    filling: Filling | None = None,
    refuted: Mapping[int, frozenset[int]] = MappingProxyType({}),
) -> list[Option]:
    """One option for every group that could serve a pod; `waiting` are (shape, pods) in serving order.

    Groups whose new nodes are equal in everything that pods select by (`keys` are those labels) give the same result. The work is
    done once for them, unless one of them runs out of room. `filling` remembers between choices. `refuted` are shapes, by
    position of a group, that its nodes have shown to reject.
    """
    options: list[Option] = []
    known: dict[object, tuple[Option | None, int]] = {}
    filling = filling or Filling(draft)
    covered = filling.covers(waiting)
    open_zones = covered and bool(draft.zone_minded and draft.elsewhere())
    for group in groups:
        template = group.group.template
        if template is None:
            continue
        room, _ = draft.room(group, template)
        if room <= 0:
            continue
        vain = refuted.get(group.position, _NONE)
        mine = [pair for pair in waiting if pair[0] not in vain] if vain else waiting
        own = group.position if group.order is not None else None
        kind = filling.kind(group, template, keys)
        alike = (*kind, group.group.whole and room, vain, own)
        last = known.get(alike)
        if last is None or not _holds_for(*last, room):
            if draft.work.exhausted:
                break
            minded = [shape for shape, _ in mine if shape in draft.zone_minded]
            at_once = covered and not (minded and (own is not None or (open_zones and any(map(filling.spreads, minded)))))
            filled = filling.again(alike, mine, room) if at_once else None
            if filled is None and at_once:
                filled = _filled(draft, group, template, alike, mine, room, filling)
            if filled is None:
                option = _option(draft, group, mine, room, filling.kept_off(kind, own))
            else:
                option = _option_of(draft, group, template, filled)
            known[alike] = (option, room)
        option = known[alike][0]
        if option is not None:
            options.append(
                msgspec.structs.replace(
                    option,
                    position=group.position,
                    group=group.group.name,
                    shape=template,
                    price_micros=group.group.price_micros,
                )
            )
    return options


def _filled(
    draft: Draft, group: GroupDraft, template: NodeShape, alike: tuple[object, ...], waiting: Waiting, room: int, filling: Filling
) -> Filled | None:
    mark = draft.state.mark()
    probe = draft.state.add_node(f"{group.group.name}-try", template, group.daemons)
    filled = filling.fill(alike, probe, waiting, room, group.daemons)
    draft.state.undo(mark)
    return filled


def _holds_for(option: Option | None, tried_room: int, room: int) -> bool:
    """Whether the result for a room of `tried_room` nodes also holds for `room`. A result that filled all its room might be
    larger in a larger one."""
    return room == tried_room or option is None or (option.nodes < tried_room and option.nodes <= room)


def _option(draft: Draft, group: GroupDraft, waiting: Waiting, room: int, kept_off: set[int]) -> Option | None:
    """What the group would do for the pods that are left: first fit, in serving order, node by node. `kept_off` are shapes that
    labels and taints of its nodes keep off, as far as they are known."""
    template = group.group.template
    if template is None:
        return None
    state, mark = draft.state, draft.state.mark()
    nodes: dict[int, int] = {}
    coming = draft.coming(group)
    bindings: list[tuple[int, int, int]] = []
    for shape, count in waiting:
        if not draft.shares.spend(shape, draft.namespace(shape), len(nodes) + 1):
            continue
        if shape in kept_off or (state.pod_shape(shape).affinity and state.lacks_company(shape)):
            continue
        left = count
        for node, pods in place(draft, shape, count, list(nodes), draft.elsewhere(group, nodes)) if nodes else ():
            bindings.append((shape, nodes[node], pods))
            left -= pods
        while left and len(nodes) < room:
            if shape in draft.zone_minded and draft.tries_again(group, coming + len(nodes), shape):
                break
            if nodes and group.order is None and state.shuts_out(shape, next(reversed(nodes))):
                # Another node would be in the same domains.
                break
            before = state.mark()
            (node,) = draft.open(group, [f"{group.group.name}-try-{len(nodes)}"], template, coming + len(nodes))
            pods = sum(bound for _, bound in place(draft, shape, left, [node], draft.elsewhere(group, [*nodes, node])))
            if not pods:
                if group.order is None and not state.enters(shape, node):
                    kept_off.add(shape)
                state.undo(before)
                break
            nodes[node] = len(nodes)
            bindings.append((shape, nodes[node], pods))
            left -= pods
            if left and group.order is not None and shape in draft.zone_minded:
                # A pod more in one zone frees a place in the others.
                for older, pods in place(draft, shape, left, list(nodes), draft.elsewhere(group, nodes)):
                    bindings.append((shape, nodes[older], pods))
                    left -= pods
            more = 0 if shape in draft.zone_minded else min(room - len(nodes), -(-left // pods))
            if more > 0 and state.node_local(shape):
                # Every further node would take as many: they are opened and filled at once.
                names = [f"{group.group.name}-try-{len(nodes) + number}" for number in range(more)]
                opened = draft.open(group, names, template, coming + len(nodes))
                nodes.update(zip(opened, range(len(nodes), len(nodes) + more), strict=True))
                for node, pods in state.place(shape, left, array("i", opened)):
                    bindings.append((shape, nodes[node], pods))
                    left -= pods
    state.undo(mark)
    if not nodes:
        return None
    columns = [array("i", column) for column in zip(*bindings, strict=True)]
    served: dict[int, int] = {}
    for shape, _, pods in bindings:
        served[shape] = served.get(shape, 0) + pods
    return _option_of(draft, group, template, Filled(len(nodes), columns[0], columns[1], columns[2], tuple(served.items())))


def _option_of(draft: Draft, group: GroupDraft, template: NodeShape, filled: Filled) -> Option | None:
    if not filled.opened:
        return None
    cpu = memory = ephemeral = 0
    extended: dict[str, int] = {}
    for shape, count in filled.served:
        requests = draft.state.pod_shape(shape).requests
        cpu += requests.cpu_milli * count
        memory += requests.memory_bytes * count
        ephemeral += requests.ephemeral_bytes * count
        for name, amount in requests.extended:
            extended[name] = extended.get(name, 0) + amount * count
    pods = sum(count for _, count in filled.served)
    return Option(
        position=group.position,
        group=group.group.name,
        shape=template,
        nodes=draft.step(group, template, filled.opened),
        pods=pods,
        requested=Resources(
            cpu_milli=cpu, memory_bytes=memory, ephemeral_bytes=ephemeral, extended=tuple(sorted(extended.items()))
        ),
        price_micros=group.group.price_micros,
        bindings=filled,
    )
