"""`reconciler run`: the loop, live or with `--simulate` on the embedded cluster."""

from pathlib import Path

import click

from reconciler.cli.inputs.connection import connection_options
from reconciler.cli.inputs.drain_timeout import drain_timeout_option
from reconciler.cli.inputs.log_lines import LogChoice, log_options
from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.inputs.source import source_options

DEMO = "demo"


@click.command("run")
@click.option(
    "--simulate",
    "scenario",
    is_flag=False,
    flag_value=DEMO,
    metavar="[SCENARIO]",
    help="Run on the embedded cluster through a scenario file [default: a demonstration that it carries].",
)
@click.option(
    "--policy",
    "policy_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="Policy directory or file to follow [default: policies]. With --simulate, it replaces that of the scenario.",
)
@click.option(
    "--cluster",
    "cluster_path",
    metavar="PATH",
    type=NAMED_PATH,
    help="With --simulate: snapshot to start from instead of that of the scenario. Without a scenario, demand stays as it is.",
)
@click.option("--until", metavar="DURATION", help="With --simulate: virtual time to run for, such as 90m.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", help="With --simulate: format.")
@click.option(
    "--record",
    "record_path",
    metavar="DIR",
    type=NAMED_PATH,
    help="Add what pods ask for to this recording, for simulate and tune.",
)
@click.option("--read-only", is_flag=True, help="Write nothing at all: no replicas, Lease, state or events.")
@click.option("--once", is_flag=True, help="One turn without drains, then print the plan as JSON and end.")
@click.option(
    "--listen", metavar="ADDRESS", default=":8080", show_default=True, help="Where probes, metrics and plan are served."
)
@click.option("--probes", metavar="ADDRESS", help="Answer /healthz and /readyz here too, whatever happens at --listen.")
@click.option(
    "--tls-certificate",
    metavar="DIRECTORY",
    type=NAMED_PATH,
    help="Serve --listen over TLS: tls.crt and tls.key of a Secret that is mounted here. Tokens are taken over TLS only.",
)
@click.option(
    "--period",
    "period_seconds",
    metavar="S",
    type=click.FloatRange(0.1, 3600),
    default=10,
    show_default=True,
    help="Decide at least this often, in seconds. After an event, the loop decides after one second.",
)
@click.option("--namespace", metavar="NAME", help="Where Lease and state lie [default: the pod's namespace, else reconciler].")
@click.option("--fleet", is_flag=True, help="Run the loops of all Clusters that this management cluster describes.")
@click.option("--cluster-name", metavar="NAME", default="", help="Name of the cluster in plans and in spec.clusters.")
@drain_timeout_option
@click.option(
    "--lease-duration",
    "lease_seconds",
    metavar="S",
    type=click.IntRange(3, 3600),
    default=15,
    show_default=True,
    help="Another instance takes over so many seconds after this one was last heard of.",
)
@click.option(
    "--wave-soak",
    "wave_soak_seconds",
    metavar="S",
    type=click.IntRange(0, 604_800),
    default=600,
    show_default=True,
    help="In a fleet: a wave does well for so many seconds before the next takes a policy.",
)
@click.option(
    "--beside-cluster-autoscaler",
    "beside_autoscaler",
    is_flag=True,
    help="Act though a Cluster Autoscaler is alive: it has nothing to do with our targets.",
)
@click.option("--cluster-autoscaler-metrics", is_flag=True, help="Metrics under the Cluster Autoscaler's names, too.")
@click.option(
    "--webhook-secret-file",
    metavar="FILE",
    type=NAMED_PATH,
    help="Take push notifications at /webhook that this secret signs.",
)
@click.option("--notify-url", metavar="URL", help="Send news to this webhook, signed.")
@click.option("--notify-secret-file", metavar="FILE", type=NAMED_PATH, help="Secret that signs news for --notify-url.")
@click.option(
    "--notify-grade",
    type=click.Choice(["Warning", "Normal"]),
    default="Warning",
    show_default=True,
    help="Lowest grade of news that is sent.",
)
@log_options
@connection_options
@source_options
def command(
    scenario: str | None,
    policy_path: Path | None,
    cluster_path: Path | None,
    until: str | None,
    output: str,
    record_path: Path | None,
    *,
    read_only: bool,
    once: bool,
    fleet: bool,
    listen: str,
    probes: str | None,
    tls_certificate: Path | None,
    period_seconds: float,
    namespace: str | None,
    cluster_name: str,
    drain_timeout_seconds: int,
    lease_seconds: int,
    wave_soak_seconds: int,
    beside_autoscaler: bool,
    cluster_autoscaler_metrics: bool,
    webhook_secret_file: Path | None,
    notify_url: str | None,
    notify_secret_file: Path | None,
    notify_grade: str,
    log_format: str,
    log_level: str,
    context: str | None,
    kubeconfig: str | None,
    management_kubeconfig: str | None,
    management_context: str | None,
    target_namespaces: tuple[str, ...],
    **source: object,
) -> int:
    """Run the loop: follow policy and cluster, decide, act on the groups whose mode is Enforce.

    On SIGTERM, the loop finishes or undoes the drains that it began, releases the Lease and ends. With --simulate, nothing real
    is touched: cluster and clock are simulated, the decisions are real. With --simulate, the exit code is 1 if the scenario's
    expectations are not met.

    \b
    Examples:
      reconciler run --policy policies/ --context prod --read-only
      reconciler run --git https://git.example.org/policies.git \\
        --path clusters/prod --name prod
      reconciler run --custom-resources --namespace reconciler
      reconciler run --flux-source flux-system/policies --path clusters/prod
      reconciler run --fleet --git https://git.example.org/policies.git
      reconciler run --simulate
      reconciler run --simulate examples/scenarios/burst-and-fall.yaml
      reconciler run --simulate --cluster snapshot/ --policy policies/ \\
        --until 2h -o json
    """
    from reconciler.cli.inputs.source_choice import only_source, source_choice
    from reconciler.cli.outputs.failure import InputError

    choice = source_choice(source)
    only_source(choice, policy_path)
    if scenario is not None:
        if fleet:
            raise InputError("--simulate runs one cluster in memory: it does not go with --fleet")
        if choice.in_cluster:
            raise InputError("--custom-resources and --flux-source read a real cluster: they do not go with --simulate")
        from reconciler.cli.processes.simulated_loop import run_simulated

        return run_simulated(scenario, policy_path, cluster_path, until, output, choice, record_path)
    if cluster_path is not None or until is not None:
        raise InputError("--cluster and --until belong to --simulate. The live loop reads the cluster that --context names")
    from reconciler.cli.inputs.connections import ConnectionChoice
    from reconciler.cli.processes.live_loop import LoopChoice, run_live
    from reconciler.cli.processes.live_pages import Listening
    from reconciler.cli.processes.notifying import Notifying

    loop = LoopChoice(
        policy=policy_path, namespace=namespace, read_only=read_only, once=once, period_seconds=period_seconds,
        cluster_name=cluster_name, cluster_autoscaler_metrics=cluster_autoscaler_metrics,
        beside_autoscaler=beside_autoscaler, lease_seconds=lease_seconds, drain_timeout_seconds=drain_timeout_seconds,
        wave_soak_seconds=wave_soak_seconds, log=LogChoice(form=log_format, level=log_level),
        notifying=Notifying(url=notify_url, secret_file=notify_secret_file, grade=notify_grade),
        listening=Listening(
            listen=listen, probes=probes, tls_certificate=tls_certificate, webhook_secret=webhook_secret_file,
        ),
        record=record_path,
    )  # fmt: skip
    connection = ConnectionChoice(
        context=context, kubeconfig=kubeconfig, management_kubeconfig=management_kubeconfig,
        management_context=management_context, target_namespaces=target_namespaces,
    )  # fmt: skip
    if fleet and record_path is not None:
        raise InputError("--record is for the loop of one cluster: it does not go with --fleet")
    if fleet:
        from reconciler.cli.processes.fleet_loop import run_fleet

        return run_fleet(loop, connection, choice)
    return run_live(loop, connection, choice)
