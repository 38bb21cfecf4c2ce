"""A part of a plan: some groups, some nodes, pods of some namespaces."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import msgspec

from reconciler.plan.plan import Action, Cost, Plan
from reconciler.plan.pod_runs import runs_of
from reconciler.plan.summary import summary
from reconciler.values.later import Later

if TYPE_CHECKING:
    import difflib
else:
    difflib = Later("difflib")


class Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen part, as shell patterns; empty: everything."""

    groups: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not (self.groups or self.nodes or self.namespaces)

    def about_group(self, name: str | None) -> bool:
        """Whether the group is chosen."""
        return not self.groups or (name is not None and _any_match(name, self.groups))

    def about_node(self, name: str | None) -> bool:
        """Whether the node is chosen."""
        return not self.nodes or (name is not None and _any_match(name, self.nodes))

    def about_pod(self, key: str) -> bool:
        """Whether the pod `namespace/name` is chosen."""
        return not self.namespaces or _any_match(key.partition("/")[0], self.namespaces)


EVERYTHING = Chosen()


def unmatched(chosen: Chosen, plan: Plan, namespaces: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Patterns without a match, each with the kind of thing that it should name. `namespaces` has all of them."""
    known = (
        ("group", chosen.groups, {line.name for line in plan.groups}),
        ("node", chosen.nodes, {line.node for line in plan.nodes}),
        ("namespace", chosen.namespaces, {*namespaces, *(line.pod.partition("/")[0] for line in plan.pods)}),
    )
    return tuple(
        (what, pattern)
        for what, patterns, names in known
        for pattern in patterns
        if not any(_match(name, pattern) for name in names)
    )


def nothing_matches(chosen: Chosen, plan: Plan, namespaces: Iterable[str]) -> str:
    """A sentence about the first pattern without a match, with suggestions. It is empty if each pattern has a match. An empty
    answer would look like good news."""
    there = sorted(set(namespaces))
    for what, pattern in unmatched(chosen, plan, there):
        known = {"group": [line.name for line in plan.groups], "node": [line.node for line in plan.nodes], "namespace": there}
        near = difflib.get_close_matches(pattern, known[what], n=3)
        meant = f": did you mean {' or '.join(near)}?" if near else f". There are {len(known[what])}"
        return f"no {what} is called {pattern}{meant}"
    return ""


def narrowed(plan: Plan, chosen: Chosen) -> Plan:
    """The same plan with only the chosen lines. A namespace chooses its pending pods, the nodes added for them, and the nodes
    that its pods keep. The result has no cost and no digest, so it cannot be applied. Its summary ends with that of the whole
    plan."""
    if chosen.everything:
        return plan
    group_of = {line.node: line.group for line in plan.nodes}
    nodes = tuple(
        line
        for line in plan.nodes
        if chosen.about_group(line.group)
        and chosen.about_node(line.node)
        and (not chosen.namespaces or any(blocker.pod and chosen.about_pod(blocker.pod) for blocker in line.blockers))
    )
    pods = tuple(
        line
        for line in plan.pods
        if chosen.about_pod(line.pod)
        and chosen.about_node(line.node)
        and chosen.about_group(line.group or group_of.get(line.node or ""))
    )
    touched = {line.group for line in nodes} | {line.group or group_of.get(line.node or "") for line in pods}
    by_part = bool(chosen.nodes or chosen.namespaces)
    groups = tuple(line for line in plan.groups if chosen.about_group(line.name) and (not by_part or line.name in touched))
    bought = {line.group for line in pods}
    shown = {line.node for line in nodes}

    def is_chosen(action: Action) -> bool:
        if not chosen.about_group(action.group):
            return False
        if not by_part:
            return True
        return any(node in shown for node in action.nodes) or (not chosen.nodes and action.group in bought)

    actions = tuple(action for action in plan.actions if is_chosen(action))
    names = {line.name for line in groups} | shown | {line.pod for line in pods}
    problems = tuple(entry for entry in plan.problems if not entry.object or any(name in entry.object for name in names))
    cost = Cost(currency=plan.cost.currency)
    own = summary(groups, actions, runs_of(pods), cost, problems)
    return msgspec.structs.replace(
        plan, digest="", summary=f"{own} The whole plan: {plan.summary}", groups=groups, actions=actions, pods=pods, nodes=nodes,
        cost=cost, problems=problems,
    )  # fmt: skip


def _any_match(name: str, patterns: tuple[str, ...]) -> bool:
    return any(_match(name, pattern) for pattern in patterns)


def _match(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern)
