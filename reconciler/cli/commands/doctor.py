"""`reconciler doctor`: what this installation is, whether the loop can run on a cluster, and what is worth fixing there."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.plan import input_options, live_options

if TYPE_CHECKING:
    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.inputs.plan_inputs import PlanInputs
    from reconciler.control.needed_rights import RunMode
    from reconciler.plan.finding import Finding
    from reconciler.providers.findings import Check


@click.command("doctor")
@input_options
@click.option(
    "--mode",
    type=click.Choice(["ReadOnly", "Observe", "Enforce"]),
    help="Check the rights of this way of running [default: the policy's mode].",
)
@click.option("--require-cluster", is_flag=True, help="Exit with an error when no live cluster was checked.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format.")
@click.option("--wide", is_flag=True, help="Text: every finding by itself, every node by name.")
@live_options
def command(
    policy_path: Path | None,
    name: str | None,
    cluster_path: Path | None,
    now: str | None,
    work_budget: int | None,
    mode: str | None,
    output: str,
    *,
    require_cluster: bool,
    wide: bool,
    namespace: str | None,
    **connection: object,
) -> int:
    """Show which build runs. On a live cluster, check whether the loop can run there: rights, versions, clocks, other
    autoscalers. Then list the faults that are worth fixing. For nodes: those that differ from each other or from their
    template. For workloads: no requests, no disruption budget, or a budget that blocks every drain. For targets: annotations
    without effect, and replicas that a topology declares.

    Certificates and tokens of the kubeconfig are checked as well: a warning if one ends within 30 days, an error if it has ended.
    So are the kubeconfig Secrets of workload clusters that we may read.

    Without --cluster, doctor looks at the current context, if there is one. If a cloud does not answer, that check fails and the
    others continue. What could not be checked is named. Findings are advice. The exit code is 1 only if a check fails, so that
    the loop could not run, or if --require-cluster finds no live cluster. No write access is needed.

    \b
    Examples:
      reconciler doctor
      reconciler doctor --context prod --policy policies/ --mode Enforce
      reconciler doctor --policy policies/ --cluster snapshot/
      reconciler doctor --context prod -o json \\
        | jq '.checks[] | select(.state != "Pass")'
    """
    import platform

    import yaml

    from reconciler import __version__
    from reconciler.cli.inputs.connections import connection_choice
    from reconciler.cli.outputs.failure import EXIT_ERROR, EXIT_OK, InputError
    from reconciler.rendering.documents.doctor import CheckLine, DoctorDocument, not_checked
    from reconciler.rendering.printers.json_text import json_text
    from reconciler.rendering.printers.text.doctor import doctor_text
    from reconciler.scheduling.kernels import active_build

    installation = {
        "reconciler": __version__,
        "python": platform.python_version(),
        "kernels": active_build(),
        "yaml": "libyaml" if hasattr(yaml, "CSafeLoader") else "pure Python",
    }
    choice = connection_choice(connection)
    checks: tuple[Check, ...] = ()
    findings: tuple[Finding, ...] = ()
    cluster = ""
    missing = _no_live_cluster(choice) if cluster_path is None else "a snapshot was given"
    if cluster_path is not None or not missing:
        from reconciler.cli.inputs.plan_inputs import read_inputs

        live = None
        credentials: tuple[Check, ...] = ()
        if cluster_path is None:
            credentials = _credentials(choice)
            live = _connected(choice, credentials)
        inputs = read_inputs(policy_path, name, cluster_path, now, choice, namespace, live=live)
        cluster = inputs.world.name or str(cluster_path)
        findings = _findings(inputs, work_budget)
        if live is not None:
            checks = (*_checks(live, inputs, mode, namespace), *credentials)
    lines = (CheckLine(code=check.code, state=str(check.state), message=check.message, advice=check.advice) for check in checks)
    document = DoctorDocument(
        installation=installation,
        cluster=cluster,
        checks=tuple(lines),
        findings=findings,
        not_checked=not_checked(missing, snapshot=cluster_path is not None),
    )
    click.echo(json_text(document) if output == "json" else doctor_text(document, wide=wide), nl=False)
    if require_cluster and missing:
        raise InputError(f"no live cluster was checked: {missing}")
    return EXIT_ERROR if document.failed else EXIT_OK


def _no_live_cluster(choice: "ConnectionChoice") -> str:
    """Why no live cluster is checked: none is named, and no kubeconfig or service account was found. Empty otherwise."""
    import os

    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.kube.connection.connection_choice import ConnectionConfigError, choose

    if choice != ConnectionChoice():
        return ""
    try:
        choose(None, None, os.environ)
    except ConnectionConfigError as error:
        return str(error)
    return ""


def _credentials(choice: "ConnectionChoice") -> "tuple[Check, ...]":
    """Whether what the kubeconfig holds ends soon. Nothing is connected for it."""
    import os
    import time

    from reconciler.cli.inputs.kubeconfig_credentials import kubeconfig_credentials
    from reconciler.control.credential_ends import credentials_check

    return credentials_check(kubeconfig_credentials(choice, os.environ), int(time.time()))


def _connected(choice: "ConnectionChoice", credentials: "tuple[Check, ...]") -> "LiveInputs":
    """Raises `InputError`, which also says that a credential has ended."""
    from reconciler.cli.inputs.live_inputs import LiveInputs
    from reconciler.cli.outputs.failure import InputError
    from reconciler.providers.findings import State

    try:
        return LiveInputs(choice, clouds_needed=False)
    except InputError as error:
        ended = "".join(f"\n{check.message}" for check in credentials if check.state is State.FAIL)
        raise InputError(f"{error.message}{ended}") from None


def _findings(inputs: "PlanInputs", work_budget: int | None) -> "tuple[Finding, ...]":
    from reconciler.decisions.decide import DEFAULT_WORK_BUDGET
    from reconciler.decisions.lints.cluster import findings_of

    steps = DEFAULT_WORK_BUDGET if work_budget is None else work_budget
    return findings_of(inputs.world, inputs.policy, inputs.memory, inputs.now_seconds, steps)


def _checks(live: "LiveInputs", inputs: "PlanInputs", mode: str | None, namespace: str | None) -> "tuple[Check, ...]":
    import time

    from reconciler.cli.inputs.connections import own_namespace
    from reconciler.cli.outputs.failure import InputError
    from reconciler.control.credential_ends import secrets_check
    from reconciler.control.preflight import Preflight
    from reconciler.kube.connection.api import ApiError, UnreachableError

    try:
        checks = Preflight(
            workload=live.connections.workload,
            management=live.connections.management,
            served=live.connections.served,
            mode=_mode(inputs, mode),
            namespace=own_namespace(namespace),
            target_namespaces=live.namespaces,
            templates=live.templates,
            world=inputs.world,
            memory=inputs.memory,
            now_seconds=time.time(),
            policy=inputs.policy,
        ).checks()
        return (*checks, *secrets_check(live.connections.management, inputs.world.clusters, int(time.time())))
    except (ApiError, UnreachableError) as error:
        raise InputError(f"the checks broke off: {error}") from None


def _mode(inputs: "PlanInputs", mode: str | None) -> "RunMode":
    from reconciler.control.needed_rights import RunMode

    return RunMode(mode or str(inputs.policy.policy.mode))
