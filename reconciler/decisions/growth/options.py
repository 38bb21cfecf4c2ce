"""What each group of a tier would do for the pods that wait."""

from array import array
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from reconciler.cluster.nodes.node import NodeShape
from reconciler.cluster.values.resources import Resources
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.growth.expanders import Option, ranked
from reconciler.decisions.growth.filling import Filling, Waiting
from reconciler.decisions.growth.zones import place, rejection
from reconciler.decisions.reasons.pods import GroupRejects
from reconciler.decisions.reasons.sizes import GrownForShare
from reconciler.policy.documents import Expander
from reconciler.scheduling.new_nodes import Filled
from reconciler.scheduling.packing import TemplateClass, template_class

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
        alike = (template_class(template, keys), template.allocatable, group.daemons, group.group.whole and room, vain, own)
        if alike not in known or not _holds_for(*known[alike], room):
            if draft.work.exhausted:
                break
            minded = [shape for shape, _ in mine if shape in draft.zone_minded]
            at_once = covered and not (minded and (own is not None or (open_zones and any(map(filling.spreads, minded)))))
            filled = filling.again(alike, mine, room) if at_once else None
            if filled is None and at_once:
                filled = _filled(draft, group, template, alike, mine, room, filling)
            option = _option(draft, group, mine, room) if filled is None else _option_of(draft, group, template, filled)
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


def _option(draft: Draft, group: GroupDraft, waiting: Waiting, room: int) -> Option | None:
    """What the group would do for the pods that are left: first fit, in serving order, node by node."""
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


# Which groups deserve a closer look in the next choice, in a tier that has very many.
#
# Each choice computes for every group what it would do for the remaining pods. Under spread and affinity, a choice serves few
# pods. So a tier of hundreds of groups is computed hundreds of times, with nearly the same results. Between two rounds over all
# groups, only the best of each class are computed again.

FEW_GROUPS, BEST_OF_A_CLASS = 32, 8
"""A tier of so few groups is always asked as a whole; of more, so many of each class between two rounds over all."""
_AGAIN_AT = 4
"""All are asked again when the pods that wait are a quarter of those of the last round over all."""


class Shortlist:
    """The groups of one tier. A class are groups whose new nodes answer every constraint of the pods alike: they differ in
    size and price."""

    def __init__(
        self, groups: Sequence[GroupDraft], keys: frozenset[str], expanders: tuple[Expander, ...], near_tie_percent: int
    ) -> None:
        self._groups = list(groups)
        self._expanders = expanders
        self._near_tie_percent = near_tie_percent
        self._class_of: dict[int, TemplateClass] = {}
        self._best: dict[TemplateClass, list[int]] = {}
        if len(groups) > FEW_GROUPS:
            for group in groups:
                if group.group.template is not None:
                    name = self._class_of[group.position] = template_class(group.group.template, keys)
                    self._best.setdefault(name, []).append(group.position)
        self._few: list[GroupDraft] = []
        self._pods = 0

    def groups(self, pods: int) -> list[GroupDraft]:
        """The groups to ask while so many pods wait."""
        if pods * _AGAIN_AT <= self._pods:
            self._few = []
        if self._few:
            return self._few
        self._pods = pods
        return self._groups

    def learn(self, options: list[Option]) -> bool:
        """Take in what was answered; False when all must be asked, since the shortlist has nothing to offer any more."""
        if self._few:
            if not options:
                self._few = []
            return bool(options)
        if self._class_of and options:
            # A class that has nothing to offer now (its zone is ahead of the others) keeps what was known of it.
            by_class: dict[TemplateClass, list[int]] = {}
            for option in ranked(options, self._expanders, self._near_tie_percent):
                by_class.setdefault(self._class_of[option.position], []).append(option.position)
            self._best.update(by_class)
            chosen = {position for best in self._best.values() for position in best[:BEST_OF_A_CLASS]}
            self._few = [group for group in self._groups if group.position in chosen]
        return True


# Why groups that were not among the options of a purchase were not.

_MOST_NAMED = 5


def others_of(draft: Draft, options: list[Option], waiting: list[tuple[int, int]]) -> tuple[str, ...]:
    """Groups that offered nothing for `waiting`, each with the code of the reason: `big (AtMaxSize)`. The first few are named,
    the others counted. `waiting` is (shape, pods) in serving order. `LowerTier`: used if the tiers above offer nothing.
    `TriedBefore`: it failed while these pods waited, so others come first.
    `GrownForShare`: of another tier than the one that grows for its share."""
    offering = {option.position for option in options}
    rank = min((draft.groups[position].group.tier_rank for position in offering), default=0)
    rest = sorted((group for group in draft.groups if group.position not in offering), key=lambda group: group.group.name)
    named = [f"{group.group.name} ({_why(draft, group, rank, waiting[0][0])})" for group in rest[:_MOST_NAMED]]
    more = len(rest) - len(named)
    return (*named, f"{more} more") if more else tuple(named)


def _why(draft: Draft, group: GroupDraft, rank: int, shape: int) -> str:
    stop, template = draft.growth_stop(group), group.group.template
    if stop is not None:
        return stop.code
    if template is None:
        return "TemplateUnknown"
    if draft.ceiling is not None and group.group.tier_rank != rank:
        return GrownForShare.code
    if group.group.tier_rank > rank:
        return "LowerTier"
    if draft.was_tried(group, shape):
        return "TriedBefore"
    rejected = rejection(draft, group, template, shape)
    if isinstance(rejected, GroupRejects):
        return ", ".join(sorted(set(rejected.plugins)))
    if rejected is not None:
        return rejected.code
    refusal = draft.room(group, template)[1]
    return refusal.code if refusal is not None else "NotShortlisted"
