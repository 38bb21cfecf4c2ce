"""Replaces words of a shared snapshot by pseudonyms. Known harmless words stay.

A pseudonym is a keyed hash. A word has the same pseudonym in all snapshots of a cluster, so that equal words stay equal.
Without the key, nobody can find a word by trying.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

from reconciler.cluster.nodes.temporary_taints import PASSING_KEYS, PASSING_PREFIXES, STARTING_KEYS, STARTING_PREFIXES
from reconciler.cluster.platform_reading import node_labels
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.pseudonym import DIGITS, pseudonym

_HARMLESS = re.compile(r"[+-]?[0-9]{1,6}%?|([0-9]{1,6}(h|m|s|ms)){1,4}|true|false|[A-Za-z]?")
_TOKEN = re.compile(r"[^,=:;/\s]+(?:/[^,=:;/\s]+)?(?==)|[^,=:;/\s]+")
_WORD_OF_TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*[A-Za-z0-9]|[A-Za-z0-9]")
_LONGEST_INSTANT = len("2026-11-21T18:00:00.123456789+01:00")
_KNOWN_BEGINNINGS = (*STARTING_PREFIXES, *PASSING_PREFIXES)
_EVERYWHERE = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that every cluster has; decisions know one of them by name."""


class Pseudonyms:
    """`salt` is the cluster's secret. `words` stay as they are, `keys` are those of labels and taints whose values do, too.
    `hides_names`: names of nodes, namespaces, targets, machines and classes are hidden too."""

    def __init__(self, salt: bytes, words: Iterable[str] = (), keys: Iterable[str] = (), *, hides_names: bool = False) -> None:
        self._salt = salt
        self._keys = KEYS.union(node_labels(), keys)
        self._words = WORDS.union(words, self._keys)
        self._names: Mapping[str, str] = {}
        self.hides_names = hides_names

    def add(self, words: Iterable[str]) -> "Pseudonyms":
        """The same with more words that stay."""
        return Pseudonyms(self._salt, self._words.union(words), self._keys, hides_names=self.hides_names)

    def name(self, names: Iterable[str]) -> "Pseudonyms":
        """The same for objects of these names: they stay, or are hidden under numbers that keep their order."""
        if not self.hides_names:
            return self.add(names)
        hidden = sorted({name for name in names if name and name not in self._words | _EVERYWHERE})
        named = self.add(_EVERYWHERE)
        digits = len(str(len(hidden)))
        named._names = {name: f"n{number:0{digits}d}-{self.digest(name)}" for number, name in enumerate(hidden)}
        return named

    def word(self, text: str) -> str:
        """One word."""
        if text in self._names:
            return self._names[text]
        if text in self._words or _HARMLESS.fullmatch(text):
            return text
        known = next((prefix for prefix in _KNOWN_BEGINNINGS if text.startswith(prefix)), "")
        if known:
            # What a plan compares is the beginning of a taint's key; the rest is somebody's word.
            rest = text.removeprefix(known)
            return known + (rest if _HARMLESS.fullmatch(rest) else pseudonym(self.digest(rest)))
        return pseudonym(self.digest(text))

    def value(self, key: str, text: str) -> str:
        """The value of a label, taint or annotation."""
        return text if key in self._keys else self.word(text)

    def tokens(self, text: str) -> str:
        """A text of several words, such as `k=v,k=v` or `cloud://zone/id`: what stands between them stays."""
        return _TOKEN.sub(lambda match: self.word(match[0]), text)

    def digest(self, text: str) -> str:
        """The pseudonym alone."""
        return hmac.new(self._salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:DIGITS]


def words_in(text: str) -> set[str]:
    """The words of a policy's text, in whatever form it is written."""
    return set(_WORD_OF_TEXT.findall(text))


def is_instant(text: str) -> bool:
    """Whether it is an RFC 3339 instant and nothing else; its fraction has no room for another number."""
    if len(text) > _LONGEST_INSTANT:
        return False
    try:
        parse_instant(text)
    except InstantError:
        return False
    return True


KEYS = frozenset(
    f"{domain}{name}"
    for domain, names in (
        ("kubernetes.io/", ("arch", "os")),
        ("beta.kubernetes.io/", ("arch", "os", "instance-type")),
        ("node.kubernetes.io/", ("instance-type",)),
        ("topology.kubernetes.io/", ("region", "zone")),
        ("failure-domain.beta.kubernetes.io/", ("region", "zone")),
        # By these the volume drivers of the clouds tell zones apart.
        ("topology.ebs.csi.aws.com/", ("zone",)),
        ("topology.gke.io/", ("zone",)),
        ("topology.disk.csi.azure.com/", ("zone",)),
        ("topology.cinder.csi.openstack.org/", ("zone",)),
    )
    for name in names
)
"""Labels of nodes that say where and what a node is, whatever platform made it."""

_WORDS = """
Node Pod Namespace ReplicaSet ReplicationController StatefulSet DaemonSet Deployment Job PodDisruptionBudget
PriorityClass PersistentVolume PersistentVolumeClaim StorageClass CSINode CSIDriver CSIStorageCapacity VolumeAttachment
LimitRange RuntimeClass Container CapacityQuota nodes

CapacityBuffer PodTemplate ResourceQuota core buffer.x-k8s.io/active-capacity requests.cpu requests.memory
requests.ephemeral-storage count/pods requests.nvidia.com/gpu BestEffort NotBestEffort NotTerminating

ProvisioningRequest Provisioned BookingExpired CapacityRevoked ValidUntilSeconds noRetry true
check-capacity.reconciler.dev best-effort-atomic-scale-up.reconciler.dev
check-capacity.autoscaling.x-k8s.io best-effort-atomic-scale-up.autoscaling.x-k8s.io autoscaling.x-k8s.io/v1

v1 v1alpha1 v1beta1 v1beta2 apps/v1 batch/v1 policy/v1 apps batch policy Ready True False Unknown MemoryPressure
DiskPressure PIDPressure NetworkUnavailable PodScheduled Unschedulable SchedulingGated Initialized ContainersReady

DisruptionTarget PodResizePending PodResizeInProgress Deferred Infeasible Available Pending Running Succeeded Failed
Deleted Bound Released Terminating Always OnFailure Never Restart RestartAllContainers NoSchedule PreferNoSchedule

NoExecute Exists Equal In NotIn DoesNotExist Gt Lt DoNotSchedule ScheduleAnyway Honor Ignore ReadWriteOnce ReadOnlyMany

ReadWriteMany ReadWriteOncePod Filesystem Block Immediate WaitForFirstConsumer Memory HugePages TCP UDP SCTP
IfHealthyBudget AlwaysAllow Apply Update scale status cpu memory ephemeral-storage pods storage hugepages-1Gi

hugepages-2Mi nvidia.com/gpu amd.com/gpu gpu.intel.com/i915 attachable-volumes-aws-ebs attachable-volumes-gce-pd
attachable-volumes-azure-disk attachable-volumes-cinder linux windows amd64 arm64 ppc64le s390x default-scheduler
kubernetes.io/hostname kubernetes.io/metadata.name metadata.name node-role.kubernetes.io/control-plane
node-role.kubernetes.io/master node-role.kubernetes.io/infra statefulset.kubernetes.io/pod-name pod-template-hash

controller-revision-hash pod-template-generation job-name batch.kubernetes.io/job-name cloud.google.com/gke-accelerator
node.kubernetes.io/exclude-from-external-load-balancers node.kubernetes.io/not-ready node.kubernetes.io/unreachable
node.kubernetes.io/unschedulable node.kubernetes.io/memory-pressure node.kubernetes.io/disk-pressure
node.kubernetes.io/pid-pressure node.kubernetes.io/network-unavailable node.cloudprovider.kubernetes.io/uninitialized
reconciler.dev/deleting ToBeDeletedByClusterAutoscaler DeletionCandidateOfClusterAutoscaler system-cluster-critical
system-node-critical kubernetes.io/no-provisioner kubernetes.io/aws-ebs kubernetes.io/gce-pd kubernetes.io/azure-disk

kubernetes.io/cinder kubernetes.io/vsphere-volume kubernetes.io/portworx-volume ebs.csi.aws.com pd.csi.storage.gke.io
disk.csi.azure.com cinder.csi.openstack.org csi.vsphere.vmware.com virtualMachineScaleSets nodegroup-reconciler
cluster-autoscaler kubectl kubectl-create kubectl-edit kubectl-patch kubectl-replace kubectl-set k9s oc Mozilla
kubectl-client-side-apply kubectl-last-applied helm

Helm argocd-controller argocd-application-controller kustomize-controller helm-controller flux-client-side-apply
terraform Terraform HashiCorp pulumi-kubernetes manager before-first-apply ancient-changes kube-controller-manager
kube-scheduler external
"""
WORDS = frozenset(_WORDS.split()).union(STARTING_KEYS, PASSING_KEYS)
"""What Kubernetes and the tools around it write, as far as decisions compare it; platforms have words of their own."""
