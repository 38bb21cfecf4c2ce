"""A whole plan as markdown for a pull request, within the length that GitHub accepts."""

from collections.abc import Iterator, Sequence

from reconciler.plan.plan import Action, ActionKind, GroupLine, Plan
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.plan.document import cautions, cost_table, plan_document
from reconciler.rendering.documents.plan.groups import all_groups
from reconciler.rendering.printers.block_lines import BlockLines
from reconciler.rendering.printers.markdown.document import GITHUB_LIMIT, document_markdown
from reconciler.rendering.words.fold import NAMES_SHOWN, Fold
from reconciler.rendering.words.group_notes import GroupWhy, further_reasons, group_whys, removal_words, why_words
from reconciler.rendering.words.plain import plain
from reconciler.rendering.words.wording import (
    HELD,
    NO_GROUPS,
    OTHER,
    SAME,
    STAY_PENDING,
    group_mark,
    groups_with_other_actions,
    header_words,
    loops_words,
    rest_words,
)

# The short form of a plan: one line per group that changes, is held or has another steady state.

_IN_COLUMN_0 = {OTHER: "!"}  # GitHub colours lines that start with + - ! in a diff block, and no others


def change_lines(plan: Plan) -> list[str]:
    """Lines for a `diff` block, the mark in column 0; changes first, then held groups, then those that settle elsewhere."""
    others = groups_with_other_actions(plan.actions)
    actions: dict[str, list[Action]] = {}
    for action in plan.actions:
        actions.setdefault(action.group, []).append(action)
    whys = group_whys(plan)
    rows: list[tuple[int, str, str, str, str]] = []
    named = {group.name for group in plan.groups}
    for group in plan.groups:
        mark = group_mark(group, others)
        if mark == SAME and group.settled in (None, group.desired):
            continue
        why = (
            why_words(group, whys)
            if mark == HELD
            else _reasons(
                actions.get(group.name, ()), group if group.name in actions or mark == SAME else None, whys.get(group.name)
            )
        )
        rank = 1 if mark == HELD else 2 if mark == SAME else 0
        rows.append((rank, _IN_COLUMN_0.get(mark, mark), plain(group.name), _sizes(group), why))
    # A released group is in no list of groups any more.
    rows += [(0, "!", plain(name), str(of[0].to), _reasons(of)) for name, of in actions.items() if name not in named]
    rows.sort(key=lambda row: row[0])
    name_width = max((len(row[2]) for row in rows), default=0)
    size_width = max((len(row[3]) for row in rows), default=0)
    return [
        f"{mark} {name.ljust(name_width)}  {sizes.ljust(size_width)}  {plain(why)}".rstrip() for _, mark, name, sizes, why in rows
    ]


def _sizes(group: GroupLine) -> str:
    size = str(group.current) if group.desired == group.current else f"{group.current} -> {group.desired}"
    return size if group.settled in (None, group.desired) else f"{size}, settled {group.settled}"


def _reasons(actions: Sequence[Action], group: GroupLine | None = None, why: GroupWhy | None = None) -> str:
    """Why it is done, or what will come without an action; the group's first other note; the bounds."""
    parts = [removals] if (removals := removal_words(actions, NAMES_SHOWN)) else []
    parts += [action.reason.message for action in actions if action.kind is not ActionKind.REMOVE_NODE]
    if why is not None:
        parts += () if actions else why.causes
    parts += [reason.message for reason in further_reasons(group, actions)][:1] if group is not None else []
    return "; ".join((*parts, *(why.bounds if why is not None else ())))


_WIDTH = 120


def plan_markdown(plan: Plan, *, limit: int = GITHUB_LIMIT) -> str:
    """The plan in at most `limit` UTF-16 units, ends with a newline."""
    return document_markdown(plan_comment(plan), limit)


def plan_comment(plan: Plan) -> tree.Document:
    """What changes as lines of a diff, then everything that the terminal shows, in folds, the most urgent first.

    If there is not enough room, parts are left out in a fixed order, and named. First come nodes that stay, reasons of pods,
    single actions and the table of groups. Then come notes about groups, evidence for held groups, the cost and problems. The
    last are lines of the diff, from its end.
    """
    loops = loops_words(plan)
    blocks: list[tree.Block] = [tree.Paragraph((plan.summary,), strong=True)]
    blocks += [] if plan.groups else [tree.Paragraph((f"No node groups: {NO_GROUPS}.",))]
    blocks += [tree.Paragraph((rest,))] if (rest := rest_words(plan)) else []
    blocks.append(tree.Code(tuple(change_lines(plan)), "diff", "changes"))
    blocks += [tree.Alarm(tree.Meaning.HELD, (caution,))] if (caution := cautions(plan)) else []
    return tree.Document(
        title="Node group plan", facts=header_words(plan), blocks=(*blocks, *_folds(plan)), digest=plan.digest, note=loops
    )


def _folds(plan: Plan) -> Iterator[tree.Section]:
    document = plan_document(plan, Fold())
    printer = BlockLines(_WIDTH, colour=False)
    staying = sum(pod.outcome in STAY_PENDING for pod in plan.pods)
    held = sum(group.held for group in plan.groups)
    for drop, heading, number, block in (
        (1, "Problems and kinds that were not captured", len(plan.problems) + len(plan.not_captured), document.problems),
        (3, "Held groups and their owners", held, document.held),
        (6, "Actions in order", len(plan.actions), document.actions),
        (7, f"Pending pods ({len(plan.pods)}, of which {staying} stay)", None, document.pods),
        (4, "Room for ProvisioningRequests", len(plan.request_lines), document.requests),
        (4, "Room for CapacityBuffers", len(plan.buffer_lines), document.buffers),
        (5, "All groups", len(plan.groups), all_groups(plan)),
        (4, "About groups", None, document.notes),
        (8, "Nodes", len(plan.nodes), document.nodes),
        (2, "Cost", None, cost_table(plan.cost)),
    ):
        if block is not None:
            shown = block if isinstance(block, tree.Table) else tree.Code(tuple(printer.lines(block)))
            yield tree.Section(heading, number, blocks=(shown,), drop=drop)
