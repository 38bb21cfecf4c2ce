"""What a policy change causes, each graded by its effect, the gravest first: what a reviewer must know before all else."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

import msgspec

from reconciler.plan.comparison import Impact, PlanComparison, left_over
from reconciler.plan.plan import ActionKind, GroupLine, OwnerState, Plan
from reconciler.plan.policy_tests import PolicyTestRun
from reconciler.plan.preview import Preview
from reconciler.plan.reason import Scalar
from reconciler.policy.comparison import UNSET, PolicyChange
from reconciler.policy.loosening import Loosened, ratio
from reconciler.policy.manifests.size_changes import SizeChange
from reconciler.policy.problems.findings import Problem
from reconciler.rendering.documents.blocks import Foreign, Sentence, foreign_sentence, names_listed, plain_sentence
from reconciler.rendering.documents.preview.change_figures import (
    COST,
    NODES,
    ChangeFigure,
    change_figures,
    coming,
    joined_nodes,
    leaving,
)
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import MAIN, THIS_PR, count


class Grade(StrEnum):
    """How severe it is for a reviewer. `caution`: pods lose their node, nodes leave, pods are evicted, writing begins or ends, or
    a target is missing. `warning`: a looser value or another owner reaches groups, tests do not judge as before, or documents are
    not judged here, and nothing moves yet. `note`: everything else."""

    CAUTION = "caution"
    WARNING = "warning"
    NOTE = "note"


class Code(StrEnum):
    """What happens, the gravest first."""

    WRITING_STOPS = "WritingStops"
    TARGET_MISSING = "TargetMissing"
    PODS_WITHOUT_NODE = "PodsWithoutNode"
    WRITING_STARTS = "WritingStarts"
    TAKES_OVER = "TakesOver"
    NODES_REMOVED = "NodesRemoved"
    DATA_LOST = "DataLost"
    EVICTIONS = "Evictions"
    LATER = "Later"
    OTHER_NODES_REMOVED = "OtherNodesRemoved"
    GROUPS_LEAVE = "GroupsLeave"
    GROUPS_COME = "GroupsCome"
    GROUPS_HELD = "GroupsHeld"
    NEW_PROBLEMS = "NewProblems"
    TEMPLATE_DIFFERS = "TemplateDiffers"
    OTHER_CLUSTERS = "OtherClusters"
    TESTS_LOST = "TestsLost"
    POLICY_WARNINGS = "PolicyWarnings"
    DECLARED_SIZES = "DeclaredSizes"
    LOOSENS = "Loosens"
    MAY_LOOSEN = "MayLoosen"
    NODES_IN_STEADY_STATE = "NodesInSteadyState"
    COST = "CostPerMonth"
    PODS_PLACED = "PodsPlaced"


_GRADES = {grade: rank for rank, grade in enumerate(Grade)}
_CODES = {code: rank for rank, code in enumerate(Code)}


class Consequence(msgspec.Struct, frozen=True, kw_only=True):
    """One effect. `sentence` is in parts. `short` is its text for a headline, without words from the policy or the cluster.
    `data` are its numbers and names, with keys in camelCase. `causes` is a sentence about the changed values that may cause it,
    for a caution that does not name its own cause."""

    grade: Grade
    code: Code
    sentence: Sentence
    short: str
    data: Mapping[str, Scalar] = {}
    causes: Sentence = ()

    @property
    def message(self) -> str:
        """The sentence as plain text."""
        return plain_sentence(self.sentence)


def consequences(preview: Preview) -> tuple[Consequence, ...]:
    """The gravest first; none for a change that only tightens, and none where there is nothing to compare with."""
    comparison = preview.comparison
    if comparison is None:
        return ()
    effects = [
        *_writing_stops(preview),
        *_target_missing(comparison),
        *_pods(preview),
        *_writing(preview, comparison),
        *_takes_over(preview.loosened, comparison, preview.plan),
        *_nodes_removed(preview),
        *_data_lost(preview),
        *_evictions(preview),
        *_later(preview),
        *_groups(comparison, preview.plan, preview.unwritten),
        *_template_differs(comparison),
        *_other_clusters(preview.elsewhere),
        *_problems(comparison),
        *_tests_lost(preview.tests),
        *_policy_warnings(preview.warnings),
        *_declared_sizes(preview.sizes),
        *_loosens(preview.loosened, preview.plan),
        *_figures(change_figures(preview)),
    ]
    effects = [msgspec.structs.replace(one, causes=_causes(one, preview.changes)) for one in effects]
    return tuple(sorted(effects, key=lambda one: (_GRADES[one.grade], _CODES[one.code])))


_NAME_THEIR_CAUSE = (Code.WRITING_STARTS, Code.WRITING_STOPS, Code.TAKES_OVER)
_CAUSES_SHOWN = 3


def _causes(one: Consequence, changes: Sequence[PolicyChange]) -> Sentence:
    """` This PR changes size.max 10 -> 7 (auto) and 2 more values.` Changes that reach the groups of the effect come first. Any
    other change may also be the cause, because pods move between groups. So the count includes all changes."""
    if one.grade is not Grade.CAUTION or one.code in _NAME_THEIR_CAUSE or not changes:
        return ()
    groups = one.data.get("groups")
    reached = frozenset(groups) if isinstance(groups, tuple) else frozenset()
    ordered = sorted(changes, key=lambda change: not reached.intersection((change.name, *change.reaches)))
    shown = ordered if len(ordered) <= _CAUSES_SHOWN + 1 else ordered[:_CAUSES_SHOWN]
    sentence: list[str] = [f" {THIS_PR[0].upper()}{THIS_PR[1:]} changes "]
    for number, change in enumerate(shown):
        sentence += [", "] if number else []
        sentence += _changed(change)
    left = len(ordered) - len(shown)
    return (*sentence, f" and {count(left, 'more value')}." if left else ".")


def _changed(change: PolicyChange) -> Sentence:
    if not change.path:
        what = "removed" if change.after is None else "added" if change.before is None else "renamed"
        return (
            f"{change.kind} ",
            Foreign(change.name),
            f" ({what})",
        )
    whose = (" (", Foreign(change.name), ")") if change.kind == "NodeGroup" else ()
    return (Foreign(change.path), " ", Foreign(change.value_before), " -> ", Foreign(change.value_after), *whose)


def _pods(preview: Preview) -> Iterator[Consequence]:
    before, after = preview.impact_before.waiting, preview.impact_after.waiting
    lost, placed = left_over(after, before), left_over(before, after)
    data: dict[str, Scalar] = {
        "today": len(before), "after": len(after), "lose": len(lost), "get": len(placed),
        "pods": tuple(_labels(lost or placed)),
    }  # fmt: skip
    if lost:
        more = len(lost) - len(placed)
        short = f"{count(more, 'more pod')} {_verb(more, 'has', 'have')} nowhere to run"
        if more <= 0:
            short = f"{count(len(lost), 'pod')} {_verb(len(lost), 'loses its', 'lose their')} place, {len(placed)} get one"
        sentence = (f"{short} ({len(before)} -> {len(after)}): ", *names_listed(_labels(lost), NAMES_SHOWN), ".")
        yield Consequence(grade=Grade.CAUTION, code=Code.PODS_WITHOUT_NODE, sentence=sentence, short=short, data=data)
    elif placed:
        short = f"{count(len(placed), 'more pod')} {_verb(len(placed), 'gets', 'get')} a node"
        sentence = (f"{short} ({len(before)} -> {len(after)}): ", *names_listed(_labels(placed), NAMES_SHOWN), ".")
        yield Consequence(grade=Grade.NOTE, code=Code.PODS_PLACED, sentence=sentence, short=short, data=data)


def _writing(preview: Preview, comparison: PlanComparison) -> Iterator[Consequence]:
    started = [one for one in preview.loosened if one.path == "mode"]
    if not started:
        return
    whole = any(not one.groups and not one.discovered for one in started)
    groups = () if whole else tuple(name for one in started for name in one.groups)
    discovered = not whole and any(one.discovered for one in started)
    where: Sentence = (" for ", *_reached(groups, discovered=discovered)) if not whole else ()
    added, removed = _moved_nodes(preview, comparison)
    moves = [f"{count(number, 'node')} {word}" for number, word in ((removed, "removed"), (added, "added")) if number]
    moved = " and ".join(moves) or "no node comes or goes"
    actions = len(preview.plan.actions)
    now = f"{count(actions, 'action')} {_verb(actions, 'follows', 'follow')} now" if actions else "No action follows now"
    limited = f" for {count(len(groups), 'group')}" if groups and not discovered else ""
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.WRITING_STARTS,
        sentence=("This turns writing on", *where, f", mode Observe -> Enforce. {now}; until the steady state {moved}."),
        short=f"turns writing on{limited}: {moved}",
        data={"groups": groups, "discovered": discovered, "actions": actions, "nodesAdded": added, "nodesRemoved": removed},
    )


def _writing_stops(preview: Preview) -> Iterator[Consequence]:
    groups = preview.unwritten
    if groups:
        short = f"turns writing off for {count(len(groups), 'group')}"
        yield Consequence(
            grade=Grade.CAUTION,
            code=Code.WRITING_STOPS,
            sentence=("This turns writing off for ", *names_listed(groups, NAMES_SHOWN), ", mode Enforce -> Observe."),
            short=short,
            data={"groups": groups},
        )


def _has(line: GroupLine | None, code: str) -> bool:
    return line is not None and any(reason.code == code for reason in line.reasons)


_MISSING = "TargetMissing"


def _target_missing(comparison: PlanComparison) -> Iterator[Consequence]:
    """Groups whose target is not in the cluster, where that is new: a name with a typing error, for example."""
    for pair in comparison.groups:
        old, new = pair.before, pair.after
        if new is None or not _has(new, _MISSING) or (_has(old, _MISSING) and old is not None and old.target == new.target):
            continue
        lost = 0 if old is None else max(0, old.desired - old.current)
        loses = (" ", Foreign(new.name), f" loses its {count(lost, 'new node')}.") if lost else ()
        yield Consequence(
            grade=Grade.CAUTION,
            code=Code.TARGET_MISSING,
            sentence=("Target ", Foreign(new.target), " of ", Foreign(new.name), " does not exist.", *loses),
            short="a group's target does not exist",
            data={"groups": (new.name,), "target": new.target, "newNodesLost": lost},
        )


_ABOUT_TEMPLATES = ("SmallerThanTemplate", "TemplateUntried", "TemplateUnknown", "MixedShapes")
"""Reasons that say how a template and the live nodes differ."""


def _template_differs(comparison: PlanComparison) -> Iterator[Consequence]:
    for pair in comparison.groups:
        if pair.after is None:
            continue
        known = () if pair.before is None else {reason.message for reason in pair.before.reasons}
        for reason in pair.after.reasons:
            if reason.code in _ABOUT_TEMPLATES and reason.message not in known:
                yield Consequence(
                    grade=Grade.WARNING,
                    code=Code.TEMPLATE_DIFFERS,
                    sentence=(Foreign(pair.after.name), ": ", *foreign_sentence(reason.message), "."),
                    short="a group's template differs from its nodes",
                    data={"groups": (pair.after.name,), "reason": reason.code},
                )


def _other_clusters(clusters: Sequence[str]) -> Iterator[Consequence]:
    """Documents that do not count in the cluster of the preview."""
    if clusters:
        one = "documents for other clusters change"
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.OTHER_CLUSTERS,
            sentence=(
                f"Documents for {'cluster' if len(clusters) == 1 else 'clusters'} ", *names_listed(clusters, NAMES_SHOWN),
                " changed; not judged here: run `reconciler preview --fleet` with a snapshot of each.",
            ),
            short=one,
            data={"clusters": tuple(clusters)},
        )  # fmt: skip


def _moved_nodes(preview: Preview, comparison: PlanComparison) -> tuple[int, int]:
    """How many nodes more come, and how many more go, than under main."""
    before, after = preview.impact_before, preview.impact_after
    added = sum(joined_nodes(after, comparison, 1).values()) - sum(joined_nodes(before, comparison, 0).values())
    return max(0, added), max(0, len(after.nodes_gone) - len(before.nodes_gone))


def _takes_over(loosened: Sequence[Loosened], comparison: PlanComparison, plan: Plan) -> Iterator[Consequence]:
    """Replicas that others declare and that are taken over: a caution where main does not take the group over."""
    given = [one for one in loosened if one.path == "adoptFrom"]
    adopted = {
        pair.after.group
        for pair in comparison.actions
        if pair.before is None and pair.after is not None and pair.after.kind is ActionKind.ADOPT
    }
    adopted |= {
        pair.after.name
        for pair in comparison.groups
        if pair.after is not None and _adoptable(pair.after) and pair.before is not None and not _adoptable(pair.before)
    }
    taken = [group for group in plan.groups if group.name in adopted]
    if not given and not taken:
        return
    groups = tuple(group.name for group in taken)
    managers = {name for one in given for name in _names(one.after) - _names(one.before)}
    managers |= {group.owner.by for group in taken if group.owner.by}
    whom = (*names_listed(groups, NAMES_SHOWN),) if groups else ("no group now",)
    yield Consequence(
        grade=Grade.CAUTION if groups else Grade.WARNING if plan.groups else Grade.NOTE,
        code=Code.TAKES_OVER,
        sentence=(
            "This takes over replicas that others declare (adoptFrom ", *names_listed(sorted(managers), NAMES_SHOWN),
            "): ", *whom, ".",
        ),
        short=f"takes over {count(len(groups), 'group')}" if groups else "may take over what others declare",
        data={"managers": tuple(sorted(managers)), "groups": groups},
    )  # fmt: skip


def _adoptable(group: GroupLine) -> bool:
    return not group.held and group.owner.state is OwnerState.ADOPTABLE


def _names(text: str) -> set[str]:
    return set() if text == UNSET else {name for name in text.strip("[]").split(", ") if name}


def _nodes_removed(preview: Preview) -> Iterator[Consequence]:
    before, after = preview.impact_before.nodes_gone, preview.impact_after.nodes_gone
    goes, stays = sorted({*after} - {*before}), {*before} - {*after}
    if not goes:
        return
    more = len(goes) - len(stays)
    group_of = {line.node: line.group or "" for line in preview.plan.nodes}
    counts: dict[str, int] = {}
    for node in goes:
        counts[group_of.get(node, "")] = counts.get(group_of.get(node, ""), 0) + 1
    groups = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    labels = [f"{name or 'no group'} ({counts[name]})" for name in groups]
    if more > 0:
        short = f"{count(more, 'more node')} {_verb(more, 'is', 'are')} removed"
    else:
        short = f"{count(len(goes), 'other node')} {_verb(len(goes), 'is', 'are')} removed"
    yield Consequence(
        grade=Grade.CAUTION if more > 0 else Grade.WARNING,
        code=Code.NODES_REMOVED if more > 0 else Code.OTHER_NODES_REMOVED,
        sentence=(f"{short} ({len(before)} -> {len(after)}): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=short,
        data={"today": len(before), "after": len(after), "nodes": tuple(goes), "groups": groups},
    )


def _evictions(preview: Preview) -> Iterator[Consequence]:
    before, after = preview.impact_before.evicted_settled, preview.impact_after.evicted_settled
    more = len(after) - len(before)
    if more <= 0:
        return
    labels = _labels(left_over(after, before))
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.EVICTIONS,
        sentence=(f"{count(more, 'more eviction')} ({len(before)} -> {len(after)}): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=count(more, "more eviction"),
        data={"today": len(before), "after": len(after), "pods": tuple(labels)},
    )


def _data_lost(preview: Preview) -> Iterator[Consequence]:
    before, after = preview.impact_before.data_lost, preview.impact_after.data_lost
    more = left_over(after, before)
    if not more:
        return
    labels = _labels(more)
    where = _verb(len(more), "loses data on its node", "lose data on their nodes")
    short = f"{count(len(more), 'more pod')} {where}"
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.DATA_LOST,
        sentence=(f"{short} (emptyDir, hostPath): ", *names_listed(labels, NAMES_SHOWN), "."),
        short=short,
        data={"today": len(before), "after": len(after), "pods": tuple(labels)},
    )


def _later(preview: Preview) -> Iterator[Consequence]:
    """What happens only when a window opens or a hold ends: of nodes and pods, what is not told for now. New nodes are a note."""
    group_of = {line.node: line.group or "no group" for line in preview.plan.nodes}
    reported: set[tuple[object, ...]] = set()
    for later in preview.later:
        before, after = later.impact_before, later.impact_after
        goes = sorted({*after.nodes_gone} - {*before.nodes_gone} - {*preview.impact_after.nodes_gone})
        lost = left_over(left_over(after.waiting, before.waiting), preview.impact_after.waiting)
        come = max(
            0, _joins(later.impact_after, later.impact_before) - max(0, _joins(preview.impact_after, preview.impact_before))
        )
        evicted = max(0, len(after.evicted_settled) - len(before.evicted_settled))
        key = tuple(goes), tuple(lost), come
        if not any(key) or key in reported:
            continue
        reported.add(key)
        groups = tuple(sorted({group_of.get(node, "no group") for node in goes}))
        parts: list[tuple[str, Sentence]] = []
        if lost:
            words = f"{count(len(lost), 'more pod')} {_verb(len(lost), 'has', 'have')} nowhere to run"
            parts.append((words, (": ", *names_listed(_labels(lost), NAMES_SHOWN))))
        if goes:
            words = f"{count(len(goes), 'more node')} {_verb(len(goes), 'is', 'are')} removed"
            parts.append((words, (", of ", *names_listed(groups, NAMES_SHOWN), f", with {count(evicted, 'more eviction')}")))
        if come:
            parts.append((f"{count(come, 'more node')} {_verb(come, 'is', 'are')} added", ()))
        sentence: list[str] = []
        for words, names in parts:
            sentence += [*(("; ",) if sentence else ()), words, *names]
        yield Consequence(
            grade=Grade.CAUTION if goes or lost else Grade.NOTE,
            code=Code.LATER,
            sentence=("At ", Foreign(later.at), ", with the pods of now: ", *sentence, "."),
            short=f"within a day {parts[0][0]}",
            data={
                "at": later.at, "nodes": tuple(goes), "pods": tuple(_labels(lost)), "evictions": evicted, "groups": groups,
                "nodesAdded": come,
            },
        )  # fmt: skip


def _joins(after: Impact, before: Impact) -> int:
    return sum(after.nodes_joined.values()) - sum(before.nodes_joined.values())


def _groups(comparison: PlanComparison, plan: Plan, unwritten: Sequence[str]) -> Iterator[Consequence]:
    """Groups that leave keep their size and nobody sizes them; those that come are written to where the policy writes."""
    writes = plan.mode != "Observe"
    retargeted = {
        pair.either.name
        for pair in comparison.groups
        if pair.before is not None and pair.after is not None and pair.before.target != pair.after.target
    }
    held = tuple(
        pair.after
        for pair in comparison.groups
        if pair.after is not None and pair.after.held and pair.before is not None and not pair.before.held
        and pair.after.name not in unwritten and not _has(pair.after, _MISSING)
    )  # fmt: skip
    come = [line for line in coming(comparison) if not _has(line, _MISSING)]
    for code, grade, groups, one, several, one_more, several_more in (
        (
            Code.GROUPS_LEAVE, Grade.WARNING, leaving(comparison), "leaves the policy", "leave the policy",
            ": its target keeps its size, and nothing scales it",
            ": their targets keep their sizes, and nothing scales them",
        ),
        (
            Code.GROUPS_COME, Grade.WARNING if writes else Grade.NOTE, come, "comes into the policy",
            "come into the policy", ", which sizes it from now on", ", which sizes them from now on",
        ),
        (
            Code.GROUPS_HELD, Grade.WARNING, held, "becomes held", "become held", ": nothing is written to it",
            ": nothing is written to them",
        ),
    ):  # fmt: skip
        if groups:
            names, verb = tuple(line.name for line in groups), one if len(groups) == 1 else several
            labels = tuple(f"{line.target} of {line.name}" if line.name in retargeted else line.name for line in groups)
            yield Consequence(
                grade=grade,
                code=code,
                sentence=(*names_listed(labels, NAMES_SHOWN), f" {verb}{one_more if len(groups) == 1 else several_more}."),
                short=f"{count(len(groups), 'group')} {verb}",
                data={"groups": names, "nodes": _nodes_of(groups)},
            )


def _nodes_of(groups: Sequence[GroupLine]) -> int:
    return sum(line.current for line in groups)


def _problems(comparison: PlanComparison) -> Iterator[Consequence]:
    new = [pair.after for pair in comparison.problems if pair.after is not None and pair.before in (None, pair.after)]
    if new:
        first = new[0]
        about = foreign_sentence(f"{f'{first.object}: ' if first.object else ''}{first.message} [{first.code}]")
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.NEW_PROBLEMS,
            sentence=(f"{count(len(new), 'new problem')}, the first: ", *about),
            short=count(len(new), "new problem"),
            data={"problems": len(new), "codes": tuple(sorted({problem.code for problem in new}))},
        )


def _tests_lost(run: PolicyTestRun | None) -> Iterator[Consequence]:
    """Tests that judge the policy on main, and not in this PR, or not as they did."""
    if run is not None and run.lost:
        number = len(run.lost)
        short = f"{count(number, 'policy test')} of {MAIN} {_verb(number, 'does', 'do')} not judge it as before"
        labels = [f"{one.suite}: {one.name}" for one in run.lost]
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.TESTS_LOST,
            sentence=(f"{short}: ", *names_listed(labels, NAMES_SHOWN), "."),
            short=short,
            data={"tests": tuple(labels), "causes": tuple(sorted({one.why.value for one in run.lost}))},
        )


def _policy_warnings(warnings: Sequence[Problem]) -> Iterator[Consequence]:
    """Problems in the files of the change that are not errors: all of them are listed below."""
    if warnings:
        short, first = count(len(warnings), "warning") + " about the policy", warnings[0]
        yield Consequence(
            grade=Grade.WARNING,
            code=Code.POLICY_WARNINGS,
            sentence=(f"{short}, the first: ", *foreign_sentence(f"{first.place}: {first.message} [{first.code}]")),
            short=short,
            data={"warnings": len(warnings), "codes": tuple(sorted({problem.code for problem in warnings}))},
        )


def _declared_sizes(sizes: Sequence[SizeChange]) -> Iterator[Consequence]:
    """Manifests of the change that declare what a node group decides, or that move a declared size."""
    against = sum(size.problem is not None for size in sizes)
    if sizes:
        one = len(sizes) == 1
        short = f"{count(len(sizes), 'declared size')} of node groups {'differs' if one else 'differ'}"
        if against == len(sizes):
            short = f"{count(against, 'manifest value')} {'declares' if one else 'declare'} what a node group decides"
        yield Consequence(
            grade=Grade.WARNING if against else Grade.NOTE,
            code=Code.DECLARED_SIZES,
            sentence=(f"{short[0].upper()}{short[1:]}; the first: ", Foreign(sizes[0].what), ", ", Foreign(sizes[0].path), "."),
            short=short,
            data={"sizes": len(sizes), "decidedByGroups": against, "objects": tuple(sorted({size.what for size in sizes}))},
        )


_OWN_SENTENCE = ("mode", "adoptFrom")
_FAMILIES = (
    "drain", "hold", "scaleDown.mode", "limits", "health", "size", "pace", "scaleDown", "humanHoldTime", "scaleUp", "headroom",
    "windows", "budgets",
)  # fmt: skip
"""What may become looser, the gravest first; what is not named is graver than all of them."""
_ITEM = re.compile(r"\[[^\]]*\]")


def _loosens(loosened: Sequence[Loosened], plan: Plan) -> Iterator[Consequence]:
    """Everything else that lets more happen, and what may: nobody knows which of two schedules is the narrower one."""
    values = [one for one in loosened if one.path not in _OWN_SENTENCE]
    for one in sorted(values, key=lambda value: (not value.certain, *looser_order(value.path, value.before, value.after), value)):
        own = not one.groups and not one.discovered
        reaches = bool(plan.groups) if own else True
        whose: Sentence = () if own else (" (", *_reached(one.groups, discovered=one.discovered), ")")
        verb = "This loosens " if one.certain else "This may loosen "
        yield Consequence(
            grade=Grade.WARNING if reaches else Grade.NOTE,
            code=Code.LOOSENS if one.certain else Code.MAY_LOOSEN,
            sentence=(verb, Foreign(one.path), " ", Foreign(one.before), " -> ", Foreign(one.after), *whose, "."),
            short="1 value becomes looser" if one.certain else "1 value may become looser",
            data={
                "path": one.path, "today": one.before, "after": one.after, "groups": one.groups, "discovered": one.discovered,
            },
        )  # fmt: skip


def looser_rank(path: str) -> int:
    """How grave it is where the value at `path` (with the items of its lists) becomes looser; smaller is graver."""
    family = value_family(path)
    ranks = (rank for rank, name in enumerate(_FAMILIES, 1) if family == name or family.startswith(f"{name}."))
    return next(ranks, 0)


def looser_order(path: str, before: str, after: str) -> tuple[int, bool, Fraction]:
    """Sorts values that become looser, the gravest first: by field, then by how far each goes, furthest without a number."""
    far = ratio(before, after)
    return looser_rank(path), far is not None, -(far or Fraction(0))


def value_family(path: str) -> str:
    """The path without the items of its lists: `limits.max.cpu` of `limits[cluster].max.cpu`."""
    return _ITEM.sub("", path)


def _reached(groups: Sequence[str], *, discovered: bool) -> Sentence:
    named = names_listed(groups, NAMES_SHOWN)
    if not discovered:
        return named
    return (*named, " and what discovery finds") if named else ("what discovery finds",)


def _figures(figures: Sequence[ChangeFigure]) -> Iterator[Consequence]:
    """What the table of figures says as well; programs read it here."""
    for figure in figures:
        if not figure.changed or figure.code not in (NODES, COST):
            continue
        today, after, change = figure.cells()
        data: dict[str, Scalar] = {"today": figure.today, "after": figure.after, "change": figure.change}
        if figure.code == NODES:
            short = f"{after} {'node' if after == '1' else 'nodes'} in steady state instead of {today}"
            sentence: Sentence = (f"{short}.",)
            yield Consequence(grade=Grade.NOTE, code=Code.NODES_IN_STEADY_STATE, sentence=sentence, short=short, data=data)
        else:
            sentence = (change, " per month (", today, " -> ", after, ").")
            data["currency"] = figure.currency
            yield Consequence(grade=Grade.NOTE, code=Code.COST, sentence=sentence, short="another cost", data=data)


def _labels(pods: Sequence[str]) -> list[str]:
    """`shop/web-* (4)`, the largest lots first."""
    lots: dict[str, list[str]] = {}
    for pod in pods:
        lots.setdefault(owner_label(pod), []).append(pod)
    ordered = sorted(lots.items(), key=lambda item: (-len(item[1]), item[0]))
    return [f"{label} ({len(names)})" if len(names) > 1 else names[0] for label, names in ordered]


def _verb(number: int, one: str, several: str) -> str:
    return one if number == 1 else several
