"""Pods whose claims are not made yet: they go where they go a moment later."""

import random
from collections import Counter

import msgspec

from reconciler.cluster.devices.resource_claim import ClaimTemplate
from reconciler.cluster.pods.pod import ClaimUse
from reconciler.cluster.world import World
from reconciler.scheduling.devices.resolved_claims import with_resolved_claims
from reconciler.scheduling.state import SchedulingState
from tests.decisions.device_cluster import DeviceCluster
from tests.scheduling.test_device_placement import _random_cluster, one_by_one


def _before_the_claim_controller(cluster: DeviceCluster) -> World:
    """The same cluster a moment earlier: all claims of pods that wait come from templates, one per kind, and none is made yet."""
    made = cluster.world()
    requests = {claim.name: claim.requests for claim in made.resource_claims}
    templates, shapes = {}, []
    for shape in made.pod_shapes:
        kind = dict(shape.labels)["app"]
        uses = tuple(ClaimUse(name=use.name, generated=True, template=kind) for use in shape.claims)
        for use in shape.claims:
            templates[kind] = ClaimTemplate(namespace="shop", name=kind, requests=requests[use.claim])
        shapes.append(msgspec.structs.replace(shape, claims=uses))
    return msgspec.structs.replace(
        made, pod_shapes=tuple(shapes), resource_claims=(), claim_templates=tuple(templates[kind] for kind in sorted(templates))
    )


def test_pods_whose_claims_are_not_made_yet_go_where_they_go_then() -> None:
    """Placed before the claims are made, as `fit` places them one after the other once they are."""
    placed = 0
    while placed < 60:
        seed = random.randrange(1 << 32)
        cluster = _random_cluster(random.Random(seed))
        resolved = with_resolved_claims(_before_the_claim_controller(cluster))
        state, numbers = SchedulingState(resolved), resolved.pods.shape
        if any(state.modelled(shape) for shape in set(numbers)):
            continue
        expected = Counter(pair for pair in zip(numbers, one_by_one(cluster.world()), strict=True) if pair[1] >= 0)
        found = Counter(
            {(shape, node): pods for shape, count in Counter(numbers).items() for node, pods in state.place(shape, count)}
        )
        assert found == expected, seed
        placed += found.total()
