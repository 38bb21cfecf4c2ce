"""What a plan does, in order, with the reason of each action; alike ones once."""

from collections.abc import Iterator

from reconciler.plan.plan import Plan
from reconciler.rendering.documents.blocks import Item, Items, Section
from reconciler.rendering.words.alike_actions import AlikeActions, alike_actions, group_words, lot_words, single_actions
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.wording import action_mark, count


def action_section(plan: Plan, fold: Fold) -> Section | None:
    """None without actions. Removals for one reason are told group by group below one sentence."""
    if not plan.actions:
        return None
    lots = alike_actions(plan.actions) if fold.lots else single_actions(plan.actions)
    shown = fold.shown(len(lots), 2 * fold.lots)
    items = [_item(number, lot, fold) for number, lot in enumerate(lots[:shown], 1)]
    if shown < len(lots):
        items.append(Item(text=f"and {count(len(lots) - shown, 'action')} more: `--wide` lists all"))
    heading = f"Actions, in this order: {len(plan.actions)}{together(plan, lots)}"
    return Section(heading, None, blocks=(Items(tuple(items)),))


def together(plan: Plan, lots: tuple[AlikeActions, ...]) -> str:
    """The words for actions of which one line shows several; empty without such lines."""
    return "" if len(lots) == len(plan.actions) else ", alike ones together"


def _item(number: int, lot: AlikeActions, fold: Fold) -> Item:
    mark = action_mark(lot.first)
    several = len(lot.groups) > 1
    words = f"remove {count(lot.nodes, 'node')} of {count(len(lot.groups), 'group')}" if several else lot_words(lot, fold)
    reason = Item(text=lot.sentence, items=tuple(_groups(lot, fold)) if several else ())
    return Item(text=words, bullet=f"{number}. {mark} ", mark=mark, items=(reason,))


def _groups(lot: AlikeActions, fold: Fold) -> Iterator[Item]:
    shown = fold.shown(len(lot.groups), fold.lots)
    for entry in lot.groups[:shown]:
        most, *fewer = (group_words(entry, names) for names in range(fold.names, 0, -1))
        yield Item(text=most, shorter=(most, *fewer))
    if rest := lot.groups[shown:]:
        yield Item(text=f"and {count(sum(len(entry.nodes) for entry in rest), 'node')} of {len(rest)} more groups")
