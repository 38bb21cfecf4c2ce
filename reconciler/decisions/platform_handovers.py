"""The steps by which the size of a target changes its owner, and what shows that each is done."""

from collections.abc import Callable
from functools import cache

import msgspec

from reconciler import registered_platforms
from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.world import World
from reconciler.decisions.platform_rules import kind_of
from reconciler.policy.documents import NodeGroup, PolicySet, TargetSpec


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One step. `lines` are commands or YAML to write (none: it happens by itself). `done`: it was found to be so; `evidence`
    says how."""

    title: str
    done: bool
    evidence: str
    lines: tuple[str, ...] = ()


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """All steps in their order; a step counts when those before it are done. `notes` are sentences about other ways."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    @property
    def next(self) -> int:
        """The number of the first step that is not done, from 0; the number of steps when all are."""
        return next((number for number, step in enumerate(self.steps) if not step.done), len(self.steps))


class HandoverCase(msgspec.Struct, frozen=True, kw_only=True):
    """One target in a view, and the policy that is to size it, or that did."""

    facts: TargetFacts
    world: World
    policy: PolicySet
    now_seconds: int

    @property
    def group(self) -> NodeGroup | None:
        """The policy's NodeGroup that names the target."""
        return next((one for one in self.policy.groups if _named(one.target) == self.facts.ref), None)


def _named(spec: TargetSpec) -> TargetRef:
    return TargetRef(kind=kind_of(spec.provider, spec.kind), namespace=spec.namespace, name=spec.name)


class PlatformHandover(msgspec.Struct, frozen=True, kw_only=True):
    """The two ways of one platform. `provider` is its key in policies, `kinds` are those of its targets."""

    provider: str
    kinds: tuple[str, ...]
    to_us: Callable[[HandoverCase], Handover]
    back: Callable[[HandoverCase], Handover]


@cache
def handovers() -> tuple[PlatformHandover, ...]:
    """Those of all platforms that have one."""
    return registered_platforms.parts("handover", "HANDOVER")
