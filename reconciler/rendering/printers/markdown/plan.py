"""A whole plan as markdown for a pull request, within the length that GitHub accepts."""

from collections.abc import Iterator

from reconciler.plan.plan import Plan
from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.plan.document import cautions, cost_table, plan_document
from reconciler.rendering.documents.plan.groups import all_groups
from reconciler.rendering.printers.block_lines import BlockLines
from reconciler.rendering.printers.markdown.change_lines import change_lines
from reconciler.rendering.printers.markdown.document import document_markdown
from reconciler.rendering.printers.markdown.host_length import GITHUB_LIMIT
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.wording import (
    NO_GROUPS,
    STAY_PENDING,
    header_words,
    loops_words,
    rest_words,
)

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
