"""A cluster as its own kube-scheduler sees it, by what its API server and the policy tell of that."""

import msgspec

from reconciler.cluster.world import World, WorldProblem
from reconciler.policy.documents import NodeGroupPolicy
from reconciler.scheduling.default_spread import with_default_spread
from reconciler.scheduling.devices.resolved_claims import with_resolved_claims
from reconciler.values.feature_gate import NEWEST_MINOR, not_followed


def configured(world: World, policy: NodeGroupPolicy) -> World:
    """The World with the feature gates and default constraints of the scheduler that the policy describes, and with resolved
    claims. Numbers of shapes may change. The result for a result is itself."""
    return with_resolved_claims(with_default_spread(_with_gates(world, policy), policy))


def _with_gates(world: World, policy: NodeGroupPolicy) -> World:
    """A gate that the API server tells counts, whatever the policy says of it."""
    written, told = {one.name: one.on for one in policy.scheduler.feature_gates}, dict(world.feature_gates)
    if not written and not told:
        return world
    gates = tuple(sorted((written | told).items()))
    problems = {
        *world.problems,
        *(_contradicted(name, on=on) for name, on in told.items() if written.get(name, on) != on),
        *(_not_followed(name, on=on) for name, on in not_followed((world.scheduler_version or (1, NEWEST_MINOR, 0))[1], gates)),
    }
    return msgspec.structs.replace(world, feature_gates=gates, problems=tuple(sorted(problems)))


def _contradicted(name: str, *, on: bool) -> WorldProblem:
    message = f"the API server has it {_word(on=on)}, and this counts. The policy says otherwise in scheduler.featureGates"
    return WorldProblem(code="FeatureGateContradicted", object=f"feature gate {name}", message=message)


def _not_followed(name: str, *, on: bool) -> WorldProblem:
    message = f"it is {_word(on=on)}, and by default it is {_word(on=not on)}. Plans place pods as with the default"
    return WorldProblem(code="FeatureGateNotFollowed", object=f"feature gate {name}", message=message)


def _word(*, on: bool) -> str:
    return "on" if on else "off"
