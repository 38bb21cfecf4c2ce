"""Which instance types match attribute-based requirements, as far as the table of instance types can tell.

This module leaves out attributes that the table does not have. That is safe: they only exclude types, so the smallest type that
is left never has more than a real node.
"""

import fnmatch
from collections.abc import Iterable, Mapping

from reconciler.platforms.aws.facts.instance_types import KnownType
from reconciler.platforms.aws.facts.wire_launch import InstanceRequirements, Span

# SOURCE: Amazon EC2, burstable performance instances: the T families.
_BURSTABLE = ("t2.", "t3.", "t3a.", "t4g.")


def allowed_types(requirements: InstanceRequirements, types: Mapping[str, KnownType]) -> tuple[KnownType, ...]:
    """The types that fulfill every requirement that can be judged, by name."""
    return tuple(item for _, item in sorted(types.items()) if _allows(requirements, item))


def _allows(wanted: InstanceRequirements, item: KnownType) -> bool:
    machine = item.machine
    gib_per_vcpu = machine.memory_mib / 1024 / machine.vcpus if machine.vcpus else 0
    if wanted.allowed_instance_types and not _named(item.name, wanted.allowed_instance_types):
        return False
    if _named(item.name, wanted.excluded_instance_types or ()):
        return False
    if wanted.accelerator_names and item.accelerator not in (name.lower() for name in wanted.accelerator_names):
        return False
    # AWS offers machines with accelerators only if the requirements ask for accelerators.
    cards = wanted.accelerator_count or (Span() if wanted.accelerator_names else Span(max=0))
    return (
        _within(machine.vcpus, wanted.v_cpu_count)
        and _within(machine.memory_mib, wanted.memory_mi_b)
        and _within(gib_per_vcpu, wanted.memory_gi_b_per_v_cpu)
        and _within(item.accelerators or len(machine.devices), cards)
        and _has(".metal" in item.name, wanted.bare_metal)
        and _has(item.name.startswith(_BURSTABLE), wanted.burstable_performance)
    )


def _within(value: float, span: Span | None) -> bool:
    return span is None or ((span.min is None or value >= span.min) and (span.max is None or value <= span.max))


def _has(present: bool, wanted: str | None) -> bool:  # noqa: FBT001 - `included`, `excluded` (the default) or `required`
    return not present if wanted in (None, "excluded") else present or wanted == "included"


def _named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
