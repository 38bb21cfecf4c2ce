"""The first policy of a cluster, written from what is there: every target as a NodeGroup, mode Observe, nothing assumed."""

import re

from reconciler.cluster.target import TargetFacts, TargetRef
from reconciler.cluster.targets.size_annotations import no_range
from reconciler.cluster.values.resources import Resources
from reconciler.cluster.world import World
from reconciler.decisions.ownership.handover import to_us
from reconciler.decisions.ownership.owner import OUR_MANAGER, Terms, judge
from reconciler.decisions.platform_rules import doubles, rules_of, strangers
from reconciler.plan.plan import OwnerState
from reconciler.policy.documents import API_VERSION
from reconciler.rendering.manifests.group_names import group_names
from reconciler.rendering.manifests.policy_yaml import Value, comment, flow
from reconciler.rendering.manifests.usable_groups import commented_out, usable
from reconciler.values.quantity import amount_text

_NO_NAME = re.compile(r"[^a-z0-9.-]+")
_LONGEST_NAME = 50
_MOST_NAMED = 20


def first_policy(world: World, name: str) -> dict[str, str]:
    """File name -> YAML. Targets that another object controls are left out, and those whose machines another one sizes: they are
    not sized by themselves. Those of other clusters are left out as well."""
    twice, foreign_targets = doubles(world.targets), strangers(world)
    left_out = twice | foreign_targets
    targets = [facts for facts in world.targets if not facts.owner.controller and facts.ref not in left_out]
    owners = {facts.ref: judge(facts, Terms(now_seconds=world.captured_seconds, first_seen_seconds=0)) for facts in targets}
    foreign = sorted(
        {
            owner.manager
            for facts in targets
            if owners[facts.ref].ownership.state is OwnerState.HELD and not facts.owner.topology_owned
            for owner in facts.owner.owners
            if owner.manager != OUR_MANAGER
        }
    )
    names = _names(targets)
    groups = [_group(facts, names[facts.ref], name, owners[facts.ref].ownership.state is OwnerState.HELD) for facts in targets]
    policy = "\n".join([*_policy(world, name, foreign), *_left_out(foreign_targets)]) + "\n"
    written = usable(policy, groups, world.captured_seconds)
    return {"policy.yaml": policy} | (
        {"groups.yaml": "---\n".join("\n".join(lines) + "\n" for lines in written)} if groups else {}
    )


def _left_out(targets: frozenset[TargetRef]) -> list[str]:
    """Named, so that who misses one sees why."""
    if not targets:
        return []
    named = ", ".join(str(ref) for ref in sorted(targets)[:_MOST_NAMED])
    more = f" and {len(targets) - _MOST_NAMED} more" if len(targets) > _MOST_NAMED else ""
    return comment(f"Left out, since no node and no tag says that they are of this cluster: {named}{more}.", 2)


def _policy(world: World, name: str, foreign: list[str]) -> list[str]:
    lines = [
        *comment(f"First policy of cluster {world.name or name}, from the existing objects. `reconciler plan` shows its effect."),
        f"apiVersion: {API_VERSION}",
        "kind: NodeGroupPolicy",
        f"metadata: {{name: {flow(name)}}}",
        "spec:",
        "  mode: Observe  # nothing is written. Set Enforce once you agree with the plan",
    ]
    if foreign:
        lines += comment(
            f"{', '.join(foreign)} declare replicas here. The reconciler takes over from those that you name. "
            "Groups of the others are held.",
            2,
        )
        lines.append(f"  # adoptFrom: {flow(list[Value](foreign))}")
    lines += comment(
        "Tiers are priorities: a lower one only for what those above cannot serve. Name a group's tier in its NodeGroup.", 2
    )
    lines.append("  # tiers: [{name: reserved}, {name: spot}, {name: on-demand}]")
    return lines


def _names(targets: list[TargetFacts]) -> dict[object, str]:
    """The target's name; with its kind and its namespace or region in front where several share one."""
    refs = [facts.ref for facts in targets]
    candidates = [(ref.name, f"{ref.kind}-{ref.namespace or ref.region}-{ref.name}") for ref in refs]
    return dict(zip(refs, group_names(candidates), strict=True))


def _group(facts: TargetFacts, name: str, policy: str, held: bool) -> list[str]:  # noqa: FBT001 - one caller
    ref = facts.ref
    rules = rules_of(ref.kind)
    target = dict(rules.policy_value(ref)) if rules is not None else {}
    replicas = facts.replicas or 0
    lines = comment(f"{ref}: {replicas} {'replica' if replicas == 1 else 'replicas'}{_offer(facts)}")
    for problem in facts.problems:
        lines += comment(problem)
    if held and facts.owner.topology_owned:
        low, high = facts.min_size or replicas, max(facts.max_size or replicas, replicas, 1)
        way = to_us(facts, min(low, high), high)
        lines += comment(f"Its topology declares the replicas, so it is held. To hand it over: {way.sentence()}:")
        lines += [f"#   {line}" for line in way.lines]
    why = _no_range(facts)
    group = [
        *lines,
        f"apiVersion: {API_VERSION}",
        "kind: NodeGroup",
        f"metadata: {flow({'name': name, 'namespace': ref.namespace or 'reconciler'})}",
        "spec:",
        f"  policyRef: {{name: {flow(policy)}}}",
        f"  target: {flow(target)}",
        f"  size: {{min: {replicas}, max: {replicas}}}  # write the range that is meant" if why else _size(facts, replicas),
    ]
    return commented_out(group, why) if why else group


def _no_range(facts: TargetFacts) -> str:
    """Why nobody can tell what range, or what size, is meant; empty where it is clear."""
    if facts.min_size is not None and facts.max_size is not None and facts.min_size > facts.max_size:
        return f"{_origin(facts)} say a minimum of {facts.min_size}, which is above the maximum of {facts.max_size}"
    if facts.replicas is None:
        return "how many replicas were asked for cannot be read"
    if facts.min_size is None:
        return next((problem for problem in facts.problems if no_range(problem)), "")
    return ""


def _size(facts: TargetFacts, replicas: int) -> str:
    if facts.min_size is not None and facts.max_size is not None:
        return f"  size: {{min: {facts.min_size}, max: {facts.max_size}}}  # as {_origin(facts)} say. A size here wins"
    return f"  size: {{min: {replicas}, max: {replicas}}}  # nobody says a range: it stays as it is until you widen this"


def _origin(facts: TargetFacts) -> str:
    rules = rules_of(facts.ref.kind)
    return rules.size_origin if rules is not None else "its annotations"


def _offer(facts: TargetFacts) -> str:
    template = facts.template
    if template.capacity is None:
        return ", nothing is known of new nodes except what existing ones show"
    amounts = _amounts(template.capacity)
    zone = f" in zone {template.zone}" if template.zone else ""
    return f", nodes of {amounts}{zone} ({', '.join(template.origins)})"


def _amounts(capacity: Resources) -> str:
    shown = (("cpu", capacity.cpu_milli), ("memory", capacity.memory_bytes), *capacity.extended)
    return ", ".join(f"{amount_text(name, value)} {name}" for name, value in shown if value)
