"""Effects on who writes: writing begins or ends, and replicas of others are taken over."""

from collections.abc import Iterator, Sequence

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.plan import ActionKind, GroupLine, OwnerState, Plan
from reconciler.plan.preview import Preview
from reconciler.policy.changes.comparison import UNSET
from reconciler.policy.changes.loosening import Loosened
from reconciler.rendering.documents.blocks import Foreign, Sentence, names_listed
from reconciler.rendering.documents.preview.change_figures import joined_nodes
from reconciler.rendering.documents.preview.consequences.consequence import Code, Consequence, Grade
from reconciler.rendering.documents.preview.consequences.looser_words import reached_words
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.wording import count
from reconciler.values.plural import verb_for


def writing_starts(preview: Preview, comparison: PlanComparison) -> Iterator[Consequence]:
    """Groups for which the mode becomes Enforce."""
    started = [one for one in preview.loosened if one.path == "mode"]
    if not started:
        return
    whole = any(not one.groups and not one.discovered for one in started)
    groups = () if whole else tuple(name for one in started for name in one.groups)
    discovered = not whole and any(one.discovered for one in started)
    where: Sentence = (" for ", *reached_words(groups, discovered=discovered)) if not whole else ()
    added, removed = _moved_nodes(preview, comparison)
    moves = [f"{count(number, 'node')} {word}" for number, word in ((removed, "removed"), (added, "added")) if number]
    moved = " and ".join(moves) or "no node comes or goes"
    actions = len(preview.plan.actions)
    now = f"{count(actions, 'action')} {verb_for(actions, 'follows', 'follow')} now" if actions else "No action follows now"
    limited = f" for {count(len(groups), 'group')}" if groups and not discovered else ""
    yield Consequence(
        grade=Grade.CAUTION,
        code=Code.WRITING_STARTS,
        sentence=("This turns writing on", *where, f", mode Observe -> Enforce. {now}. Until the steady state, {moved}."),
        short=f"turns writing on{limited}: {moved}",
        data={"groups": groups, "discovered": discovered, "actions": actions, "nodesAdded": added, "nodesRemoved": removed},
    )


def writing_stops(preview: Preview) -> Iterator[Consequence]:
    """Groups for which the mode becomes Observe."""
    groups = preview.unwritten
    if groups:
        short = f"turns writing off for {count(len(groups), 'group')}"
        yield Consequence(
            grade=Grade.CAUTION,
            code=Code.WRITING_STOPS,
            sentence=("This turns writing off for ", *names_listed(groups, NAMES_SHOWN), ", mode Enforce -> Observe."),
            short=short,
            detail=("No longer written: ", *names_listed(groups, NAMES_SHOWN), "."),
            data={"groups": groups},
        )


def _moved_nodes(preview: Preview, comparison: PlanComparison) -> tuple[int, int]:
    """How many nodes more come, and how many more go, than under main."""
    before, after = preview.impact_before, preview.impact_after
    added = sum(joined_nodes(after, comparison, 1).values()) - sum(joined_nodes(before, comparison, 0).values())
    return max(0, added), max(0, len(after.nodes_gone) - len(before.nodes_gone))


def takes_over(loosened: Sequence[Loosened], comparison: PlanComparison, plan: Plan) -> Iterator[Consequence]:
    """Replicas that others declare and that are taken over: a caution where main does not take the group over."""
    given = [one for one in loosened if one.path == "adoptFrom"]
    # A group that is renamed keeps its target.
    before = {
        pair.before.target for pair in comparison.actions if pair.before is not None and pair.before.kind is ActionKind.ADOPT
    }
    adopted = {
        pair.after.group
        for pair in comparison.actions
        if pair.after is not None and pair.after.kind is ActionKind.ADOPT and pair.after.target not in before
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
    managers = {name for one in given for name in listed_names(one.after) - listed_names(one.before)}
    managers |= {group.owner.by for group in taken if group.owner.by}
    whom = names_listed(sorted(managers), NAMES_SHOWN)
    yield Consequence(
        grade=Grade.CAUTION if groups else Grade.WARNING if plan.groups else Grade.NOTE,
        code=Code.TAKES_OVER,
        sentence=(
            ("This takes over ", *names_listed(groups, NAMES_SHOWN), " from ", *whom, ".") if groups
            else (Foreign("adoptFrom"), " now names ", *whom, ". No group is taken over now.")
        ),
        detail=None if groups else ("No group is taken over now.",),
        short=f"takes over {count(len(groups), 'group')}" if groups else "other managers may be taken over from",
        named=(
            ("takes over ", *names_listed(groups, 1), " from ", *names_listed(sorted(managers), 1)) if groups
            else (Foreign("adoptFrom"), " now names ", *names_listed(sorted(managers), 1))
        ),
        data={"managers": tuple(sorted(managers)), "groups": groups},
    )  # fmt: skip


def _adoptable(group: GroupLine) -> bool:
    return not group.held and group.owner.state is OwnerState.ADOPTABLE


def listed_names(text: str) -> set[str]:
    """Those of a list as a policy writes it: `[a, b]`."""
    return set() if text == UNSET else {name for name in text.strip("[]").split(", ") if name}
