"""What a policy change does to nodes and pods on the way to rest, as marked sentences by section."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import Impact
from reconciler.plan.plan import GroupLine, NodeLine
from reconciler.rendering.alike import owner_label
from reconciler.rendering.differences import Difference, Section
from reconciler.rendering.fold import NAMES_SHOWN, Fold
from reconciler.rendering.plain import listed
from reconciler.rendering.wording import GROWS, HELD, SHRINKS, count


def impact_sections(
    before: Impact, after: Impact, nodes: Sequence[NodeLine], groups: Sequence[GroupLine], fold: Fold
) -> tuple[Section, ...]:
    """Sections that are not empty: evictions, nodes that come and go, pods that get or lose a place at rest."""
    found = (
        Section("Evictions", tuple(_evictions(before, after))),
        Section("Nodes that come and go until it rests", tuple(_nodes(before, after, nodes, groups, fold))),
        Section("Pods at rest", tuple(_pods(before, after, fold))),
    )
    return tuple(section for section in found if section.differences)


def _evictions(before: Impact, after: Impact) -> Iterator[Difference]:
    for name, old, new in (
        ("now", before.evicted_now, after.evicted_now),
        ("until it rests", before.evicted_settled, after.evicted_settled),
    ):
        if old == new:
            continue
        mark = SHRINKS if len(new) > len(old) else GROWS if len(new) < len(old) else HELD
        told = f"{name}: {len(old)} -> {count(len(new), 'eviction')}"
        more, fewer = _left_over(new, old), _left_over(old, new)
        parts = [f"{word} {_labelled(pods)}" for word, pods in (("moved:", more), ("no longer:", fewer)) if pods]
        yield Difference(mark, "; ".join([told, *parts]))


def _nodes(
    before: Impact, after: Impact, nodes: Sequence[NodeLine], groups: Sequence[GroupLine], fold: Fold
) -> Iterator[Difference]:
    group_of = {line.node: line.group or "no group" for line in nodes}
    stay, leave = set(before.nodes_gone) - set(after.nodes_gone), set(after.nodes_gone) - set(before.nodes_gone)
    for mark, names, verb, past in ((SHRINKS, leave, "leave", "stayed"), (GROWS, stay, "stay", "left")):
        by_group: dict[str, list[str]] = {}
        for name in sorted(names):
            by_group.setdefault(group_of.get(name, "no group"), []).append(name)
        if fold.shown(len(by_group), fold.lots) < len(by_group):
            members = sorted(names)
            most = sorted(by_group.items(), key=lambda entry: (-len(entry[1]), entry[0]))[: fold.names]
            told = ", ".join(f"{group} {len(those)}" for group, those in most)
            shown = f"{told} and {len(by_group) - len(most)} more"
            yield Difference(mark, f"{count(len(members), 'node')} of {len(by_group)} groups {verb} that {past} before: {shown}")
            continue
        for group, members in sorted(by_group.items()):
            verbs = verb + "s" if len(members) == 1 else verb
            shown = listed(tuple(members), fold.names)
            yield Difference(mark, f"{group}: {count(len(members), 'node')} {verbs} that {past} before: {shown}")
    order = [line.name for line in groups]
    for group in [*order, *sorted({*before.nodes_joined, *after.nodes_joined} - {*order})]:
        old, new = before.nodes_joined.get(group, 0), after.nodes_joined.get(group, 0)
        if old != new:
            yield Difference(GROWS if new > old else SHRINKS, f"{group}: new nodes {old} -> {new}")


def _pods(before: Impact, after: Impact, fold: Fold) -> Iterator[Difference]:
    for mark, pods, words in (
        (SHRINKS, _left_over(after.waiting, before.waiting), "no place at rest any more"),
        (GROWS, _left_over(before.waiting, after.waiting), "a place at rest"),
    ):
        lots = _lots(pods)
        shown = fold.shown(len(lots), fold.lots)
        if shown < len(lots):
            lots.sort(key=lambda lot: -lot[1])
            rest = sum(number for _, number in lots[shown:])
            yield Difference(mark, f"{count(rest, 'pod')} of {len(lots) - shown} further kinds with {words}")
        for label, number in lots[:shown]:
            told = f"{label}: {count(number, 'pod')} with {words}" if number > 1 else f"{label}: {words}"
            yield Difference(mark, told)


def _left_over(pods: Sequence[str], others: Sequence[str]) -> list[str]:
    """Those of `pods` that `others` does not have, or not as often."""
    left = list(pods)
    known: dict[str, int] = {}
    for pod in others:
        known[pod] = known.get(pod, 0) + 1
    found = []
    for pod in left:
        if known.get(pod):
            known[pod] -= 1
        else:
            found.append(pod)
    return found


def _lots(pods: Sequence[str]) -> list[tuple[str, int]]:
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    return [(label if len(names) > 1 else names[0], len(names)) for label, names in sorted(lots.items())]


def _labelled(pods: Sequence[str]) -> str:
    lots = tuple(f"{label} ({number})" if number > 1 else label for label, number in _lots(pods))
    return listed(lots, NAMES_SHOWN)
