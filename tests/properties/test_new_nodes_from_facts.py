"""Pods that a plan promises a new node run there, on nodes made from what machines are and not from what the plan takes them for.

The same clusters are always tried. `RECONCILER_PROMISES` says how many promises are tried beside them, on clusters that nobody
has seen before: some of those still break one. `carry_out(seed)` repeats one.
"""

import os
import secrets
from collections.abc import Callable

import pytest

from reconciler.cluster.nodes.node import NO_VOLUMES
from reconciler.cluster.snapshots import daemon_pods
from reconciler.decisions import draft
from reconciler.decisions.draft import Draft
from reconciler.decisions.groups import effective_group
from reconciler.decisions.groups.template_volumes import VolumeEvidence
from reconciler.decisions.growth import stages
from tests.properties.carried_out import carry_out

PROMISES = int(os.environ.get("RECONCILER_PROMISES", "0"))
CLUSTERS = 60
"""So many of the same ones show each rule that is broken."""


def test_promised_pods_run_on_the_nodes_that_come() -> None:
    """And none of them is promised a second node while it waits for the first."""
    made, broken = 0, [what for seed in range(CLUSTERS) for what in carry_out(seed).broken]
    while made < PROMISES and len(broken) < 20:
        told = carry_out(secrets.randbits(32))
        made += told.promises
        broken.extend(told.broken)
    assert not broken, f"{len(broken)} of {made} promises:\n" + "\n".join(broken)


def _no_limits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(VolumeEvidence, "least", lambda *_: NO_VOLUMES)


def _templates_of_daemon_sets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(daemon_pods, "_seen", lambda _: {})


def _what_is_declared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(effective_group, "least_of", lambda _, stated, __: (stated, None))


def _zones_as_if_they_were_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Draft, "elsewhere", lambda *_: {})


def _no_static_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(draft, "static_pods", lambda *_: {})


def _no_promises(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stages, "promised_again", lambda *_: False)


@pytest.mark.parametrize(
    "rule",
    [_no_static_pods, _no_limits, _templates_of_daemon_sets, _what_is_declared, _zones_as_if_they_were_known, _no_promises],
)
def test_a_broken_rule_is_seen(rule: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them breaks a promise in one of a few clusters."""
    rule(monkeypatch)
    assert any(carry_out(seed).broken for seed in range(CLUSTERS))


def test_the_same_seed_is_the_same_cluster() -> None:
    """What is printed with a seed can be seen again."""
    assert carry_out(7) == carry_out(7)
