"""The cluster that a policy test is given: a snapshot, with nodes and pods on top."""

from collections import Counter

import msgspec

from reconciler.cluster.pods.pod_table import PodTable
from reconciler.cluster.world import World
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import Given, GivenNodes, PolicyTestText
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.simulation.embedded.cluster import SimulatedCluster
from reconciler.simulation.embedded.durations import AT_ONCE
from reconciler.simulation.embedded.field_owner import OUR_MANAGER, Via
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.scenarios.start_world import controller_of, pod_of, pod_row

WAITED_SECONDS = 3600
"""Pods on top have been pending for so long, so that no delay for new pods leaves them out."""


def given_world(text: PolicyTestText, index: int, world: World, policy: PolicySet, now_seconds: int) -> World:
    """The World of the test at `index`: its nodes join first, and kube-scheduler binds what fits on them; then come its pods.

    Raises `DocumentError` with the place of a group that does not exist, or whose nodes nobody can describe.
    """
    own, common = text.value.spec.tests[index].given, text.value.spec.given
    given = own.on(common)
    if given.nodes:
        path = f"$.spec.tests[{index}].given" if own.nodes else "$.spec.given"
        world = _with_nodes(text, path, given, world, policy, now_seconds)
    return _with_pods(world, given.workloads, now_seconds - WAITED_SECONDS) if given.workloads else world


def _with_nodes(text: PolicyTestText, path: str, given: Given, world: World, policy: PolicySet, now_seconds: int) -> World:
    groups = {group.name: group for group in effective_groups(world, policy, now_seconds)}
    replicas = {facts.ref: facts.replicas for facts in world.targets}
    joining: dict[str, GivenNodes] = {}
    for position, more in enumerate(given.nodes):
        group, at = groups.get(more.group), f"{path}.nodes[{position}].group"
        if group is None:
            raise text.error(at, f"the policy has no group {more.group!r} in this cluster", f"write {', '.join(groups)}")
        if more.group in joining:
            raise text.error(at, f"group {more.group!r} is named twice", "write one count for it")
        if replicas.get(group.target) is None:
            raise text.error(at, f"it is unknown how many replicas {more.group!r} has in this cluster", "name another group")
        joining[more.group] = more
    behaviours = {groups[name].target.name: AT_ONCE for name in joining}
    cluster = SimulatedCluster(world, policy, now_seconds, behaviours=behaviours)
    for name, more in joining.items():
        target = groups[name].target
        cluster.write_replicas(target, (replicas[target] or 0) + more.count, OUR_MANAGER, Via.SCALE)
    cluster.advance_to(now_seconds)
    joined = [event.target for event in cluster.journal.events if event.kind is Happened.NODE_JOINED]
    for position, more in enumerate(given.nodes):
        group = groups[more.group]
        if joined.count(str(group.target)) < more.count:
            why = group.template_problem or "its machines did not join"
            raise text.error(f"{path}.nodes[{position}].group", f"no node of {more.group!r} can be added: {why}")
    owners = {facts.ref: facts.owner for facts in world.targets}
    grown = cluster.world()
    # Nobody wrote these replicas: the nodes have always been there.
    targets = tuple(msgspec.structs.replace(facts, owner=owners[facts.ref]) for facts in grown.targets)
    return msgspec.structs.replace(grown, targets=targets, captured_seconds=world.captured_seconds)


def _with_pods(world: World, workloads: tuple[StatedWorkload, ...], created_seconds: int) -> World:
    shapes = {shape: index for index, shape in enumerate(world.pod_shapes)}
    traits = {one: index for index, one in enumerate(world.pod_traits)}
    rows = list(world.pods)
    taken = {(row.namespace, row.name) for row in rows}
    controllers = {(one.api_group, one.kind, one.namespace, one.name): one for one in world.controllers}
    namespaces = dict(world.namespaces)
    numbers: Counter[str] = Counter()
    for workload in workloads:
        shape, kind = pod_of(workload)
        places = shapes.setdefault(shape, len(shapes)), traits.setdefault(kind, len(traits))
        made = 0
        while made < workload.replicas:
            numbers[workload.name] += 1
            row = pod_row(workload, str(numbers[workload.name]), *places, created_seconds)
            if (row.namespace, row.name) not in taken:
                taken.add((row.namespace, row.name))
                rows.append(row)
                made += 1
        owner = controller_of(workload)
        key = (owner.api_group, owner.kind, owner.namespace, owner.name)
        if (there := controllers.get(key)) is not None:
            owner = msgspec.structs.replace(there, replicas=(there.replicas or 0) + workload.replicas)
        controllers[key] = owner
        namespaces.setdefault(owner.namespace, ())
    return msgspec.structs.replace(
        world,
        pod_shapes=tuple(shapes),
        pod_traits=tuple(traits),
        pods=PodTable(sorted(rows, key=lambda row: (row.namespace, row.name))),
        controllers=tuple(sorted(controllers.values())),
        namespaces=tuple(sorted(namespaces.items())),
    )
