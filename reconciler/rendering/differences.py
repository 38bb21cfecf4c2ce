"""A comparison of two policies and of the two plans that follow from them, as marked sentences by section."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler.plan.comparison import Impact, Pair, PlanComparison
from reconciler.plan.money import HOURS_PER_MONTH, money_text
from reconciler.plan.plan import Action, ActionKind, GroupLine, NodeLine, OwnerState, Plan, PlanProblem, PodLine
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.comparison import PolicyChange
from reconciler.policy.loosening import Loosened
from reconciler.rendering.alike import owner_label
from reconciler.rendering.alike_actions import alike_actions, lot_words, single_actions
from reconciler.rendering.fold import NAMES_SHOWN, Fold
from reconciler.rendering.group_notes import further_reasons, size_bounds
from reconciler.rendering.plain import listed
from reconciler.rendering.size_words import HEADING, size_sentences
from reconciler.rendering.wording import (
    GROWS,
    HELD,
    SHRINKS,
    action_mark,
    action_words,
    count,
    header_words,
    outcome_words,
    owner_words,
    state_words,
)
from reconciler.values.duration import duration_text

# What a reviewer must know of a policy change before all else: that it starts to write, takes over, lifts or loosens.


_OWN_SENTENCE = ("mode", "adoptFrom")
_FOUND = "what discovery finds"


def consequences(preview: Preview) -> tuple[str, ...]:
    """Sentences, the gravest first; none for a change that only tightens, and none where there is nothing to compare with."""
    if preview.comparison is None:
        return ()
    found = [
        *_writes(preview.loosened, preview.plan),
        *_takes_over(preview.loosened, preview.plan),
        *_pods_harmed(preview),
        _steady_state(preview.comparison, preview.plan),
        *_loosens(preview.loosened),
    ]
    return tuple(filter(None, found))


def _steady_state(comparison: PlanComparison, plan: Plan) -> str:
    """How many nodes more or fewer the cluster has in its steady state than without the change; empty where none.

    The target of a group that comes or goes keeps its size without the policy that names it.
    """
    before = after = 0
    for pair in comparison.groups:
        before += _settled(pair.before) if pair.before is not None else pair.either.current
        after += _settled(pair.after) if pair.after is not None else pair.either.current
    if before == after:
        return ""
    named = {pair.either.name for pair in comparison.groups}
    others = sum(_settled(group) for group in plan.groups if group.name not in named)
    more = f"{count(abs(after - before), 'node')} {'fewer' if after < before else 'more'} than without this change"
    lead = "At rest" if plan.actions else "No action now; at rest"
    return f"{lead} {more} ({others + before} -> {others + after})."


def _settled(group: GroupLine) -> int:
    return group.desired if group.settled is None else group.settled


def rest_words(plan: Plan) -> str:
    """`At rest 445 nodes fewer (1523 -> 1078)`; empty where the loop comes to rest at what it does now, and where it does
    nothing now: then the summary says it."""
    desired = sum(group.desired for group in plan.groups)
    rest = sum(_settled(group) for group in plan.groups)
    if rest == desired or not plan.actions:
        return ""
    more = f"{count(abs(rest - desired), 'node')} {'fewer' if rest < desired else 'more'} ({desired} -> {rest})"
    return f"At rest {more}."


def _writes(loosened: Sequence[Loosened], plan: Plan) -> Iterator[str]:
    started = [one for one in loosened if one.path == "mode"]
    if not started:
        return
    whole = any(not one.groups and not one.discovered for one in started)
    groups = (*(name for one in started for name in one.groups), *(_FOUND for one in started if one.discovered))
    where = "" if whole else f" to {listed(groups, NAMES_SHOWN)}"
    if not plan.actions:
        yield f"This starts writing{where}: mode Observe -> Enforce. No action follows now."
    else:
        yield f"This starts writing{where}: mode Observe -> Enforce. {count(len(plan.actions), 'action')} now: {plan.summary}"


def _takes_over(loosened: Sequence[Loosened], plan: Plan) -> Iterator[str]:
    given = [one for one in loosened if one.path == "adoptFrom"]
    if not given:
        return
    adopted = tuple(group.name for group in plan.groups if not group.held and group.owner.state is OwnerState.ADOPTABLE)
    who = ", ".join(one.after for one in given)
    yield (
        f"This takes over replicas that others declare (adoptFrom {who}): "
        + (f"{count(len(adopted), 'group')}, {listed(adopted, NAMES_SHOWN)}." if adopted else "no group now.")
    )


def _loosens(loosened: Sequence[Loosened]) -> Iterator[str]:
    """Everything else that lets more happen, and what may: nobody knows which of two schedules is the narrower one."""
    for certain, verb in ((True, "loosens"), (False, "may loosen")):
        words = tuple(
            _loosened_words(one) for one in loosened if one.certain is certain and one.path not in ("mode", "adoptFrom")
        )
        if words:
            yield f"This {verb} {listed(words, NAMES_SHOWN)}."


def _loosened_words(one: Loosened) -> str:
    names = (*one.groups, *((_FOUND,) if one.discovered else ()))
    whose = f" ({listed(names, NAMES_SHOWN)})" if names else ""
    return f"{one.path} {one.before} -> {one.after}{whose}"


def _pods_harmed(preview: Preview) -> Iterator[str]:
    """More pods without a node, and more evictions, than without the change."""
    before, after = preview.impact_before, preview.impact_after
    if len(after.waiting) > len(before.waiting):
        more = count(len(after.waiting) - len(before.waiting), "more pod")
        yield f"{more} without a node at rest ({len(before.waiting)} -> {len(after.waiting)})."
    if len(after.evicted_settled) > len(before.evicted_settled):
        more = count(len(after.evicted_settled) - len(before.evicted_settled), "more eviction")
        yield f"{more} on the way to rest ({len(before.evicted_settled)} -> {len(after.evicted_settled)})."


_FIRST = ("Policy", "Groups", "Cost")
_REASONS_SHOWN = 2
_MARKS = {GROWS: GROWS, SHRINKS: SHRINKS}


class Difference(msgspec.Struct, frozen=True):
    """One sentence; `mark` is `+` for more nodes (or what comes into the policy), `-` for fewer, `!` for everything else."""

    mark: str
    sentence: str


class Section(msgspec.Struct, frozen=True):
    """A heading and what stands below it."""

    heading: str
    differences: tuple[Difference, ...]


def difference_sections(changes: Sequence[PolicyChange], comparison: PlanComparison, fold: Fold) -> tuple[Section, ...]:
    """Sections that are not empty: the policy first, then what it changes. `fold` says how much is told one by one."""
    found = (
        Section("Policy", tuple(_policy(change) for change in changes)),
        Section("Groups", _groups(comparison.groups, comparison.actions, fold)),
        Section("Cost", _cost(comparison)),
        Section("Actions", tuple(_actions(comparison.actions, fold))),
        Section("Pending pods", _pods(comparison.pods, fold)),
        Section("Nodes", _nodes(comparison.nodes, fold)),
        Section("Problems", tuple(_problem(pair) for pair in comparison.problems)),
    )
    return tuple(section for section in found if section.differences)


def with_further(sections: Sequence[Section], further: Sequence[Section]) -> tuple[Section, ...]:
    """Sections with others put in before the actions: what a reviewer asks for right after groups and cost."""
    first = tuple(section for section in sections if section.heading in _FIRST)
    return (*first, *further, *(section for section in sections if section.heading not in _FIRST))


def _policy(change: PolicyChange) -> Difference:
    whole = not change.path
    mark = GROWS if whole and change.before is None else SHRINKS if whole and change.after is None else HELD
    return Difference(mark, change.sentence())


def _group(pair: Pair[GroupLine]) -> Difference:
    old, new = pair.before, pair.after
    if old is None or new is None:
        line = pair.either
        came = old is None
        told = f"a group now, {line.current} -> {line.desired}" if came else "no group of this policy any more"
        return Difference(GROWS if came else SHRINKS, f"{line.name}: {told}")
    facts = [
        (name, before, after)
        for name, before, after in (
            ("now", str(old.current), str(new.current)),
            ("desired", str(old.desired), str(new.desired)),
            ("settled", _differences_number(old.settled), _differences_number(new.settled)),
            ("range", f"{old.min}..{old.max}", f"{new.min}..{new.max}"),
            ("tier", old.tier or "none", new.tier or "none"),
            ("owner", owner_words(old), owner_words(new)),
            ("held", "yes" if old.held else "no", "yes" if new.held else "no"),
            ("price", old.price_per_hour or "none", new.price_per_hour or "none"),
            ("target", old.target, new.target),
        )
        if before != after
    ]
    parts = [f"{name} {before} -> {after}" for name, before, after in facts]
    parts += size_bounds(new) if old.desired != new.desired else ()
    if new.wanted is not None and new.wanted != old.wanted:
        # What a group would do is known of held ones only.
        parts.append(f"would go to {new.wanted}" + ("" if old.wanted is None else f" (before: {old.wanted})"))
    told = ", ".join(parts) or "for other reasons than before"
    rest_before = old.desired if old.settled is None else old.settled
    rest_after = new.desired if new.settled is None else new.settled
    more = rest_after - rest_before or new.desired - old.desired
    mark = GROWS if more > 0 else SHRINKS if more < 0 else HELD
    return Difference(mark, f"{new.name}: {told}")


def _cost(comparison: PlanComparison) -> tuple[Difference, ...]:
    currency = comparison.cost_after.currency
    found = []
    for name, change in (
        ("desired", comparison.desired_per_hour_change),
        ("settled", comparison.settled_per_hour_change),
    ):
        if change:
            month = money_text((change * HOURS_PER_MONTH).quantize(Decimal("0.01")), currency, signed=True)
            told = f"{name}: {money_text(change, currency, signed=True)} per hour, {month} per month ({HOURS_PER_MONTH} h)"
            found.append(Difference(GROWS if change > 0 else SHRINKS, told))
    return tuple(found)


def _groups(pairs: Sequence[Pair[GroupLine]], actions: Sequence[Pair[Action]], fold: Fold) -> tuple[Difference, ...]:
    """Each with the reason of what is done now, and the bound that it meets."""
    done: dict[str, list[Pair[Action]]] = {}
    for entry in actions:
        done.setdefault(entry.either.group, []).append(entry)
    shown = fold.shown(len(pairs), fold.rows)
    order = sorted(range(len(pairs)), key=lambda at: -_moved(pairs[at]))
    chosen = set(order[:shown])
    moved = [pair for at, pair in enumerate(pairs) if at in chosen]
    whys = [_why(pair, done.get(pair.either.name, ())) for pair in moved]
    often = Counter(why.alike for why in whys)
    found = []
    for pair, why in zip(moved, whys, strict=True):
        line = _group(pair)
        # What many groups share is told once, among the actions; each then names its code.
        told = why.codes if fold.names and often[why.alike] > fold.names else why.words
        found.append(msgspec.structs.replace(line, sentence=f"{line.sentence}{told}"))
    if shown < len(pairs):
        found.append(Difference(HELD, f"and {count(len(pairs) - shown, 'group')} more"))
    return tuple(found)


class _Why(msgspec.Struct, frozen=True):
    """Reasons in words, and by their codes; all empty without any. Removals for one code are `alike`: their sentences differ in
    names and figures, and the actions tell them once."""

    words: str = ""
    codes: str = ""
    alike: str = ""


def _why(pair: Pair[GroupLine], changed: Sequence[Pair[Action]]) -> _Why:
    """`: 3 pending pods on 3 new nodes; general-a is at its maximum size 6`: why something is done, then what is said of the
    group that was not said before. Empty where the size is what it was."""
    old, new = pair.before, pair.after
    if new is None or (old is not None and _ends(old) == _ends(new)):
        return _Why()
    actions = [entry.after for entry in changed if entry.after is not None]
    removals = [action for action in actions if action.kind is ActionKind.REMOVE_NODE]
    told = {action.reason.message: action.reason.code for action in actions if action.kind is not ActionKind.REMOVE_NODE}
    if removals:
        told[alike_actions(removals)[0].sentence] = removals[0].reason.code
    known = {reason.message for reason in old.reasons} if old is not None else set()
    told |= {reason.message: reason.code for reason in further_reasons(new, actions) if reason.message not in known}
    if not told and (ended := [entry.before for entry in changed if entry.before is not None]):
        told[f"without what was done before ({alike_actions(ended)[0].sentence})"] = f"not {ended[0].reason.code}"
    words = list(told)[:_REASONS_SHOWN]
    if not words:
        return _Why()
    sentences, codes = "; ".join(words), ", ".join(dict.fromkeys(told[word] for word in words))
    alike = codes if removals and len(told) == 1 else sentences
    return _Why(words=f": {sentences}", codes=f" [{codes}]", alike=alike)


def _ends(line: GroupLine) -> tuple[int, int | None, int | None]:
    return line.desired, line.settled, line.wanted


def _moved(pair: Pair[GroupLine]) -> int:
    """By how many nodes the group comes to rest elsewhere; a group that comes or goes counts whole."""
    rests = [0 if line is None else line.desired if line.settled is None else line.settled for line in (pair.before, pair.after)]
    return abs(rests[1] - rests[0])


def _actions(pairs: Sequence[Pair[Action]], fold: Fold) -> Iterator[Difference]:
    for pair in pairs:
        if pair.before is not None and pair.after is not None:
            told = f"{action_words(pair.after)}: {pair.after.reason.message} (before: {action_words(pair.before)})"
            yield Difference(HELD, told)
    told_together = alike_actions if fold.lots else single_actions
    for came, chosen in (
        (True, [pair.after for pair in pairs if pair.before is None and pair.after is not None]),
        (False, [pair.before for pair in pairs if pair.after is None and pair.before is not None]),
    ):
        lots = told_together(chosen)
        shown = fold.shown(len(lots), fold.rows)
        for lot in lots[:shown]:
            mark = _MARKS.get(action_mark(lot.first), HELD) if came else HELD
            yield Difference(mark, f"{'' if came else 'no longer: '}{lot_words(lot, fold)}: {lot.sentence}")
        if shown < len(lots):
            yield Difference(HELD, f"and {count(len(lots) - shown, 'action')} more")


def _pods(pairs: Sequence[Pair[PodLine]], fold: Fold) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str, str], list[str]] = {}
    for pair in pairs:
        key = owner_label(pair.either.pod), _placed(pair.before), _placed(pair.after)
        lots.setdefault(key, []).append(pair.either.pod)
    shown = fold.shown(len(lots), fold.lots)
    order = [*lots.items()] if shown == len(lots) else sorted(lots.items(), key=lambda item: -len(item[1]))
    found = [
        Difference(HELD, f"{f'{label}: {len(pods)} pods, ' if len(pods) > 1 else f'{pods[0]}: '}{_from_to(before, after)}")
        for (label, before, after), pods in order[:shown]
    ]
    if shown < len(order):
        found.append(Difference(HELD, f"and {count(sum(len(pods) for _, pods in order[shown:]), 'pod')} more"))
    return tuple(found)


def _placed(line: PodLine | None) -> str:
    if line is None:
        return "not pending"
    where = line.node or line.group
    return outcome_words(line.outcome) + (f" ({where})" if where else "")


def _nodes(pairs: Sequence[Pair[NodeLine]], fold: Fold) -> tuple[Difference, ...]:
    lots: dict[tuple[str, str], dict[str, list[str]]] = {}
    for pair in pairs:
        key = _stands(pair.before), _stands(pair.after)
        lots.setdefault(key, {}).setdefault(pair.either.group or "no group", []).append(pair.either.node)
    together = fold.shown(number := sum(len(groups) for groups in lots.values()), fold.lots) < number
    found = []
    for (before, after), groups in lots.items():
        told = _from_to(before, after)
        parts = {_where(groups): [node for nodes in groups.values() for node in nodes]} if together else groups
        for where, nodes in parts.items():
            found.append(Difference(HELD, f"{where}: {count(len(nodes), 'node')}, {told}: {listed(tuple(nodes), fold.names)}"))
    return tuple(found)


def _where(groups: Mapping[str, object]) -> str:
    return next(iter(groups)) if len(groups) == 1 else count(len(groups), "group")


def _stands(line: NodeLine | None) -> str:
    if line is None:
        return "not there"
    codes = ", ".join(sorted({blocker.code for blocker in line.blockers}))
    return f"{state_words(line.state)}, {'removable' if line.removable else 'stays'}" + (f" ({codes})" if codes else "")


def _problem(pair: Pair[PlanProblem]) -> Difference:
    problem = pair.either
    about = f"{problem.object}: " if problem.object else ""
    mark = GROWS if pair.before is None else SHRINKS if pair.after is None else HELD
    return Difference(mark, f"{problem.code}: {about}{problem.message}")


def _from_to(before: str, after: str) -> str:
    return f"{before} -> {after}" if before != after else f"{after}, for other reasons than before"


def _differences_number(value: int | None) -> str:
    return "unknown" if value is None else str(value)


# What a policy change does to nodes and pods on the way to rest, as marked sentences by section.


def impact_sections(
    before: Impact, after: Impact, nodes: Sequence[NodeLine], groups: Sequence[GroupLine], fold: Fold
) -> tuple[Section, ...]:
    """Sections that are not empty: evictions, nodes that come and go, pods that get or lose a place at rest."""
    found = (
        Section("Evictions", tuple(_impact_evictions(before, after))),
        Section("Nodes that come and go until it rests", tuple(_impact_nodes(before, after, nodes, groups, fold))),
        Section("Pods at rest", tuple(_impact_pods(before, after, fold))),
    )
    return tuple(section for section in found if section.differences)


def _impact_evictions(before: Impact, after: Impact) -> Iterator[Difference]:
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


def _impact_nodes(
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


def _impact_pods(before: Impact, after: Impact, fold: Fold) -> Iterator[Difference]:
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


# The words of a preview that are the same on a terminal and in a pull request.

NOT_COMPARED = "Nothing to compare with"
OLD_SECONDS = 24 * 3600
"""From this age on a snapshot is warned of."""
_DIGEST_SHOWN = len("sha256:") + 16


def head_words(preview: Preview) -> tuple[tuple[str, str], ...]:
    """Names and values for the head: cluster, policy, mode, now."""
    return tuple((name, value) for name, value in header_words(preview.plan) if name != "revision")


def side_words(side: PreviewSide) -> str:
    """`change at 3f2a01c9be77, merged into the base`."""
    told = side.source
    if side.revision is not None and side.revision != side.source:
        told += f" at {side.revision[:12]}"
    return told + (", merged into the base" if side.merged else "")


def snapshot_words(preview: Preview) -> str:
    """`snapshot/ at 3f2a01c9be77, sha256:9b1c…, captured 2026-11-20T18:00:00Z, 26h before this run`; empty for a live cluster."""
    seen = preview.snapshot
    if seen is None:
        return ""
    place = seen.source if seen.revision is None else f"{seen.source} at {seen.revision[:12]}"
    captured = f"captured {seen.captured_at}" if seen.captured_at else "nothing says when it was captured"
    age = "" if seen.age_seconds is None else f", {duration_text(seen.age_seconds)} before this run"
    return f"{place}, {seen.digest[:_DIGEST_SHOWN]}, {captured}{age}"


def snapshot_warnings(preview: Preview) -> tuple[str, ...]:
    """What a reviewer has to know of the snapshot before anything else."""
    seen = preview.snapshot
    if seen is None:
        return ()
    told = []
    if seen.changed:
        told.append(
            f"This change also brings another snapshot of the cluster ({seen.source}), which does not count: below is what the "
            "policy does to the cluster as the base has it. Look at why a change of policy touches the snapshot."
        )
    if seen.age_seconds is not None and seen.age_seconds > OLD_SECONDS:
        told.append(f"The snapshot is {duration_text(seen.age_seconds)} old: the cluster may be another one by now.")
    return tuple(told)


def further_sections(preview: Preview, fold: Fold) -> tuple[Section, ...]:
    """What the change does to declared sizes, nodes and pods."""
    sizes = tuple(Difference(mark, sentence) for mark, sentence in size_sentences(preview.sizes))
    declared = (Section(HEADING, sizes),) if sizes else ()
    return declared + impact_sections(preview.impact_before, preview.impact_after, preview.plan.nodes, preview.plan.groups, fold)


def untouched_words(preview: Preview) -> str:
    """`4 groups untouched`; empty without any."""
    return f"{count(len(preview.untouched), 'group')} untouched" if preview.untouched else ""


def warnings_words(preview: Preview) -> tuple[str, ...]:
    """Problems of the head's files that are no errors, a sentence each; declared sizes where nothing is compared."""
    sizes = tuple(told for _, told in size_sentences(preview.sizes)) if preview.comparison is None else ()
    return (*(f"{problem.place}: {problem.message} [{problem.code}]" for problem in preview.warnings), *sizes)
