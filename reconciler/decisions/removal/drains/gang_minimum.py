"""How many running pods of each PodGroup may leave before fewer run than its `minCount`. Of some, only all may leave together.

kube-scheduler checks the minimum only when it binds pods. The job itself may stop below it, so a removal keeps it.
"""

from collections import Counter
from collections.abc import Mapping

from reconciler.cluster.world import World
from reconciler.decisions.reasons.drain_rules import GangIndivisible, GangMinimum
from reconciler.decisions.situation.pod_groups import ready_members, unclear_group
from reconciler.policy.documents import BlockRule


class GangLedger:
    """What is left of every gang. `unclear` says of shapes why nobody knows where their pods may run. With the rule Allow, pods
    of gangs may leave one by one."""

    def __init__(self, world: World, rule: BlockRule) -> None:
        groups = {(one.namespace, one.name): one for one in world.pod_groups}
        self._key_of = {number: (one.namespace, one.pod_group) for number, one in enumerate(world.pod_shapes) if one.pod_group}
        self.unclear = {
            number: why for number, key in self._key_of.items() if (why := unclear_group(world, "/".join(key), groups.get(key)))
        }
        kept = groups if rule is BlockRule.BLOCK else {}
        self._least = {key: one.min_count for key, one in kept.items() if one.min_count > 1 or one.indivisible}
        self._indivisible = {key for key, one in kept.items() if one.indivisible}
        self._running = Counter(ready_members(world)) if self._key_of else Counter[tuple[str, str]]()

    def covers(self, shape: int) -> bool:
        """Whether pods of the shape may not leave one by one."""
        return self._key_of.get(shape) in self._least

    def name_of(self, shape: int) -> str:
        """The gang of pods of the shape, as reasons name it."""
        return "/".join(self._key_of.get(shape, ()))

    def short(self, counts: Mapping[int, int]) -> GangMinimum | GangIndivisible | None:
        """The first gang that would lose its minimum, or only a part of its pods, without these pods (by shape)."""
        if not self._key_of:
            return None
        leaving = Counter[tuple[str, str]]()
        for shape, count in counts.items():
            if self.covers(shape):
                leaving[self._key_of[shape]] += count
        for key, count in sorted(leaving.items()):
            least, running = self._least[key], self._running[key]
            if key in self._indivisible and 0 < count < running:
                return GangIndivisible(group="/".join(key), running=running, leaving=count)
            if count > 0 and 1 < least > running - count:
                return GangMinimum(group="/".join(key), min_count=least, running=running, leaving=count)
        return None

    def take(self, counts: Mapping[int, int], sign: int) -> None:
        """These pods leave (or with sign -1 stay)."""
        for shape, count in counts.items() if self._key_of else ():
            if shape in self._key_of:
                self._running[self._key_of[shape]] -= sign * count
