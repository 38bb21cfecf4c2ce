"""Where pending pods go, as a flow: kinds of pods on the left, groups and existing nodes on the right, a band for each."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from reconciler.plan.comparison import PlanComparison
from reconciler.plan.plan import Plan, PodLine, PodOutcome
from reconciler.rendering.printers.html.element import NOTHING, Content, Html, joined, path, tag
from reconciler.rendering.printers.html.page import Section, counted, fold
from reconciler.rendering.words.alike import owner_label
from reconciler.rendering.words.plain import shortened

_WIDTH, _LEFT, _RIGHT, _BAR = 640, 214, 426, 10
_ROW, _GAP, _MOST_HEIGHT = 28, 6, 360
_NAME = 17
"""Characters of a name that a side has room for."""
_MOST = 10
"""Names on one side; the others are told together."""
_OTHER_KINDS, _OTHER_GROUPS = "other pods", "other groups"
_EXISTING, _UPCOMING = "existing nodes", "upcoming nodes"
_NOWHERE, _LATER, _NO_NODE = "stay pending", "delayed", "get no nodes"
_PLACES = {
    PodOutcome.FITS_EXISTING: _EXISTING, PodOutcome.FITS_UPCOMING: _UPCOMING, PodOutcome.DELAYED: _LATER,
    PodOutcome.EXPENDABLE: _NO_NODE,
}  # fmt: skip
_FILLS = {_EXISTING: "p", _UPCOMING: "p", _LATER: "d", _NO_NODE: "d", _NOWHERE: "waits"}


class Flow(msgspec.Struct, frozen=True):
    """How many pods of each kind go to each place; both are names, and places are groups or words for no new node."""

    numbers: Mapping[tuple[str, str], int]

    def sums(self, side: int) -> dict[str, int]:
        """Pods by kind (0) or by place (1), the largest first."""
        found: dict[str, int] = {}
        for key, number in self.numbers.items():
            found[key[side]] = found.get(key[side], 0) + number
        return dict(sorted(found.items(), key=lambda item: (item[0] in (_OTHER_KINDS, _OTHER_GROUPS), -item[1], item[0])))


def flow_section(plan: Plan, comparison: PlanComparison | None = None, names: Sequence[str] = ("",)) -> Section | None:
    """The flow of a plan; with a comparison, those of both sides under their names where they differ. None without any pod."""
    flows = [flow_of(plan.pods)]
    if comparison is not None and (before := flow_of(_before(plan, comparison))) != flows[0]:
        flows.insert(0, before)
    if not any(flow.numbers for flow in flows):
        return None
    shown = names if len(flows) == len(names) else ("",) * len(flows)
    drawn = joined(_figure(flow, name) for flow, name in zip(flows, shown, strict=True))
    return Section("flow", "Pending pods to groups", tag("div", drawn, class_="pictures"), counted(len(plan.pods), "pod"))


def flow_of(pods: Sequence[PodLine]) -> Flow:
    """At most ten kinds and ten places, the largest ones; those without a place are always one."""
    all_numbers: dict[tuple[str, str], int] = {}
    for pod in pods:
        place = pod.group if pod.outcome is PodOutcome.TRIGGERS_SCALE_UP and pod.group else _PLACES.get(pod.outcome, _NOWHERE)
        key = owner_label(pod.pod), place
        all_numbers[key] = all_numbers.get(key, 0) + 1
    whole = Flow(all_numbers)
    kinds, places = (list(whole.sums(side)) for side in (0, 1))
    few_kinds = set(kinds if len(kinds) <= _MOST + 1 else kinds[:_MOST])
    few_places = {*(places if len(places) <= _MOST + 1 else places[:_MOST]), *_FILLS}
    numbers: dict[tuple[str, str], int] = {}
    for (kind, place), number in all_numbers.items():
        key = kind if kind in few_kinds else _OTHER_KINDS, place if place in few_places else _OTHER_GROUPS
        numbers[key] = numbers.get(key, 0) + number
    return Flow(numbers)


def _before(plan: Plan, comparison: PlanComparison) -> tuple[PodLine, ...]:
    """The pods of the first side: what the comparison does not name is the same on both."""
    named = {pair.either.pod for pair in comparison.pods}
    return (*(pod for pod in plan.pods if pod.pod not in named), *(pair.before for pair in comparison.pods if pair.before))


def _figure(flow: Flow, name: str) -> Html:
    """The drawing, and the same in words."""
    kinds, places = flow.sums(0), flow.sums(1)
    order = {name: at for at, name in enumerate(places)}
    ways = sorted(flow.numbers.items(), key=lambda item: (list(kinds).index(item[0][0]), order[item[0][1]]))
    scale = max(1, sum(kinds.values()))
    tall = min(_MOST_HEIGHT, _ROW * max(len(kinds), len(places)))

    def high(number: int) -> int:
        return max(2, number * tall // scale)

    lefts, left_end = _stacked(kinds, high)
    rights, right_end = _stacked(places, high)
    bands: list[Content] = []
    at_left, at_right = dict(lefts), dict(rights)
    for (kind, place), number in ways:
        y, z, h = at_left[kind], at_right[place], high(number)
        band = f"M{_LEFT + _BAR} {y}L{_RIGHT} {z}V{z + h}L{_LEFT + _BAR} {y + h}z"
        title = tag("title", f"{kind}: {counted(number, 'pod')}, {_to(place)}")
        bands.append(tag("g", title, path(_fill(place), band)))
        at_left[kind], at_right[place] = y + h, z + h
    ends = [
        *(_end(kind, kinds[kind], y, high(kinds[kind]), left=True) for kind, y in lefts.items()),
        *(_end(place, places[place], z, high(places[place]), left=False) for place, z in rights.items()),
    ]
    words = [
        f"{kind}: {', '.join(f'{number} {_to(place)}' for (other, place), number in ways if other == kind)}" for kind in kinds
    ]
    label = f"{name or 'Pending pods'}: {'. '.join(words)}"
    svg = tag(
        "svg", tag("g", joined(bands), class_="flow"), joined(ends), role="img", aria_label=label,
        viewBox=f"0 0 {_WIDTH} {max(left_end, right_end) + _GAP}",
    )  # fmt: skip
    caption = tag("figcaption", name) if name else NOTHING
    text = fold("The same in words", tag("ul", joined(tag("li", line) for line in words)))
    return tag("figure", caption, svg, text, class_="chart sheet")


def _stacked(numbers: Mapping[str, int], high: Callable[[int], int]) -> tuple[dict[str, int], int]:
    """The top of each name, and the end of the last: a row is at least as high as its text."""
    tops, y = {}, _GAP
    for name, number in numbers.items():
        tops[name] = y
        y += max(_ROW, high(number)) + _GAP
    return tops, y


def _end(name: str, number: int, top: int, height: int, *, left: bool) -> Html:
    """The bar of one side, with its name and its number."""
    x = _LEFT if left else _RIGHT
    bar = path("will" if left else _fill(name), f"M{x} {top}h{_BAR}v{height}h-{_BAR}z")
    words = f"{shortened(name, _NAME)} {number:,}"
    place: dict[str, int | str] = {"x": x - 6, "text_anchor": "end"} if left else {"x": x + _BAR + 6}
    return joined((bar, tag("text", words, y=top + 21, **place)))


def _fill(place: str) -> str:
    return _FILLS.get(place, "f")


def _to(place: str) -> str:
    return place if place in (_NOWHERE, _LATER, _NO_NODE) else f"to {place}"
