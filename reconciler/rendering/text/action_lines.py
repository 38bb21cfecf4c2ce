"""Actions as lines: what is done, in order, with the reason of each; alike ones once."""

from collections.abc import Iterator

from reconciler.plan.plan import Plan
from reconciler.rendering.alike_actions import AlikeActions, alike_actions, group_words, lot_words, single_actions
from reconciler.rendering.fold import Fold
from reconciler.rendering.text.paragraph import one_line, paragraph
from reconciler.rendering.text.style import TONES, Style, Tone
from reconciler.rendering.wording import action_mark, count


def action_lines(plan: Plan, style: Style, width: int, fold: Fold) -> list[str]:
    """A heading and the lots; no line without actions. Removals for one reason are told group by group below one sentence."""
    if not plan.actions:
        return []
    lots = alike_actions(plan.actions) if fold.lots else single_actions(plan.actions)
    together = "" if len(lots) == len(plan.actions) else ", alike ones together"
    lines = [style.paint(f"Actions, in this order: {len(plan.actions)}{together}", Tone.HEADING)]
    shown = fold.shown(len(lots), 2 * fold.lots)
    for number, lot in enumerate(lots[:shown], 1):
        mark = action_mark(lot.first)
        bullet = f"{number}. {mark} "
        told = lot_words(lot, fold) if len(lot.groups) == 1 else _over_groups(lot)
        lines += [style.paint(line, TONES.get(mark)) for line in paragraph(told, width, 2, bullet)]
        lines += paragraph(lot.sentence, width, 2 + len(bullet))
        if len(lot.groups) > 1:
            lines += _group_lines(lot, width, fold, 4 + len(bullet))
    if shown < len(lots):
        lines.append(f"  and {count(len(lots) - shown, 'action')} more: `--wide` lists all")
    return lines


def _over_groups(lot: AlikeActions) -> str:
    return f"remove {count(lot.nodes, 'node')} of {count(len(lot.groups), 'group')}"


def _group_lines(lot: AlikeActions, width: int, fold: Fold, indent: int) -> Iterator[str]:
    shown = fold.shown(len(lot.groups), fold.lots)
    for entry in lot.groups[:shown]:
        yield one_line([group_words(entry, names) for names in range(fold.names, 0, -1)], width, indent)
    rest = lot.groups[shown:]
    if rest:
        nodes = sum(len(entry.nodes) for entry in rest)
        yield f"{' ' * indent}and {count(nodes, 'node')} of {len(rest)} more groups"
