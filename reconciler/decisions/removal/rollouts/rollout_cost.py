"""The time and the cost of a rollout."""

from reconciler.decisions.draft import GroupDraft
from reconciler.decisions.removal.rollouts.rollout_pace import Pace
from reconciler.decisions.removal.rollouts.rollout_waves import Play
from reconciler.plan.rollout import Rollout, RolloutCost, RolloutTime
from reconciler.values.duration import duration_text
from reconciler.values.instant import instant_text
from reconciler.values.money import price_text
from reconciler.values.plural import count_text

_HOUR = 3600


def rollout_time(play: Play, pace: Pace) -> RolloutTime:
    """How long it takes, with the start of the last nodes."""
    whole = sum(wave.seconds for wave in play.waves) + (play.start.seconds if play.last_adds else 0)
    starts = None if pace.starts_seconds is None else instant_text(pace.starts_seconds)
    return RolloutTime(new_node_seconds=play.start.seconds, observed=play.start.observed, seconds=whole, starts_at=starts)


def rollout_cost(play: Play, group: GroupDraft, currency: str) -> RolloutCost:
    """Every wave pays for the nodes beyond the present number as long as it lasts."""
    price = group.group.price_micros
    if price is None:
        return RolloutCost(surge_per_hour=None, in_all=None, currency=currency)
    extra = [max(0, nodes) for nodes in play.ahead]
    in_all = sum(price * nodes * wave.seconds for nodes, wave in zip(extra, play.waves, strict=True))
    whole = price_text((in_all + _HOUR // 2) // _HOUR)
    return RolloutCost(surge_per_hour=price_text(price * max(extra, default=0)), in_all=whole, currency=currency)


def rollout_summary(rollout: Rollout) -> str:
    """One sentence: `Rollout of general: 5 nodes in 3 waves, 2 at once, about 12m; 1 node stays.`"""
    about = f"Rollout of {rollout.group}:"
    if not rollout.nodes:
        return f"{about} it has no nodes."
    if not rollout.waves:
        return f"{about} none of its {count_text(rollout.nodes, 'node')} can be drained."
    word = "about" if rollout.time.learned else "at most"
    parts = [
        f"{count_text(rollout.replaced, 'node')} in {count_text(len(rollout.waves), 'wave')}",
        f"{max(len(wave.nodes) for wave in rollout.waves)} at a time",
        f"{word} {duration_text(rollout.time.seconds)}",
    ]
    stays = f". {count_text(len(rollout.kept), 'node')} cannot be drained" if rollout.kept else ""
    return f"{about} {', '.join(parts)}{stays}."
