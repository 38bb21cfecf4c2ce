"""What pods ask of devices in place of the names of their claims, so that equal pods stay one shape.

A claim from a template exists once per pod and has a name of its own. What counts for a place is what it asks for. A claim that
pods name themselves keeps its name: all of its users share its devices.
"""

from array import array

import msgspec

from reconciler.cluster.devices.resource_claim import ClaimTemplate, ResourceClaim
from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.pods.shape_numbers import ShapeNumbers
from reconciler.cluster.world import World, with_pod_shapes
from reconciler.scheduling.devices.special_claims import with_left_over_claims

TEMPLATE = "ResourceClaimTemplate"
_Key = tuple[str, str]
"""Namespace and name."""


def with_resolved_claims(world: World) -> World:
    """The World in which shapes of pods say what their own claims ask for. Numbers of shapes may change. The result for a result
    is itself, and for a World without claims the World.

    A pod that runs moves with a new claim from its template as that is now. The devices which it has now do not count. A pod that
    waits, and whose claim has devices, can run only where these are: it keeps the name. A claim that is not made yet will ask for
    what its template says. Pods that were just created have such claims. So do pods of DaemonSets, CapacityBuffers and
    ProvisioningRequests.
    """
    world = with_left_over_claims(world)
    if not any(shape.claims for shape in world.pod_shapes):
        return world
    special = bytearray(any(_is_open(use) for use in shape.claims) for shape in world.pod_shapes)
    if not any(special):
        return world
    evidence, numbers = _Evidence(world), ShapeNumbers()
    pods = world.pods
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(pods.shape):
        if special[number]:
            rows_of.setdefault(number, []).append(row)
    unmade: list[int] = []
    moved: dict[int, int] = {}
    for number, shape in enumerate(world.pod_shapes):
        if not special[number]:
            unmade.append(numbers.of(shape))
            continue
        unmade.append(numbers.of(evidence.resolved(shape)) if number not in rows_of else -1)
        for row in rows_of.get(number, ()):
            runs = pods.node[row] >= 0 or row in pods.unknown_node
            moved[row] = numbers.of(evidence.resolved(shape, pods.uid[row], runs=runs))
    column = array("i", map(unmade.__getitem__, pods.shape))
    for row, number in moved.items():
        column[row] = number

    def of_template(number: int) -> int:
        if unmade[number] < 0:
            unmade[number] = numbers.of(evidence.resolved(world.pod_shapes[number]))
        return unmade[number]

    # Numbers are asked for first: new shapes come with them.
    named = with_pod_shapes(world, (), pods.with_columns(shape=column), of_template)
    return msgspec.structs.replace(named, pod_shapes=tuple(numbers.shapes))


def _is_open(use: ClaimUse) -> bool:
    return use.needless or (use.generated and not use.requests and not use.unclear)


class _Evidence:
    """The claims of a World, and the templates of those that are not made yet."""

    def __init__(self, world: World) -> None:
        self._claims = {(claim.namespace, claim.name): claim for claim in world.resource_claims}
        self._made_for = {(claim.owner_uid, claim.made_for): claim for claim in world.resource_claims if claim.owner_uid}
        self._templates = {(one.namespace, one.name): one for one in world.claim_templates}
        self._captured = TEMPLATE in world.captured

    def resolved(self, shape: PodShape, uid: str = "", *, runs: bool = False) -> PodShape:
        """The shape of the pod with this uid (empty: of a pod that nobody created yet), with what its own claims ask for."""
        uses = [
            self._of_one(shape.namespace, use, uid, runs=runs) if _is_open(use) else use
            for use in shape.claims
            if not use.needless
        ]
        return msgspec.structs.replace(shape, claims=tuple(uses))

    def _of_one(self, namespace: str, use: ClaimUse, uid: str, *, runs: bool) -> ClaimUse:
        # Of a claim that was just made, the status of the pod may not say the name yet.
        claim = self._claims.get((namespace, use.claim)) if use.claim else self._made_for.get((uid, use.name))
        if claim is None:
            return self._not_made((namespace, use.template), use)
        if claim.owner_uid != uid:
            return _unclear(use, "a claim that was made for another pod")
        if claim.deleting and not runs:
            return _unclear(use, "a claim that is being deleted")
        if claim.allocation is not None and not runs:
            return ClaimUse(name=use.name, claim=claim.name)
        if runs and use.template and self._captured:
            # The pod that replaces it gets a claim from the template, which may be gone, or another one by now.
            return self._not_made((namespace, use.template), use)
        return _asking(use, claim)

    def _not_made(self, key: _Key, use: ClaimUse) -> ClaimUse:
        """Source: `handleClaim` of the claim controller. It makes a claim from the template. It does so again if the claim that
        the status of the pod names is gone."""
        template = self._templates.get(key)
        if template is not None:
            return _asking(use, template)
        gone = use.claim and (key[0], use.claim) not in self._claims
        missing = "a claim that does not exist" if gone else "a claim that is not made yet"
        named = f"{TEMPLATE} {'/'.join(key)}"
        if not use.template:
            return _unclear(use, missing)
        return _unclear(use, f"{missing}, {named} does not exist" if self._captured else f"{missing}, {named} was not captured")


def _asking(use: ClaimUse, of: ResourceClaim | ClaimTemplate) -> ClaimUse:
    if not of.requests:
        return _unclear(use, "a claim without requests")
    return ClaimUse(name=use.name, generated=True, requests=of.requests, constraints=of.constraints)


def _unclear(use: ClaimUse, why: str) -> ClaimUse:
    return ClaimUse(name=use.name, generated=True, unclear=why)
