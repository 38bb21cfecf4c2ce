"""Random demand of all sorts of owners in several namespaces, and random policies for it."""

import random

from reconciler.cluster.pods.pod import AffinityTerm, Owner, PodShape, PodTraits
from reconciler.cluster.values.resources import Resources
from reconciler.policy.documents import Headroom, PolicySet, ScaleDown, Template
from reconciler.simulation.replays.trace import DemandSource, DemandStep, Trace
from reconciler.values.label_selector import LabelSelector, Requirement
from tests.policies import node_group, policy

GI = 1 << 30
NEARLY_MIDNIGHT = 20_001 * 86_400 - 1_800
_API_GROUPS = {"ReplicaSet": "apps", "StatefulSet": "apps", "Job": "batch", "TaskRun": "tekton.dev"}
_POD_LABELS = {"StatefulSet": "statefulset.kubernetes.io/pod-name"}


def mixed_trace(chance: random.Random) -> Trace:
    """An hour or so around midnight. Sources are in any order, and some of them are never wanted."""
    groups = [_of_one_owner(chance, number) for number in range(chance.randint(4, 12))]
    sources = [source for group in groups for source in group]
    chance.shuffle(sources)
    at, steps, wanted = NEARLY_MIDNIGHT, [], dict.fromkeys(sources, 0)
    for _ in range(chance.randint(4, 10)):
        before = dict(wanted)
        for group in chance.sample(groups, chance.randint(1, len(groups))):
            wanted |= _wanted(chance, group)
        changes = tuple((sources.index(one), pods) for one, pods in wanted.items() if pods != before[one])
        if changes:
            steps.append(DemandStep(at, changes))
        at += chance.choice([30, 61, 600, 1_800]) + chance.randint(0, 30)
    return Trace(
        name="mixed",
        start_seconds=NEARLY_MIDNIGHT,
        end_seconds=at + 1_800,
        sources=tuple(sources),
        steps=tuple(steps),
        present=(0,) * len(sources),
    )


def mixed_policy(chance: random.Random) -> PolicySet:
    """One or two groups that every pod fits."""
    unneeded = ScaleDown(unneeded_time_seconds=chance.choice([60, 300, 900]))
    small, large = (Template(capacity=(("cpu", cores * 1_000), ("memory", 4 * cores * GI), ("pods", 110))) for cores in (4, 8))
    groups = [node_group("general", template=small, price_per_hour="1", scale_down=unneeded)]
    if chance.random() < 0.5:
        headroom = Headroom(nodes=chance.randint(0, 1))
        groups.append(node_group("large", template=large, price_per_hour="1.9", scale_down=unneeded, headroom=headroom))
    return policy(*groups)


def _wanted(chance: random.Random, group: list[DemandSource]) -> dict[DemandSource, int]:
    """Pods of a StatefulSet come and go in the order of their ordinals."""
    if group[0].pod_name:
        most = chance.randint(0, len(group))
        return {one: int(number < most) for number, one in enumerate(group)}
    return {one: chance.randint(0, 6) for one in group}


def _of_one_owner(chance: random.Random, number: int) -> list[DemandSource]:
    """All sources of one owner: two of some Jobs and custom controllers, and one per pod of a StatefulSet."""
    kind = chance.choice(["ReplicaSet", "Job", "Job", "StatefulSet", "TaskRun", ""])
    namespace, name = chance.choice(["shop", "batch", "infra"]), f"{chance.choice('zyxabc')}{number}"
    owner = Owner(_API_GROUPS[kind], kind, name, f"uid-{number}") if kind else None
    labels = {"app": chance.choice(["web", name])}
    if kind == "Job":
        labels |= {"job-name": name, "batch.kubernetes.io/controller-uid": f"uid-{number}"}
    key, value = chance.choice(sorted(labels.items()))
    apart = AffinityTerm(
        topology_key="kubernetes.io/hostname",
        selector=LabelSelector((Requirement(key, "In", (value,)),)),
        namespaces=(namespace,),
    )
    # Nobody displaces a pod without a controller: it would not come again, and nobody could tell why.
    priority = chance.choice([0, 0, 0, 10]) if kind else 10
    traits = PodTraits(namespace=namespace, controller=owner, grace_seconds=chance.choice([0, 30]))
    anti_affinity = (apart,) if chance.random() < 0.2 else ()
    pods = {"StatefulSet": chance.randint(1, 3), "ReplicaSet": 1, "": 1}.get(kind, chance.randint(1, 2))
    made = []
    for ordinal in range(pods):
        pod_name = f"{name}-{ordinal}" if kind in ("StatefulSet", "") else ""
        own = {_POD_LABELS[kind]: pod_name} if kind in _POD_LABELS else {}
        cpu = 700 if made and not pod_name else chance.choice([200, 500, 1_000, 1_500, 3_000])
        shape = PodShape(
            namespace=namespace,
            labels=tuple(sorted({**labels, **own}.items())),
            requests=Resources(cpu_milli=cpu, memory_bytes=chance.choice([1, 2, 4]) * GI, pods=1),
            anti_affinity=anti_affinity,
            priority=priority,
        )
        made.append(DemandSource(shape=shape, traits=traits, pod_name=pod_name))
    return made
