"""Nodes that a plan does not remove, and what keeps them: group by group, or over all groups where these are many."""

from reconciler.plan.plan import ActionKind, Plan
from reconciler.rendering.documents.blocks import Item, Items, Section
from reconciler.rendering.words.alike import AlikeNodes, alike_nodes
from reconciler.rendering.words.alike_states import over_groups
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import (
    blocker_counts,
    blockers_words,
    count,
    removable_words,
    state_words,
    utilization_words,
)


def leaving_nodes(plan: Plan) -> frozenset[str]:
    """Nodes that its actions drain and remove."""
    leaves = (ActionKind.REMOVE_NODE, ActionKind.REPLACE)
    return frozenset(node for action in plan.actions if action.kind in leaves for node in action.nodes)


def node_section(plan: Plan, fold: Fold) -> Section | None:
    """None where no node stays."""
    leaving = leaving_nodes(plan)
    staying = [node for node in plan.nodes if node.node not in leaving]
    if not staying:
        return None
    lots = alike_nodes(staying)
    if fold.shown(len(lots), fold.lots) < len(lots):
        items = [Item(text=text) for text in over_groups(lots)]
        items.append(Item(text="`--wide` lists all, `reconciler explain node NAME` tells one"))
    else:
        items = [_item(lot, fold) for lot in lots]
    return Section(f"Nodes that stay: {len(staying)} of {len(plan.nodes)}", None, blocks=(Items(tuple(items)),))


def _item(lot: AlikeNodes, fold: Fold) -> Item:
    """A fold shows only the number of blockers for nodes that cannot leave anyway."""
    facts = (count(len(lot.nodes), "node"), state_words(lot.state), utilization_words(lot.nodes), removable_words(lot.nodes))
    text = ", ".join(fact for fact in facts if fact)
    names = listed(tuple(node.node for node in lot.nodes), fold.names)
    whole = lot.candidate or not fold.names
    kept = blockers_words(lot.blockers, fold.names) if whole else filter(None, (blocker_counts(lot.blockers),))
    items = tuple(Item(text=sentence, bullet="- ") for sentence in kept)
    return Item(text=f"{lot.group or 'no group'}: {text}: {names}", items=items)
