"""Evidence from outcomes: what purchases promised, compared with the machines that came.

The life of a promise, for every platform:

1. A plan grows a group. `Memory.pledges` gets what the new nodes are for: how many there are, and in which zones pods need them
   (`growth.pledges`). It is stored before the write.
2. The write is done (`asked`), or the next view shows its size. The pledge becomes the open `Purchase` of the target in
   `Memory.purchases`. Everything that judges it counts from the plan that asked, not from the machines that come.
3. Each view is compared with the open purchase (`note_arrivals`). If a zone can no longer get the nodes that were promised there,
   the zone is contradicted. `Memory.refuted` has an entry for it, next to kinds of pods that nodes of the target rejected.
4. Until the entry ends, the target is treated as observed (`as_observed`): its new nodes come to its other zones. Pods that need
   the zone are told so (`contradictions`). After one contradiction that lasts five minutes, after two a day.

A machine that comes to a contradicted zone ends its entry at once. So does a change of the policy or of the target's template.
Machines that came since the last purchase show what the target makes now, even if its declared template is another one.

A node that is added to learn a fact (a probe) promises nothing. The fact is read from what came.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import msgspec

from reconciler.cluster.nodes.node import ZONE_LABEL
from reconciler.cluster.target import Machine, TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.groups.cluster_names import in_cloud
from reconciler.decisions.memory import Came, Memory, Outcome, Refuted
from reconciler.decisions.reasons.sizes import CameElsewhere
from reconciler.plan.plan import ActionKind
from reconciler.values.instant import instant_text

REMEMBERED_SECONDS = 86_400
"""What made a node is not all in the policy and the target (images, services, stock): once a day is worth a try."""
FIRST_SECONDS = 300
"""After one contradiction. It may have been a short lack of machines."""
OPEN_SECONDS = 3_600
"""A purchase of which nodes are still missing says nothing any more: its requests have failed, or were taken back."""
UNANSWERED_SECONDS = 180
"""A write without an answer is seen by then, or was not done."""
_ZONE = " zone="


def made_of(policy_digest: str, facts: TargetFacts | None) -> str:
    """A digest of what makes the nodes of a target. Zones do not count: each has entries of its own."""
    template = msgspec.structs.replace(facts.template, zones=(), avoided_zones=()) if facts is not None else None
    return hashlib.sha256(msgspec.json.encode((policy_digest, template))).hexdigest()[:16]


def until_seconds(entry: Refuted) -> int:
    """When the same may be tried again."""
    return entry.seen_seconds + (REMEMBERED_SECONDS if entry.times > 1 else FIRST_SECONDS)


def holds(entry: Refuted, template: str, now_seconds: int) -> bool:
    """Whether what was seen still counts against nodes of this digest."""
    return entry.template == template and now_seconds < until_seconds(entry)


def remembers(entry: Refuted, template: str, now_seconds: int) -> bool:
    """Whether a second contradiction would still follow this one."""
    return entry.template == template and now_seconds - entry.seen_seconds < REMEMBERED_SECONDS


def of_zone(target: str, zone: str) -> str:
    """The key of a zone of a target in `Memory.refuted`."""
    return f"{target}{_ZONE}{zone}"


def target_of(key: str) -> str:
    """The target of a key of `Memory.refuted`, of a zone or of a kind of pod."""
    return key.rpartition(" ")[0]


def asked(memory: Memory, outcome: Outcome, *, nothing_done: bool) -> Memory:
    """The memory after a write to a target: a pledge becomes a purchase, and what is taken back is not waited for. Without an
    answer nobody knows whether the write was done. The pledge stays until a view shows it."""
    target = outcome.target
    if outcome.kind == ActionKind.CANCEL and outcome.done:
        return _without(memory, target)
    if outcome.kind not in (ActionKind.RESIZE, ActionKind.REPLACE) or target not in memory.pledges:
        return memory
    if outcome.done:
        return _opened(memory, target)
    return _without_pledge(memory, target) if nothing_done else memory


def _without_pledge(memory: Memory, target: str) -> Memory:
    pledges = {name: pledge for name, pledge in memory.pledges.items() if name != target}
    return msgspec.structs.replace(memory, pledges=pledges)


def _without(memory: Memory, target: str) -> Memory:
    came = memory.purchases.get(target)
    return memory if came is None else msgspec.structs.replace(memory, purchases={**memory.purchases, target: _closed(came)})


def _closed(came: Came) -> Came:
    """Nothing is awaited. When the target was last asked stays: its newer nodes are evidence."""
    return Came(asked_seconds=came.asked_seconds, template=came.template)


def _opened(memory: Memory, target: str) -> Memory:
    pledge, before = memory.pledges[target], memory.purchases.get(target)
    going_on = before is not None and before.nodes > 0 and before.template == pledge.template
    if before is None or not going_on:
        before = Came(asked_seconds=pledge.asked_seconds, template=pledge.template)
    zones = _sum(before.zones, pledge.zones)
    opened = msgspec.structs.replace(before, nodes=before.nodes + pledge.nodes, zones=zones)
    purchases = dict(sorted({**memory.purchases, target: opened}.items()))
    return msgspec.structs.replace(_without_pledge(memory, target), purchases=purchases)


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(one) + Counter(other)).items()))


def note_arrivals(memory: Memory, world: World, policy_digest: str, now_seconds: int) -> Memory:
    """The memory after a look at what has come: zones that are contradicted, and purchases that are complete."""
    by_name = {str(facts.ref): facts for facts in world.targets} if memory.purchases or memory.pledges else {}
    for target, pledge in memory.pledges.items():
        # A process ended between the write and its memory.
        facts = by_name.get(target)
        if facts is not None and (facts.replicas or 0) >= pledge.to:
            memory = _opened(memory, target)
    doubtful = {target_of(key) for key in memory.refuted if _ZONE in key}
    awaiting = {target for target, came in memory.purchases.items() if came.nodes}
    arrivals = _Arrivals(world, memory, awaiting | doubtful)
    refuted = dict(memory.refuted)
    for key, entry in memory.refuted.items():
        if _ZONE in key and arrivals.since(target_of(key), entry.seen_seconds, {})[key.partition(_ZONE)[2]]:
            del refuted[key]
    purchases: dict[str, Came] = {}
    for target, purchase in memory.purchases.items():
        facts = by_name.get(target)
        if facts is None:
            continue
        if purchase.template != made_of(policy_digest, facts):
            purchases[target] = Came(asked_seconds=purchase.asked_seconds, template="")
            continue
        purchases[target] = purchase
        if target not in awaiting:
            continue
        came = arrivals.since(target, purchase.asked_seconds, purchase.came)
        awaited = max(purchase.nodes - sum(came.values()), (facts.replicas or 0) - arrivals.alive(target), 0)
        for zone, wanted in purchase.zones.items():
            if came[zone] + awaited < wanted:
                elsewhere = ", ".join(sorted(name for name, count in came.items() if count and name != zone))
                key = of_zone(target, zone)
                refuted[key] = _contradicted(refuted.get(key), purchase, elsewhere, now_seconds)
        if not awaited or now_seconds - purchase.asked_seconds >= OPEN_SECONDS:
            purchases[target] = _closed(purchase)
        else:
            left = {zone: wanted for zone, wanted in purchase.zones.items() if came[zone] + awaited >= wanted}
            purchases[target] = msgspec.structs.replace(purchase, zones=left, came=dict(sorted(came.items())))
    return msgspec.structs.replace(memory, purchases=purchases, refuted=dict(sorted(refuted.items())))


class _Arrivals:
    """The machines of some targets that came."""

    def __init__(self, world: World, memory: Memory, targets: Collection[str]) -> None:
        self._known = memory.known_targets
        self._machines: dict[str, list[Machine]] = {target: [] for target in targets}
        self._zone_of_node: dict[str, str] = {}
        if targets:
            shapes = world.node_shapes
            self._zone_of_node = {node.name: shapes[node.shape].label(ZONE_LABEL) or "" for node in world.nodes}
            for machine in world.machines:
                if not machine.deleting and (target := str(machine.target)) in self._machines:
                    self._machines[target].append(machine)

    def alive(self, target: str) -> int:
        """How many machines the target has that are not leaving."""
        return len(self._machines[target])

    def since(self, target: str, instant: int, before: Mapping[str, int]) -> Counter[str]:
        """Machines by zone that came since an instant; `before` are those of earlier looks. Where machines have no times, those
        came since the last look that it did not show."""
        timed, counts = Counter[str](), Counter(before)
        known = frozenset(self._known[target].machines) if target in self._known else None
        for machine in self._machines[target]:
            zone = machine.zone or self._zone_of_node.get(machine.node, "")
            if zone and machine.created_seconds >= max(instant, 1):
                timed[zone] += 1
            elif zone and not machine.created_seconds and known is not None and machine.name not in known:
                counts[zone] += 1
        return timed or counts


def _contradicted(before: Refuted | None, purchase: Came, elsewhere: str, now_seconds: int) -> Refuted:
    """The entry of a zone after one more contradiction; `elsewhere`: where nodes came instead (empty: nowhere)."""
    times, asked_seconds = 1, purchase.asked_seconds
    if before is not None and remembers(before, purchase.template, now_seconds):
        times, asked_seconds = before.times + 1, before.asked_seconds
    return Refuted(
        node="", why=elsewhere, template=purchase.template, seen_seconds=now_seconds, times=times, asked_seconds=asked_seconds
    )


def contradicted_zones(memory: Memory, target: str) -> frozenset[str]:
    """The zones in which nodes of the target did not come, whether or not they may be tried again by now."""
    start = f"{target}{_ZONE}"
    return frozenset(key.removeprefix(start) for key in memory.refuted if key.startswith(start))


def in_vain_since(memory: Memory, target: str) -> int | None:
    """Since when nodes of the target may have been added in vain; None: none were. Either they did not come in the zone that they
    were for, or the target has another template since."""
    since = [entry.asked_seconds for key, entry in memory.refuted.items() if key.startswith(f"{target}{_ZONE}")]
    came = memory.purchases.get(target)
    return min((*since, *((came.asked_seconds,) if came is not None and not came.template else ())), default=None)


def contradictions(memory: Memory, target: str, now_seconds: int) -> Iterator[tuple[str, CameElsewhere]]:
    """The zones of a target that are contradicted now, each with what the plan says of it."""
    for key, entry in memory.refuted.items():
        if key.startswith(f"{target}{_ZONE}") and now_seconds < until_seconds(entry):
            zone = key.removeprefix(f"{target}{_ZONE}")
            until = instant_text(until_seconds(entry))
            yield zone, CameElsewhere(zone=zone, came=entry.why, times=entry.times, until=until)


def as_observed(world: World, memory: Memory, now_seconds: int) -> World:
    """The World with targets as their machines show them: without zones that are contradicted. Instances of a cloud that came
    since their target was last asked are of its present template. What was read of the template may be older."""
    doubtful = {target_of(key) for key in memory.refuted if _ZONE in key}
    if doubtful:
        targets = tuple(
            _without_contradicted(facts, memory, now_seconds) if str(facts.ref) in doubtful else facts for facts in world.targets
        )
        world = msgspec.structs.replace(world, targets=targets)
    since = {
        target: came.asked_seconds
        for target, came in memory.purchases.items()
        if came.template and in_cloud(target.partition(" ")[0])
    }
    if not any(machine.outdated and str(machine.target) in since for machine in world.machines):
        return world
    created = {node.name: node.created_seconds for node in world.nodes}

    def present(machine: Machine) -> bool:
        asked_seconds = since.get(str(machine.target))
        return asked_seconds is not None and created.get(machine.node, 0) >= asked_seconds

    machines = tuple(
        msgspec.structs.replace(machine, outdated=False) if machine.outdated and present(machine) else machine
        for machine in world.machines
    )
    return msgspec.structs.replace(world, machines=machines)


def _without_contradicted(facts: TargetFacts, memory: Memory, now_seconds: int) -> TargetFacts:
    wrong = {zone for zone, _ in contradictions(memory, str(facts.ref), now_seconds)}
    left = tuple(zone for zone in facts.template.zones if zone not in wrong)
    if not wrong or (facts.template.zones and not left):
        return facts
    template = msgspec.structs.replace(facts.template, zones=left, avoided_zones=tuple(sorted(wrong)))
    return msgspec.structs.replace(facts, template=template)
