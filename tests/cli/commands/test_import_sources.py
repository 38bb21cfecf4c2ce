"""`import` follows the objects that carry an autoscaler's settings, and says what it does not follow. The right answers are those
of the autoscaler, its chart, and the tools that deploy it."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from reconciler.cli.main import cli

CASES = Path(__file__).parents[2] / "fixtures" / "imports"
Object = dict[str, Any]
TAGS = {"k8s.io/cluster-autoscaler/enabled": "", "k8s.io/cluster-autoscaler/harbour": ""}
VALUES = (
    "cloudProvider: aws\nawsRegion: eu-west-3\nautoDiscovery: {clusterName: harbour}\nextraArgs: {scale-down-unneeded-time: 4m}\n"
)


def run(*files: Path) -> Result:
    return CliRunner().invoke(cli, ["import", *map(str, files)], prog_name="reconciler", standalone_mode=False)


def documents(*files: Path) -> list[Object]:
    done = run(*files)
    assert done.exception is None, done.exception
    return list(yaml.safe_load_all(done.stdout))


def written(tmp_path: Path, *items: object) -> Path:
    file = tmp_path / "in.yaml"
    file.write_text("---\n".join(item if isinstance(item, str) else yaml.safe_dump(item) for item in items))
    return file


@pytest.mark.parametrize("name", ["argo-values", "argo-valuesobject", "helmrelease", "values-nested-kind"])
def test_values_are_found_in_what_deploys_them(name: str) -> None:
    """Cloud, region, discovery and a flag, from every place."""
    spec = documents(CASES / f"{name}.yaml")[0]["spec"]
    assert spec["defaults"]["scaleDown"]["unneededTime"] == "4m"
    assert spec["discovery"] == [{"name": "imported-1", "aws": {"region": "eu-west-3", "tags": TAGS}}]


WRAPPED = {
    "HelmChart": {"kind": "HelmChart", "spec": {"chart": "cluster-autoscaler", "valuesContent": VALUES}},
    "HelmChartConfig": {"kind": "HelmChartConfig", "spec": {"valuesContent": VALUES}},
    "HelmChart set": {
        "kind": "HelmChart",
        "spec": {
            "valuesContent": VALUES.replace("4m", "9m"),
            "set": {"extraArgs.scale-down-unneeded-time": "4m"},
        },
    },
    "ConfigMap": {"kind": "ConfigMap", "metadata": {"name": "v"}, "data": {"values.yaml": VALUES, "README": "no: [yaml"}},
    "Secret": {"kind": "Secret", "metadata": {"name": "v"}, "data": {"values": base64.b64encode(VALUES.encode()).decode()}},
    "parameters": {
        "kind": "Application",
        "spec": {
            "source": {
                "chart": "cluster-autoscaler",
                "helm": {
                    "values": VALUES.replace("4m", "9m"),
                    "parameters": [{"name": "extraArgs.scale-down-unneeded-time", "value": "4m"}],
                },
            }
        },
    },
    "ApplicationSet": {
        "kind": "ApplicationSet",
        "spec": {"template": {"spec": {"source": {"helm": {"values": VALUES}}}}},
    },
}


@pytest.mark.parametrize("case", WRAPPED)
def test_other_carriers_of_values(tmp_path: Path, case: str) -> None:
    """Helm controller, ConfigMaps and Secrets, and what Argo CD puts over the values."""
    spec = documents(written(tmp_path, {"apiVersion": "v1", **WRAPPED[case]}))[0]["spec"]
    assert spec["defaults"]["scaleDown"]["unneededTime"] == "4m"
    assert spec["discovery"][0]["aws"]["tags"] == TAGS


def test_an_aliased_subchart(tmp_path: Path) -> None:
    """Below whatever name, where what only this chart has tells it."""
    spec = documents(written(tmp_path, {"global": {"a": 1}, "ca": yaml.safe_load(VALUES)}))[0]["spec"]
    assert spec["discovery"][0]["aws"]["tags"] == TAGS


def test_extra_objects_in_values_are_read(tmp_path: Path) -> None:
    """The ConfigMap of the priority expander may stand there."""
    priorities = {
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cluster-autoscaler-priority-expander"},
        "data": {"priorities": "10:\n  - .*spot.*\n"},
    }  # fmt: skip
    values = yaml.safe_load(VALUES) | {"extraObjects": [priorities]}
    values["extraArgs"]["expander"] = "priority"
    spec = documents(written(tmp_path, values))[0]["spec"]
    assert spec["tiers"] == [{"name": "priority-10", "match": {"names": [".*spot.*"]}}]


@pytest.mark.parametrize("name", ["shell", "two-words"])
def test_command_lines(name: str) -> None:
    """Through a shell, and with the value in a word of its own."""
    policy, group = documents(CASES / f"{name}.yaml")
    assert policy["spec"]["defaults"]["scaleDown"]["unneededTime"] == "4m"
    assert (group["spec"]["target"], group["spec"]["size"]) == (
        {"aws": {"autoScalingGroup": "dock-a", "region": "eu-west-3"}},
        {"min": 2, "max": 9},
    )


def container(*words: str, **env: object) -> Object:
    entries = [{"name": name, **(value if isinstance(value, dict) else {"value": value})} for name, value in env.items()]
    one = {"name": "cluster-autoscaler", "image": "x", "command": ["./cluster-autoscaler"], "args": list(words), "env": entries}
    meta = {"name": "cluster-autoscaler", "namespace": "autoscaling"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": meta,
        "spec": {"template": {"spec": {"containers": [one]}}},
    }


def test_variables_of_the_container(tmp_path: Path) -> None:
    """What its environment says is filled in; what the cluster alone knows is named."""
    words = ("--cloud-provider=clusterapi", "--scale-down-unneeded-time=$(UNNEEDED)", "--max-nodes-total=$(TOTAL)",
             "--node-group-auto-discovery=clusterapi:namespace=$(HERE)", "--expendable-pods-priority-cutoff", "-10")  # fmt: skip
    here = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    total = {"valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}
    done = run(written(tmp_path, container(*words, UNNEEDED="4m", HERE=here, TOTAL=total)))
    spec = next(yaml.safe_load_all(done.stdout))["spec"]
    assert spec["defaults"]["scaleDown"]["unneededTime"] == "4m"
    assert spec["discovery"] == [{"name": "imported-1", "clusterAPI": {"namespaces": ["autoscaling"]}}]
    assert spec["pods"] == {"expendableBelowPriority": -10}
    assert "--max-nodes-total=$(TOTAL): it names a variable, and the file does not have its value" in done.stderr
    assert "limits" not in spec


def test_one_of_several_files_without_settings_is_an_error(tmp_path: Path) -> None:
    """It is named; the other one alone would do."""
    empty = written(tmp_path, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}})
    done = run(CASES / "shell.yaml", empty)
    assert str(done.exception).startswith(f"no settings of an autoscaler in {empty}: ")


def test_a_null_priority_means_every_group() -> None:
    """The autoscaler reads it as an empty expression."""
    tiers = documents(CASES / "priorities-configmap.yaml")[0]["spec"]["tiers"]
    assert [tier["match"]["names"] for tier in tiers] == [["spot*", ".*"], [".*", "od*"]]


def config_map(data: Object) -> Object:
    meta = {"name": "cluster-autoscaler-priority-expander"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


@pytest.mark.parametrize(
    ("data", "said"),
    [({"priority": "10: [a]"}, "found priority"), ({}, "found nothing"), ({"priorities": "10"}, "not a list of expressions")],
)
def test_priorities_that_the_autoscaler_does_not_read(tmp_path: Path, data: Object, said: str) -> None:
    """In words of the file, and not of a program."""
    done = run(written(tmp_path, config_map(data)))
    assert said in str(done.exception)
    assert "unpack" not in str(done.exception)


@pytest.mark.parametrize(
    ("text", "tiers"),
    [
        ("20:\n  - .*small.*\n70:\n  - .*big.*\n", [("priority-70", [".*big.*"]), ("priority-20", [".*small.*"])]),
        ("5:\n- .*\n70:\n- .*m9\\.4xlarge.*\n", [("priority-70", [".*m9\\.4xlarge.*"]), ("priority-5", [".*"])]),
        ('"30": # the last resort\n  - on-demand.*\n', [("priority-30", ["on-demand.*"])]),
        ("30: \n  - \n  - od*\n40: \n  - spot*", [("priority-40", ["spot*"]), ("priority-30", [".*", "od*"])]),
        ("30: []\n40: [a]", [("priority-40", ["a"])]),
        ({"40": ["a"]}, [("priority-40", ["a"])]),
    ],
)
def test_forms_of_priorities(tmp_path: Path, text: object, tiers: list[tuple[str, list[str]]]) -> None:
    """As the documentation of EKS, of the autoscaler and of its chart write them."""
    done = run(written(tmp_path, config_map({"priorities": text})))
    found = next(yaml.safe_load_all(done.stdout))["spec"]["tiers"]
    assert [(tier["name"], tier["match"]["names"]) for tier in found] == tiers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10: spot", "the value of priority 10 is not a list"),
        ("ten:\n- spot", "priority ten is not a whole number"),
        ("10.5:\n- spot", "priority 10.5 is not a whole number"),
        ("99999999999:\n- spot", "priority 99999999999 is not a whole number"),
        ("10:\n- [spot]", "an entry of priority 10 is not a text"),
        ("10:\n- '*spot*'", "priority 10: invalid regular expression '*spot*': nothing to repeat"),
        ("10:\n- [a", "data.priorities is not valid YAML"),
        ("10:\n- a\n10:\n- b", "data.priorities is not valid YAML"),
        ("", "data.priorities is not a list of expressions by priority"),
        ("- 10: [a]", "data.priorities is not a list of expressions by priority"),
        ("10: [a]\n---\n20: [b]", "data.priorities is not a list of expressions by priority"),
        (None, "data.priorities is not a list of expressions by priority"),
    ],
)
def test_priorities_that_cannot_be_read(tmp_path: Path, text: object, said: str) -> None:
    """The file, the place in it, what is wrong and what to write; no text is taken for a list of its letters."""
    file = written(tmp_path, config_map({"priorities": text}))
    done = run(file)
    message = str(done.exception)
    assert message.startswith(f"{file}: ConfigMap cluster-autoscaler-priority-expander: ")
    assert said in message
    assert done.stdout == ""


def test_priorities_under_another_expander_are_ignored_and_told() -> None:
    """As the autoscaler ignores them."""
    done = run(CASES / "expander-not-priority.yaml")
    assert "tiers" not in next(yaml.safe_load_all(done.stdout))["spec"]
    assert "priorities=50, 10: the expander is least-waste" in done.stderr


def test_a_cloud_without_a_platform_is_refused() -> None:
    """Nobody would size its groups."""
    assert "this build has no platform for it" in str(run(CASES / "azure.yaml").exception)


def test_openshifts_object_alone_means_openshift() -> None:
    """Its MachineSets, and nothing of Cluster API."""
    assert documents(CASES / "openshift-clusterautoscaler-only.yaml")[0]["spec"]["discovery"] == [
        {"name": "openshift", "openshift": {}}
    ]


@pytest.mark.parametrize(
    ("cloud", "label"),
    [("aws", "k8s.amazonaws.com/accelerator"), ("clusterapi", "cluster-api/accelerator")],
)
def test_limits_of_accelerators_go_by_the_clouds_own_label(tmp_path: Path, cloud: str, label: str) -> None:
    """SOURCE: `GPULabel` of the autoscaler's providers. The order of the flags is nothing."""
    file = written(tmp_path, f"--gpu-total=nvidia-tesla-t4:0:3 --cloud-provider={cloud}\n")
    limits = documents(file)[0]["spec"]["limits"]
    assert limits[0]["nodes"] == {"matchLabels": {label: "nvidia-tesla-t4"}}


def test_names_are_unique_and_the_same_in_every_run(tmp_path: Path) -> None:
    """Of long names that differ at their end, or at a sign that is kept."""
    names = [group["metadata"]["name"] for group in documents(CASES / "eksctl-names.yaml")[1:]]
    assert len(set(names)) == len(names) == 2
    assert names == [group["metadata"]["name"] for group in documents(CASES / "eksctl-names.yaml")[1:]]
    flags = " ".join(f"--nodes=0:1:MachineDeployment/fleet/{name}" for name in ("a-b", "a.b", "x" * 63, "x" * 62))
    groups = documents(written(tmp_path, f"--cloud-provider=clusterapi {flags}\n"))[1:]
    assert len({group["metadata"]["name"] for group in groups}) == 4


RELEASE = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": {"name": "ca", "namespace": "kube-system"},
    "spec": {
        "chart": {"spec": {"chart": "cluster-autoscaler"}},
        "valuesFrom": [
            {"kind": "ConfigMap", "name": "base"},
            {"kind": "Secret", "name": "own", "valuesKey": "ca.yaml"},
            {"kind": "ConfigMap", "name": "one", "valuesKey": "text", "targetPath": "extraArgs.max-node-provision-time"},
        ],
        "values": {"extraArgs": {"scale-down-unneeded-time": "4m"}},
    },
}  # fmt: skip
BASE = {"kind": "ConfigMap", "metadata": {"name": "base", "namespace": "kube-system"},
        "data": {"values.yaml": VALUES.replace("4m", "9m"), "other.yaml": "extraArgs: {new-pod-scale-up-delay: 7s}"}}  # fmt: skip
OWN = {
    "kind": "Secret", "metadata": {"name": "own"},
    "data": {"ca.yaml": base64.b64encode(b"extraArgs: {scale-down-unneeded-time: 8m, scale-down-delay-after-add: 6m}").decode()},
}  # fmt: skip
ONE = {"kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"text": "33m"}}


def test_what_a_helm_release_takes_values_from(tmp_path: Path) -> None:
    """In order, each over those before it, and its own over all; other keys of a ConfigMap say nothing."""
    spec = documents(written(tmp_path, RELEASE, BASE, OWN, ONE))[0]["spec"]
    assert spec["defaults"]["scaleDown"] == {"unneededTime": "4m"}
    assert spec["pace"] == {"delayAfterAdd": "6m"}
    assert spec["defaults"]["scaleUp"] == {"maxNodeProvisionTime": "33m"}
    assert spec["discovery"] == [{"name": "imported-1", "aws": {"region": "eu-west-3", "tags": TAGS}}]


def test_values_that_are_not_among_the_files(tmp_path: Path) -> None:
    """Each is named as not read, on stderr and in the policy."""
    done = run(written(tmp_path, RELEASE, BASE, ONE))
    told = "HelmRelease ca spec.valuesFrom[1]=Secret own, key ca.yaml: it is not among the files, so nothing of it was read"
    assert f"not converted: {told}" in done.stderr
    assert "HelmRelease ca spec.valuesFrom[1]" in done.stdout
    bare = {**RELEASE, "spec": {**RELEASE["spec"], "values": {}}}
    failed = run(written(tmp_path, bare))
    assert failed.exception is not None
    assert "HelmRelease ca spec.valuesFrom[0] refers to ConfigMap base, key values.yaml" in str(failed.exception)


def test_files_that_an_application_takes_in(tmp_path: Path) -> None:
    """valueFiles below values, a text of a file over all of them; one that is not there is named."""
    helm = {
        "valueFiles": ["values.yaml", "$values/clusters/prod.yaml", "more.yaml"],
        "values": "extraArgs: {scale-down-unneeded-time: 4m}",
        "fileParameters": [{"name": "extraArgs.max-node-provision-time", "path": "time.txt"}],
    }
    app = {"kind": "Application", "metadata": {"name": "ca"}, "spec": {"source": {"helm": helm}}}
    (tmp_path / "clusters").mkdir()
    files = {"values.yaml": VALUES.replace("4m", "9m"), "clusters/prod.yaml": "extraArgs: {scale-down-delay-after-add: 6m}"}
    for name, text in (*files.items(), ("time.txt", "33m")):
        (tmp_path / name).write_text(text)
    done = run(written(tmp_path, app), *(tmp_path / name for name in (*files, "time.txt")))
    assert done.exception is None, done.exception
    spec = yaml.safe_load(done.stdout)["spec"]
    assert (spec["defaults"]["scaleDown"], spec["pace"]) == ({"unneededTime": "4m"}, {"delayAfterAdd": "6m"})
    assert spec["defaults"]["scaleUp"] == {"maxNodeProvisionTime": "33m"}
    assert [item["name"] for item in spec["discovery"]] == ["imported-1"]
    assert "not converted: Application ca helm.valueFiles=more.yaml: it is not among the files" in done.stderr


def _deployment_of(*words: str, **fields: object) -> Object:
    item = container(*words)
    item["spec"]["template"]["spec"]["containers"][0] |= fields
    return item


def test_variables_of_config_maps(tmp_path: Path) -> None:
    """`envFrom` with its prefix, `valueFrom`, and `env` over both."""
    words = ("--scale-down-unneeded-time=$(CA_TIME)", "--max-node-provision-time=$(SLOW)", "--scan-interval=$(CA_SCAN)")
    sources = [{"prefix": "CA_", "configMapRef": {"name": "env"}}, {"secretRef": {"name": "gone"}}]
    env = [
        {"name": "CA_SCAN", "value": "5s"},
        {"name": "SLOW", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "SLOW"}}},
    ]
    data = {"TIME": "4m", "SCAN": "9s", "SLOW": "33m"}
    config = {"kind": "ConfigMap", "metadata": {"name": "env", "namespace": "autoscaling"}, "data": data}
    done = run(written(tmp_path, _deployment_of(*words, envFrom=sources, env=env), config))
    assert done.exception is None, done.exception
    spec = yaml.safe_load(done.stdout)["spec"]
    assert spec["defaults"]["scaleDown"] == {"unneededTime": "4m"}
    assert spec["defaults"]["scaleUp"] == {"maxNodeProvisionTime": "33m"}
    assert "not converted: container cluster-autoscaler envFrom[1]=Secret gone: it is not among the files" in done.stderr
    assert "--scan-interval=5s" in done.stderr


def test_a_dollar_that_is_escaped(tmp_path: Path) -> None:
    """`$$(NAME)` is the text `$(NAME)`, whatever the variable says."""
    done = run(written(tmp_path, container("--scale-down-unneeded-time=4m", "--some-flag=$$(TIME)", TIME="9m")))
    assert "not converted: --some-flag=$(TIME): " in done.stderr


def test_every_aliased_subchart(tmp_path: Path) -> None:
    """Two autoscalers in one chart: what both discover is there."""
    other = yaml.safe_load(VALUES) | {"autoDiscovery": {"clusterName": "quay"}, "extraArgs": {"max-node-provision-time": "33m"}}
    spec = documents(written(tmp_path, {"ca-a": yaml.safe_load(VALUES), "ca-b": other}))[0]["spec"]
    clusters = [list(item["aws"]["tags"]) for item in spec["discovery"]]
    assert clusters == [list(TAGS), ["k8s.io/cluster-autoscaler/enabled", "k8s.io/cluster-autoscaler/quay"]]
    assert spec["defaults"]["scaleUp"] == {"maxNodeProvisionTime": "33m"}
