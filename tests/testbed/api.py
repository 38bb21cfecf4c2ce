"""A small client of the Kubernetes API for tests: JSON over a client certificate, errors as they come."""

import base64
import http.client
import json
import ssl
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

_TRIES = 20
_POLL_SECONDS = 0.05
_BUSY_SECONDS = 1.0

_PLURALS = {
    "Node": "nodes",
    "Namespace": "namespaces",
    "Pod": "pods",
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
    "PersistentVolume": "persistentvolumes",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "StorageClass": "storageclasses",
    "ServiceMonitor": "servicemonitors",
    "DeviceClass": "deviceclasses",
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "ResourceSlice": "resourceslices",
    "PriorityClass": "priorityclasses",
    "PodGroup": "podgroups",
    "NetworkPolicy": "networkpolicies",
    "HorizontalPodAutoscaler": "horizontalpodautoscalers",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "CustomResourceDefinition": "customresourcedefinitions",
    "ConfigMap": "configmaps",
    "CSINode": "csinodes",
    "CSIDriver": "csidrivers",
    "LimitRange": "limitranges",
    "ResourceQuota": "resourcequotas",
    "PodTemplate": "podtemplates",
    "CapacityBuffer": "capacitybuffers",
    "ProvisioningRequest": "provisioningrequests",
    "ProvisioningRequestConfig": "provisioningrequestconfigs",
    "AdmissionCheck": "admissionchecks",
    "ResourceFlavor": "resourceflavors",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "RuntimeClass": "runtimeclasses",
    "ReplicationController": "replicationcontrollers",
    "Secret": "secrets",
    "ReplicaSet": "replicasets",
    "Job": "jobs",
    "Service": "services",
    "Lease": "leases",
    "Event": "events",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ServiceAccount": "serviceaccounts",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
    "Cluster": "clusters",
    "ClusterClass": "clusterclasses",
    "Machine": "machines",
    "MachineDeployment": "machinedeployments",
    "MachineSet": "machinesets",
    "MachinePool": "machinepools",
    "MachineAutoscaler": "machineautoscalers",
    "NodeGroup": "nodegroups",
    "NodeGroupPolicy": "nodegrouppolicies",
    "GitRepository": "gitrepositories",
    "Kustomization": "kustomizations",
    "SimCluster": "simclusters",
    "SimClusterTemplate": "simclustertemplates",
    "SimMachine": "simmachines",
    "SimMachineTemplate": "simmachinetemplates",
    "SimMachinePool": "simmachinepools",
    "SimBootstrapConfig": "simbootstrapconfigs",
    "SimBootstrapConfigTemplate": "simbootstrapconfigtemplates",
    "SimControlPlane": "simcontrolplanes",
    "SimControlPlaneTemplate": "simcontrolplanetemplates",
}


class ApiError(Exception):
    """An answer of 300 or more."""

    def __init__(self, status: int, body: Object) -> None:
        super().__init__(f"{status}: {body.get('message', body)}")
        self.status = status
        self.body = body


class Api:
    """One user's connection to an API server, read from a kubeconfig. `diagnosis` is asked when a wait ends in vain."""

    def __init__(self, kubeconfig: Path, diagnosis: Callable[[], str] = str) -> None:
        self._diagnosis = diagnosis
        config = yaml.safe_load(kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._host, _, port = cluster["server"].removeprefix("https://").partition(":")
        self._port = int(port)
        self._context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(base64.b64decode(user["client-certificate-data"]) + base64.b64decode(user["client-key-data"]))
            pair.flush()
            self._context.load_cert_chain(pair.name)

    def connect(self, seconds: float = 120) -> http.client.HTTPSConnection:
        """A connection of one's own, for many requests or a watch; an answer may take so many seconds."""
        return http.client.HTTPSConnection(self._host, self._port, context=self._context, timeout=seconds)

    def call(self, method: str, path: str, body: Object | None = None, content_type: str = "application/json") -> Any:
        """One request; again while it met something that passes by itself. Raises ApiError, or OSError while nobody listens."""
        with closing(self.connect()) as connection:
            for _ in range(_TRIES):
                try:
                    return _sent(connection, method, path, body, content_type)
                except ApiError as error:
                    if not _passes(error, body):
                        raise
                    time.sleep(_BUSY_SECONDS if error.status == 429 else _POLL_SECONDS)
            return _sent(connection, method, path, body, content_type)

    def get(self, path: str) -> Any:
        """GET a path."""
        return self.call("GET", path)

    def create(self, *objects: Object) -> list[Object]:
        """Create objects in order; with their status where they carry one. Returns them as the server has them."""
        made = []
        for item in objects:
            path = collection(item)
            answer = self.call("POST", path, item)
            if "status" in item:
                answer = self.call(
                    "PATCH",
                    f"{path}/{item['metadata']['name']}/status",
                    {"status": item["status"]},
                    "application/merge-patch+json",
                )
            made.append(answer)
        return made

    def delete(self, item: Object) -> None:
        """Delete an object at once."""
        self.call("DELETE", path_of(item), {"gracePeriodSeconds": 0})

    def read(self, item: Object) -> Object:
        """An object as the server has it now."""
        answer: Object = self.get(path_of(item))
        return answer

    def merge(self, item: Object, change: Object, manager: str = "testbed") -> Object:
        """Merge-patch an object as a field manager (operation Update)."""
        path = f"{path_of(item)}?fieldManager={manager}"
        answer: Object = self.call("PATCH", path, change, "application/merge-patch+json")
        return answer

    def apply(self, item: Object, manager: str, *, force: bool = False) -> Object:
        """Server-side apply exactly these fields as a field manager (operation Apply)."""
        path = f"{path_of(item)}?fieldManager={manager}&force={'true' if force else 'false'}"
        answer: Object = self.call("PATCH", path, item, "application/apply-patch+yaml")
        return answer

    def scale(self, item: Object, replicas: int, manager: str = "testbed") -> Object:
        """Write replicas through the scale subresource, as kubectl scale and autoscalers do."""
        path = f"{path_of(item)}/scale?fieldManager={manager}"
        answer: Object = self.call("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")
        return answer

    def ready(self) -> bool:
        """Does the API server say that it is ready?"""
        try:
            self.get("/readyz")
        except (ApiError, OSError):
            return False
        return True

    def wait(self, path: str, holds: Callable[[list[Object]], bool], what: str, seconds: float = 300) -> list[Object]:
        """The items of a list once `holds` does. Raises TimeoutError."""
        deadline = time.monotonic() + seconds
        with closing(self.connect()) as connection:
            while True:
                items = _items(_sent(connection, "GET", path))
                if holds(items):
                    return items
                if time.monotonic() > deadline:
                    raise TimeoutError(f"{what} did not happen in {seconds:.0f} s\n{self._diagnosis()}")
                time.sleep(_POLL_SECONDS)

    def items(self, path: str) -> Iterable[Object]:
        """The items of a list, each with its kind."""
        return _items(self.get(path))


def collection(item: Object) -> str:
    """The path of the collection that an object belongs to."""
    group = item["apiVersion"]
    top = f"/apis/{group}" if "/" in group else f"/api/{group}"
    namespace = item["metadata"].get("namespace")
    return f"{top}/{f'namespaces/{namespace}/' if namespace else ''}{_PLURALS[item['kind']]}"


def path_of(item: Object) -> str:
    """The path of an object, or of the object that these fields belong to."""
    return f"{collection(item)}/{item['metadata']['name']}"


def _sent(
    connection: http.client.HTTPSConnection, method: str, path: str, body: Object | None = None, kind: str = "application/json"
) -> Any:
    headers = {"Accept": "application/json", "Content-Type": kind, "User-Agent": "testbed"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    if response.status >= 300:
        raise ApiError(response.status, _json(text))
    return _json(text)


def _passes(error: ApiError, body: Object | None) -> bool:
    """Whether the same request may be sent again: nothing was written, and what refused it passes by itself.

    SOURCE: a patch that names no resourceVersion is tried a few times by the API server and then answered with 409 where
    controllers write the object all the time; a webhook that did not answer in time refuses what it was asked about; a server
    that was just started answers 429 until its cache of a custom resource is filled.
    """
    message = str(error)
    if error.status == 429:
        return "storage is (re)initializing" in message
    if error.status == 409:
        return "the object has been modified" in message and "resourceVersion" not in (body or {}).get("metadata", {})
    return error.status == 500 and "failed calling webhook" in message and "deadline exceeded" in message


def _items(answer: Object) -> list[Object]:
    kind = answer["kind"].removesuffix("List")
    return [{"apiVersion": answer["apiVersion"], "kind": kind} | item for item in answer["items"]]


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"message": text.decode(errors="replace")}
