"""One decision with what it was taken from: what every explanation looks at."""

import msgspec

from reconciler.cluster.pods.pod import SpreadFrom
from reconciler.cluster.world import World
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
from reconciler.decisions.groups.effective_groups import effective_view
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.limits import LimitLedger
from reconciler.decisions.memory import Memory
from reconciler.decisions.reasons.pods import DefaultSpread
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.narrowed import EVERYTHING, Chosen
from reconciler.plan.plan import GroupLine, NodeLine, Plan
from reconciler.plan.reason import Reason
from reconciler.policy.documents import PolicySet
from reconciler.scheduling.configured import configured
from reconciler.scheduling.state import SchedulingState
from reconciler.values.label_selector import requirement_text


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """World, policy and plan of one instant, with the effective groups (by tier and name) and who belongs to them. `chosen` is
    what is asked about: of other groups and nodes nothing is told."""

    world: World
    policy: PolicySet
    plan: Plan
    groups: tuple[EffectiveGroup, ...]
    members: Membership
    memory: Memory
    now_seconds: int
    chosen: Chosen = EVERYTHING

    @staticmethod
    def of(world: World, policy: PolicySet, plan: Plan, now_seconds: int, memory: Memory, chosen: Chosen = EVERYTHING) -> "Case":
        """The case of a plan that was decided for exactly these; `memory` is what `decide` returned with it."""
        world = configured(world, policy.policy)
        groups, members = effective_view(world, policy, now_seconds)
        return Case(
            world=world, policy=policy, plan=plan, groups=groups, members=members, memory=memory, now_seconds=now_seconds,
            chosen=chosen,
        )  # fmt: skip

    def group(self, name: str) -> EffectiveGroup:
        """A group that exists, with its effective values."""
        return next(group for group in self.groups if group.name == name)

    def limits(self) -> LimitLedger:
        """What counts against the limits before this plan does anything."""
        view = View.of(self.world, self.policy, self.memory, self.now_seconds, Work(DEFAULT_WORK_BUDGET))
        return view.draft().limits

    def asked_groups(self) -> tuple[EffectiveGroup, ...]:
        """The groups that are asked about."""
        return tuple(group for group in self.groups if self.chosen.about_group(group.name))

    def asked_nodes(self) -> tuple[int, ...]:
        """Positions in the World of the nodes that are asked about."""
        if not (self.chosen.groups or self.chosen.nodes):
            return tuple(range(len(self.world.nodes)))
        group_of = {line.node: line.group for line in self.plan.nodes}
        return tuple(
            index
            for index, node in enumerate(self.world.nodes)
            if self.chosen.about_node(node.name) and self.chosen.about_group(group_of.get(node.name))
        )

    def group_line(self, name: str) -> GroupLine:
        """The line of a group that exists."""
        return next(line for line in self.plan.groups if line.name == name)

    def node_line(self, name: str) -> NodeLine:
        """The line of a node that exists."""
        return next(line for line in self.plan.nodes if line.node == name)

    def node_index(self, name: str) -> int:
        """Position of a node in the World."""
        return next(index for index, node in enumerate(self.world.nodes) if node.name == name)

    def counted_pods(self) -> list[int]:
        """Pods that hold room, as decisions count them: bound, not finished, not expendable."""
        cutoff = self.policy.policy.pods.expendable_below_priority
        pods, shapes = self.world.pods, self.world.pod_shapes
        return [
            index
            for index, node in enumerate(pods.node)
            if node >= 0 and not pods.finished(index) and shapes[pods.shape[index]].priority >= cutoff
        ]

    def default_spread(self, shape: int) -> tuple[Reason, ...]:
        """The default constraints that the scheduler gives to pods of this shape, one reason each."""
        value = self.world.pod_shapes[shape]
        if value.spread_from is not SpreadFrom.SCHEDULER:
            return ()
        return tuple(
            DefaultSpread(
                topology_key=one.topology_key,
                max_skew=one.max_skew,
                min_domains=one.min_domains,
                selector=",".join(map(requirement_text, one.selector.requirements if one.selector else ())),
            ).reason()
            for one in value.spread
        )

    def state(self) -> SchedulingState:
        """Nodes and pods as they stand, without anything that the plan adds."""
        return SchedulingState(self.world, pods=self.counted_pods())
