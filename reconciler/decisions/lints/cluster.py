"""What is worth fixing in a cluster, whatever the current plan: each a finding with advice.

Sources: the recommendations of OpenShift's, EKS's and Cluster API's autoscaling documents; the code names the rule, the
docstring of each function the reason.
"""

from collections import defaultdict
from collections.abc import Iterator

import msgspec

from reconciler.cluster.defects import judged
from reconciler.cluster.nodes.node import ZONE_LABEL, NodeShape
from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.demand.worth import GPU_RESOURCES
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.new_node import ACCELERATOR_LABELS, accelerator_label
from reconciler.decisions.groups.similar_groups import difference, ignored_labels
from reconciler.decisions.lints.capacity import capacity_findings
from reconciler.decisions.lints.cross_check import cross_check_findings
from reconciler.decisions.lints.setup import setup_findings
from reconciler.decisions.memory import Memory
from reconciler.decisions.ownership.handover import to_us
from reconciler.decisions.removal.drains.disruption_ledger import DisruptionLedger
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.decisions.view import View
from reconciler.decisions.work import Work
from reconciler.plan.finding import Finding
from reconciler.plan.plan import OwnerState
from reconciler.policy.documents import PolicySet
from reconciler.values.plural import count_text

MOST_GROUPS, FEW_NODES = 20, 2


def findings_of(world: World, policy: PolicySet, memory: Memory, now_seconds: int, work_budget: int) -> tuple[Finding, ...]:
    """What `doctor` finds of a policy in a cluster at an instant (Unix time)."""
    return judged(world, lambda one: findings(View.of(one, policy, memory, now_seconds, Work(work_budget))))


def findings(view: View) -> tuple[Finding, ...]:
    """All findings, sorted by code and object."""
    all_findings = (
        *_nodes_differ(view),
        *_without_requests(view.world),
        *_without_disruption_budget(view.world),
        *_zonal_volumes(view),
        *_small_groups(view),
        *_regional_and_zonal(view),
        *_accelerator_label(view),
        *_topology_replicas(view),
        *capacity_findings(view),
        *cross_check_findings(view),
        *setup_findings(view),
    )
    return tuple(sorted(all_findings))


def _shapes(view: View, position: int) -> dict[int, list[str]]:
    """Node names by shape of one group, most frequent shape first."""
    by_shape: dict[int, list[str]] = defaultdict(list)
    for index in view.members.members[position]:
        node = view.world.nodes[index]
        by_shape[node.shape].append(node.name)
    return dict(sorted(by_shape.items(), key=lambda item: (-len(item[1]), item[1])))


def _nodes_differ(view: View) -> Iterator[Finding]:
    """Nodes of one group are taken to be alike when it grows: one that differs was changed by hand or is of an old template."""
    ignored = ignored_labels(view.policy.policy)
    for position, group in enumerate(view.groups):
        shapes = list(_shapes(view, position).items())
        if len(shapes) < 2:
            continue
        usual = view.world.node_shapes[shapes[0][0]]
        differ: dict[str, list[str]] = defaultdict(list)
        for shape, names in shapes[1:]:
            broken = difference(usual, _settled(view.world.node_shapes[shape], usual), ignored)
            if broken:
                differ[broken] += names
        for broken, names in differ.items():
            yield Finding(
                code="NodesDiffer",
                object=f"NodeGroup {group.name}",
                message=f"{_differ(len(names))} from the other nodes of the group: {broken}",
                advice="change the template of the group and roll it out. Do not change single nodes",
                nodes=tuple(sorted(names)),
            )


def _differ(number: int) -> str:
    return f"{count_text(number, 'node')} {'differs' if number == 1 else 'differ'}"


def _settled(shape: NodeShape, usual: NodeShape) -> NodeShape:
    """The shape with the other one's taints: taints come and go with conditions and drains."""
    return msgspec.structs.replace(shape, taints=usual.taints)


def _workloads(world: World) -> dict[str, list[int]]:
    """Running pods that have a controller, by `Kind namespace/name`; DaemonSet and mirror pods left out."""
    by_workload: dict[str, list[int]] = defaultdict(list)
    pods = world.pods
    for index in range(len(pods)):
        traits = world.pod_traits[pods.traits[index]]
        if pods.node[index] < 0 or pods.finished(index) or traits.daemonset or traits.mirror or traits.controller is None:
            continue
        by_workload[f"{traits.controller.kind} {traits.namespace}/{traits.controller.name}"].append(index)
    return by_workload


def _without_requests(world: World) -> Iterator[Finding]:
    """A pod without requests is invisible: it keeps no node, and no node is added for what it uses."""
    for name, pods in _workloads(world).items():
        requests = world.pod_shapes[world.pods.shape[pods[0]]].requests
        if not requests.cpu_milli and not requests.memory_bytes:
            yield Finding(
                code="NoRequests",
                object=name,
                message=f"its {len(pods)} running pods request neither cpu nor memory",
                advice="set resources.requests to the usage of the pods",
            )


def _without_disruption_budget(world: World) -> Iterator[Finding]:
    """Without a budget all pods of a workload may be evicted at once when their nodes leave together."""
    ledger = DisruptionLedger(world)
    for name, pods in _workloads(world).items():
        if len(pods) > 1 and not name.startswith("Job ") and not ledger.budgets_of(world.pods.shape[pods[0]]):
            yield Finding(
                code="NoDisruptionBudget",
                object=name,
                message=f"no PodDisruptionBudget covers its {len(pods)} running pods",
                advice="add one, so that pods are not evicted faster than their replacements become ready",
            )


def _zones(view: View, position: int) -> set[str]:
    nodes = (view.world.nodes[index] for index in view.members.members[position])
    return {zone for node in nodes if (zone := view.world.node_shapes[node.shape].label(ZONE_LABEL)) is not None}


def _zonal_volumes(view: View) -> Iterator[Finding]:
    """A volume lives in one zone, and nobody can say in which zone a group over several zones grows next."""
    pods = view.world.pods
    for position, group in enumerate(view.groups):
        zones = _zones(view, position)
        members = frozenset(view.members.members[position])
        claims = {
            pods.key(index)
            for index in range(len(pods))
            if pods.node[index] in members and any(v.claim for v in view.world.pod_shapes[pods.shape[index]].volumes)
        }
        if len(zones) > 1 and claims:
            yield Finding(
                code="ZonalVolumes",
                object=f"NodeGroup {group.name}",
                message=f"it spans {', '.join(sorted(zones))} and {len(claims)} of its pods use volumes",
                advice="use one group per zone with balanceWith, so that a node can be added in the zone of the volume",
            )


def _small_groups(view: View) -> Iterator[Finding]:
    """Every decision looks at every group, and small groups pack badly."""
    small = [group for group in view.groups if 0 < group.max_size <= FEW_NODES]
    if len(view.groups) > MOST_GROUPS and len(small) * 2 > len(view.groups):
        yield Finding(
            code="ManySmallGroups",
            object=f"NodeGroupPolicy {view.policy.policy.name}",
            message=f"{len(small)} of {len(view.groups)} groups may have at most {FEW_NODES} nodes",
            advice="prefer fewer groups with more nodes. Separate teams by namespace",
        )


def _regional_and_zonal(view: View) -> Iterator[Finding]:
    """Pods bound to a zone land on nodes of a group over all zones and leave the zonal groups unbalanced."""
    spans = {group.name: _zones(view, position) for position, group in enumerate(view.groups)}
    regional = sorted(name for name, zones in spans.items() if len(zones) > 1)
    zonal = sorted(name for name, zones in spans.items() if len(zones) == 1)
    if regional and len({zone for name in zonal for zone in spans[name]}) > 1:
        yield Finding(
            code="RegionalAndZonalGroups",
            object=f"NodeGroupPolicy {view.policy.policy.name}",
            message=f"{', '.join(regional)} span several zones, but these are zonal: {', '.join(zonal)}",
            advice="use one kind, or keep regional pods off the zonal groups with node affinity",
        )


def _accelerator_label(view: View) -> Iterator[Finding]:
    """Until its device plugin runs, a node advertises no GPU. The label announces it, so that no second node is added."""
    for group in view.groups:
        if group.template is None or not has_gpu(group.template):
            continue
        if accelerator_label(group.template) is None:
            names = ", ".join(name for name in GPU_RESOURCES if group.template.capacity.get(name))
            yield Finding(
                code="AcceleratorLabelMissing",
                object=f"NodeGroup {group.name}",
                message=f"its nodes have {names} and no label that names the type",
                advice=f"set {ACCELERATOR_LABELS[0]} in the template, before the node joins",
            )


def _topology_replicas(view: View) -> Iterator[Finding]:
    """A topology that declares replicas puts every other writer's value back within a second."""
    for group, judgement in zip(view.groups, view.judgements, strict=True):
        facts = group.facts
        if facts is None or judgement.ownership.state is not OwnerState.HELD or not facts.owner.topology_owned:
            continue
        declared = facts.owner.topology_replicas
        if declared is not None:
            yield Finding(
                code="TopologyReplicas",
                object=f"NodeGroup {group.name}",
                message=f"the Cluster's topology declares replicas {declared} for it",
                advice=_hand_over(facts, group),
            )


def _hand_over(facts: TargetFacts, group: EffectiveGroup) -> str:
    """The change of the Cluster, with its lines: what a topology owns is never written on the MachineDeployment."""
    way = to_us(facts, group.min_size, group.max_size)
    return f"{way.sentence()}: {', '.join(line.strip() for line in way.lines[2:])}"
