"""A simulated run as lines for people."""

from collections.abc import Iterator

from reconciler.plan.one_write import DEFERRED
from reconciler.rendering.documents.simulated_run import RunAction, RunDocument, RunTurn
from reconciler.rendering.words.waited import waited_words
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text

_VERBS = {
    "Resize": "resize",
    "RemoveNode": "remove",
    "Replace": "replace",
    "Adopt": "adopt",
    "Release": "release",
    "Cancel": "cancel",
}


def turn_lines(turn: RunTurn) -> Iterator[str]:
    """What happened before the turn, then what it did; the same action on several nodes is one line."""
    at = clock(turn.at_seconds)
    for sentence in turn.told:
        yield f"{at}  * {sentence}"
    if turn.joined:
        yield f"{at}  + {_nodes(turn.joined)} joined"
    if turn.gone:
        yield f"{at}  - {_nodes(turn.gone)} gone"
    if turn.unavailable:
        yield f"{at}  ! nothing was done: {turn.unavailable}"
    for actions in _alike(turn.actions):
        yield f"{at}  > {_action(actions)}"
    for violation in turn.violations:
        yield f"{at}  ! RULE BROKEN {violation}"


def summary_lines(document: RunDocument) -> Iterator[str]:
    """The totals."""
    total = document.summary
    hours = total.node_seconds / 3600
    money = "" if total.cost is None else f", {total.cost} {total.currency}"
    if total.unpriced and total.cost is not None:
        money += f" (without {count_text(len(total.unpriced), 'target')} without a price)"
    yield f"Scenario {document.scenario}: {duration_text(total.seconds)} of virtual time, {document.decisions} decisions"
    waits = ((50, "p50", total.wait_p50_seconds), (95, "p95", total.wait_p95_seconds), (100, "longest", total.wait_max_seconds))
    waited = ", ".join(f"{waited_words(total, percent, seconds)} ({name})" for percent, name, seconds in waits)
    never = f"{total.pods_never_placed} never got a node, {total.pods_pending} still pending"
    yield f"  pods        {total.pods_placed} placed, waited {waited}, {never}"
    yield f"  nodes       {total.nodes_joined} joined, {total.nodes_removed} removed, {hours:.1f} node hours{money}"
    refused, evicted = count_text(total.writes_refused, "write"), count_text(total.evictions, "pod")
    yield f"  actions     {document.actions} done, {refused} refused, {evicted} evicted"
    yield f"  violations  {len(document.violations)}"
    for sentence in document.unmet:
        yield f"  NOT MET     {sentence}"


def clock(seconds: int) -> str:
    """Virtual time since the start: `+01:05:10`."""
    return f"+{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _alike(actions: tuple[RunAction, ...]) -> Iterator[list[RunAction]]:
    run: list[RunAction] = []
    for action in actions:
        if run and _kind(action) != _kind(run[0]):
            yield run
            run = []
        run.append(action)
    if run:
        yield run


def _kind(action: RunAction) -> tuple[object, ...]:
    # Several groups may replace the same nodes.
    what = action.nodes if action.kind == "Replace" else action.group
    return action.kind, what, action.state, action.code, action.reason


def _action(actions: list[RunAction]) -> str:
    first, last = actions[0], actions[-1]
    parts = list(zip(actions, actions, strict=True)) if first.kind == "Replace" else [(first, last)]
    sizes = ", ".join(f"{one.group}{'' if one.from_ == end.to else f' {one.from_} -> {end.to}'}" for one, end in parts)
    nodes = tuple(dict.fromkeys(node for action in actions for node in action.nodes))
    which = f" ({_nodes(nodes)})" if nodes else ""
    more = f" (and {len(actions) - len(parts)} more)" if len(actions) > len(parts) else ""
    state = "Next turn" if first.code == DEFERRED else first.state
    outcome = "" if first.state == "Done" else f" [{state}: {first.explanation}]"
    return f"{_VERBS[first.kind]} {sizes}{which}: {first.message}{more}{outcome}"


def _nodes(names: tuple[str, ...]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"
