"""`reconciler plan --fleet`: one policy tree in the snapshots of many clusters."""

import sys
from pathlib import Path

import click
import msgspec

from reconciler.cli.inputs.decision_instant import decision_instant
from reconciler.cli.inputs.fleet_snapshots import in_directory, worlds
from reconciler.cli.inputs.plan_inputs import read_policy
from reconciler.cli.outputs.failure import EXIT_CHANGES, EXIT_ERROR, EXIT_OK, InputError
from reconciler.cli.outputs.terminal import progress, text_width, wants_colour
from reconciler.cluster.world import World, as_in_fleet, identity_of
from reconciler.decisions.decide import decide
from reconciler.decisions.memory import Memory
from reconciler.plan.fleet import ClusterPlan, FleetPlans
from reconciler.policy.tree import narrowed
from reconciler.rendering.documents.fleet.plans import fleet_plans_document, fleet_plans_values
from reconciler.rendering.printers.json_text import json_text
from reconciler.rendering.printers.markdown.document import document_markdown
from reconciler.rendering.printers.text.document import document_text
from reconciler.values.cluster_identity import ClusterIdentity


class FleetPlanAsked(msgspec.Struct, frozen=True, kw_only=True):
    """What the user named. `cluster` is a directory with a snapshot for each cluster."""

    policy: Path | None
    name: str | None
    cluster: Path | None
    now: str | None
    work_budget: int


def run_fleet_plan(asked: FleetPlanAsked, output: str, *, detailed_exitcode: bool, wide: bool) -> int:
    """Decide for each cluster, and print one line for each. A cluster without a decision makes the exit code that of an error,
    and hides no other one. Raises `InputError`."""
    if asked.cluster is None:
        raise InputError("--fleet needs --cluster DIR: a directory with a snapshot for each cluster")
    with progress("deciding for each cluster"):
        found = tuple(_plan(name, world, asked) for name, world in worlds(in_directory(asked.cluster)))
    plans = FleetPlans(source=str(asked.cluster), clusters=tuple(sorted(found, key=lambda one: one.cluster)))
    if output == "json":
        text = json_text(fleet_plans_values(plans))
    elif output == "markdown":
        text = document_markdown(fleet_plans_document(plans))
    else:
        width = 0 if wide else text_width(sys.stdout)
        text = document_text(fleet_plans_document(plans), width=width, colour=wants_colour(sys.stdout))
    click.echo(text.encode("utf-8", "replace"), nl=False)
    if plans.failed:
        return EXIT_ERROR
    return EXIT_CHANGES if detailed_exitcode and plans.changes else EXIT_OK


def _plan(cluster: str, world: World | str, asked: FleetPlanAsked) -> ClusterPlan:
    if isinstance(world, str):
        return ClusterPlan(cluster=cluster, why=world)
    now_seconds = world.captured_seconds if asked.now is None else decision_instant(asked.now)
    if not now_seconds:
        return ClusterPlan(cluster=cluster, why="nothing in the snapshot says when it was taken: give --now RFC3339")
    identity = identity_of(world) or ClusterIdentity(name=cluster)
    try:
        policy = read_policy(asked.policy, asked.name, now_seconds, identity)
    except InputError as error:
        return ClusterPlan(cluster=cluster, why=str(error), wave=identity.wave)
    # A tree that names no clusters is not narrowed by reading it; what is narrowed stays as it is.
    (here,) = narrowed((policy,), identity)
    plan = decide(as_in_fleet(world), here, Memory(), now_seconds, asked.work_budget)[0]
    return ClusterPlan(cluster=cluster, plan=plan, wave=identity.wave)
