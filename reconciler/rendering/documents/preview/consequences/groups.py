"""Effects on groups: they come, leave or become held, and their target is missing."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.plan import GroupLine, Plan
from reconciler.rendering.documents.blocks import Foreign, capitalized, names_listed
from reconciler.rendering.documents.preview.change_figures import coming, leaving
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import count


def _has(line: GroupLine | None, code: str) -> bool:
    return line is not None and any(reason.code == code for reason in line.reasons)


_MISSING = "TargetMissing"


def target_missing(comparison: PlanComparison) -> Iterator[Consequence]:
    """Groups whose target is not in the cluster, where that is new: a name with a typing error, for example."""
    for pair in comparison.groups:
        old, new = pair.before, pair.after
        if new is None or not _has(new, _MISSING) or (_has(old, _MISSING) and old is not None and old.target == new.target):
            continue
        lost = 0 if old is None else max(0, old.desired - old.current)
        loses = (" ", Foreign(new.name), f" loses its {count(lost, 'new node')}.") if lost else ()
        target = new.target.rpartition("/")[2]
        yield Consequence(
            grade=Grade.CAUTION,
            code=Code.TARGET_MISSING,
            sentence=("Target ", Foreign(new.target), " of ", Foreign(new.name), " does not exist.", *loses),
            short="a group's target does not exist",
            named=(
                "target ",
                Foreign(target),
                " is missing: ",
                Foreign(new.name),
                " is not scaled" if old is None else " is no longer scaled",
            ),
            detail=loses[1:],
            data={"groups": (new.name,), "target": new.target, "newNodesLost": lost},
        )


def group_changes(comparison: PlanComparison, plan: Plan, unwritten: Sequence[str]) -> Iterator[Consequence]:
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
                named=(*names_listed(names, 1), f" {verb}"),
                detail=capitalized(((one_more if len(names) == 1 else several_more)[2:] + ".",))
                if labels == names and len(names) <= 2
                else None,
                data={"groups": names, "nodes": _nodes_of(groups)},
            )


def _nodes_of(groups: Sequence[GroupLine]) -> int:
    return sum(line.current for line in groups)
