"""`reconciler import`: another autoscaler's settings as a policy. Reads files only."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.inputs.named_path import NAMED_PATH
from reconciler.cli.outputs.telling import tell

if TYPE_CHECKING:
    from reconciler.importers.settings import ImportedSettings


@click.command("import")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=NAMED_PATH)
@click.option("--out", "out", metavar="DIR", type=NAMED_PATH, help="Directory to write [default: print it].")
@click.option("--force", is_flag=True, help="Overwrite the files of the same names there.")
@click.option("--name", metavar="NAME", default="imported", show_default=True, help="Name of the policy.")
@click.option("--region", metavar="NAME", default="", help="Region or location of the targets, where they are a cloud's.")
def command(paths: tuple[Path, ...], *, out: Path | None, force: bool, name: str, region: str) -> None:
    """Convert the settings of another autoscaler to a policy in mode Observe. It reads OpenShift (ClusterAutoscaler,
    MachineAutoscaler), Karpenter (NodePool), eksctl (ClusterConfig) and the Cluster Autoscaler. For the Cluster Autoscaler, it
    reads the Deployment, the values of the Helm chart, text with flags, the ConfigMap of the priority expander, and
    CapacityQuota. Of kube-scheduler's configuration file, it reads the default constraints of topology spread.

    Every value names its source. A setting without an equivalent stays as a comment with the reason, and is reported on
    stderr. Sizes in annotations of targets and tags of Auto Scaling groups are read as they are and need no conversion. A group
    whose target is not in the files is commented out.

    \b
    Examples:
      kubectl -n kube-system get deploy cluster-autoscaler -o yaml > ca.yaml \\
        && reconciler import ca.yaml
      reconciler import ca.yaml priority-expander.yaml --out policies/ --name prod
      helm get values cluster-autoscaler -n kube-system -o yaml > values.yaml \\
        && reconciler import values.yaml --out policies/
      oc get clusterautoscaler,machineautoscaler -A -o yaml > openshift.yaml \\
        && reconciler import openshift.yaml --out policies/
      kubectl get nodepools -o yaml > nodepools.yaml \\
        && reconciler import nodepools.yaml --out policies/
      reconciler import cluster.eksctl.yaml --out policies/
    """
    import time

    from reconciler.cli.commands.policy_output import check_policies, write_policies
    from reconciler.cli.inputs.policy_files import read_policy_files
    from reconciler.cli.outputs.failure import InputError
    from reconciler.importers import capacity_quota, karpenter, scheduler_configuration
    from reconciler.importers.conversion import UnsupportedCloudError
    from reconciler.importers.document import imported_policy
    from reconciler.importers.settings import ImportedFileError, ImportedSettings, settings_in
    from reconciler.importers.sources import NOT_THERE, Sources
    from reconciler.policy.platform.autoscaler_flags import PlaceNeededError, platform_flags
    from reconciler.rendering.manifests.group_names import policy_name
    from reconciler.rendering.words.plain import plain

    if name != policy_name(name):
        raise InputError(f"--name {name}: lower-case letters, digits, '-' and '.', such as {policy_name(name)}")
    imported, empty = ImportedSettings(), list[str]()
    try:
        files_given = read_policy_files(paths, as_given=True)
        sources = Sources(files_given)
        for file, body in files_given.items():
            one = settings_in(file, body, sources)
            empty += [] if _anything(one) or sources.fully_taken_in(file) else [file]
            imported += one
    except ImportedFileError as error:
        raise InputError(plain(str(error))) from None
    if empty or not _anything(imported):
        of_platforms = (one.objects_called for one in platform_flags() if one.objects_called)
        called = ", ".join([karpenter.CALLED, capacity_quota.CALLED, scheduler_configuration.CALLED, *of_platforms])
        raise InputError(
            f"no settings of an autoscaler in {', '.join(empty or map(str, paths))}: a Deployment of the Cluster Autoscaler, "
            f"its flags, values of its Helm chart, or {called} are understood"
            + "".join(f". {one.name} refers to {one.value}: {NOT_THERE}" for one in dict.fromkeys(imported.missing))
        )
    try:
        files, notes = imported_policy(imported, name, region)
    except UnsupportedCloudError as error:
        clouds = ", ".join(sorted(cloud for one in platform_flags() for cloud in one.clouds))
        raise InputError(plain(f"{error}: this build has no platform for it, only for {clouds}")) from None
    except PlaceNeededError as error:
        raise InputError(plain(f"{error}: --region NAME says where they are, such as --region eu-central-1")) from None
    now_seconds = int(time.time())
    if out is None:
        check_policies(files, now_seconds)
        click.echo("---\n".join(files.values()), nl=False)
    else:
        write_policies(out, files, now_seconds, force=force)
        tell(f"{', '.join(str(out / file) for file in files)}. Next: reconciler plan --policy {out}")
    waiting = files.get("groups.yaml", "").count("\n# kind: NodeGroup\n")
    if waiting:
        tell(f"note: some groups are commented out, each with the reason: {waiting}. Look for 'Not in force'")
    for note in notes:
        click.echo(plain(f"not converted: {note.setting.name}={note.setting.value}: {note.why}"), err=True)


def _anything(imported: "ImportedSettings") -> bool:
    """Whether a file says something to an autoscaler."""
    from reconciler.importers.conversion import Conversion

    understood = any(Conversion().known(setting) for setting in imported.settings)
    return bool(understood or imported.sized or imported.priorities or imported.annotated or imported.objects)
