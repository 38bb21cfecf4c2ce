"""What a reader of a plan must know beside its actions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.groups.new_node import accelerator_label
from reconciler.decisions.memory import Memory
from reconciler.decisions.platform_rules import PlatformRules, platform_rules
from reconciler.decisions.removal.utilization import has_gpu
from reconciler.decisions.work import Shares
from reconciler.plan.plan import PlanProblem
from reconciler.policy.documents import Discovery, NodeGroupPolicy
from reconciler.policy.group_namespaces import RefusedGroup
from reconciler.policy.tree import CODE, HOW, none_was_read
from reconciler.values.plural import count_text

# What a policy names and nobody has read: discovery that takes nothing, and groups whose platform's targets are not there.

_PLACES_SHOWN = 3


def without_targets(world: World, policy: NodeGroupPolicy, groups: Sequence[EffectiveGroup]) -> Iterator[PlanProblem]:
    """One problem an item of discovery that takes no target, one a platform of which groups name targets and none was read."""
    for rules in platform_rules():
        read = [facts for facts in world.targets if facts.ref.kind in rules.kinds]
        for item in policy.discovery:
            if item.provider == rules.provider and not any(rules.takes(item, facts) for facts in read):
                told = f"{_asked(item)}: {_there(rules, read)}"
                yield PlanProblem(code="DiscoveryMatchesNothing", object=f"discovery {item.name}", message=told)
        named = [group.name for group in groups if group.target.kind in rules.kinds]
        if named and not read:
            yield PlanProblem(code=CODE, object=rules.provider, message=none_was_read(("group", named)))


def _asked(item: Discovery) -> str:
    """What the item asks for, in the words of the policy."""
    parts = [f"namespaces {', '.join(item.namespaces)}"] if item.namespaces else []
    parts += [f"clusterName {item.cluster_name}"] if item.cluster_name else []
    parts += [f"region {item.region}"] if item.region else []
    for word, pairs in (("labels", item.labels), ("tags", item.tags)):
        parts += [f"{word} {', '.join(f'{key}={value}' if value else key for key, value in pairs)}"] if pairs else []
    return f"it takes no target of {item.provider}" + (f" ({'; '.join(parts)})" if parts else "")


def _there(rules: PlatformRules, read: Sequence[TargetFacts]) -> str:
    if not read:
        return f"no {' or '.join(rules.kinds)} was read, and {HOW}"
    where = Counter(facts.ref.namespace or facts.ref.region for facts in read)
    places = ", ".join(f"{count} in {place}" for place, count in sorted(where.items())[:_PLACES_SHOWN])
    told = f"{count_text(len(read), 'target')} {'was' if len(read) == 1 else 'were'} read, {places}"
    unbounded = sum(facts.max_size is None for facts in read)
    return f"{told}; {unbounded} of them without a range of its own, which no discovery takes" if unbounded else told


def plan_problems(
    draft: Draft, halted: tuple[str, ...], memory: Memory, refused: tuple[RefusedGroup, ...]
) -> tuple[PlanProblem, ...]:
    """Sorted; empty when all is well."""
    found = [PlanProblem(code="RemovalsHalted", message=sentence) for sentence in halted]
    found.extend(
        PlanProblem(code=problem.code, object=problem.object, message=problem.message) for problem in draft.world.problems
    )
    for group in draft.groups:
        facts = group.group.facts
        if facts is None:
            continue
        found.extend(PlanProblem(code="TargetProblem", object=str(facts.ref), message=text) for text in facts.problems)
    found.extend(
        PlanProblem(code="NodeClaimedTwice", object=f"Node {node}", message=why) for node, why in draft.members.conflicts
    )
    found.extend(PlanProblem(code=entry.code, object=entry.title, message=entry.message) for entry in refused)
    found.extend(_unknown_accelerators(draft))
    found.extend(without_targets(draft.world, draft.policy, [group.group for group in draft.groups]))
    if memory.known_groups and not draft.groups:
        message = f"the policy has no groups any more, where it had {len(memory.known_groups)}: nothing is released"
        found.append(PlanProblem(code="AllGroupsGone", message=message))
    if draft.work.exhausted:
        message = (
            f"the work budget of {draft.work.budget} steps ran out{_most(draft.shares.spent)}; what was not examined says so"
        )
        found.append(PlanProblem(code="WorkBudgetExhausted", message=message))
    found.extend(
        PlanProblem(code="NamespaceDelayed", object=f"Namespace {namespace}", message=_delayed(draft.shares, namespace))
        for namespace in draft.shares.over | draft.shares.delayed.keys()
    )
    return tuple(sorted(set(found)))


def _most(spent: Mapping[str, int]) -> str:
    """Whose pods took most of the steps."""
    if not spent:
        return ""
    steps, namespace = max((steps, namespace) for namespace, steps in spent.items())
    return f", {steps} of them for pods of namespace {namespace}"


def _delayed(shares: Shares, namespace: str) -> str:
    pods = shares.delayed.get(namespace, 0)
    waiting = f"{count_text(pods, 'pod')} of it were" if pods else "nodes that its pods run on were"
    return (
        f"its pods took {shares.spent.get(namespace, 0)} steps, more than its share of the work of a plan ({shares.each}, and "
        f"what nobody else is kept): {waiting} not examined, those of other namespaces were"
    )


def _unknown_accelerators(draft: Draft) -> Iterator[PlanProblem]:
    """Nodes that nobody manages, with a label that names an accelerator and none to offer: they count as nodes without one.

    Source: kubernetes/autoscaler#10301, where one such node ended every scale-up with an error.
    """
    for index, node in enumerate(draft.world.nodes):
        if draft.members.group_of[index] >= 0:
            continue
        shape = draft.world.node_shapes[node.shape]
        label = accelerator_label(shape)
        if label is not None and not has_gpu(shape):
            message = (
                f"label {label[0]}={label[1]} names an accelerator, it offers none and no group manages it: it counts without"
            )
            yield PlanProblem(code="AcceleratorUnknown", object=f"Node {node.name}", message=message)
