"""What pods ask of devices in place of the names of their claims, so that equal pods stay one shape.

A claim from a template exists once per pod and has a name of its own. What counts for a place is what it asks for. A claim that
pods name themselves keeps its name: all of its users share its devices.
"""

from array import array
from collections.abc import Mapping

import msgspec

from reconciler.cluster.devices.resource_claim import ResourceClaim
from reconciler.cluster.pods.pod import ClaimUse, PodShape
from reconciler.cluster.world import World
from reconciler.scheduling.devices.special_claims import with_left_over_claims

KIND = "ResourceClaim"
_Claims = Mapping[tuple[str, str], ResourceClaim]


def with_resolved_claims(world: World) -> World:
    """The World in which shapes of pods say what their own claims ask for. Numbers of shapes may change. The result for a result
    is itself, and for a World without claims the World.

    A pod that runs moves with a new claim from the same template, so that the devices which it has now do not count. A pod that
    waits, and whose claim has devices, can run only where these are: it keeps the name.
    """
    world = with_left_over_claims(world)
    if not any(shape.claims for shape in world.pod_shapes):
        return world
    special = bytearray(any(_is_open(use) for use in shape.claims) for shape in world.pod_shapes)
    if not any(special):
        return world
    claims = {(claim.namespace, claim.name): claim for claim in world.resource_claims}
    numbers = _Numbers()
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
        # Of templates of DaemonSets and of buffers: nobody made their claims.
        unmade.append(numbers.of(_resolved(shape, {}, "", runs=False)) if number not in rows_of else -1)
        for row in rows_of.get(number, ()):
            runs = pods.node[row] >= 0 or row in pods.unknown_node
            resolved = _resolved(shape, claims, pods.uid[row], runs=runs)
            moved[row] = numbers.of(resolved)
    column = array("i", map(unmade.__getitem__, pods.shape))
    for row, number in moved.items():
        column[row] = number

    def of_template(number: int) -> int:
        if unmade[number] < 0:
            unmade[number] = numbers.of(_resolved(world.pod_shapes[number], {}, "", runs=False))
        return unmade[number]

    daemons = tuple(
        msgspec.structs.replace(one, shape=of_template(one.shape), others=tuple(map(of_template, one.others)))
        for one in world.daemon_pods
    )
    buffers = tuple(
        msgspec.structs.replace(one, shape=of_template(one.shape)) if one.shape >= 0 else one for one in world.buffers
    )
    return msgspec.structs.replace(
        world, pod_shapes=tuple(numbers.shapes), pods=pods.with_shapes(column), daemon_pods=daemons, buffers=buffers
    )


class _Numbers:
    """Shapes by number, each once. Bytes identify a shape, because hashing the shape itself visits all of its parts."""

    def __init__(self) -> None:
        self.shapes: list[PodShape] = []
        self._known: dict[bytes, int] = {}
        self._encode = msgspec.msgpack.Encoder().encode

    def of(self, shape: PodShape) -> int:
        """The number of a shape, which is the next one where it is new."""
        number = self._known.setdefault(self._encode(shape), len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(shape)
        return number


def _is_open(use: ClaimUse) -> bool:
    return use.needless or (use.generated and not use.requests and not use.unclear)


def _resolved(shape: PodShape, claims: _Claims, uid: str, *, runs: bool) -> PodShape:
    uses = []
    for use in shape.claims:
        if use.needless:
            continue
        uses.append(_of_one(use, claims.get((shape.namespace, use.claim)), uid, runs=runs) if _is_open(use) else use)
    return msgspec.structs.replace(shape, claims=tuple(uses))


def _of_one(use: ClaimUse, claim: ResourceClaim | None, uid: str, *, runs: bool) -> ClaimUse:
    if claim is None:
        return ClaimUse(
            name=use.name, generated=True, unclear="a claim that does not exist" if use.claim else "a claim that is not made yet"
        )
    if claim.owner_uid != uid:
        return ClaimUse(name=use.name, generated=True, unclear="a claim that was made for another pod")
    if claim.deleting and not runs:
        return ClaimUse(name=use.name, generated=True, unclear="a claim that is being deleted")
    if claim.allocation is not None and not runs:
        return ClaimUse(name=use.name, claim=claim.name)
    return ClaimUse(name=use.name, generated=True, requests=claim.requests, constraints=claim.constraints)
