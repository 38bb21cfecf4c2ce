"""A redacted snapshot for other people: fields that decisions read stay, typed, and everything else is removed.

Of each object, only those fields stay that the reader of snapshots decodes. Pure numbers, amounts and instants stay. Words of
Kubernetes or the policy stay (see `Pseudonyms`). Names of nodes, namespaces, targets, machines and classes stay, because plans
and policies use them, unless they are to be hidden. Every other word becomes a pseudonym, and free text is removed. A pod's name
becomes a number and a pseudonym. The number keeps the order of the names: names break ties, and the plan must stay the same.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, get_args, get_origin

import msgspec
from msgspec import Raw

from reconciler.cluster import platform_reading
from reconciler.cluster.nodes.node import ATTACH_LIMIT
from reconciler.cluster.nodes.temporary_taints import PASSING_KEYS, PASSING_PREFIXES, STARTING_KEYS, STARTING_PREFIXES
from reconciler.cluster.platform_reading import node_labels, readings
from reconciler.cluster.snapshots.document import Document
from reconciler.cluster.snapshots.intake import Intake
from reconciler.cluster.targets import capacity
from reconciler.cluster.targets.hold_mark import without_reason
from reconciler.cluster.targets.owner_evidence import HOLD, LAST_APPLIED, tells_who_keeps, without_words_of_others
from reconciler.cluster.targets.size_annotations import MAX_SIZE, MIN_SIZE
from reconciler.cluster.targets.target_options import OPTIONS
from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.cluster.wire import admission, meta, pod, replicas_fields, workload
from reconciler.cluster.wire import capacity_buffer as buffer_wire
from reconciler.cluster.wire import capacity_quota as quota_wire
from reconciler.cluster.wire import pod_group as group_wire
from reconciler.cluster.wire import provisioning_request as request_wire
from reconciler.cluster.wire.pod import PodAnnotations
from reconciler.cluster.wire.replicas_fields import LastApplied
from reconciler.cluster.workloads import autoscaler
from reconciler.cluster.workloads.autoscaler import runs_autoscaler
from reconciler.cluster.workloads.capacity_buffer import capacity_buffer
from reconciler.cluster.workloads.capacity_quota import capacity_quota
from reconciler.cluster.workloads.pod_group import pod_group
from reconciler.cluster.workloads.pod_quota import QUOTA_REQUESTS, resource_quota
from reconciler.cluster.workloads.provisioning_request import provisioning_request
from reconciler.values.decoding import convert, decode
from reconciler.values.instant import InstantError, parse_instant
from reconciler.values.pseudonym import DIGITS, pseudonym
from reconciler.values.quantity import is_quantity
from reconciler.values.whole_number import whole_number

# All objects of one kind as a snapshot keeps them: one list, in the order of their names.

Object = dict[str, Any]
_encoder = msgspec.json.Encoder(order=None)


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """The items of one kind. `file` is the name in the snapshot without suffix (`management/machines`). Items have neither
    apiVersion nor kind, as in a typed list of the API. If a cloud prints its items under a key of its own, `list_key` is that
    key."""

    file: str
    api_version: str
    kind: str
    items: list[Object]
    list_key: str = ""

    def encoded(self) -> bytes:
        """The list as JSON, one item per line, so that two captures can be compared line by line."""
        body = b",\n".join(_encoder.encode(item) for item in self.items)
        if self.list_key:
            return b"{" + _encoder.encode(self.list_key) + b":[\n" + body + b"\n]}\n"
        head = _encoder.encode({"apiVersion": self.api_version, "kind": f"{self.kind}List"})
        return head[:-1] + b',"metadata":{},"items":[\n' + body + b"\n]}\n"


def name_of(item: Object) -> tuple[str, str]:
    """Namespace (empty: none) and name."""
    meta = item.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


# Words of a snapshot that leaves the company: known harmless words stay, and every other word becomes a pseudonym.
#
# A pseudonym is a keyed hash. A word has the same pseudonym in all snapshots of a cluster, so that equal words stay equal.
# Without the key, nobody can find a word by trying.

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


# The annotations that decisions read, for a snapshot that leaves the house: by exact key, word by word.

HIDDEN = "redacted"
_OF_PLATFORMS = (
    MIN_SIZE,
    MAX_SIZE,
    *(f"autoscaling-options-{name}" for name in OPTIONS),
    "replicas-managed-by",
    "paused",
    "delete-machine",
    "update-in-progress",
    "pending-acknowledge-move",
    "cluster-api-delete-machine",
    "vCPU",
    "memoryMb",
    "GPU",
    "maxPods",
    "labels",
    "taints",
)
_OTHERS = frozenset(
    {
        *capacity.KEYS,
        *(field.encode_name for field in msgspec.structs.fields(PodAnnotations)),
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "pv.kubernetes.io/bind-completed",
        "reconciler.dev/policy",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "storageclass.beta.kubernetes.io/is-default-class",
        "storageclass.kubernetes.io/is-default-class",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    }
)
_DELAYS = "delay-deletion.cluster-autoscaler.kubernetes.io/"


def read_annotations(annotations: Mapping[str, str], words: Pseudonyms, capi_group: str) -> dict[str, str]:
    """Those that stay. Of a hold stays that there is one and when it ends, of an applied manifest its replicas."""
    kept = {}
    prefixes = platform_reading.read_annotations(capi_group)
    for key, text in annotations.items():
        if key == HOLD:
            kept[key] = without_reason(text, HIDDEN)
        elif key == LAST_APPLIED:
            kept[key] = _last_applied(text)
        elif tells_who_keeps(key):
            kept[without_words_of_others(key)] = words.tokens(text)
        elif key in _OTHERS or (key.startswith(prefixes) and key.partition("/")[2] in _OF_PLATFORMS):
            kept[key] = words.tokens(text)
        elif key.startswith(_DELAYS):
            kept[_DELAYS + words.word(key.removeprefix(_DELAYS))] = words.tokens(text)
    return kept


def _last_applied(text: str) -> str:
    """The replicas of a manifest; one that cannot be read stays one, which says that nobody knows."""
    try:
        spec = decode(text, LastApplied).spec
    except DECODING_ERRORS:
        return HIDDEN
    return "{}" if spec is None or spec.replicas is None else f'{{"spec":{{"replicas":{spec.replicas}}}}}'


_CALLED_BY_NAME = ("CapacityBuffer", "CapacityQuota", "Node", "Namespace", "PriorityClass", "StorageClass", "CSIDriver")
_INSTANTS = frozenset({"creationTimestamp", "deletionTimestamp", "lastTransitionTime", "time"})
_QUANTITIES = frozenset({"capacity", "maximumVolumeSize"})
"""Fields of a CSIStorageCapacity. They are texts next to its metadata."""
_WRITTEN_BY_PEOPLE = frozenset({"message", "failureMessage", "failureReason"})
_TOKENS = frozenset({"providerID", "providerIDList"})
NEVER_SHARED = frozenset({"ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"})
"""Kinds that are left out. What selects devices is a program over their attributes, and a pseudonym would break it. Without these
kinds, pods with resource claims stay `NotModelled`."""
_PARTS: dict[tuple[type, str], Any] = {
    (meta.ManagedField, "fieldsV1"): replicas_fields.FieldSet,
    (replicas_fields.ReplicasField, "f:replicas"): pod.Present,
    (buffer_wire.AnsweringManager, "fieldsV1"): buffer_wire.StatusFieldSet,
    (buffer_wire.StatusFields, "f:conditions"): pod.Present,
    (buffer_wire.StatusFields, "f:replicas"): pod.Present,
    (buffer_wire.CapacityBuffer, "spec"): buffer_wire.BufferSpec,
    (buffer_wire.PodTemplateObject, "template"): pod.PodTemplate,
    (request_wire.ProvisioningRequest, "spec"): request_wire.RequestSpec,
    (request_wire.ProvisioningRequest, "status"): request_wire.RequestStatus,
    (group_wire.PodGroup, "spec"): group_wire.PodGroupSpec,
    (workload.ReplicaSpec, "template"): pod.PodTemplate,
    (workload.ReplicationControllerSpec, "template"): pod.PodTemplate,
    (workload.DeploymentSpec, "template"): pod.PodTemplate,
    (workload.JobSpec, "template"): pod.PodTemplate,
    (pod.PodMeta, "labels"): dict[str, str],
    (pod.PodMeta, "ownerReferences"): list[meta.OwnerReference],
    (pod.TemplateMeta, "labels"): dict[str, str],
    (pod.ContainerResources, "requests"): pod.Amounts,
    (pod.ContainerResources, "limits"): pod.Amounts,
    (pod.Container, "ports"): list[pod.ContainerPort],
    (pod.Container, "restartPolicyRules"): list[pod.RestartRule],
    (pod.PodSpec, "nodeSelector"): dict[str, str],
    (pod.PodSpec, "affinity"): pod.Affinity,
    (pod.PodSpec, "tolerations"): list[pod.Toleration],
    (pod.PodSpec, "topologySpreadConstraints"): list[pod.SpreadConstraint],
    (pod.PodSpec, "overhead"): pod.Amounts,
    (pod.PodSpec, "resourceClaims"): list[pod.ResourceClaim],
    (pod.ContainerStatus, "allocatedResources"): pod.Amounts,
    (pod.PodStatus, "allocatedResources"): pod.Amounts,
    (pod.PodStatus, "resourceClaimStatuses"): list[pod.ResourceClaimStatus],
    (quota_wire.CapacityQuota, "spec"): quota_wire.QuotaSpec,
    (admission.LimitRangeItem, "default"): pod.Amounts,
    (admission.LimitRangeItem, "defaultRequest"): pod.Amounts,
    (admission.Overhead, "podFixed"): pod.Amounts,
}
"""What the parts that a first decoding leaves as bytes are read as later. One that is missing here is dropped."""
_OF_PODS = frozenset(pod.WholePodSpec.__struct_encode_fields__)
_GONE = object()


def redacted(listings: Iterable[Listing], pseudonyms: Pseudonyms, capi_group: str = "") -> list[Listing]:
    """The same lists with what decisions read. Kinds that decisions do not read are left out. The result gives the same plan as
    the original, except for the names of pods and their objects and the words of holds."""
    redacted_listings = list(listings)
    words = pseudonyms.add((*_forms(redacted_listings), *_words())).name(_names(redacted_listings))
    cleaner = _Cleaner(words, redacted_listings, capi_group)
    shown_by = {kind.envelope.list_key: kind.shown for one in readings() for kind in one.kinds if kind.envelope is not None}
    intake = Intake(capi_group)
    result = []
    for listing in redacted_listings:
        head = Document(file=listing.file, api_version=listing.api_version, kind=listing.kind, items=[], is_list=True)
        read = intake.wire_type(head)
        if read is None or listing.kind in NEVER_SHARED:
            continue
        show = shown_by.get(listing.list_key)
        items = [cleaner.item(listing.kind, read, item) if show is None else show(item, words) for item in listing.items]
        result.append(msgspec.structs.replace(listing, items=sorted(items, key=name_of)))
    return result


def _words() -> Iterator[str]:
    """The kinds of each platform, its group, and what its facts compare."""
    for reading in readings():
        yield from (*reading.words, reading.group, *(kind.kind for kind in reading.kinds))


def _forms(listings: Iterable[Listing]) -> set[str]:
    """Kinds, versions and groups of what is called by name, and words by which a cloud's answers refer to each other."""
    forms: set[str] = set()
    of_platforms = [kind for reading in readings() for kind in reading.kinds]
    words_of = {kind.envelope.list_key: kind.words_of for kind in of_platforms if kind.envelope is not None}
    for listing in listings:
        if listing.list_key in words_of:
            forms |= {word for item in listing.items for word in words_of[listing.list_key](item)}
        if _called_by_name(listing):
            forms |= {listing.kind, listing.api_version, meta.api_group(listing.api_version)}
    return forms


def _names(listings: Iterable[Listing]) -> set[str]:
    """Namespaces, and names of what plans and policies call by name."""
    names: set[str] = set()
    for listing in listings:
        if _called_by_name(listing):
            names |= {name_of(item)[1] for item in listing.items}
        names |= {name_of(item)[0] for item in listing.items}
    return names


def _called_by_name(listing: Listing) -> bool:
    of_platforms = [kind for reading in readings() for kind in reading.kinds]
    called = {*_CALLED_BY_NAME, *(kind.kind for kind in of_platforms)}
    return listing.kind in called or listing.kind.endswith(tuple(kind.kind for kind in of_platforms if kind.any_kind_ending_so))


class _Cleaner:
    """Keeps of decoded JSON what decoding it as a wire type reads, word by word."""

    def __init__(self, pseudonyms: Pseudonyms, listings: Iterable[Listing], capi_group: str) -> None:
        self._words = pseudonyms
        self._capi_group = capi_group
        items = {kind: [item for listing in listings if listing.kind == kind for item in listing.items] for kind in _NAMED_HERE}
        self._pods = self._pod_names(items["Pod"])
        self._claims = self._claim_names(items["PersistentVolumeClaim"])

    def item(self, kind: str, read: Any, item: Object) -> Object:  # noqa: ANN401 - a wire type
        """One object of a list."""
        made: Object = self._struct(read, item)
        head: Object = item.get("metadata") or {}
        metadata: Object = made.get("metadata", {})
        namespace, name = name_of(item)
        if kind == "Pod":
            metadata["name"] = self._pods[namespace, name]
        elif kind == "PersistentVolumeClaim" and (namespace, name) in self._claims:
            metadata["name"] = self._claims[namespace, name]
        elif kind == "PersistentVolume":
            self._renamed((item.get("spec") or {}).get("claimRef"), made["spec"].get("claimRef"))
        elif read is workload.Deployment:
            _running(made, item)
        elif read is quota_wire.CapacityQuota and capacity_quota(decode(_encoder.encode(item), quota_wire.CapacityQuota)).problem:
            # Without what nobody understands it would be another quota.
            made.pop("spec", None)
        elif _not_understood(read, item):
            made.pop("spec", None)
        elif read is buffer_wire.ResourceQuota and resource_quota(decode(_encoder.encode(item), read)).problem:
            made["spec"] = {"hard": {"cpu": HIDDEN}}
        if "annotations" in head:
            given = {str(key): str(text) for key, text in (head["annotations"] or {}).items()}
            metadata["annotations"] = read_annotations(given, self._words, self._capi_group)
        for reference, shown in zip(head.get("ownerReferences") or (), metadata.get("ownerReferences") or (), strict=True):
            if shown.get("kind") == "Pod":
                shown["name"] = self._pods.get((namespace, str(reference.get("name"))), shown["name"])
        return made

    def _renamed(self, holder: object, shown: Object | None) -> None:
        if isinstance(holder, dict) and shown is not None:
            key = str(holder.get("namespace", "")), str(holder.get("name", ""))
            shown["name"] = self._claims.get(key, shown.get("name", ""))

    def _pod_names(self, pods: Iterable[Object]) -> dict[tuple[str, str], str]:
        """(namespace, name) -> another name, in the same order within the namespace."""
        by_namespace: dict[str, list[str]] = {}
        for namespace, name in sorted(map(name_of, pods)):
            by_namespace.setdefault(namespace, []).append(name)
        return {
            (namespace, name): f"pod-{number:0{len(str(len(names)))}d}-{self._words.digest(f'{namespace}/{name}')}"
            for namespace, names in by_namespace.items()
            for number, name in enumerate(names)
        }

    def _claim_names(self, claims: Iterable[Object]) -> dict[tuple[str, str], str]:
        """The same for claims that were made for one pod: their names are the pod's and the volume's."""
        names = {}
        for item in claims:
            namespace, name = name_of(item)
            references = item["metadata"].get("ownerReferences") or ()
            owner = next((str(ref.get("name", "")) for ref in references if ref.get("kind") == "Pod"), "")
            if (namespace, owner) in self._pods and name.startswith(f"{owner}-"):
                volume = self._words.word(name.removeprefix(f"{owner}-"))
                names[namespace, name] = f"{self._pods[namespace, owner]}-{volume}"
        return names

    def _clean(self, kind: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - JSON of any form
        """`value` as `kind` under `key`; `_GONE`: it does not stay."""
        if value is None or isinstance(value, bool | int | float):
            return value
        for part in _parts(kind):
            cleaned = self._as(part, value, key)
            if cleaned is not _GONE:
                return cleaned
        return _GONE

    def _as(self, kind: Any, value: Any, key: str) -> Any:  # noqa: ANN401 - JSON of any form
        if isinstance(value, str):
            return self._text(value, key) if kind is str else _GONE
        if isinstance(value, list):
            if get_origin(kind) is not list:
                return _GONE
            cleaned = (self._clean(get_args(kind)[0], item, key) for item in value)
            return [item for item in cleaned if item is not _GONE]
        if get_origin(kind) is dict:
            return self._amounts(value) if kind == pod.Amounts else self._labels(value)
        return self._struct(kind, value) if _is_struct(kind) else _GONE

    def _text(self, text: str, key: str) -> Any:  # noqa: ANN401 - a word or `_GONE`
        if key in _WRITTEN_BY_PEOPLE:
            return _GONE
        if key in _INSTANTS:
            return text if is_instant(text) else _GONE
        if (key == "resourceVersion" and whole_number(text) is not None) or (key in _QUANTITIES and is_quantity(text)):
            return text
        return self._words.tokens(text) if key in _TOKENS else self._words.word(text)

    def _labels(self, labels: Mapping[str, Any]) -> dict[str, str]:
        return {self._label(key): self._words.value(key, text) for key, text in labels.items() if isinstance(text, str)}

    def _label(self, key: str) -> str:
        word = self._words.word(key)
        return without_words_of_others(key) if word != key and tells_who_keeps(key) else word

    def _amounts(self, amounts: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: amount for key, amount in amounts.items() if isinstance(amount, int | float) or is_quantity(str(amount))}
        return {self._resource(key): amount for key, amount in kept.items()}

    def _resource(self, name: str) -> str:
        if self._words.word(name) == name:
            return name
        prefix = next((known for known in (ATTACH_LIMIT, QUOTA_REQUESTS) if name.startswith(known)), "")
        return prefix + self._words.word(name.removeprefix(prefix))

    def _struct(self, kind: type[msgspec.Struct], value: Any) -> Any:  # noqa: ANN401 - JSON of any form
        if not isinstance(value, dict):
            return _GONE
        if kind is pod.SchedulingGroup and value.keys() - {"podGroupName"}:
            return HIDDEN
        made: Object = {}
        for field in msgspec.structs.fields(kind):
            name = field.encode_name
            if name in value and name != "annotations":
                read = _part(kind, name) if field.type is Raw else field.type
                cleaned = self._clean(read, value[name], name)
                if cleaned is not _GONE:
                    made[name] = cleaned
        if kind is pod.WholePodSpec:
            # The name alone says that the pod is not modelled.
            made |= {name: HIDDEN for name in value if name not in _OF_PODS}
        key = value.get("key")
        if isinstance(key, str):
            # A taint, a toleration, a requirement: what may stay depends on the key.
            if isinstance(value.get("value"), str):
                made["value"] = self._words.value(key, value["value"])
            if isinstance(value.get("values"), list):
                made["values"] = [self._words.value(key, text) for text in value["values"] if isinstance(text, str)]
        elif "annotations" in value and kind is pod.TemplateMeta:
            given = {str(name): str(text) for name, text in (value["annotations"] or {}).items()}
            made["annotations"] = read_annotations(given, self._words, self._capi_group)
        return made


def _part(kind: type[msgspec.Struct], name: str) -> Any:  # noqa: ANN401 - a wire type
    """What a part of a struct, or of one that it extends, is read as."""
    return next((_PARTS[one, name] for one in kind.__mro__ if (one, name) in _PARTS), None)


def _not_understood(read: Any, item: Object) -> bool:  # noqa: ANN401 - a wire type
    """Whether an object that says who needs room cannot be understood."""
    if read is buffer_wire.CapacityBuffer:
        return bool(capacity_buffer(decode(_encoder.encode(item), buffer_wire.CapacityBuffer)).problem)
    if read is request_wire.ProvisioningRequest:
        return bool(provisioning_request(decode(_encoder.encode(item), request_wire.ProvisioningRequest)).problem)
    if read is group_wire.PodGroup:
        group = pod_group(decode(_encoder.encode(item), group_wire.PodGroup))
        return bool(group.problem or group.not_modelled)
    return False


def _running(made: Object, item: Object) -> None:
    """Of what a Deployment runs it stays whether that is a Cluster Autoscaler."""
    containers = convert((item.get("spec") or {}).get("template") or {}, workload.DeployedTemplate).containers
    if any(runs_autoscaler(one.image, one.command or (), one.args or ()) for one in containers):
        made["spec"]["template"] = {"spec": {"containers": [{"image": autoscaler.NAME}]}}


_NAMED_HERE = ("Pod", "PersistentVolumeClaim")


def _parts(kind: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any type that a wire struct names
    origin = get_origin(kind)
    union = origin is UnionType or (origin is not None and getattr(origin, "__name__", "") == "Union")
    return get_args(kind) if union else (kind,)


def _is_struct(kind: Any) -> bool:  # noqa: ANN401 - any type
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
