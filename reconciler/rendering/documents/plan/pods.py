"""What asks for room: pending pods, CapacityBuffers and ProvisioningRequests, with the reason why some of it is not there."""

from collections.abc import Sequence

from reconciler.plan.plan import Plan
from reconciler.plan.reason import Reason
from reconciler.rendering.documents.blocks import Item, Items, Section
from reconciler.rendering.documents.plan.groups import more
from reconciler.rendering.words.alike import alike_pods
from reconciler.rendering.words.fold import Fold
from reconciler.rendering.words.lacking_room import AskedRoom, folded_reasons, rooms_of_buffers, rooms_of_requests
from reconciler.rendering.words.wording import HELD, STAY_PENDING, count, placed_words, pods_words


def pod_section(plan: Plan, fold: Fold) -> Section | None:
    """Pending pods without a place and why; then where the others go."""
    staying = [pod for pod in plan.pods if pod.outcome in STAY_PENDING]
    placed = placed_words(plan, fold)
    lots = alike_pods(staying)
    shown = fold.shown(len(lots), fold.lots)
    reasoned = fold.shown(shown, fold.reasoned)
    items = [
        Item(text=pods_words(lot), mark=HELD, items=_reasons(lot.reasons, fold) if number < reasoned else ())
        for number, lot in enumerate(lots[:shown])
    ]
    items += more(sum(len(lot.pods) for lot in lots[shown:]), "pod")
    there = (Items((Item(text=f"Pending pods with a place: {placed}"),), 0),) if placed else ()
    heading = f"Pods that stay pending: {len(staying)} of {len(plan.pods)}" if staying else ""
    return Section(heading, None, blocks=(Items(tuple(items)), *there)) if staying or placed else None


def _reasons(reasons: Sequence[Reason], fold: Fold) -> tuple[Item, ...]:
    return tuple(Item(text=sentence, bullet="- ") for sentence in folded_reasons(reasons, fold))


def request_section(plan: Plan, fold: Fold) -> Section | None:
    """ProvisioningRequests: whether their room is there, and why not."""
    return _rooms("Room for ProvisioningRequests", "request", rooms_of_requests(plan.request_lines), fold)


def buffer_section(plan: Plan, fold: Fold) -> Section | None:
    """CapacityBuffers: how much of their room is there, and why not all of it."""
    return _rooms("Room for CapacityBuffers", "buffer", rooms_of_buffers(plan.buffer_lines), fold)


def _rooms(heading: str, noun: str, rooms: Sequence[AskedRoom], fold: Fold) -> Section | None:
    if not rooms:
        return None
    shown = fold.shown(len(rooms), 2 * fold.lots)
    reasoned = fold.shown(shown, fold.reasoned)
    items = [
        Item(text=room.words, mark=HELD * room.lacking, items=_reasons(room.reasons, fold) if number < reasoned else ())
        for number, room in enumerate(rooms[:shown])
    ]
    if shown < len(rooms):
        items.append(Item(text=f"and {count(len(rooms) - shown, noun)} more: `--wide` lists all"))
    return Section(f"{heading}: {len(rooms)}", None, blocks=(Items(tuple(items)),))
