"""Cluster API's own definitions and webhooks, as its module carries them, pointed at one running program."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.testbed.api import Object
from tests.testbed.cache import cache_directory, content_key, locked
from tests.testbed.go_modules import module_directory
from tests.testbed.programs import PROGRAMS

_MODULE = "sigs.k8s.io/cluster-api"
_DEFINITIONS = "core/config/crd/bases"
_WEBHOOKS = "core/config/webhook/manifests.yaml"
_PROMETHEUS = "github.com/prometheus-operator/prometheus-operator"
_MONITORS = "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"
_KARPENTER, _BUFFERS = "sigs.k8s.io/karpenter", "pkg/apis/crds/autoscaling.x-k8s.io_capacitybuffers.yaml"
_AUTOSCALER, _REQUESTS = "k8s.io/autoscaler/cluster-autoscaler/apis", "config/crd/autoscaling.x-k8s.io_provisioningrequests.yaml"
_FLUX = ("kustomize-controller", "source-controller")
_FLUX_DEFINITIONS = "config/crd/bases"
_MACHINE_API = "machine/v1beta1/zz_generated.crd-manifests"


def cluster_api_manifests() -> Path:
    """All CRDs and webhook configurations in one JSON file, taken from the module once. Raises NotAvailableError."""
    module = PROGRAMS["cluster-api"].module
    target = cache_directory() / f"cluster-api-{content_key([module / 'go.mod'], _DEFINITIONS, _WEBHOOKS)}.json"
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            source = module_directory(module, _MODULE)
            files = [*sorted((source / _DEFINITIONS).glob("*.yaml")), source / _WEBHOOKS]
            objects = [item for file in files for item in yaml.load_all(file.read_text(), yaml.CSafeLoader) if item]
            partial = target.with_suffix(".partial")
            partial.write_text(json.dumps(objects))
            partial.rename(target)
    return target


def machine_api_manifests(variant: str = "Default") -> Path:
    """The definitions of MachineSets and Machines for one set of features (`Default`, `TechPreviewNoUpgrade`) in one JSON file,
    taken from the module of OpenShift's API once. Raises NotAvailableError."""
    module = Path(__file__).parent / "modules" / "openshift-api"
    target = cache_directory() / f"machine-api-{content_key([module / 'go.mod'], variant, _MACHINE_API)}.json"
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            source = module_directory(module, "github.com/openshift/api") / _MACHINE_API
            files = [source / f"0000_10_machine-api_01_{plural}-{variant}.crd.yaml" for plural in ("machines", "machinesets")]
            objects = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in files]
            partial = target.with_suffix(".partial")
            partial.write_text(json.dumps(objects))
            partial.rename(target)
    return target


def flux_manifests() -> Path:
    """The definitions of Flux's Kustomizations and sources in one JSON file, taken from the modules of their controllers once.
    Raises NotAvailableError."""
    modules = [PROGRAMS[f"flux-{name}"].module for name in _FLUX]
    # Both files have the same name.
    key = content_key([modules[0] / "go.mod"], content_key([modules[1] / "go.mod"]), _FLUX_DEFINITIONS)
    target = cache_directory() / f"flux-{key}.json"
    with locked(target.with_name(f"{target.name}.lock")):
        if not target.exists():
            files: list[Path] = []
            for name, module in zip(_FLUX, modules, strict=True):
                source = module_directory(module, f"github.com/fluxcd/{name}") / _FLUX_DEFINITIONS
                files += sorted(source.glob("*.yaml"))
            objects = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in files]
            partial = target.with_suffix(".partial")
            partial.write_text(json.dumps(objects))
            partial.rename(target)
    return target


def capacity_buffer_definition() -> Object:
    """The definition of CapacityBuffers, as the module of Karpenter carries it. Raises NotAvailableError."""
    module = Path(__file__).parent / "modules" / "karpenter"
    found: Object = yaml.load((module_directory(module, _KARPENTER) / _BUFFERS).read_text(), yaml.CSafeLoader)
    return found


def provisioning_request_definition() -> Object:
    """The definition of ProvisioningRequests, as the module of the Cluster Autoscaler's API carries it. Raises
    NotAvailableError."""
    module = Path(__file__).parent / "modules" / "cluster-autoscaler-apis"
    found: Object = yaml.load((module_directory(module, _AUTOSCALER) / _REQUESTS).read_text(), yaml.CSafeLoader)
    return found


def kueue_manifests() -> list[Object]:
    """The definitions of Kueue and its webhooks, as its module carries them, under the names that it looks for. Raises
    NotAvailableError."""
    source = module_directory(PROGRAMS["kueue"].module, "sigs.k8s.io/kueue") / "config" / "components"
    files = [*sorted((source / "crd" / "bases").glob("*.yaml")), source / "webhook" / "manifests.yaml"]
    objects: list[Object] = [item for file in files for item in yaml.load_all(file.read_text(), yaml.CSafeLoader) if item]
    converted = {
        yaml.load((source / "crd" / file).read_text(), yaml.CSafeLoader)["metadata"]["name"]
        for one in yaml.load((source / "crd" / "kustomization.yaml").read_text(), yaml.CSafeLoader)["patches"]
        if (file := one["path"])
    }
    for item in objects:
        if item["kind"] != "CustomResourceDefinition":
            item["metadata"]["name"] = f"kueue-{item['metadata']['name']}"
        elif item["metadata"]["name"] in converted:
            service = {"service": {"path": "/convert"}}
            webhook = {"conversionReviewVersions": ["v1"], "clientConfig": service}
            item["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return objects


def service_monitor_definition() -> Object:
    """The definition of ServiceMonitors, as the module of the Prometheus operator carries it. Raises NotAvailableError."""
    module = PROGRAMS["kubeconform"].module
    found: Object = yaml.load((module_directory(module, _PROMETHEUS) / _MONITORS).read_text(), yaml.CSafeLoader)
    return found


def served_manifests(url: str, authority: str) -> list[Object]:
    """The definitions and webhooks with `url` (https://host:port) behind every webhook; `authority` is the CA in base64."""
    objects: list[Object] = json.loads(cluster_api_manifests().read_text())
    for item in objects:
        if item["kind"] == "CustomResourceDefinition":
            webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": f"{url}/convert", "caBundle": authority}}
            item["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        else:
            item["metadata"]["name"] = f"capi-{item['metadata']['name']}"
            for config in _client_configs(item):
                path = config.pop("service")["path"]
                config |= {"url": f"{url}{path}", "caBundle": authority}
    return objects


def _client_configs(item: Object) -> Iterator[Any]:
    for webhook in item["webhooks"]:
        yield webhook["clientConfig"]
