"""What differs of nodes: which leave, stay or come until the steady state, and how those that are there stand now."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from reconciler.plan.comparison import Pair
from reconciler.plan.impact import Impact
from reconciler.plan.plan import GroupLine, NodeLine
from reconciler.rendering.documents.blocks import FEWER, MORE, OTHERWISE, Difference, from_to
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import MAIN, count, state_words

_STAYS = "stays"


def node_differences(
    before: Impact,
    after: Impact,
    joined: tuple[Mapping[str, int], Mapping[str, int]],
    pairs: Sequence[Pair[NodeLine]],
    nodes: Sequence[NodeLine],
    groups: Sequence[GroupLine],
    sized: Collection[str],
    fold: Fold,
) -> tuple[int, tuple[Difference, ...]]:
    """How many nodes differ, new ones included, and sentences about them: first those that leave. `joined` are how many come, by
    group, under main and under this PR. `sized` are groups whose own line tells how many come."""
    leave, stay = {*after.nodes_gone} - {*before.nodes_gone}, {*before.nodes_gone} - {*after.nodes_gone}
    named = leave | stay | {pair.either.node for pair in pairs}
    new = {group: (joined[0].get(group, 0), joined[1].get(group, 0)) for group in {*joined[0], *joined[1]} - {*sized}}
    group_of = {line.node: line.group or "no group" for line in nodes}
    lines = (
        *_leaving(leave, group_of, FEWER, ("leaves that stays", "leave that stay"), fold),
        *_standing(pairs, fold),
        *_leaving(stay, group_of, MORE, ("stays that leaves", "stay that leave"), fold),
        *_joining(new, [line.name for line in groups]),
    )
    return len(named) + sum(abs(number - old) for old, number in new.values()), lines


def _leaving(names: set[str], group_of: Mapping[str, str], mark: str, verbs: tuple[str, str], fold: Fold) -> Iterator[Difference]:
    by_group: dict[str, list[str]] = {}
    for name in sorted(names):
        by_group.setdefault(group_of.get(name, "no group"), []).append(name)
    most = sorted(by_group.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    if fold.shown(len(by_group), fold.lots) < len(by_group):
        names_by_group = ", ".join(f"{group} {len(those)}" for group, those in most[: fold.names])
        shown = f"{names_by_group} and {len(by_group) - fold.names} more"
        yield Difference(mark, f"{count(len(names), 'node')} of {len(by_group)} groups {verbs[1]} under {MAIN}: {shown}")
        return
    for group, members in most:
        shown = listed(tuple(members), fold.names)
        yield Difference(mark, f"{group}: {count(len(members), 'node')} {verbs[len(members) > 1]} under {MAIN}: {shown}")


def _joining(joined: Mapping[str, tuple[int, int]], order: Sequence[str]) -> Iterator[Difference]:
    for group in [*order, *sorted({*joined} - {*order})]:
        old, new = joined.get(group, (0, 0))
        if old != new:
            yield Difference(MORE if new > old else FEWER, f"{group}: new nodes {old} -> {new}")


def _standing(pairs: Sequence[Pair[NodeLine]], fold: Fold) -> Iterator[Difference]:
    """Nodes that may go only under this PR, then the others, the larger lots first."""
    lots: dict[tuple[str, str], dict[str, list[str]]] = {}
    freed: set[tuple[str, str]] = set()
    for pair in pairs:
        key = _stands(pair.before), _stands(pair.after)
        lots.setdefault(key, {}).setdefault(pair.either.group or "no group", []).append(pair.either.node)
        if pair.after is not None and pair.after.removable and not (pair.before is not None and pair.before.removable):
            freed.add(key)
    # Without the names of `wide`, what only changes a reason is one line.
    quiet = {key: lots.pop(key) for key in [key for key in lots if fold.names and _only_reasons(key)]}
    together = fold.shown(number := sum(len(groups) for groups in lots.values()), fold.lots) < number
    rows: list[tuple[tuple[bool, int], Difference]] = []
    for key, groups in lots.items():
        difference = from_to(*key)
        parts = {_where(groups): [node for nodes in groups.values() for node in nodes]} if together else groups
        for where, nodes in parts.items():
            sentence = f"{where}: {count(len(nodes), 'node')}, {difference}: {listed(tuple(nodes), fold.names)}"
            rows.append(((key not in freed, -len(nodes)), Difference(OTHERWISE, sentence)))
    rows.sort(key=lambda row: row[0])
    yield from (line for _, line in rows)
    if quiet:
        groups_of_quiet = {group: None for groups in quiet.values() for group in groups}
        number = sum(len(nodes) for groups in quiet.values() for nodes in groups.values())
        verb = "stays" if number == 1 else "stay"
        yield Difference(
            OTHERWISE, f"{count(number, 'node')} of {_where(groups_of_quiet)} {verb}, for other reasons than under {MAIN}"
        )


def _only_reasons(key: tuple[str, str]) -> bool:
    """Whether a node stays on both sides, in the same state."""
    states = [side.partition(" [")[0] for side in key]
    return states[0] == states[1] and states[0].endswith(_STAYS)


def _where(groups: Mapping[str, object]) -> str:
    return next(iter(groups)) if len(groups) == 1 else count(len(groups), "group")


def _stands(line: NodeLine | None) -> str:
    if line is None:
        return "not there"
    codes = ", ".join(sorted({blocker.code for blocker in line.blockers}))
    return f"{state_words(line.state)}, {'removable' if line.removable else _STAYS}" + (f" [{codes}]" if codes else "")
