"""Decisions with ProvisioningRequests that get no room, as multiples of the decision for the same cluster without them."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial

from reconciler.decisions.decide import decide
from reconciler.plan.plan import RequestState
from tests.benchmarks.measure import Case
from tests.benchmarks.mixed.requests import asked
from tests.builders import NOW

_SEEDS = 9
_GET_NOTHING = (RequestState.SHORT, RequestState.FAILED)


def cases() -> Iterator[Case]:
    """The seeds are printed with the figures."""
    yield _case("50 requests without room / none, 2,000 nodes", 2.5, requests=50)
    yield _case("200 requests without room / none, 2,000 nodes", 3.0, requests=200)
    yield _case("200 equal requests without room / none", None, requests=200, alike=True)
    yield _case("200 requests that are over / none", None, requests=0, over=200)


def _case(name: str, bound: float | None, *, requests: int, over: int = 0, alike: bool = False) -> Case:
    drawn = tuple(secrets.randbelow(1 << 31) for _ in range(_SEEDS))
    run, idle = partial(_decision, requests, over, alike), partial(_decision, 0, 0, False)
    return Case(name, run, seeds=drawn, bound_multiple=bound, beside=idle)


def _decision(requests: int, over: int, alike: bool, seed: int) -> Callable[[], object]:
    world, rules, memory = asked(seed, requests=requests, over=over, alike=alike)

    def run() -> str:
        plan, _ = decide(world, rules, memory, NOW)
        states = [line.state for line in plan.request_lines]
        if len(states) != requests or any(state not in _GET_NOTHING for state in states):
            raise RuntimeError(f"seed {seed}: {states}")
        return plan.summary

    return run
