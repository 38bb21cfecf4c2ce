"""`import` of Karpenter's NodePool, eksctl's ClusterConfig and CapacityQuota: what maps, and the name of every key that does not.

The inputs are written after the public documentation of each kind. The right answers are worked out by hand.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from reconciler.cli.main import cli
from tests.cli.wrong_inputs import QUICKSTART, WORDING

CASES = Path(__file__).parents[2] / "fixtures" / "imports"
KINDS = ("karpenter", "eksctl", "capacity-quota")
Object = dict[str, Any]


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], prog_name="reconciler", standalone_mode=False)


def policy_of(*words: object) -> Object:
    """The `spec` of the policy that `import` prints."""
    done = run("import", *words)
    assert done.exception is None, done.exception
    spec: Object = next(yaml.safe_load_all(done.stdout))["spec"]
    return spec


def written(tmp_path: Path, *items: object) -> Path:
    file = tmp_path / "in.yaml"
    file.write_text(yaml.safe_dump_all(items))
    return file


def pool(name: str, **spec: object) -> Object:
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name}, "spec": spec}


def quota(name: str, **spec: object) -> Object:
    return {"apiVersion": "autoscaling.x-k8s.io/v1alpha1", "kind": "CapacityQuota", "metadata": {"name": name}, "spec": spec}


def cluster(name: str, region: str = "eu-west-3", **keys: object) -> Object:
    meta = {"name": name, "region": region}
    return {"apiVersion": "eksctl.io/v1alpha5", "kind": "ClusterConfig", "metadata": meta, **keys}


@pytest.mark.parametrize("name", KINDS)
def test_the_policy_holds(tmp_path: Path, name: str) -> None:
    """`validate` takes it without a warning."""
    out = tmp_path / "out"
    assert run("import", CASES / f"{name}.yaml", "--out", out).exception is None
    result = run("validate", out)
    assert result.return_value in (None, 0)
    assert ": no problems\n" in result.output
    assert "warning" not in result.output


def _leaves(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _leaves(f"{path}.{key}" if path else key, part)
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            yield from _leaves(f"{path}[{number}]", part)
    else:
        yield path


def _ancestors(path: str) -> Iterator[str]:
    yield path
    while cut := max(path.rfind("."), path.rfind("[")) + 1:
        path = path[: cut - 1]
        yield path


@pytest.mark.parametrize("name", KINDS)
def test_every_key_is_carried_over_or_named(name: str) -> None:
    """By its own path, or by that of an object or list which is shown as a whole."""
    done = run("import", CASES / f"{name}.yaml")
    text = " ".join(re.sub(r"\n *# ?", " ", done.stdout).split())
    silent = []
    for item in yaml.safe_load_all((CASES / f"{name}.yaml").read_text()):
        title = f"{item['kind']} {item['metadata']['name']}"
        # The selector of a quota stands in its limit, which `test_quotas` compares.
        used = re.compile(r"apiVersion|kind|metadata\.(name|region)|spec\.selector.*")
        keys = [leaf for leaf in _leaves("", item) if not used.fullmatch(leaf)]
        silent += [f"{title} {key}" for key in keys if not any(f"{title} {path}=" in text for path in _ancestors(key))]
    assert silent == []


def test_node_pools() -> None:
    """The higher weight is the higher tier; what a NodePool says of its nodes are defaults of its tier."""
    spec = policy_of(CASES / "karpenter.yaml")
    assert "adoptFrom" not in spec
    assert "discovery" not in spec
    label = {"karpenter.sh/nodepool": "general"}
    assert [tier["name"] for tier in spec["tiers"]] == ["reserved", "general", "static"]
    assert spec["tiers"][0]["defaults"] == {"scaleDown": {"mode": "Disabled", "utilizationThresholdPercent": 0}}
    assert spec["tiers"][1] == {
        "name": "general",
        "match": {"labels": {"matchLabels": label}},
        "defaults": {
            "scaleDown": {"unneededTime": "90s"},
            "template": {
                "labels": {"billing-team": "my-team", "kubernetes.io/arch": "arm64"},
                "taints": [{"key": "example.com/special-taint", "effect": "NoSchedule"}],
                "startupTaints": [{"key": "example.com/another-taint", "value": "x", "effect": "NoExecute"}],
            },
        },
    }
    assert spec["limits"] == [
        {"name": "nodepool-reserved", "groups": {"matchLabels": {"karpenter.sh/nodepool": "reserved"}}, "max": {"nodes": "10"}},
        {
            "name": "nodepool-general",
            "groups": {"matchLabels": label},
            "max": {"cpu": "1000", "memory": "1000Gi", "nvidia.com/gpu": 2},
        },
        {"name": "nodepool-static", "groups": {"matchLabels": {"karpenter.sh/nodepool": "static"}}, "max": {"nodes": 6}},
    ]
    assert spec["budgets"] == [
        {"nodes": "20%", "reasons": ["Empty"]},
        {"nodes": 5},
        {"nodes": 0, "reasons": ["Underutilized", "Consolidated"], "schedule": "0 9 * * mon-fri", "duration": "8h"},
    ]


def test_equal_weights_go_by_name_as_in_karpenter(tmp_path: Path) -> None:
    """SOURCE: `OrderByWeight`: among equals the later name comes first. No weight is a weight of 0."""
    pools = [pool("a"), pool("c", weight=7), pool("b", weight=7), pool("d")]
    assert [tier["name"] for tier in policy_of(written(tmp_path, *pools))["tiers"]] == ["c", "b", "d", "a"]


def test_budgets_of_several_pools_are_told_apart(tmp_path: Path) -> None:
    """They count other nodes there: the policy says so and lists each with its pool. Equal ones are written once."""
    pools = [pool(name, disruption={"budgets": [{"nodes": nodes}]}) for name, nodes in (("a", "10%"), ("b", "10%"), ("c", "0"))]
    done = run("import", written(tmp_path, *pools))
    assert next(yaml.safe_load_all(done.stdout))["spec"]["budgets"] == [{"nodes": 0}, {"nodes": "10%"}]
    assert "A budget here counts the nodes of all groups." in done.stdout
    why = "it is written for all groups, since there are budgets of NodePool c, NodePool b, NodePool a: there, each counts"
    for name, nodes in (("a", "10%"), ("b", "10%"), ("c", "0")):
        assert f'not converted: NodePool {name} spec.disruption.budgets[0]={{"nodes": "{nodes}"}}: {why}' in done.stderr


def test_budgets_of_one_pool_are_no_mixture(tmp_path: Path) -> None:
    """Beside a pool without any: there is nothing to keep apart."""
    done = run("import", written(tmp_path, pool("a", disruption={"budgets": [{"nodes": "10%"}]}), pool("b")))
    assert "not converted: NodePool a spec.disruption.budgets" not in done.stderr


def _uncommented(text: str) -> list[Object]:
    """The groups that are commented out, as somebody would put them into force."""
    documents = []
    for part in text.split("---\n")[1:]:
        lines = [line.removeprefix("# ") for line in part.splitlines() if re.match(r"# ( |[a-zA-Z]+: |spec:)", line)]
        documents.append(yaml.safe_load("\n".join(lines[next(n for n, line in enumerate(lines) if "apiVersion" in line) :])))
    return documents


def test_groups_of_node_pools(tmp_path: Path) -> None:
    """With a target they hold, and get their tier and its defaults by the label that they carry."""
    done = run("import", CASES / "karpenter.yaml")
    policy, groups = next(yaml.safe_load_all(done.stdout)), _uncommented(done.stdout)
    assert [group["spec"]["target"] for group in groups] == [{}, {}, {}]
    assert groups[2]["spec"]["size"] == {"min": 4, "max": 4}
    for group, name in zip(groups, ("big", "spot", "c1-fixed-bq6lz"), strict=True):
        group["spec"]["target"] = {"clusterAPI": {"kind": "MachineDeployment", "namespace": "capi", "name": name}}
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([policy, *groups]))
    assert run("validate", tmp_path).output == "1 file, 1 policy, 3 groups: no problems\n"
    done = run("explain", "value", "general/scaleDown.unneededTime", "--policy", tmp_path, "--cluster", QUICKSTART)
    assert "1m30s" in done.output
    assert "tier general" in done.output


def test_groups_of_eksctl(tmp_path: Path) -> None:
    """Discovered by the tags of eksctl and EKS; with the name of the Auto Scaling group, the groups hold too."""
    done = run("import", CASES / "eksctl.yaml")
    policy = next(yaml.safe_load_all(done.stdout))
    assert policy["spec"]["discovery"][::2] == [
        {
            "name": "ng-1",
            "aws": {
                "region": "eu-west-3",
                "tags": {"alpha.eksctl.io/cluster-name": "harbour", "alpha.eksctl.io/nodegroup-name": "ng-1"},
            },
        },
        {
            "name": "managed-a",
            "aws": {"region": "eu-west-3", "tags": {"eks:cluster-name": "harbour", "eks:nodegroup-name": "managed-a"}},
        },
    ]
    groups = _uncommented(done.stdout)
    assert [group["spec"].get("size") for group in groups] == [
        {"min": 2, "max": 8}, {"min": 0, "max": 5}, {"min": 1, "max": 4}, None,
    ]  # fmt: skip
    assert groups[0]["spec"]["template"] == {
        "labels": {"role": "workers", "node.kubernetes.io/instance-type": "m5.large"},
        "taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}],
    }
    assert groups[2]["spec"]["template"] == {
        "labels": {"node.kubernetes.io/instance-type": "c5.xlarge", "topology.kubernetes.io/zone": "eu-west-3a"},
        "taints": [{"key": "feature", "value": "true", "effect": "NoExecute"}],
    }
    for group in groups:
        assert group["spec"]["target"] == {"aws": {"region": "eu-west-3"}}
        group["spec"]["target"]["aws"]["autoScalingGroup"] = f"eksctl-{group['metadata']['name']}"
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([policy, *groups]))
    assert run("validate", tmp_path).output.startswith("1 file, 1 policy, 4 groups: no problems\n")


# SOURCE: the JSON schema of `eksctl.io/v1alpha5`: ClusterConfig and NodeGroup.
CLUSTER_KEYS = (
    "upgradePolicy", "kubernetesNetworkConfig", "autoModeConfig", "remoteNetworkConfig", "iam", "iamIdentityMappings",
    "identityProviders", "accessConfig", "vpc", "addons", "addonsConfig", "privateCluster", "fargateProfiles",
    "availabilityZones", "localZones", "cloudWatch", "secretsEncryption", "gitops", "karpenter", "outpost",
    "controlPlaneScalingConfig", "zonalShiftConfig", "capabilities",
)  # fmt: skip
NODE_GROUP_KEYS = (
    "amiFamily", "subnets", "instancePrefix", "instanceName", "desiredCapacity", "volumeSize", "ssh", "privateNetworking",
    "tags", "iam", "ami", "securityGroups", "maxPodsPerNode", "asgSuspendProcesses", "ebsOptimized", "volumeType",
    "volumeName", "volumeEncrypted", "volumeKmsKeyID", "volumeIOPS", "volumeThroughput", "additionalVolumes",
    "preBootstrapCommands", "overrideBootstrapCommand", "propagateASGTags", "disableIMDSv1", "disablePodIMDS", "placement",
    "efaEnabled", "instanceSelector", "bottlerocket", "enableDetailedMonitoring", "capacityReservation",
    "instanceMarketOptions", "outpostARN", "instancesDistribution", "asgMetricsCollection", "cpuCredits",
    "classicLoadBalancerNames", "targetGroupARNs", "updateConfig", "clusterDNS", "kubeletExtraConfig", "containerRuntime",
    "maxInstanceLifetime", "localZones", "enclaveEnabled",
)  # fmt: skip


def test_no_key_of_the_schema_is_unknown(tmp_path: Path) -> None:
    """Each has a reason, and what is in no schema is unknown."""
    group = {"name": "a", **dict.fromkeys(NODE_GROUP_KEYS, 1), "someday": 1}
    item = cluster("harbour", nodeGroups=[group], **dict.fromkeys(CLUSTER_KEYS, 1))
    notes = run("import", written(tmp_path, item)).stderr
    assert notes.count("not converted: ") == len(NODE_GROUP_KEYS) + len(CLUSTER_KEYS) + 1
    assert re.findall("(.*): it is unknown here", notes) == ["not converted: ClusterConfig harbour nodeGroups[0].someday=1"]


@pytest.mark.parametrize("region", [None, 7, []])
def test_a_region_is_asked_for(tmp_path: Path, region: Any) -> None:
    """Where the ClusterConfig names none. The option stands in for it."""
    item = cluster("harbour", nodeGroups=[{"name": "a"}])
    item["metadata"]["region"] = region
    file = written(tmp_path, item)
    assert str(run("import", file).exception).startswith(f"ClusterConfig ({file}): metadata.region is missing: --region NAME")
    assert policy_of(file, "--region", "eu-north-1")["discovery"][0]["aws"]["region"] == "eu-north-1"


def test_node_groups_of_one_name_in_two_clusters(tmp_path: Path) -> None:
    """Both are discovered, under names of their own."""
    names = [cluster(name, nodeGroups=[{"name": "workers"}]) for name in ("a", "b")]
    rules = policy_of(written(tmp_path, *names))["discovery"]
    assert [(rule["name"], rule["aws"]["tags"]["alpha.eksctl.io/cluster-name"]) for rule in rules] == [
        ("workers", "a"), ("workers-2", "b"),
    ]  # fmt: skip


def test_quotas() -> None:
    """A limit each, over the nodes that its selector takes; an empty one takes all."""
    assert policy_of(CASES / "capacity-quota.yaml")["limits"] == [
        {
            "name": "quota-max-e2",
            "nodes": {"matchLabels": {"example.cloud.com/machine-family": "e2"}},
            "max": {"cpu": 64, "memory": "256Gi"},
        },
        {
            "name": "quota-no-control-plane",
            "nodes": {"matchExpressions": [{"key": "node-role.kubernetes.io/control-plane", "operator": "DoesNotExist"}]},
            "max": {"nodes": 12, "nvidia.com/gpu": 16},
        },
        {"name": "quota-cluster-wide", "max": {"cpu": 128}},
    ]


def test_quotas_beside_flags(tmp_path: Path) -> None:
    """The Cluster Autoscaler's flags and its quotas make one policy."""
    flags = tmp_path / "flags.txt"
    flags.write_text("--max-nodes-total=100\n")
    limits = policy_of(flags, written(tmp_path, quota("a", limits={"resources": {"cpu": 8}})))["limits"]
    assert [(limit["name"], limit["max"]) for limit in limits] == [("cluster", {"nodes": 100}), ("quota-a", {"cpu": 8})]


def test_a_selector_that_cannot_be_read_loses_its_limit(tmp_path: Path) -> None:
    """Without a part of its selector it would count other nodes."""
    file = written(tmp_path, quota("a", selector={"matchLabels": 7}, limits={"resources": {"cpu": 8}}))
    done = run("import", file)
    assert "limits" not in next(yaml.safe_load_all(done.stdout))["spec"]
    assert "not converted: CapacityQuota a spec.limits.resources.cpu=8: " in done.stderr
    assert "nodes.matchLabels" in done.stderr


def test_an_object_twice_is_read_once(tmp_path: Path) -> None:
    """Names of these kinds are unique in a cluster."""
    done = run("import", written(tmp_path, pool("a", weight=3), pool("a", weight=3)))
    assert "not converted: NodePool a=" in done.stderr
    assert [tier["name"] for tier in next(yaml.safe_load_all(done.stdout))["spec"]["tiers"]] == ["a"]


def test_a_node_pool_of_hypershift_is_another_kind(tmp_path: Path) -> None:
    """The API group tells them apart."""
    file = written(tmp_path, pool("a", replicas=3) | {"apiVersion": "hypershift.openshift.io/v1beta1"})
    assert "no settings of an autoscaler" in str(run("import", file).exception)
    assert "Karpenter's NodePool" in str(run("import", file).exception)


@pytest.mark.parametrize(
    ("item", "key", "why"),
    [
        (pool("a", weight="high"), "NodePool a spec.weight=high", "it must be a whole number"),
        (pool("a", weight=True), "NodePool a spec.weight=true", "it must be a whole number"),
        (pool("a", limits=["cpu"]), 'NodePool a spec.limits=["cpu"]', "it must be an object"),
        (pool("a", limits={"cpu": {"x": 1}}), 'NodePool a spec.limits.cpu={"x": 1}', "must be a quantity"),
        (pool("a", limits={"cpu": "lots"}), "NodePool a spec.limits.cpu=lots", "invalid quantity"),
        (pool("a", limits={"gpu": 1}), "NodePool a spec.limits.gpu=1", "Did you mean nvidia.com/gpu?"),
        (pool("a", disruption=7), "NodePool a spec.disruption=7", "it must be an object"),
        (pool("a", disruption={"budgets": "10%"}), "NodePool a spec.disruption.budgets=10%", "it must be a list"),
        (pool("a", disruption={"budgets": [7]}), "NodePool a spec.disruption.budgets[0]=7", "it must be an object"),
        (pool("a", disruption={"budgets": [{"nodes": "x%"}]}), 'spec.disruption.budgets[0]={"nodes": "x%"}', "nodes"),
        (pool("a", disruption={"budgets": [{"nodes": "1", "duration": "1h"}]}), "spec.disruption.budgets[0]=", "schedule"),
        (pool("a", disruption={"consolidateAfter": "2d"}), "spec.disruption.consolidateAfter=2d", "The longest unit is h"),
        (pool("a", disruption={"consolidateAfter": 30}), "spec.disruption.consolidateAfter=30", "it must be a text"),
        (pool("a", template={"spec": {"taints": [{"key": "a"}]}}), "spec.template.spec.taints[0]=", "effect"),
        (pool("a", template={"spec": {"taints": ["a"]}}), "spec.template.spec.taints[0]=a", "taints"),
        (pool("a", template={"metadata": {"labels": {"a b": "c"}}}), "spec.template.metadata.labels.a b=c", "label key"),
        (pool("a", template={"spec": {"requirements": [{"key": 7}]}}), "spec.template.spec.requirements[0].key=7", "a text"),
        (pool("a", replicas=-1), "NodePool a spec.replicas=-1", "size"),
        (cluster("a", nodeGroups={"x": 1}), 'ClusterConfig a nodeGroups={"x": 1}', "it must be a list"),
        (cluster("a", nodeGroups=["x"]), "ClusterConfig a nodeGroups[0]=x", "it must be an object"),
        (cluster("a", nodeGroups=[{"minSize": 1}]), "ClusterConfig a nodeGroups[0].name=null", "cannot discover the node group"),
        (cluster("a", nodeGroups=[{"name": "n", "minSize": "1"}]), "nodeGroups[0].minSize=1", "it must be a whole number"),
        (cluster("a", nodeGroups=[{"name": "n", "minSize": 5, "maxSize": 4}]), "nodeGroups[0].maxSize=4", "is above"),
        (cluster("a", nodeGroups=[{"name": "n", "labels": {"a": True}}]), "nodeGroups[0].labels.a=true", "must be a text"),
        (cluster("a", nodeGroups=[{"name": "n", "taints": {"a": 7}}]), "nodeGroups[0].taints.a=7", "it must be a text"),
        (cluster("a", nodeGroups=[{"name": "n", "taints": {"a": "x"}}]), "nodeGroups[0].taints.a=x", "effect"),
        (cluster("a", managedNodeGroups=[{"name": "n", "instanceTypes": "m5"}]), "instanceTypes=m5", "it must be a list"),
        (cluster("a", "moon", nodeGroups=[{"name": "n"}]), "ClusterConfig a nodeGroups[0].name=n", "region"),
        (quota("a", limits=7), "CapacityQuota a spec.limits=7", "it must be an object"),
        (quota("a", limits={"resources": {"cpu": []}}), "CapacityQuota a spec.limits.resources.cpu=[]", "must be a quantity"),
        (quota("a", selector="x", limits={"resources": {"cpu": 1}}), "spec.limits.resources.cpu=1", "nodes must be"),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_named(tmp_path: Path, item: Object, key: str, why: str) -> None:
    """With the key, in words of the file; the rest is written, and holds."""
    out = tmp_path / "out"
    done = run("import", written(tmp_path, item), "--out", out)
    assert done.exception is None, done.exception
    named = [line for line in done.stderr.splitlines() if line.startswith("not converted: ") and key in line]
    assert any(why in line for line in named), done.stderr
    assert WORDING.search(done.stderr) is None
    assert run("validate", out).return_value in (None, 0)


@pytest.mark.parametrize("item", [pool("a") | {"spec": None}, pool("a") | {"spec": 7, "metadata": 7}, quota("a"), cluster("a")])
def test_an_object_that_says_nothing(tmp_path: Path, item: Object) -> None:
    """It is a policy all the same."""
    assert run("import", written(tmp_path, item), "--out", tmp_path / "out").exception is None
    assert run("validate", tmp_path / "out").return_value in (None, 0)


def scheduler(*profiles: Object) -> Object:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return {**kind, "leaderElection": {"leaderElect": True}, "profiles": list(profiles)}


def profile(*constraints: Object, defaulting: str = "List", **keys: Any) -> Object:
    args = {"defaultingType": defaulting} if defaulting else {}
    args |= {"defaultConstraints": list(constraints)} if constraints else {}
    return {"pluginConfig": [{"name": "PodTopologySpread", "args": args}], **keys}


ZONES = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule", "minDomains": 3}
HOSTS = {"maxSkew": 5, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}


def test_default_constraints_of_the_scheduler(tmp_path: Path) -> None:
    """Those of the profile `default-scheduler`, field by field; other profiles and keys are named."""
    batch = profile(HOSTS, schedulerName="batch")
    done = run("import", written(tmp_path, scheduler(batch, profile(ZONES, {**HOSTS, "nodeTaintsPolicy": "Honor"}))))
    assert done.exception is None
    spec = next(yaml.safe_load_all(done.stdout))["spec"]
    assert spec["scheduler"] == {"defaultConstraints": [ZONES, {**HOSTS, "nodeTaintsPolicy": "Honor"}]}
    assert "profiles[0].pluginConfig[0].args=" in done.stderr
    assert "a policy describes one profile" in done.stderr
    assert "leaderElection=" in done.stderr


def test_the_only_profile_counts_whatever_it_is_called(tmp_path: Path) -> None:
    spec = policy_of(written(tmp_path, scheduler(profile(ZONES, schedulerName="packing"))))
    assert spec["scheduler"] == {"defaultConstraints": [ZONES]}
    assert spec["pods"] == {"schedulerNames": ["packing"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (profile(), ""),
        (profile(defaulting="System"), ""),
        (profile(defaulting=""), ""),
        (profile(ZONES, defaulting="System"), "with `defaultingType: List` only"),
        (profile({**ZONES, "labelSelector": {"matchLabels": {"a": "b"}}}), "does not accept a selector"),
        (profile(ZONES, plugins={"multiPoint": {"disabled": [{"name": "PodTopologySpread"}]}}), "the profile disables"),
        (profile(ZONES, plugins={"filter": {"disabled": [{"name": "*"}]}}), "the profile disables"),
        (profile({**ZONES, "maxSkew": 0}), "the least is 1"),
    ],
)
def test_what_is_no_default_constraint(tmp_path: Path, given: Object, said: str) -> None:
    """The system defaults only score, kube-scheduler would not start with others, or the plugin does not run."""
    done = run("import", written(tmp_path, scheduler(given)))
    assert done.exception is None
    assert "scheduler" not in next(yaml.safe_load_all(done.stdout))["spec"]
    assert said in done.stderr


def test_a_plugin_that_is_enabled_again_runs(tmp_path: Path) -> None:
    plugins = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodTopologySpread"}]}}
    assert "scheduler" in policy_of(written(tmp_path, scheduler(profile(ZONES, plugins=plugins))))


def test_label_keys_of_a_default_constraint_have_no_effect(tmp_path: Path) -> None:
    done = run("import", written(tmp_path, scheduler(profile({**ZONES, "matchLabelKeys": ["version"]}))))
    assert next(yaml.safe_load_all(done.stdout))["spec"]["scheduler"] == {"defaultConstraints": [ZONES]}
    assert "matchLabelKeys=" in done.stderr
