"""Templates of new nodes: values that contradict each other."""

from collections.abc import Container

from reconciler.policy.checks.levels import Level, levels_of, own_levels, strongest
from reconciler.policy.documents import NodeGroup, NodeGroupPolicy
from reconciler.policy.problems.findings import Findings
from reconciler.policy.reading.draft import AnyDraft, Draft

ARCHITECTURE_LABELS = ("kubernetes.io/arch", "beta.kubernetes.io/arch")
HOSTNAME_LABEL = "kubernetes.io/hostname"


def check_templates(draft: AnyDraft, findings: Findings) -> None:
    """Architecture against labels, reserved against capacity, labels that nobody should write, taints given twice."""
    for level in own_levels(draft):
        _labels(level, findings)
        _reserved(level, level, findings)
        _taints(level, findings)


def _labels(level: Level, findings: Findings) -> None:
    template = level.fields.template
    labels = dict(template.labels)
    for label in ARCHITECTURE_LABELS:
        value = labels.get(label)
        if template.architecture is None or value is None or value == template.architecture:
            continue
        path = level.path("template.architecture")
        related = ((level.place(f"template.labels.{label}"), f"the label is {value}"),)
        message = f"architecture {template.architecture} contradicts the label {label}: {value}"
        level.draft.report(
            findings, "ArchitectureMismatch", path, message, "change one of them, or remove the label", related=related
        )
    if HOSTNAME_LABEL in labels:
        path = level.path(f"template.labels.{HOSTNAME_LABEL}")
        message = f"every new node sets {HOSTNAME_LABEL} to its own name"
        level.draft.warn(findings, "ImpliedLabel", path, message, "remove the label")


def check_group_template(group: Draft[NodeGroup], policy: Draft[NodeGroupPolicy], findings: Findings) -> None:
    """What a group reserves against its capacity, where they are written at two levels."""
    levels = levels_of(group, policy)
    reserved = strongest(levels, lambda fields: fields.template.reserved)
    if reserved is None:
        return
    named: set[str] = set()
    for level in levels:
        # Of each resource the nearest level that writes it counts.
        here = {resource for resource, _ in level.fields.template.capacity} - named
        named |= here
        if level is not reserved[1]:
            _reserved(reserved[1], level, findings, f" of {group.document.name}", here)


def _reserved(level: Level, sized: Level, findings: Findings, whose: str = "", among: Container[str] | None = None) -> None:
    """`level` reserves, and `sized` says what a node has (of the resources `among` these; None: of all)."""
    capacity = dict(sized.fields.template.capacity)
    for resource, amount in level.fields.template.reserved:
        if resource not in capacity or amount <= capacity[resource] or (among is not None and resource not in among):
            continue
        path = f"template.reserved.{resource}"
        related = ((sized.place(f"template.capacity.{resource}"), f"the capacity of {resource}{whose}"),)
        message = f"the template reserves more {resource} than the node{whose} has"
        hint = "allocatable is capacity minus reserved: lower reserved"
        level.draft.report(findings, "ReservedAboveCapacity", level.path(path), message, hint, related=related)


def _taints(level: Level, findings: Findings) -> None:
    for key, taints in (("taints", level.fields.template.taints or ()), ("startupTaints", level.fields.template.startup_taints)):
        first: dict[tuple[str, str], int] = {}
        for index, taint in enumerate(taints):
            if not taint.key or first.setdefault((taint.key, taint.effect), index) == index:
                continue
            path = f"template.{key}[{index}]"
            related = ((level.place(f"template.{key}[{first[taint.key, taint.effect]}]"), "the first one"),)
            message = f"the taint {taint.key}:{taint.effect} appears twice"
            level.draft.report(findings, "DuplicateItem", level.path(path), message, "keep one of them", related=related)
