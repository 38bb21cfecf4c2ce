"""Whatever the latency, the lag and the refusals: every writer that undoes ours is found. `tests.virtual` has honest ones."""

import os
import random

from tests.crusoe.random_account import RandomAccount
from tests.crusoe.service.server import Service

_RUNS = int(os.environ.get("CRUSOE_RUNS", "3"))
"""More of them by hand."""


def test_every_writer_that_undoes_ours_is_found(service: Service) -> None:
    """Whoever sets a pool back is found: once three reversals can be known, nothing is written, and it is held."""
    for _ in range(_RUNS):
        seed = random.randrange(1 << 40)
        service.reset()
        run = RandomAccount(service, seed)
        for _ in range(120):
            run.turn()
        assert not run.wrong, (run.described, run.wrong[:3])
        known = run.reversals[2] + run.blind_seconds if len(run.reversals) > 2 else service.account.now
        assert [at for at in run.written if at > known] == [], (run.described, run.reversals, run.written)
        assert "h100" in run.held or len(run.reversals) < 3, (run.described, run.reversals, run.report)
