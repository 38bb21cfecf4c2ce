"""The search: single changes first, then the best of them together, and ever fewer of them on ever more of the past.

SOURCE: successive halving (Jamieson and Talwalkar, 2016). All trials are judged on a part of the search periods, the better third
on more of them, and so on. That changes cost something, so that of many good policies one near today's is taken, is from
Autopilot (Rzadca et al., EuroSys 2020).
"""

import hashlib
from collections.abc import Callable, Sequence
from itertools import combinations, islice, zip_longest

import msgspec

from reconciler.plan.tuning import DemandFigures, HeldOut, Trial, TriedChange, Verdict
from reconciler.policy.text_edits import Edit
from reconciler.simulation.tuning.knobs import Knob, Value
from reconciler.simulation.tuning.noise import needed_ppm
from reconciler.simulation.tuning.objective import MILLION, Objective, Term, ratio_ppm

Variant = tuple[Edit, ...]
"""A policy: its changes against the one of today, in order. The one of today has none."""
Asked = tuple[Variant, int]
"""One policy in one period."""
Evaluate = Callable[[Sequence[Asked]], Sequence[DemandFigures]]
"""The figures of each, in the same order."""

_LAST_TRIALS = 5
"""So many are judged on all search periods at least, for the front."""
_HELD_OUT_EVERY = 4
_COMBINED_KNOBS = 8


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """`trials` are the policies that are tried besides the one of today. The same seed gives the same search."""

    objective: Objective = Objective()
    trials: int = 27
    seed: int = 1


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a search came to. `edits` are those of the proposed trial."""

    verdict: Verdict
    chosen: int | None
    held_out: HeldOut | None
    trials: tuple[Trial, ...]
    edits: Variant = ()


def split_periods(count: int, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Search periods in the order in which they are used, and those that are held out: one of every four, in order of time."""
    blocks = [range(begin, min(begin + _HELD_OUT_EVERY, count)) for begin in range(0, count, _HELD_OUT_EVERY)]
    held = tuple(min(block, key=lambda at: _mixed(seed, at)) for block in blocks if len(block) == _HELD_OUT_EVERY)
    searched = sorted((at for at in range(count) if at not in held), key=lambda at: _mixed(seed, at))
    return tuple(searched), held


def search(
    knobs: Sequence[Knob],
    searched: Sequence[int],
    held: Sequence[int],
    settings: Settings,
    evaluate: Evaluate,
    allowed: Callable[[Variant], bool] = lambda _: True,
) -> Found:
    """Try variants on the periods `searched`, and prove the best one on `held`. `allowed`: a combination is a valid policy."""
    run = _Run(knobs, settings, evaluate)
    rungs = sorted({max(1, len(searched) // 9), max(1, len(searched) // 3), len(searched)})
    singles = _singles(knobs, settings.seed)
    first = singles[: -(-2 * settings.trials // 3)]
    run.judge(((), *first), searched[: rungs[0]])
    together = islice(filter(allowed, run.combined(first)), settings.trials - len(first))
    tried = [*first, *together, *singles[len(first) :]][: settings.trials]
    run.judge(tried, searched[: rungs[0]])
    left = list(tried)
    for rung in rungs[1:]:
        left = run.better(left, max(_LAST_TRIALS, -(-len(left) // 3)))
        run.judge(((), *left), searched[:rung])
    return run.found(tried, left, searched, held)


def _singles(knobs: Sequence[Knob], seed: int) -> list[Variant]:
    """One change each: a value of every knob, then another one of every knob."""
    shuffled = [sorted(knob.edits(), key=lambda edit: _mixed(seed, edit)) for knob in knobs]
    return [(edit,) for turn in zip_longest(*shuffled) for edit in turn if edit is not None]


class _Run:
    """What is known so far: the figures of every policy in every period in which it was replayed."""

    def __init__(self, knobs: Sequence[Knob], settings: Settings, evaluate: Evaluate) -> None:
        self._before = {knob.setting: knob.before for knob in knobs}
        self._settings = settings
        self._objective = settings.objective
        self._evaluate = evaluate
        self._known: dict[Asked, DemandFigures] = {}

    def judge(self, variants: Sequence[Variant], periods: Sequence[int]) -> None:
        """Have those replayed that were not yet."""
        asked = [(variant, period) for period in periods for variant in variants if (variant, period) not in self._known]
        self._known.update(zip(asked, self._evaluate(asked), strict=True))

    def combined(self, singles: Sequence[Variant]) -> list[Variant]:
        """Changes of several knobs together, the most promising first: the best of each knob in all combinations, and all pairs.

        What they come to together is taken for the product of what each comes to alone. A change without effect is in none.
        """
        ratios = {single: self._ratios(single) for single in singles}
        telling = [single for single in sorted(singles, key=self._order) if any(ratio != MILLION for ratio in ratios[single])]
        best: dict[object, Variant] = {}
        for single in telling:
            best.setdefault(single[0].setting, single)
        of_each = list(best.values())[:_COMBINED_KNOBS]
        chosen: set[tuple[Variant, ...]] = set()
        chosen.update(pair for pair in combinations(telling, 2) if pair[0][0].setting != pair[1][0].setting)
        chosen.update(some for size in range(2, len(of_each) + 1) for some in combinations(of_each, size))
        promise: dict[Variant, int] = {}
        for some in chosen:
            together = [MILLION] * len(self._objective.weights)
            for single in some:
                together = [known * ratio // MILLION for known, ratio in zip(together, ratios[single], strict=True)]
            variant = tuple(sorted(edit for single in some for edit in single))
            promise[variant] = self._objective.worth_ppm(together, len(variant))
        return sorted(promise, key=lambda variant: (-promise[variant], variant))

    def better(self, variants: Sequence[Variant], most: int) -> list[Variant]:
        """Half of them by gain, the others from the front of cost and wait. Those without any effect come last."""
        points = {variant: self._point(variant) for variant in variants}
        ranked = sorted(variants, key=lambda variant: (points[variant] == (MILLION, MILLION), *self._order(variant)))
        kept = ranked[: -(-most // 2)]
        seen = {points[variant] for variant in kept}
        rest = [variant for variant in ranked if points[variant] not in seen]
        while rest and len(kept) < most:
            front = list({points[variant]: variant for variant in reversed(self._front(rest))}.values())
            front.sort(key=points.__getitem__)
            room = most - len(kept)
            kept += front if len(front) <= room else [front[(2 * at + 1) * len(front) // (2 * room)] for at in range(room)]
            rest = [variant for variant in rest if variant not in front]
        return kept

    def _order(self, variant: Variant) -> tuple[int, int, Variant]:
        return -self._worth_ppm(variant), len(variant), variant

    def _front(self, variants: Sequence[Variant]) -> list[Variant]:
        """Those of which no other one is better in cost and wait."""
        points = {variant: self._point(variant) for variant in variants}
        return [
            variant
            for variant, (cost, wait) in points.items()
            if not any(other[0] <= cost and other[1] <= wait and other != (cost, wait) for other in points.values())
        ]

    def _worth_ppm(self, variant: Variant) -> int:
        return self._objective.worth_ppm(self._ratios(variant), len(variant))

    def _ratios(self, variant: Variant) -> tuple[int, ...]:
        own, today = self._pairs(variant)
        return tuple(ratio_ppm(term, today, own) for term, _ in self._objective.weights)

    def _point(self, variant: Variant) -> tuple[int, int]:
        own, today = self._pairs(variant)
        return ratio_ppm(Term.COST, today, own), ratio_ppm(Term.WAIT, today, own)

    def _pairs(self, variant: Variant, periods: Sequence[int] | None = None) -> tuple[list[DemandFigures], list[DemandFigures]]:
        known = [period for one, period in self._known if one == variant] if periods is None else periods
        return [self._known[variant, period] for period in known], [self._known[(), period] for period in known]

    def found(self, tried: Sequence[Variant], last: Sequence[Variant], searched: Sequence[int], held: Sequence[int]) -> Found:
        """The verdict on the best trial."""
        front = self._front([(), *last])
        trials = tuple(self._trial(number, variant, searched, on=variant in front) for number, variant in enumerate(((), *tried)))
        best = min(last, key=self._order, default=())
        if not best or self._worth_ppm(best) <= 0:
            return Found(verdict=Verdict.NOTHING_BETTER, chosen=None, held_out=None, trials=trials)
        number = tried.index(best) + 1
        self.judge(((), best), held)
        own, today = self._pairs(best, held)
        gains = self._objective.gains_ppm(today, own)
        needed = needed_ppm(self._objective.gains_ppm(*self._pairs(best, searched)[::-1]), gains)
        proof = HeldOut(
            trial=number,
            today=tuple(today),
            tried=tuple(own),
            gains_ppm=gains,
            gain_ppm=self._objective.gain_ppm(today, own, len(best)),
            needed_ppm=needed,
        )
        verdict = Verdict.PROPOSED
        if self._objective.losses(today, own):
            verdict = Verdict.TRADES
        if proof.gain_ppm <= needed and verdict is not Verdict.TRADES:
            verdict = Verdict.WITHIN_NOISE
        proposed = verdict is Verdict.PROPOSED
        return Found(
            verdict=verdict, chosen=number if proposed else None, held_out=proof, trials=trials, edits=best if proposed else ()
        )

    def _trial(self, number: int, variant: Variant, searched: Sequence[int], *, on: bool) -> Trial:
        periods = [period for period in sorted(searched) if (variant, period) in self._known]
        cost, wait = self._point(variant)
        own, today = self._pairs(variant)
        return Trial(
            number=number,
            changes=tuple(self._change(edit) for edit in variant),
            periods=tuple(self._known[variant, period] for period in periods),
            cost_ppm=cost,
            wait_ppm=wait,
            gain_ppm=self._objective.gain_ppm(today, own, len(variant)),
            on_front=on,
        )

    def _change(self, edit: Edit) -> TriedChange:
        where, before = edit.setting, self._before[edit.setting]
        return TriedChange(
            kind=where.kind,
            name=where.name,
            path=where.path,
            before=None if before is None else _shown(before),
            after=_shown(edit.value),
        )


def _shown(value: Value) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def _mixed(seed: int, of: object) -> str:
    """An order that depends on the seed alone."""
    return hashlib.sha256(f"{seed} {of!r}".encode()).hexdigest()
