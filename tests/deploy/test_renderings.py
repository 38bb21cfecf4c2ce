"""Every rendering of chart and overlays, with every value of the chart set once: helm lint, kubeconform with the schemas of the
real API server, and its own server-side dry run accept them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.rendered import (
    ACCOUNTS,
    CHART,
    COMPONENTS,
    OVERLAYS,
    SOURCE,
    VALUES,
    Object,
    chart,
    deployment,
    helm_lint,
    helm_template,
    kubeconform,
    notes,
    of_kind,
    overlay,
    with_component,
)
from tests.deploy.served_schemas import write_schemas
from tests.testbed.api import ApiError, path_of
from tests.testbed.cluster_documents import namespace
from tests.testbed.control_plane import ControlPlane
from tests.testbed.manifests import service_monitor_definition
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError

PREVIEWER = {
    "enabled": True, "host": "gitlab", "repository": "group/policies", "url": "https://git.example.org/group/policies.git",
    "branch": "trunk", "path": "clusters/prod", "cluster": "prod",
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
    "extraArguments": ["--name=prod"],
}  # fmt: skip
EVERYTHING: Object = {
    "rights": "Enforce",
    "targetNamespaces": ["clusters"],
    "clusterAPIGroup": "capi.example.org",
    "policy": {"source": "Git", "url": SOURCE["url"], "ref": "v1", "path": "clusters/prod", "name": "prod"},
    "image": "registry.example.org/reconciler@sha256:" + "0" * 64,
    "imagePullSecrets": [{"name": "registry"}],
    "gitCredentials": {"secretName": "policy-git", "kind": "HTTPS", "username": "bot", "caKey": "ca.crt"},
    "replicas": 3,
    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "4Gi"}},
    "priorityClassName": "system-node-critical",
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}]
            }
        }
    },
    "podLabels": {"team": "platform"},
    "podAnnotations": {"example.org/note": "words"},
    "probes": {
        "startup": {"periodSeconds": 5, "failureThreshold": 90},
        "liveness": {"periodSeconds": 30, "timeoutSeconds": 9, "failureThreshold": 6},
        "readiness": {"periodSeconds": 7, "timeoutSeconds": 3},
    },
    "serviceMonitor": {
        "enabled": True, "interval": "1m", "labels": {"release": "prometheus"}, "tlsConfig": {"insecureSkipVerify": True},
    },
    "openshift": True,
    "admissionPolicies": True,
    "admissionBounds": True,
    "boundsRenewal": {
        "enabled": True, "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
        "extraArguments": ["--period=60"],
    },
    "largestTarget": 500,
    "tls": {"secretName": "pages"},
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}]},
    "extraArguments": ["--cluster-name=prod"],
    "extraVolumes": [{"name": "signers", "configMap": {"name": "signers"}}],
    "extraVolumeMounts": [{"name": "signers", "mountPath": "/etc/reconciler/signers", "readOnly": True}],
    "previewer": PREVIEWER,
    "kubeconfigSecrets": [{"namespace": "clusters", "names": ["eu-reconciler-kubeconfig", "us-reconciler-kubeconfig"]}],
}  # fmt: skip
SETS: dict[str, Object] = {
    **VALUES,
    "everything": EVERYTHING,
    "ssh": {
        **EVERYTHING, "gitCredentials": {"secretName": "policy-git", "kind": "SSH"}, "clusterAPIGroup": "cluster.x-k8s.io",
        "policy": {**SOURCE, "url": "ssh://git@git.example.org/platform/policies.git"}, "admissionPolicies": False,
        "boundsRenewal": {"enabled": False},
    },
    "custom resources": {"policy": {**SOURCE, "source": "CustomResources"}, "networkPolicy": {"enabled": False}},
    "fleet of everything": {
        **EVERYTHING, "admissionBounds": False, "kubeconfigSecrets": [{"namespace": "clusters"}], "replicas": 9,
        "policy": {**SOURCE, "name": ""},
        "fleet": {
            "enabled": True, "waveSoakSeconds": 900,
            "autoscaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 9, "loopsPerInstance": 40},
        },
    },
    "fleet that observes": {**VALUES["fleet"], "rights": "Observe"},
    "account": {**EVERYTHING, "workloadCluster": {"enabled": True, "token": False}},
    "account with a token": {"workloadCluster": {"enabled": True}},
    "all Secrets of a namespace": {**VALUES["observe"], "kubeconfigSecrets": [{"namespace": "clusters"}]},
    "flux": {"policy": {**SOURCE, "source": "Flux", "fluxSource": "flux-system/policies"}, "tls": {"secretName": "pages"}},
}  # fmt: skip
RENDERINGS = (
    *(f"chart: {name}" for name in SETS),
    *(f"overlay: {name}" for name in (*OVERLAYS, *ACCOUNTS)),
    *(f"component: {name}" for name in COMPONENTS),
)


def rendering(name: str, directory: Path) -> list[Object]:
    kind, _, which = name.partition(": ")
    if kind == "chart":
        return chart(SETS[which], directory)
    return overlay(which) if kind == "overlay" else with_component("enforce", which, directory)


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """The paths of what can be set; an empty mapping or list is one thing."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}")
    else:
        yield path


def at(value: Any, path: str) -> Any:
    for key in path.removeprefix(".").split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


@pytest.fixture(scope="module")
def schemas(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the API server serves, with ServiceMonitors beside its own kinds."""
    try:
        definition = service_monitor_definition()
    except NotAvailableError as error:
        not_run("definition of ServiceMonitors", str(error))
    control_plane.api.apply(definition, "kubectl")
    for name in ("reconciler", "clusters", "flux-system"):
        control_plane.api.apply(namespace(name), "kubectl")
    return write_schemas(control_plane.api, tmp_path_factory.mktemp("schemas"), "apis/monitoring.coreos.com/v1")


def test_every_value_is_set_once() -> None:
    """What values.yaml has, and nothing else, has another value in one of the sets than by default."""
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    same = [path for path in leaves(defaults) if all(at(values, path) in (None, at(defaults, path)) for values in SETS.values())]
    assert same == []


@pytest.mark.parametrize("name", SETS)
def test_helm_lint_takes_it(name: str, tmp_path: Path) -> None:
    """Warnings count as errors."""
    done = helm_lint(SETS[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", RENDERINGS)
def test_kubeconform_and_a_dry_run_take_it(name: str, schemas: Path, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Offline by the schemas of the server, strictly; and by the server itself, with strict field validation."""
    objects = rendering(name, tmp_path)
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    done = kubeconform(schemas, file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(objects)} resources found" in done.stdout
    for item in objects:
        path = f"{path_of(item)}?fieldManager=helm&dryRun=All&fieldValidation=Strict&force=true"
        control_plane.api.call("PATCH", path, item, "application/apply-patch+yaml")


def test_both_notice_an_unknown_field(schemas: Path, control_plane: ControlPlane, tmp_path: Path) -> None:
    """A word that no Deployment has: the check above can fail."""
    wrong = deployment(chart(VALUES["observe"], tmp_path))
    wrong["spec"]["template"]["spec"]["nodeSelectors"] = {}
    file = tmp_path / "wrong.yaml"
    file.write_text(yaml.safe_dump(wrong))
    done = kubeconform(schemas, file)
    assert done.returncode != 0
    assert "nodeSelectors" in done.stdout
    with pytest.raises(ApiError, match="nodeSelectors"):
        control_plane.api.call(
            "PATCH",
            f"{path_of(wrong)}?fieldManager=helm&dryRun=All&fieldValidation=Strict",
            wrong,
            "application/apply-patch+yaml",
        )


def test_values_reach_the_pods(tmp_path: Path) -> None:
    """Scheduling, pull secrets, probes, credentials: in the Deployment of the loop; scheduling in the previewer's too."""
    objects = {item["metadata"]["name"]: item for item in of_kind(chart(EVERYTHING, tmp_path), "Deployment")}
    for item in objects.values():
        spec = item["spec"]["template"]["spec"]
        assert {key: spec[key] for key in ("nodeSelector", "tolerations", "affinity", "imagePullSecrets")} == {
            key: EVERYTHING[key] for key in ("nodeSelector", "tolerations", "affinity", "imagePullSecrets")
        }
    template = objects["reconciler"]["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert template["spec"]["priorityClassName"] == "system-node-critical"
    assert template["metadata"]["labels"]["team"] == "platform"
    assert template["metadata"]["annotations"]["example.org/note"] == "words"
    assert container["livenessProbe"]["periodSeconds"] == 30
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "probes"}
    assert {
        "--git-password-file=/etc/reconciler/git/password", "--git-username=bot", "--git-ca-file=/etc/reconciler/git/ca.crt",
    } <= set(container["args"])  # fmt: skip


def test_another_group_of_cluster_api_reaches_everybody(tmp_path: Path) -> None:
    """Whoever reads targets: the loop, the previewer and what renews the bounds may read them, and know where they are."""
    objects = chart(EVERYTHING, tmp_path)
    for item in of_kind(objects, "Deployment"):
        (container,) = item["spec"]["template"]["spec"]["containers"]
        assert {"name": "CAPI_GROUP", "value": "capi.example.org"} in container["env"], item["metadata"]["name"]
    assert len(of_kind(objects, "Deployment")) == 3
    assert "cluster.x-k8s.io" not in {
        group
        for item in of_kind(objects, "ClusterRole")
        for rule in item.get("rules") or ()
        for group in rule.get("apiGroups", ())
    }


def test_a_key_for_ssh_is_mounted_with_the_hosts_keys(tmp_path: Path) -> None:
    """And only then: with custom resources no Secret of git is asked for."""
    template = deployment(chart({**SETS["ssh"], "previewer": {"enabled": False}}, tmp_path))["spec"]["template"]
    (container,) = template["spec"]["containers"]
    assert {"--git-ssh-key=/etc/reconciler/git/identity", "--known-hosts=/etc/reconciler/git/known_hosts"} <= set(
        container["args"]
    )
    assert [one["secret"]["secretName"] for one in template["spec"]["volumes"] if one["name"] == "git-credentials"] == [
        "policy-git"
    ]
    without = deployment(chart({**SETS["custom resources"], "gitCredentials": EVERYTHING["gitCredentials"]}, tmp_path))
    assert "git-credentials" not in str(without)


@pytest.mark.parametrize(("change", "place"), [
    ({"nodeSelector": ["a"]}, "/nodeSelector"),
    ({"tolerations": [{"effect": "Never"}]}, "/tolerations/0/effect"),
    ({"affinity": {"nodes": {}}}, "nodes"),
    ({"imagePullSecrets": ["registry"]}, "/imagePullSecrets/0"),
    ({"gitCredentials": {"secretName": "a", "kind": "Password"}}, "/gitCredentials/kind"),
    ({"gitCredentials": {"password": "secret"}}, "password"),
    ({"probes": {"liveness": {"path": "/"}}}, "path"),
    ({"serviceMonitor": {"enabled": "yes"}}, "/serviceMonitor/enabled"),
    ({"podLabels": {"app.kubernetes.io/name": "other"}}, "podLabels"),
    ({"podAnnotations": {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}}, "podAnnotations"),
], ids=str)  # fmt: skip
def test_nonsense_is_refused(change: Object, place: str, tmp_path: Path) -> None:
    """With the place of the value; a password does not belong into values at all."""
    done = helm_template({**VALUES["observe"], **change}, tmp_path)
    assert done.returncode != 0
    assert place in done.stderr


def test_the_notes_say_what_it_may_do(tmp_path: Path) -> None:
    """After an installation: its rights, and where to look."""
    said = notes(VALUES["observe"], tmp_path)
    assert "no policy can make it resize anything" in said
    assert "reconciler status --name prod --namespace reconciler" in said
    assert "It resizes groups whose policy says `mode: Enforce`" in notes(VALUES["enforce"], tmp_path)
    assert "without credentials" not in notes(EVERYTHING, tmp_path)
