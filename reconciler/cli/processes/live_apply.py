"""`reconciler apply` on a live cluster: options to one process that leads until the plan is done."""

import os
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.connections import own_namespace
from reconciler.cli.inputs.live_inputs import LiveInputs
from reconciler.cli.outputs.failure import InputError
from reconciler.cli.outputs.telling import tell
from reconciler.control.live.live_process import LiveProcess, Settings
from reconciler.control.log import Log
from reconciler.control.saved_plans.live_apply import FixedSource, LiveApply
from reconciler.kube.drain_mark import checked_owner
from reconciler.kube.leading.lease import Timing
from reconciler.kube.watching.watch_pace import RealPace
from reconciler.providers.live_platforms import asks_clouds, names_clouds, nothing_to_size

if TYPE_CHECKING:
    from reconciler.control.saved_plans.apply import Applied, RemovalTerms
    from reconciler.plan.plan import Plan
    from reconciler.policy.documents import PolicySet

VIEW_SECONDS = 60.0
_PERIOD_SECONDS = 2.0
_LOOK_SECONDS = 0.2


def apply_live(
    live: LiveInputs,
    policy: "PolicySet",
    saved: "Plan",
    terms: "RemovalTerms | None",
    *,
    namespace: str | None,
    drain_timeout_seconds: int,
    work_budget: int,
) -> "tuple[Applied, tuple[str, ...]]":
    """Lead, carry the plan out, see its drains to their end, and give the Lease back. Ended by SIGTERM or SIGINT: drains that
    are under way are finished or undone. Raises `InputError`, also while a loop leads."""
    pace = RealPace()
    process = _process(live, policy, own_namespace(namespace), drain_timeout_seconds)
    before = {number: signal.signal(number, lambda *_: process.wake.stop()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        process.start()
        _lead(process, pace)
        if not process.view.wait(VIEW_SECONDS):
            raise InputError(f"no view to trust within {VIEW_SECONDS:.0f} s: {process.view_problem()}")
        execution = LiveApply(process, saved, terms, pace, tell, work_budget=work_budget)
        return execution.run()
    finally:
        process.stop()
        for number, handler in before.items():
            signal.signal(number, handler)


def _lead(process: LiveProcess, pace: RealPace) -> None:
    """Wait for the Lease. A holder that renews it while we look is alive: refused at once. One that does not is waited for as
    long as its lease lasts, as any instance would."""
    lease = process.lease
    began = pace.monotonic()
    seen = renewed = ""
    patience = 2.0 * process.settings.lease.duration_seconds + 10
    while not process.leads():
        holder, renewed, lasts = lease.standing
        patience = max(patience, 2.0 * lasts + 10)
        if holder and seen and renewed != seen:
            raise InputError(
                f"{holder} leads for policy {process.settings.name} in namespace {process.settings.namespace}: a running loop "
                "decides by itself. Stop it first (kubectl scale deployment, replicas 0), or run it with --read-only"
            )
        if lease.refused:
            where = process.settings.namespace
            raise InputError(
                f"no Lease of policy {process.settings.name} in namespace {where}: {lease.message}. Make the namespace "
                f"(kubectl create namespace {where}) and the rights there, or name another with --namespace"
            )
        seen = seen or renewed
        if pace.monotonic() - began > patience:
            why = lease.message or f"{holder or 'somebody'} holds it"
            raise InputError(f"the Lease of policy {process.settings.name} was not to be had in {patience:.0f} s: {why}")
        if process.wake.stopped:
            raise click.Abort
        pace.pause(_LOOK_SECONDS)


def _process(live: LiveInputs, policy: "PolicySet", namespace: str, drain_timeout_seconds: int) -> LiveProcess:
    name = policy.policy.name
    try:
        checked_owner(name)
    except ValueError as error:
        raise InputError(f"the policy's name: {error}") from None
    connections = live.connections
    if not (connections.served or asks_clouds(os.environ) or names_clouds(policy)):
        raise InputError(nothing_to_size(connections.management.server))
    settings = Settings(
        name=name,
        namespace=namespace,
        identity=f"apply-{os.environ.get('POD_NAME') or socket.gethostname()}_{os.getpid()}_{os.urandom(4).hex()}",
        cluster=live.name,
        target_namespaces=live.namespaces,
        served=connections.served,
        period_seconds=_PERIOD_SECONDS,
        drain_timeout_seconds=drain_timeout_seconds,
        lease=Timing(),
    )
    return LiveProcess(
        settings, connections.workload, connections.management, lambda *_: FixedSource(policy),
        Log(sys.stderr, lambda: int(time.time())), now_seconds=lambda: int(time.time()), wall_seconds=time.time,
    )  # fmt: skip
