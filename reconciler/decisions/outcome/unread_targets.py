"""What a policy names and nobody has read: discovery that takes nothing, and groups whose platform has no target."""

from collections import Counter
from collections.abc import Iterator, Sequence

from reconciler.cluster.target import TargetFacts
from reconciler.cluster.world import World
from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.platform_rules import PlatformRules, platform_rules
from reconciler.plan.plan import PlanProblem
from reconciler.policy.documents import Discovery, NodeGroupPolicy
from reconciler.policy.unread_targets import CODE, HOW, none_was_read
from reconciler.values.clauses import clauses
from reconciler.values.plural import count_text

_PLACES_SHOWN = 3


def without_targets(world: World, policy: NodeGroupPolicy, groups: Sequence[EffectiveGroup]) -> Iterator[PlanProblem]:
    """One problem an item of discovery that takes no target, one a platform of which groups name targets and none was read."""
    for rules in platform_rules():
        read = [facts for facts in world.targets if facts.ref.kind in rules.kinds]
        for item in policy.discovery:
            if item.provider == rules.provider and not any(rules.takes(item, facts) for facts in read):
                message = f"{_asked(item)}: {_there(rules, read)}"
                yield PlanProblem(code="DiscoveryMatchesNothing", object=f"discovery {item.name}", message=message)
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
    return f"it takes no target of {item.provider}" + (f" ({clauses(parts)})" if parts else "")


def _there(rules: PlatformRules, read: Sequence[TargetFacts]) -> str:
    if not read:
        return f"no {' or '.join(rules.kinds)} was read. {HOW}"
    where = Counter(facts.ref.namespace or facts.ref.region for facts in read)
    places = ", ".join(f"{count} in {place}" for place, count in sorted(where.items())[:_PLACES_SHOWN])
    summary = f"{count_text(len(read), 'target')} {'was' if len(read) == 1 else 'were'} read, {places}"
    unbounded = sum(facts.max_size is None for facts in read)
    return f"{summary}. {unbounded} of them without their own range, which no discovery takes" if unbounded else summary
