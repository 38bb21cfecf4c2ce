"""The traits of a pod, read from the API: what a drain must know."""

from reconciler.cluster.pods.pod import (
    Owner,
    PodTraits,
)
from reconciler.cluster.values.object_parts import RawPart
from reconciler.cluster.wire import meta, pod
from reconciler.cluster.wire.meta import api_group

_owners = RawPart(list[meta.OwnerReference], "metadata.ownerReferences")


def traits(metadata: pod.PodMeta, spec: pod.PodSpec, local_volumes: tuple[str, ...]) -> PodTraits:
    """The traits of one pod. Raises `UnreadableError`."""
    controller = controlling_owner(_owners.read(metadata.owner_references))
    marks = metadata.annotations or pod.PodAnnotations()
    by_daemonset = controller is not None and controller.kind == "DaemonSet" and controller.api_group == "apps"
    grace = spec.termination_grace_period_seconds
    return PodTraits(
        namespace=metadata.namespace,
        controller=controller,
        safe_to_evict=marks.safe_to_evict,
        safe_local_volumes=tuple(sorted({name.strip() for name in (marks.safe_local_volumes or "").split(",")} - {""})),
        local_volumes=local_volumes,
        mirror=marks.mirror is not None,
        daemonset=by_daemonset or marks.daemonset_pod == "true",
        restart_policy=spec.restart_policy or "Always",
        grace_seconds=30 if grace is None else grace,
        annotations=_read_by_decisions(marks),
    )


def local_volume_names(volumes: list[pod.Volume]) -> tuple[str, ...]:
    """Volumes whose content would be lost: hostPath, and emptyDir unless its medium is Memory. Sorted."""
    return tuple(
        sorted(
            volume.name
            for volume in volumes
            if volume.host_path is not None or (volume.empty_dir is not None and volume.empty_dir.medium != "Memory")
        )
    )


def controlling_owner(references: list[meta.OwnerReference] | None) -> Owner | None:
    """The reference with `controller: true`, or None."""
    for reference in references or ():
        if reference.controller:
            return Owner(api_group(reference.api_version), reference.kind, reference.name, reference.uid)
    return None


def _read_by_decisions(marks: pod.PodAnnotations) -> tuple[tuple[str, str], ...]:
    annotations = (
        (pod.CONSUMES, marks.consumes or marks.consumes_before),
        ("cluster-autoscaler.kubernetes.io/enable-ds-eviction", marks.enable_ds_eviction),
        ("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", marks.pod_scale_up_delay),
        (pod.KARPENTER_DO_NOT_DISRUPT, marks.karpenter_do_not_disrupt),
        (pod.DO_NOT_DISRUPT, marks.do_not_disrupt),
    )
    return tuple((key, value) for key, value in annotations if value is not None)
