"""What new nodes and existing nodes say to one more pod."""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from reconciler.decisions.groups.group import EffectiveGroup
from reconciler.decisions.reasons.code_words import in_words
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.pods import new_node_verdict, turns
from reconciler.rendering.printers.paragraphs import paragraph
from reconciler.rendering.words.fold import NAMES_SHOWN
from reconciler.rendering.words.one_sentence import one_sentence
from reconciler.rendering.words.plain import listed
from reconciler.rendering.words.wording import count
from reconciler.scheduling.state import SchedulingState
from reconciler.scheduling.verdict import Rejection
from reconciler.values.clauses import clauses
from reconciler.values.duration import duration_text

_RUNS = "would run it"
_FEW_GROUPS = 12


class _NewNode(msgspec.Struct, frozen=True):
    """What a new node of a group says. Answers of one `kind` differ in figures at most: the same plugins say no."""

    group: str
    kind: tuple[str, ...]
    sentence: str


def placing(case: Case, shape: int, width: int) -> list[str]:
    """What a new node of each group and every node that is there say to one more pod of this shape."""
    state = case.state()
    feature = state.modelled(shape)
    if feature:
        return ["", *paragraph(f"it uses {feature}, which is not modelled: nothing is said about nodes", width, 0)]
    return ["", *_on_new_nodes(case, state, shape, width), "", *_on_nodes(case, state, shape, width)]


def _on_new_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    """A line a group; of many groups those that say the same are told together, those that would run it first."""
    groups = case.asked_groups()
    answers = [_on_new_node(case, state, group, shape) for group in groups]
    lines, bound = (
        ["A new node of each group:"],
        _turns_lines(case, [one.group for one in answers if one.sentence == _RUNS], width),
    )
    if not width or len(groups) <= _FEW_GROUPS:
        for entry in answers:
            lines += paragraph(f"{entry.group}: {entry.sentence} ({_size(case, entry.group)})", width, 2, "- ")
        return [*lines, *bound]
    lots: dict[tuple[str, ...], list[_NewNode]] = {}
    for entry in answers:
        lots.setdefault(entry.kind, []).append(entry)
    for those in sorted(lots.values(), key=lambda those: (those[0].sentence != _RUNS, -len(those))):
        names = tuple(entry.group for entry in those)
        sentence = one_sentence([entry.sentence for entry in those], names) or f"for example {those[0].sentence}"
        who = names[0] if len(names) == 1 else f"{count(len(names), 'group')} ({listed(names, NAMES_SHOWN)})"
        size = f" ({_size(case, names[0])})" if len(names) == 1 else ""
        lines += paragraph(f"{who}: {sentence}{size}", width, 2, "- ")
    return [*lines, *bound]


def _size(case: Case, name: str) -> str:
    line = case.group_line(name)
    return f"size {line.current}, after this plan {line.desired}, at most {line.max}" + (", held" if line.held else "")


def _on_new_node(case: Case, state: SchedulingState, group: EffectiveGroup, shape: int) -> _NewNode:
    if group.template is None:
        return _NewNode(group.name, ("unknown",), f"unknown: {group.template_problem}")
    verdict = new_node_verdict(case, state, group, shape)
    return _NewNode(group.name, tuple(rejection.plugin for rejection in verdict), _rejection_text(verdict) if verdict else _RUNS)


def _on_nodes(case: Case, state: SchedulingState, shape: int, width: int) -> list[str]:
    verdicts = [(state.verdict(shape, node), case.world.nodes[node].name) for node in case.asked_nodes()]
    if not verdicts:
        return ["There are no nodes."]
    free = [name for verdict, name in verdicts if not verdict]
    lines = [f"Existing nodes: {len(free)} of {count(len(verdicts), 'node')} would run it"]
    kinds = Counter(tuple(rejection.plugin for rejection in verdict) for verdict, _ in verdicts if verdict)
    for plugins, number in sorted(kinds.items(), key=lambda entry: (-entry[1], entry[0])):
        words = in_words(" and ".join(plugins))
        lines += paragraph(f"{count(number, 'node')}: {words} [{', '.join(plugins)}]", width, 2, "- ")
    if free:
        return lines + paragraph(f"the first is {free[0]}", width, 2, "- ")
    verdict, name = min(verdicts, key=lambda entry: (len(entry[0]), entry[1]))
    return lines + paragraph(f"closest is {name}: {_rejection_text(verdict)}", width, 2, "- ")


def _rejection_text(verdict: Sequence[Rejection]) -> str:
    return clauses(f"{rejection.message} [{rejection.plugin}]" for rejection in verdict)


def _turns_lines(case: Case, would_run: Collection[str], width: int) -> list[str]:
    """By when a waiting pod gets a node, and where that bound comes from."""
    found = turns(case, would_run)
    if found is None:
        return []
    shortest, longest = (duration_text(pick(found.patience_seconds.values())) for pick in (min, max))
    each = shortest if shortest == longest else f"{shortest} to {longest}"
    sentence = (
        f"if one of them has capacity, its node comes within {duration_text(found.within_seconds)}: "
        f"{count(len(found.patience_seconds), 'group')} may have one turn each ({each}), "
        f"and a back-off lasts {duration_text(found.backoff_seconds)} at most"
    )
    return paragraph(sentence, width, 0)
