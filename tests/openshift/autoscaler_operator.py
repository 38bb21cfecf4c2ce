"""OpenShift's cluster-autoscaler-operator and the autoscaler that it runs, as far as a handover meets them: neither is in a
module that can be had.

SOURCE: the operator's code. It writes owner and size annotations on the set that a MachineAutoscaler names, takes them off when
that is gone, and leaves capacity annotations and replicas. It makes a Deployment that is missing again, and does not write the
replicas of one that is there. The autoscaler sizes sets with both size annotations, through `/scale`, and renews its Lease.
"""

from datetime import UTC, datetime

from tests.openshift.objects import GROUP
from tests.testbed.api import Api, ApiError, Object

NAMESPACE = "openshift-machine-api"
MARK = "autoscaling.openshift.io/machineautoscaler"
SIZES = tuple(f"{GROUP}/cluster-api-autoscaler-node-group-{end}-size" for end in ("min", "max"))
_NAME = "cluster-autoscaler-default"


class AutoscalerOperator:
    """Acts when it is told to, on the sets of one namespace."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lease = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": "cluster-autoscaler", "namespace": NAMESPACE},
            "spec": {"holderIdentity": "cluster-autoscaler-default-0"},
        }
        self._deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": _NAME, "namespace": NAMESPACE}}

    def reconcile(self) -> None:
        """One reconcile of everything."""
        named = {
            one["spec"]["scaleTargetRef"]["name"]: one
            for one in self._api.items(_path("autoscaling.openshift.io", "machineautoscalers"))
        }
        for item in self._sets():
            annotations = item["metadata"].get("annotations") or {}
            autoscaler = named.get(item["metadata"]["name"])
            if autoscaler is not None:
                spec = autoscaler["spec"]
                owner = f"{NAMESPACE}/{autoscaler['metadata']['name']}"
                wanted: dict[str, str | None] = {
                    MARK: owner,
                    SIZES[0]: str(spec["minReplicas"]),
                    SIZES[1]: str(spec["maxReplicas"]),
                }
            elif MARK in annotations:
                wanted = dict.fromkeys((MARK, *SIZES))
            else:
                continue
            self._api.merge(item, {"metadata": {"annotations": wanted}}, "machine-autoscaler-controller")
        if not self.replicas(missing=True):
            self._api.create(self._deployment | {"spec": _spec()})

    def scales(self, name: str, replicas: int) -> bool:
        """One loop of the autoscaler in which it would have this set at `replicas`: whether it wrote."""
        if not self.replicas():
            return False
        self._renew()
        (item,) = [one for one in self._sets() if one["metadata"]["name"] == name]
        if not all(key in (item["metadata"].get("annotations") or {}) for key in SIZES):
            return False
        self._api.scale(item, replicas, "cluster-autoscaler")
        return True

    def replicas(self, *, missing: bool = False) -> int:
        """Of its Deployment; with `missing`, 1 where it is there at all."""
        try:
            there = self._api.read(self._deployment)
        except ApiError as error:
            if error.status != 404:
                raise
            return 0
        return 1 if missing else int(there["spec"]["replicas"])

    def set_replicas(self, count: int) -> None:
        """As `oc scale`."""
        self._api.scale(self._deployment, count, "oc")

    def delete_deployment(self) -> None:
        """As `oc delete deployment`."""
        self._api.delete(self._deployment)

    def gone(self) -> None:
        """Take away what is its own."""
        for item in (self._deployment, self._lease):
            try:
                self._api.delete(item)
            except ApiError as error:
                if error.status != 404:
                    raise

    def _sets(self) -> list[Object]:
        return list(self._api.items(_path(GROUP, "machinesets")))

    def _renew(self) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {**self._lease["spec"], "renewTime": now}
        try:
            self._api.merge(self._lease, {"spec": spec}, "cluster-autoscaler")
        except ApiError as error:
            if error.status != 404:
                raise
            self._api.create(self._lease | {"spec": spec})


def _path(group: str, plural: str) -> str:
    return f"/apis/{group}/v1beta1/namespaces/{NAMESPACE}/{plural}"


def _spec() -> Object:
    labels = {"k8s-app": "cluster-autoscaler"}
    role = "node-role.kubernetes.io/infra"
    spec = {
        "nodeSelector": {role: ""},
        "tolerations": [{"key": role, "operator": "Exists"}],
        "containers": [{"name": "cluster-autoscaler", "image": "none", "command": ["cluster-autoscaler"]}],
    }
    return {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
