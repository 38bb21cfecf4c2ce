"""Whether the machines of a target belong to this cluster, by evidence. Only such machines may be deleted.

A machine that is not a node of this cluster may be a node of another one, with pods on it. On some platforms, every machine is an
object of this cluster's own API. On others (Auto Scaling groups), it is a name in a list. There, only a machine that our own
growth started is known to be safe. It did not exist when we wrote the size for it, and nobody has raised that size since. Also,
machines of its target have become nodes of this cluster, or we have sized the target since it had none. Every other machine that
never became a node is kept and named.

In a fleet, loops of several clusters may see one target. There, nothing is written without evidence for this cluster: the target
names it alone, or machines of it are or were nodes here.

SOURCE: incidents. Instances of another cluster were terminated undrained as machines that never joined. So were nodes that were
registered without a provider id.
"""

from collections.abc import Mapping, Sequence

import msgspec

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World, identity_of
from reconciler.decisions.groups.cluster_names import ClusterNames, cluster_names, in_cloud, marked_by_other
from reconciler.decisions.groups.discovered_groups import clusters_of_discovery
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.membership import Membership
from reconciler.decisions.memory import KnownTarget, Memory
from reconciler.decisions.platform_rules import rules_of
from reconciler.decisions.reasons.machines import ClusterUnknown, MachinesKept, NeverJoined, OtherCluster, OtherClusterMark
from reconciler.plan.reason import Because
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.values.cluster_identity import FleetPlace

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
        """Whether the machines are, or may well be, nodes of another cluster."""
        return isinstance(self.held, OtherCluster | OtherClusterMark | ClusterUnknown)

    @property
    def reason(self) -> Because | None:
        """The reason that the plan gives; None when there is nothing to say."""
        if self.held is not None or not self.kept:
            return self.held
        return MachinesKept(machines=self.kept, why=self.why)


def note_targets(memory: Memory, groups: Sequence[EffectiveGroup], members: Membership, *, in_fleet: bool = False) -> Memory:
    """The memory with the existing machines of each target whose machines are not objects of this cluster, and which of them our
    own growth started. `in_fleet`: labels alone, which a policy names for all clusters, make no node one of its machines."""
    targets = {}
    for position, group in enumerate(groups):
        if group.facts is not None and not _are_objects(group.facts):
            targets[str(group.target)] = _known(memory, group.facts, members, position, in_fleet=in_fleet)
    return msgspec.structs.replace(memory, known_targets=dict(sorted(targets.items())))


def _has_nodes(members: Membership, position: int) -> bool:
    """Whether a node here is one of the target's machines by the ids of both."""
    return any(index in members.machine_of for index in members.members[position])


def _known(memory: Memory, facts: TargetFacts, members: Membership, position: int, *, in_fleet: bool) -> KnownTarget:
    key, machines = str(facts.ref), members.machines[position]
    before = memory.known_targets.get(key)
    if before is not None and before.uid != facts.uid:
        # Another object by the same name: nothing that was known of the one that is gone tells of this one.
        before = None
    write = memory.last_writes.get(key)
    ours = write is not None and facts.replicas is not None and facts.replicas <= write.replicas
    there = _has_nodes(members, position) if in_fleet else bool(members.members[position])
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
    fleet = _fleet_names(world, groups, memory) if world.fleet is not None else {}
    # A plan of one cluster may be about a cluster of a fleet.
    identity = world.fleet.cluster if world.fleet is not None else identity_of(world)
    return tuple(
        _held_in_fleet(group, members, position, memory, world.fleet, fleet, identity.title if identity is not None else "")
        or _belonging(group, members, position, memory, _own(fleet, group, here), loose, unclear=unclear)
        for position, group in enumerate(groups)
    )


def _own(fleet: Mapping[str, ClusterNames], group: EffectiveGroup, here: frozenset[str]) -> frozenset[str]:
    """In a fleet, discovery asks for the same in all clusters, so its names show nothing."""
    known = fleet.get(group.target.kind)
    return here if known is None else known.own | known.shared


def _fleet_names(world: World, groups: Sequence[EffectiveGroup], memory: Memory) -> dict[str, ClusterNames]:
    """By kind of target in a cloud: the names of this cluster and of others."""
    found: dict[str, ClusterNames] = {}
    for kind in {group.target.kind for group in groups}:
        rules = rules_of(kind)
        if world.fleet is None or rules is None or not in_cloud(kind):
            continue
        of_kind = {facts.ref: facts.clusters for facts in world.targets if facts.ref.kind == kind}
        nodes = {node.name for node in world.nodes}
        now = (of_kind.get(one.target, ()) for one in world.machines if one.target is not None and one.node in nodes)
        before = (known.clusters for key, known in memory.known_targets.items() if known.joined and key.startswith(f"{kind} "))
        found[kind] = cluster_names(world.fleet, rules).with_seen((*now, *before))
    return found


def _held_in_fleet(
    group: EffectiveGroup,
    members: Membership,
    position: int,
    memory: Memory,
    place: FleetPlace | None,
    names: Mapping[str, ClusterNames],
    here: str,
) -> Belonging | None:
    """The hold of a target of which another cluster of a fleet may be the owner; None if there is nothing against it. `here` is
    this cluster (empty: unknown)."""
    facts = group.facts
    if facts is None or not in_cloud(facts.ref.kind):
        return None
    kept = tuple(machine.name for machine in members.machines[position] if not machine.node and not machine.deleting)
    target = str(group.target)
    if mark := marked_by_other(facts, here):
        held: Because = OtherClusterMark(target=target, mark=mark, here=here)
        return Belonging(held=held, kept=kept)
    known = names.get(facts.ref.kind)
    if place is None or known is None:
        return None
    joined = _has_nodes(members, position) or memory.known_targets.get(str(facts.ref), KnownTarget()).joined
    foreign = frozenset(facts.clusters) - known.own
    if foreign - known.shared and known.own:
        held = OtherCluster(target=target, named=tuple(sorted(foreign)), here=tuple(sorted(known.own)))
        return Belonging(held=held, kept=kept)
    if joined or (facts.clusters and not foreign):
        return None
    rules = rules_of(facts.ref.kind)
    missing = rules.names_cluster(place.cluster) if rules is not None else ""
    held = ClusterUnknown(
        target=target, cluster=place.cluster.title, shared=tuple(sorted(foreign & known.shared)), missing=missing
    )
    return Belonging(held=held, kept=kept)


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
