"""Whatever the latency, the lag and the refusals: no honest account is held, and every writer that undoes ours is found."""

import os
import random

from tests.crusoe.random_account import MOST, RandomAccount
from tests.crusoe.service.server import Service
from tests.one_pod_nodes import waiting

_RUNS = int(os.environ.get("CRUSOE_RUNS", "3"))
"""Of each kind; more of them by hand."""


def test_no_honest_account_is_held(service: Service) -> None:
    """Pods come and go, calls are refused or lost: no pool is held, no machine with pods ends, nothing is asked for beyond the
    policy's sizes; once all is calm, each pod that fits has a node."""
    for _ in range(_RUNS):
        seed = random.randrange(1 << 40)
        service.reset()
        run = RandomAccount(service, seed, dishonest=False)
        for _ in range(60):
            run.turn()
        run.settled(60)
        assert not run.wrong, (run.described, run.wrong[:3])
        assert not run.held, (run.described, run.report)
        room = MOST * len(run.pools)
        assert waiting(run.loop.cluster) == max(0, len(run.loop.cluster.pods) - room), (run.described, run.report)


def test_every_writer_that_undoes_ours_is_found(service: Service) -> None:
    """Whoever sets a pool back is found: once three reversals can be known, nothing is written, and it is held."""
    for _ in range(_RUNS):
        seed = random.randrange(1 << 40)
        service.reset()
        run = RandomAccount(service, seed, dishonest=True)
        for _ in range(120):
            run.turn(shrinks=False)
        assert not run.wrong, (run.described, run.wrong[:3])
        known = run.reversals[2] + run.blind_seconds if len(run.reversals) > 2 else service.account.now
        assert [at for at in run.written if at > known] == [], (run.described, run.reversals, run.written)
        assert "h100" in run.held or len(run.reversals) < 3, (run.described, run.reversals, run.report)
