"""Whether the machines of a target belong to this cluster, by evidence. Only such machines may be deleted.

A machine that is not a node of this cluster may be a node of another one, with pods on it. On some platforms, every machine is an
object of this cluster's own API. On others (Auto Scaling groups), it is a name in a list. There, only a machine that our own
growth started is known to be safe. It did not exist when we wrote the size for it, and nobody has raised that size since. Also,
machines of its target have become nodes of this cluster, or we have sized the target since it had none. Every other machine that
never became a node is kept and named.

SOURCE: incidents. Instances of another cluster were terminated undrained as machines that never joined. So were nodes that were
registered without a provider id.
"""

from collections.abc import Sequence

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership, clusters_of_discovery
from reconciler.decisions.memory import KnownTarget, Memory
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons.machines import MachinesKept, NeverJoined, OtherCluster
from reconciler.plan.reason import Because
from reconciler.policy.documents import NodeGroupPolicy

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Belonging(msgspec.Struct, frozen=True, kw_only=True):
    """The evidence for one group. `held` is why nothing at all is written for it (None: writes are allowed). `kept` are machines
    without a node that are never deleted, and `why` is the reason to keep them."""

    held: Because | None = None
    kept: tuple[str, ...] = ()
    why: str = ""

    def expects_nothing(self, *, overdue: bool) -> bool:
        """Whether what the target was asked for will be no node of this cluster; `overdue`: some of it has not come in time."""
        return self.of_another_cluster or (self.held is not None and overdue)

    @property
    def of_another_cluster(self) -> bool:
        """Whether the machines are known to be nodes of another cluster."""
        return isinstance(self.held, OtherCluster)

    @property
    def reason(self) -> Because | None:
        """The reason that the plan gives; None when there is nothing to say."""
        if self.held is not None or not self.kept:
            return self.held
        return MachinesKept(machines=self.kept, why=self.why)


def note_targets(memory: Memory, groups: Sequence[EffectiveGroup], members: Membership) -> Memory:
    """The memory with the existing machines of each target whose machines are not objects of this cluster, and which of them our
    own growth started."""
    targets = {}
    for position, group in enumerate(groups):
        if group.facts is not None and not _are_objects(group.facts):
            targets[str(group.target)] = _known(memory, group.facts, members, position)
    return msgspec.structs.replace(memory, known_targets=dict(sorted(targets.items())))


def _known(memory: Memory, facts: TargetFacts, members: Membership, position: int) -> KnownTarget:
    key, machines = str(facts.ref), members.machines[position]
    before = memory.known_targets.get(key)
    if before is not None and before.uid != facts.uid:
        # Another object by the same name: nothing that was known of the one that is gone tells of this one.
        before = None
    write = memory.last_writes.get(key)
    ours = write is not None and facts.replicas is not None and facts.replicas <= write.replicas
    there = bool(members.members[position])
    joined = there or (before is not None and before.joined)
    nothing = facts.replicas == 0 and not any(not machine.deleting for machine in machines)
    from_nothing = nothing or (before is not None and before.from_nothing and ours)
    seen = frozenset(before.machines) if before is not None else frozenset[str]()
    fresh = before is not None and ours and (joined or from_nothing)
    started = frozenset(before.started) if before is not None else frozenset[str]()
    waiting = [machine.name for machine in machines if not machine.node]
    return KnownTarget(
        uid=facts.uid,
        joined=joined,
        clusters=facts.clusters if there or before is None else before.clusters,
        from_nothing=from_nothing,
        machines=tuple(sorted(machine.name for machine in machines)),
        # One that has been a node since is none that never came, whatever became of its node.
        started=tuple(sorted(name for name in waiting if name in started or (fresh and name not in seen))),
    )


def belongings(
    world: World, policy: NodeGroupPolicy, groups: Sequence[EffectiveGroup], members: Membership, memory: Memory
) -> tuple[Belonging, ...]:
    """What the evidence says, a group, by the order of `groups`. `memory` knows of what this world shows already."""
    loose = _without_provider_id(world, members)
    here = _names_of_this_cluster(world, policy, memory)
    named = [frozenset(group.facts.clusters) for group in groups if group.facts is not None and group.facts.clusters]
    unclear = not here and bool(named) and not frozenset.intersection(*named)
    return tuple(
        _belonging(group, members, position, memory, here, loose, unclear=unclear) for position, group in enumerate(groups)
    )


def _belonging(
    group: EffectiveGroup,
    members: Membership,
    position: int,
    memory: Memory,
    here: frozenset[str],
    loose: tuple[tuple[int, str], ...],
    *,
    unclear: bool,
) -> Belonging:
    """`here` are the names by which targets with nodes here, and the policy, call this cluster; `unclear`: there are none, and
    its targets name several. `loose` are nodes of which nobody knows what machine they are."""
    facts = group.facts
    if facts is None:
        return Belonging()
    waiting = tuple(machine.name for machine in members.machines[position] if not machine.node and not machine.deleting)
    objects, known = _are_objects(facts), memory.known_targets.get(str(facts.ref), KnownTarget())
    foreign = bool(facts.clusters) and not here.intersection(facts.clusters)
    if foreign and (here or unclear) and not objects:
        held = OtherCluster(target=str(group.target), named=facts.clusters, here=tuple(sorted(here)))
        return Belonging(held=held, kept=waiting)
    possible = tuple(name for where, name in loose if where in (-1, position))
    if possible:
        kept, why = waiting, _may_be(possible)
    elif objects:
        kept, why = (), ""
    else:
        # In a cluster that nothing ties to this one, what we have started may be a node already.
        trusted = () if foreign and not known.joined else known.started
        kept, why = tuple(name for name in waiting if name not in trusted), "no evidence shows that our own growth started them"
    if objects or known.joined or not set(waiting) - set(known.started):
        return Belonging(kept=kept, why=why)
    return Belonging(held=NeverJoined(target=str(group.target), machines=waiting, why=why), kept=kept)


def _names_of_this_cluster(world: World, policy: NodeGroupPolicy, memory: Memory) -> frozenset[str]:
    """The names of this cluster on targets. They come from targets whose machines are or were its nodes, in a group or not, and
    from the discovery rules of the policy."""
    calls = {facts.ref: facts.clusters for facts in world.targets if facts.clusters}
    nodes = {node.name for node in world.nodes} if calls else frozenset[str]()
    now = {calls.get(machine.target, ()) for machine in world.machines if machine.target is not None and machine.node in nodes}
    before = (known.clusters for known in memory.known_targets.values() if known.joined)
    return clusters_of_discovery(policy).union(*now, *before)


def _may_be(nodes: tuple[str, ...]) -> str:
    more = f" and {len(nodes) - 1} more carry" if len(nodes) > 1 else " carries"
    return f"node {nodes[0]}{more} no spec.providerID and may be one of them"


def _without_provider_id(world: World, members: Membership) -> tuple[tuple[int, str], ...]:
    """Nodes of which nobody knows what machine they are: the position of the group that claims each (-1: none), and its name."""
    linked = {machine.node for machine in world.machines}
    return tuple(
        (members.group_of[index], node.name)
        for index, node in enumerate(world.nodes)
        if not node.provider_id
        and index not in members.machine_of
        and node.name not in linked
        and not any(world.node_shapes[node.shape].label(key) is not None for key in _CONTROL_PLANE)
    )


def _are_objects(facts: TargetFacts) -> bool:
    rules = rules_of(facts.ref.kind)
    return rules is not None and rules.machines_are_objects
