"""A search for a better policy on past demand: what was tried, what it came to, and whether anything is proposed."""

from enum import StrEnum

import msgspec

from reconciler.plan.replay import ReplayFigures


class DemandFigures(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What demand came to in `seconds` from `start` (RFC 3339) on. The fields are those of `ReplayFigures` with these names."""

    start: str
    seconds: int
    cost: str | None
    node_seconds: int
    unplaced_pod_seconds: int
    pods_never_placed: int
    wait_p50_seconds: int
    wait_p95_seconds: int
    wait_max_seconds: int
    grown_nodes: int
    removed_nodes: int
    evictions: int


def demand_figures(start: str, seconds: int, figures: ReplayFigures) -> DemandFigures:
    """Those of one policy over a stretch of time."""
    names = [field.name for field in msgspec.structs.fields(DemandFigures) if field.name not in ("start", "seconds")]
    return DemandFigures(start=start, seconds=seconds, **{name: getattr(figures, name) for name in names})


class TriedChange(msgspec.Struct, frozen=True, order=True, kw_only=True, rename="camel"):
    """One value of one document as it is written now (None: not at all), and as it was tried."""

    kind: str
    name: str
    path: str
    before: str | None
    after: str

    @property
    def setting(self) -> str:
        """Where it is, in short: `prod spec.defaults.headroom.nodes`."""
        return f"{self.name} {self.path}"


class Trial(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One policy. `number` 0 is the one of today, which has no `changes`.

    `periods` are the figures of the search periods in which it was replayed; a trial that was given up early has fewer.
    `cost_ppm` and `wait_ppm` are those of today times so many millionths, over the same periods. `gain_ppm` is the gain by the
    objective, less what each change must be worth. `on_front`: of the trials with all periods, none is better in cost and wait.
    """

    number: int
    changes: tuple[TriedChange, ...]
    periods: tuple[DemandFigures, ...]
    cost_ppm: int
    wait_ppm: int
    gain_ppm: int
    on_front: bool


class Verdict(StrEnum):
    """What a search came to."""

    PROPOSED = "Proposed"  # the gain holds in periods that the search never saw
    NOTHING_BETTER = "NothingBetter"  # no trial is better than today in the search periods
    WITHIN_NOISE = "WithinNoise"  # in the held-out periods, the gain is not above what periods differ by anyway
    TRADES = "Trades"  # the gain is real, but without an objective nothing may get worse


class HeldOut(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The best trial against today in periods that the search never saw. `gain_ppm` is the mean of `gains_ppm`, less what each
    change must be worth. It must be above `needed_ppm`, which follows from how much gains differ from period to period."""

    trial: int
    today: tuple[DemandFigures, ...]
    tried: tuple[DemandFigures, ...]
    gains_ppm: tuple[int, ...]
    gain_ppm: int
    needed_ppm: int


class Tuning(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole search. `unobserved_seconds` is how much of the trace nobody saw: periods with much of it are left out.
    `objective` maps what counts to its weight; with `trades` false, nothing in it may get worse. `chosen` is the number of the
    proposed trial, None if nothing is proposed. `held_out` is None if no trial came so far."""

    trace: str
    policy: str
    currency: str
    start: str
    end: str
    period_seconds: int
    unobserved_seconds: int
    search_periods: tuple[str, ...]
    held_out_periods: tuple[str, ...]
    objective: dict[str, int]
    trades: bool
    seed: int
    verdict: Verdict
    chosen: int | None
    held_out: HeldOut | None
    trials: tuple[Trial, ...]

    @property
    def proposed(self) -> Trial | None:
        """The trial that is proposed."""
        return next((trial for trial in self.trials if trial.number == self.chosen), None)
