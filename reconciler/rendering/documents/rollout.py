"""The predicted rollout of a group as a document: text, markdown and HTML say the same."""

from collections.abc import Iterator
from decimal import Decimal

from reconciler.plan.money import money_text
from reconciler.plan.reason import Blocker, Reason
from reconciler.plan.rollout import KeptNode, Rollout, Wave
from reconciler.rendering.documents.blocks import (
    OTHERWISE,
    STAYS,
    Alarm,
    Block,
    Column,
    Difference,
    Document,
    Foreign,
    Meaning,
    Paragraph,
    Section,
    Sentence,
    Table,
    cut,
    foreign_sentence,
)
from reconciler.rendering.words.fold import EVERYTHING, Fold
from reconciler.rendering.words.plain import listed
from reconciler.values.clauses import clauses
from reconciler.values.duration import duration_text
from reconciler.values.plural import count_text

READ_ONLY = "This is a prediction. Nothing is written, and the reconciler never replaces the nodes of a group by itself."


def rollout_document(rollout: Rollout, fold: Fold = EVERYTHING) -> Document:
    """What the nodes need, in the order of reading: how many at once, cautions, waves, time and cost."""
    return Document(
        title=f"Rollout of {rollout.group}",
        lead=(rollout.summary,),
        facts=(
            ("target", rollout.target),
            ("owner", rollout.owner.by or rollout.owner.state.value),
            ("policy", rollout.policy),
            ("at", rollout.now),
        ),
        blocks=tuple(_blocks(rollout, fold)),
    )


def _blocks(rollout: Rollout, fold: Fold) -> Iterator[Block]:
    yield Paragraph((READ_ONLY,))
    if rollout.in_place_if:
        yield Paragraph((f"Each machine is replaced, or updated in place if {rollout.in_place_if}.",))
    if rollout.held is not None:
        held: Sentence = (
            "The group is held: ",
            *foreign_sentence(rollout.held),
            ". The prediction is the same without the hold.",
        )
        yield Alarm(Meaning.HELD, (held,))
    if rollout.obstacles:
        yield _section("Cautions", [_reason_line(reason, STAYS) for reason in rollout.obstacles], "caution", fold)
    if rollout.kept:
        yield _section("Nodes that cannot be drained", [_kept_line(node) for node in rollout.kept], "node", fold)
    bounds = [Difference(OTHERWISE, f"at most {bound.nodes}: {_said(bound.reason)}") for bound in rollout.bounds]
    if rollout.at_once:
        yield Section("How many at a time", None, tuple(bounds), "bound", (Paragraph((_at_once(rollout),)),), opened=True)
    if rollout.budgets:
        lines = [
            f"{one.budget} allows {count_text(one.allowed, 'eviction')} now and covers {count_text(one.pods, 'pod')} "
            f"on {count_text(one.nodes, 'node')}"
            for one in rollout.budgets
        ]
        yield _section("PodDisruptionBudgets", [Difference(OTHERWISE, line) for line in lines], "budget", fold)
    if rollout.waves:
        yield _waves(rollout, fold)
        yield Section("Time and cost", None, (), "line", tuple(map(Paragraph, _time_and_cost(rollout))), opened=True)


def _at_once(rollout: Rollout) -> str:
    leave = f"{count_text(rollout.at_once, 'node')} at a time {'leaves' if rollout.at_once == 1 else 'leave'}"
    if not rollout.surge:
        return f"{leave}, and the replacement comes afterwards."
    return f"{leave}, once {count_text(rollout.surge, 'new node')} {'is' if rollout.surge == 1 else 'are'} ready."


def _section(heading: str, lines: list[Difference], noun: str, fold: Fold) -> Section:
    shown = cut(lines, fold.shown(len(lines), fold.rows), noun)
    return Section(heading, len(lines), shown, noun, opened=True)


def _reason_line(reason: Reason, mark: str) -> Difference:
    return Difference(mark, _said(reason), Meaning.HELD)


def _said(reason: Reason | Blocker) -> str:
    return f"{reason.message} [{reason.code}]"


def _kept_line(kept: KeptNode) -> Difference:
    whys = [f"pod {blocker.pod}: {_said(blocker)}" if blocker.pod else _said(blocker) for blocker in kept.blockers]
    return Difference(STAYS, f"{kept.node}: {clauses(whys)}", Meaning.HELD)


def _waves(rollout: Rollout, fold: Fold) -> Table:
    shown = rollout.waves[: fold.shown(len(rollout.waves), fold.rows)]
    left = len(rollout.waves) - len(shown)
    notes = [f"and {count_text(left, 'more wave')}: `--wide` or `-o json` has all"] if left else []
    if rollout.last_adds:
        notes.append(f"after the last wave: {count_text(rollout.last_adds, 'new node')}")
    return Table(
        columns=(
            Column(heading="wave", right=True),
            Column(heading="new nodes", right=True),
            Column(heading="pods", right=True),
            Column(heading="to new nodes", right=True),
            Column(heading="takes", right=True),
            Column(heading="drained", wraps=True),
        ),
        rows=tuple(_wave_row(number, wave, fold) for number, wave in enumerate(shown, 1)),
        note=", ".join(notes),
    )


def _wave_row(number: int, wave: Wave, fold: Fold) -> tuple[str, ...]:
    drained = Foreign(listed(wave.nodes, fold.names))
    if wave.waits_for:
        drained = Foreign(f"{drained}. The others wait for {listed(wave.waits_for, fold.names)}")
    return str(number), str(wave.adds), str(wave.pods), str(wave.to_new), duration_text(wave.seconds), drained


def _time_and_cost(rollout: Rollout) -> Iterator[Sentence]:
    time, cost = rollout.time, rollout.cost
    node = duration_text(time.new_node_seconds)
    if time.learned:
        seen = f"the median of {time.observed} of the group" if time.observed > 1 else "as the one node that tells it"
        yield (f"A new node is ready after {node}, {seen}.",)
    else:
        yield (
            f"How long a new node takes is not learned: no node of the group tells it. {node} is the bound of the policy, "
            "scaleUp.maxNodeProvisionTime and maxNodeStartupTime together.",
        )
    turns = max((wave.turns for wave in rollout.waves), default=0)
    one_by_one = f" Budgets let the pods of a node leave in up to {turns} turns." if turns > 1 else ""
    yield (
        f"Pods may take their whole grace period to end.{one_by_one} The time that they need to start elsewhere is not known.",
    )
    if time.starts_at is not None:
        yield ("A budget of the policy lets no node leave before ", time.starts_at, ".")
    if cost.surge_per_hour is None or cost.in_all is None:
        yield ("The group has no price, so the cost of the surge is not known.",)
    else:
        hour, in_all = (money_text(Decimal(amount), cost.currency) for amount in (cost.surge_per_hour, cost.in_all))
        bound = "" if time.learned else "at most "
        yield (f"Nodes beyond the present number cost {hour} per hour, {bound}{in_all} in all.",)
