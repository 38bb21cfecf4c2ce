"""ProvisioningRequests drawn at random for a cluster that is there: of both classes, equal, late, huge, of several sets, with the
rules of its apps."""

import random

import msgspec

from reconciler.cluster.pods.pod import PodShape
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import PodsOfSet, RequestPods, World
from reconciler.decisions.memory import Memory
from reconciler.policy.documents import Hold, Limit, NodeGroup, PolicySet, RequestReading, RequestsFrom
from tests.benchmarks.mixed.situations import Situation, small
from tests.builders import NOW

CHECK, GROW = (f"{name}.reconciler.dev" for name in ("check-capacity", "best-effort-atomic-scale-up"))
_DAY = 86_400
_READ = RequestsFrom(provisioning_requests=RequestReading.READ)
_FOREIGN = (
    {"scheduler_name": "volcano"}, {"priority": -100}, {"node_selector": (("pool-kind", "none"),)}, {"priority": 1_000},
)  # fmt: skip


def asked(seed: int) -> Situation:
    """A small cluster with most rules at once (see `small`), groups that may grow by little or much, and up to 30 requests."""
    world, rules, memory = small(seed)
    rng = random.Random(seed)
    return _with_requests(world, rng), _bounded(rules, rng, len(world.nodes)), memory if rng.random() < 0.7 else Memory()


def _with_requests(world: World, rng: random.Random) -> World:
    shapes = {shape: number for number, shape in enumerate(world.pod_shapes)}
    drawn: list[tuple[PodsOfSet, ...]] = []
    requests = []
    for number in range(rng.randint(1, 30)):
        if drawn and rng.random() < 0.4:
            sets = rng.choice(drawn)
        else:
            own = [_shape(world, rng, number) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
            sets = tuple(
                PodsOfSet(shape=shapes.setdefault(shape, len(shapes)), count=rng.choice((1, 5, 20, 100, 400, 2_000)))
                for shape in own
            )
            drawn.append(sets)
        created, told = NOW - rng.randrange(60, 3 * _DAY), rng.random()
        requests.append(
            RequestPods(
                namespace="ml",
                name=f"r-{number:02}",
                uid=f"uid-{number}",
                class_name=rng.choice((CHECK, GROW)),
                sets=sets,
                created_seconds=created,
                valid_seconds=_DAY if rng.random() < 0.2 else 7 * _DAY,
                retries=rng.random() < 0.8,
                over=rng.random() < 0.1,
                provisioned_seconds=None if told < 0.9 else NOW - 60 if told < 0.97 else NOW - 700,
            )
        )
    broken = rng.sample(range(len(world.nodes)), min(len(world.nodes), rng.choice((0, 0, 1, 2))))
    return msgspec.structs.replace(
        world,
        nodes=tuple(
            msgspec.structs.replace(node, ready=False) if index in broken else node for index, node in enumerate(world.nodes)
        ),
        pod_shapes=tuple(shapes),
        provisioning_requests=tuple(requests),
        captured=tuple(sorted({*world.captured, "ProvisioningRequest"})),
    )


def _shape(world: World, rng: random.Random, number: int) -> PodShape:
    if rng.random() < 0.4:
        # With the rules of an app that runs, as one more of its pods.
        return rng.choice(world.pod_shapes)
    cores, extended = rng.choice((1, 2, 4, 8, 16, 200)), (("nvidia.com/gpu", 1),) if rng.random() < 0.1 else ()
    shape = PodShape(
        namespace=f"team-{rng.randrange(3)}",
        labels=(("job-name", f"job-{number}"),),
        requests=Resources(cpu_milli=500 * cores, memory_bytes=cores * rng.choice((1, 2, 4)) << 30, pods=1, extended=extended),
    )
    return msgspec.structs.replace(shape, **rng.choice(_FOREIGN)) if rng.random() < 0.2 else shape


def _bounded(rules: PolicySet, rng: random.Random, nodes: int) -> PolicySet:
    """The groups may grow by little, much or not at all. One in a while is held."""
    groups: list[NodeGroup] = []
    for group in rules.groups:
        most = rng.choice((3, 6, 10, 10_000))
        hold = Hold(reason="repair") if rng.random() < 0.1 else None
        groups.append(msgspec.structs.replace(group, size=msgspec.structs.replace(group.size, max=most), hold=hold))
    limits = (Limit(name="all", max=(("nodes", nodes + rng.choice((0, 3, 10))),)),) if rng.random() < 0.5 else ()
    document = msgspec.structs.replace(rules.policy, limits=limits, requests_from=_READ)
    return msgspec.structs.replace(rules, groups=tuple(groups), policy=document)
