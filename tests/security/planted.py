"""Objects of every kind that an API server serves, with a secret in each text that they can hold."""

import itertools
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]
MARK = "s3cr3t"
_DEPTH = 24
_IDENTITIES = ("Node", "Namespace", "PriorityClass", "StorageClass", "CSIDriver")
"""Of these, and of what Cluster API has, the name itself is told (see SECURITY.md); nothing else of them is excepted."""


class Planter:
    """Makes objects of the definitions in an OpenAPI document (version 2) and counts the secrets in them."""

    def __init__(self, document: Object) -> None:
        self._definitions: dict[str, Object] = document["definitions"]
        self._numbers = itertools.count()
        self.planted = 0

    def kinds(self) -> Iterator[tuple[str, str, Object]]:
        """apiVersion, kind and schema of each."""
        for schema in self._definitions.values():
            for name in schema.get("x-kubernetes-group-version-kind", ()):
                if "metadata" in schema.get("properties", {}):
                    version = "/".join(part for part in (name["group"], name["version"]) if part)
                    yield version, name["kind"], schema

    def item(self, kind: str, schema: Object) -> Object:
        """One object, as it stands in a typed list."""
        made: Object = {key: self._value(part, (), key) for key, part in schema["properties"].items() if key != "apiVersion"}
        made.pop("kind", None)
        if not isinstance(made["metadata"], dict):
            made["metadata"] = {}
        made["metadata"]["namespace"] = "shown"
        if kind in _IDENTITIES or kind.startswith(("Machine", "Cluster")) or kind.endswith("MachineTemplate"):
            made["metadata"]["name"] = f"shown-{next(self._numbers)}"
        return made

    def secret(self) -> str:
        """Another one each time, in characters that every field takes."""
        self.planted += 1
        return f"{MARK}-{next(self._numbers)}"

    def _value(self, schema: Object, above: tuple[str, ...], key: str) -> Any:
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in above or len(above) > _DEPTH:
                return {}
            if name.endswith((".IntOrString", ".Quantity", ".Time", ".MicroTime")):
                return self.secret()
            return self._value(self._definitions[name], (*above, name), key)
        kind = schema.get("type")
        if kind in ("integer", "number"):
            return 1
        if kind == "boolean":
            return True
        if kind == "array":
            return [self._value(schema["items"], above, key) for _ in range(2)] if "items" in schema else [self.secret()]
        if "properties" in schema:
            return {name: self._value(part, above, name) for name, part in schema["properties"].items()}
        more = schema.get("additionalProperties")
        if isinstance(more, dict):
            return {self.secret(): self._value(more, above, key), **self._known(key)}
        if kind == "string" or schema.get("x-kubernetes-int-or-string"):
            return self.secret()
        # An object of any form: field sets, embedded objects.
        return {self.secret(): self.secret(), "f:spec": {"f:replicas": {self.secret(): {}}, self.secret(): {}}}

    def _known(self, key: str) -> Object:
        """Where keys are free, those that decisions read, too: what stands under them must not be told because of the key."""
        if key == "annotations":
            return {
                name: f"{self.secret()}={self.secret()},{self.secret()}:NoSchedule; until {self.secret()}"
                for name in _ANNOTATIONS
            }
        if key in ("labels", "matchLabels", "nodeSelector"):
            return {name: self.secret() for name in _LABELS}
        return {}


_ANNOTATIONS = (
    "cluster.x-k8s.io/conversion-data",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
    "cluster.x-k8s.io/autoscaling-options-scaledownunneededtime",
    "cluster.x-k8s.io/replicas-managed-by",
    "cluster.x-k8s.io/paused",
    "cluster.x-k8s.io/delete-machine",
    "capacity.cluster-autoscaler.kubernetes.io/cpu",
    "capacity.cluster-autoscaler.kubernetes.io/labels",
    "capacity.cluster-autoscaler.kubernetes.io/taints",
    f"delay-deletion.cluster-autoscaler.kubernetes.io/{MARK}",
    "cluster-autoscaler.kubernetes.io/safe-to-evict",
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "argocd.argoproj.io/tracking-id",
    "meta.helm.sh/release-name",
    "kubectl.kubernetes.io/last-applied-configuration",
    "reconciler.dev/hold",
    "reconciler.dev/policy",
    "volume.kubernetes.io/selected-node",
    "storage.alpha.kubernetes.io/migrated-plugins",
)
_LABELS = ("app", "kubernetes.io/hostname", "cluster.x-k8s.io/cluster-name", "argocd.argoproj.io/instance", "pool")
