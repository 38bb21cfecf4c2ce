"""A value that becomes looser, as what may happen from now on: `auto may grow to 14 nodes (was 10)`."""

import re
from collections.abc import Sequence

from reconciler.decisions.removal.budgets import DEFAULT_BUDGETS
from reconciler.policy.changes.comparison import UNSET
from reconciler.policy.changes.loosening import ADDED, REMOVED, Loosened
from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.values.plural import verb_for

_GROUP = {
    "size.max": "{who} may grow to {nodes} (was {before})",
    "size.min": "{who} may shrink to {nodes} (was {before})",
    "scaleDown.utilizationThresholdPercent": "nodes of {who} may be removed up to {percent} utilization (was {earlier})",
    "scaleDown.unneededTime": "nodes of {who} may be removed after {after} unneeded (was {before})",
    "scaleDown.unreadyTime": "unready nodes of {who} may be removed after {after} (was {before})",
    "scaleDown.mode": "scale-down of {who} is {after} (was {before})",
}
"""Of one value of groups, by path."""
_STRICTER = {
    "size.max": "{who} may grow only to {nodes} (was {before})",
    "size.min": "{who} keeps at least {nodes} (was {before})",
    "scaleDown.utilizationThresholdPercent": "nodes of {who} may be removed only up to {percent} utilization (was {earlier})",
    "scaleDown.unneededTime": "nodes of {who} may be removed only after {after} unneeded (was {before})",
    "scaleDown.unreadyTime": "unready nodes of {who} may be removed only after {after} (was {before})",
    "limits.max": "limit {item} allows only {amount} (was {before})",
    "limits.min": "limit {item} keeps at least {amount} (was {before})",
    "budgets.nodes": "budget {item} lets {only} leave at a time (was {before})",
    "headroom": "{who} gets headroom {after} (was {before})",
}
"""Other words of a value that becomes stricter."""
_OWN = {
    ("targetAnnotations", "Ignore"): "annotations and tags of targets no longer apply",
    ("drain.localStorage", "Allow"): "pods with local storage may be evicted",
    ("drain.unreplicated", "Allow"): "pods without a controller may be evicted",
    ("drain.customControllers", "Allow"): "pods of custom controllers may be evicted",
    ("drain.systemPodsWithoutPDB", "Allow"): "system pods without a disruption budget may be evicted",
    ("pods.expendableBelowPriority", ""): "pods with a priority below {after} get no new nodes (was {before})",
    ("drain.minReplicas", ""): "pods of sets with {after} or more replicas may be evicted (was {before})",
    ("drain.systemPodTimeout", ""): "system pods without a disruption budget may be evicted after {after} (was {before})",
    ("pods.newPodDelay", ""): "pods get new nodes only after {after} (was {before})",
    ("pace.maxAddedNodes", ""): "a plan adds at most {nodes} (was {before})",
    ("pace.maxRemovedPercent", ""): "a plan removes at most {percent} of the nodes (was {earlier})",
}
"""Of one value of the policy, by path and new value (empty: any that is set)."""
_ITEM = {
    "limits.max": "limit {item} allows {amount} (was {before})",
    "limits.min": "limit {item} keeps {amount} (was {before})",
    "budgets.nodes": "budget {item} lets {nodes} leave at a time (was {before})",
    "budgets.schedule": "budget {item} applies from {after} (was {before})",
    "budgets.duration": "budget {item} applies for {after} (was {before})",
    "budgets.timeZone": "budget {item} applies in time zone {after} (was {before})",
    "discovery.namespaces": "discovery rule {item} finds targets in all namespaces (was {before})",
    "discovery.clusterName": "discovery rule {item} finds targets of all clusters (was {before})",
}
"""Of one value of a named item of a list, by the list and its key."""
_SPENT_PER = {"pricePerHour": "hour", "pricePerMonth": "month"}
_PATH = re.compile(r"(?P<list>\w+)\[(?P<item>[^\]]*)\](?:\.(?P<rest>.+))?")
_PLACE = re.compile(r"(\{\w+\})")
_NOUNS = {"limits": "limit", "budgets": "budget", "windows": "window", "discovery": "discovery rule"}


def looser_words(one: Loosened, *, stricter: bool = False, briefly: bool = False) -> Sentence:
    """Without a full stop; empty for a value that has no words of its own. `stricter`: it is the other way round. `briefly`:
    several groups are counted."""
    several = f"{len(one.groups)} groups" if briefly and len(one.groups) > 1 and not one.discovered else ""
    whose: Sentence = (several,) if several else reached_words(one.groups, discovered=one.discovered)
    of_groups, of_items = (_GROUP | _STRICTER, _ITEM | _STRICTER) if stricter else (_GROUP, _ITEM)
    nodes = f"{one.after} of the nodes" if one.after.endswith("%") else f"{one.after} {'node' if one.after == '1' else 'nodes'}"
    values = {"before": one.before, "after": one.after, "nodes": nodes, "percent": f"{one.after}%", "earlier": f"{one.before}%"}
    if one.path == "hold" and one.after == UNSET:
        return _filled("the hold of {who} is removed ({before})", values, whose)
    if one.path == "hold" and stricter:
        return _filled(f"{{who}} {verb_for(len(one.groups), 'is', 'are')} held ({{after}})", values, whose)
    if (
        one.path in of_groups
        and whose
        and (UNSET not in (one.before, one.after) or (one.path == "headroom" and one.after != UNSET))
    ):
        return _filled(of_groups[one.path], values, whose)
    if whose and one.after == UNSET:
        return _filled("{path} of {who} is no longer set (was {before})", {"path": one.path, **values}, whose)
    if not whose and one.after != UNSET and (form := _OWN.get((one.path, one.after)) or _OWN.get((one.path, ""))):
        return _filled(form, values, whose)
    found = _PATH.fullmatch(one.path)
    if found is None:
        return ()
    name, item, rest = found["list"], found["item"], found["rest"]
    if rest is None and name in _NOUNS and one.after in (ADDED, REMOVED):
        of = " of {who}" if whose else ""
        return _filled(f"{_NOUNS[name]} {{item}}{of} is {one.after}", {"item": item}, whose)
    if rest is None or whose:
        return ()
    head, _, key = rest.partition(".")
    form = of_items.get(f"{name}.{key if name == 'discovery' else head}", "")
    # A list of what is found that is left out takes everything; a bound that is left out has words of its own elsewhere.
    unset = (one.after,) if stricter and name == "limits" else (one.before, one.after)
    if not form or (UNSET in unset and name != "discovery") or (name == "discovery" and one.after != UNSET):
        return ()
    amount = f"{one.after} per {_SPENT_PER[key]}" if key in _SPENT_PER else f"{one.after} {key}"
    only = "no node" if one.after in ("0", "0%") else f"only {nodes}"
    return _filled(form, {**values, "item": item, "amount": amount, "only": only}, whose)


_DEFAULT_SHARE = f"up to {max(budget.percent or 0 for budget in DEFAULT_BUDGETS)}% of the nodes may be drained at a time"
EMPTY_NODES_TOO = ", and all empty nodes may be removed"
"""What follows from the removal of all budgets as well."""
WITHOUT_BUDGETS = f"without budgets, {_DEFAULT_SHARE}"


def removed_words(family: str, names: Sequence[str], *, last: bool) -> Sentence:
    """Several items of a list that are removed; `last`: none of the list is left."""
    words: Sentence = (f"{_NOUNS.get(family, 'item')}s ", *names_listed(names, NAMES_SHOWN), " are removed")
    return (*words, f": {_DEFAULT_SHARE}{EMPTY_NODES_TOO}") if family == "budgets" and last else words


def _filled(form: str, values: dict[str, str], who: Sentence) -> Sentence:
    parts: list[str] = []
    for part in _PLACE.split(form):
        parts += who if part == "{who}" else [Foreign(values[part[1:-1]])] if _PLACE.fullmatch(part) else [part] if part else []
    return tuple(parts)


def reached_words(groups: Sequence[str], *, discovered: bool) -> Sentence:
    """The groups that something reaches: named ones, and those of discovery; empty for no groups."""
    named = names_listed(groups, NAMES_SHOWN)
    if not discovered:
        return named
    return (*named, " and what discovery finds") if named else ("what discovery finds",)
