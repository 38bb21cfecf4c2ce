"""The files for Flux as they are shipped, applied by Flux's own controllers: from an empty cluster to Ready, and back.

Real are source-controller, kustomize-controller, and the control plane with Cluster API. The loop is a process with the arguments
and the rights of the Deployment that Flux applied. No kubelet runs the pods of that Deployment: kwok says that they are ready,
and the tests ask the process itself. As a user would, they write addresses into the files and apply them.
"""

import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS
from tests.deploy.test_run_as_installed import TEMPLATES
from tests.gitops.repositories import GitRepo
from tests.gitops.servers import http_host
from tests.kube.custom_resources import DEFINITIONS, conditions
from tests.live.reconciler_process import Reconciler, policy_text
from tests.testbed.api import ApiError
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, Shape
from tests.testbed.control_plane import FAKE_NODE, running_control_plane
from tests.testbed.flux import Flux, kustomization, ready, skip_unless_built
from tests.testbed.missing import not_run
from tests.testbed.toolchain import NotAvailableError
from tests.testbed.work_cluster import WorkCluster

Object = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "examples" / "deploy"
CONTROLLER, POLICIES = "nodegroup-reconciler", "node-group-policies"
_GROUPS = "/apis/reconciler.dev/v1alpha1/namespaces/reconciler/nodegroups"
_POLICY = "/apis/reconciler.dev/v1alpha1/nodegrouppolicies"
_DEPLOYMENT = "/apis/apps/v1/namespaces/reconciler/deployments/reconciler"


class Site(NamedTuple):
    """An empty cluster with Flux, two repositories on a server, and two groups of one node each."""

    flux: Flux
    cluster: WorkCluster
    url: str
    product: GitRepo
    policies: GitRepo
    directory: Path

    def files(self, name: str) -> list[Object]:
        """A shipped file for Flux, with this server's address."""
        text = (SHIPPED / "flux" / name).read_text().replace("https://git.example.org/platform", self.url)
        return list(yaml.safe_load_all(text))

    def commit(self, sizes: dict[str, tuple[int, int]], *, mode: str = "Observe") -> str:
        """Commit a policy named as the shipped `policy-source.yaml` names it; the id."""
        text = policy_text("prod", self.cluster.namespace, sizes, mode=mode)
        own = f", namespace: {self.cluster.namespace}}}\nspec:"
        assert text.count(own) == len(sizes)
        return self.policies.commit({"clusters/prod/policy.yaml": text.replace(own, ", namespace: reconciler}\nspec:")})

    def sizes(self) -> dict[str, tuple[str, int]]:
        """What each target is and asks for."""
        items = self.cluster.api.items(self.cluster.path("machinedeployments"))
        return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]["replicas"]) for item in items}

    def nodes(self) -> set[str]:
        """The Nodes of the groups, each by its uid."""
        return {item["metadata"]["uid"] for item in self.cluster.nodes()}

    def groups(self) -> dict[str, tuple[str, Object]]:
        """The NodeGroups and the policy, with what is declared in them."""
        items = [*self.cluster.api.items(_GROUPS), *self.cluster.api.items(_POLICY)]
        return {item["metadata"]["name"]: (item["metadata"]["uid"], item["spec"]) for item in items}

    @contextmanager
    def loop(self) -> Iterator[Reconciler]:
        """The container of the Deployment as a process: its arguments and environment, its service account, other ports."""
        container = self.cluster.api.get(_DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]
        source = self.cluster.api.get("/api/v1/namespaces/reconciler/configmaps/reconciler-policy-source")["data"]
        values = {f"$(POLICY_{key.upper()})": value for key, value in source.items()} | {"$(POD_NAMESPACE)": "reconciler"}
        own = ("run", "--listen", "--probes", "--git-cache")
        words = "\n".join(container["args"])
        for name, value in values.items():
            words = words.replace(name, value)
        arguments = [word for word in words.split("\n") if not word.startswith(own)]
        if any(word.startswith("--git=") for word in arguments):
            arguments += [f"--git-cache={self.directory / 'cache'}", "--git-protocol=http"]
        kubeconfig = self.flux.plane.kubeconfig_of(ACCOUNT, *ACCOUNT_GROUPS)
        with Reconciler(kubeconfig, None, *arguments, "--period=1") as process:
            yield process
            process.signal(signal.SIGTERM)
            assert process.ended() == 0


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """On a control plane where nobody has been. The pods of the reconciler get a node of their own."""
    skip_unless_built()
    try:
        with running_control_plane() as plane, http_host(tmp_path / "served") as host:
            cluster_api, flux = ClusterApi(plane), Flux(plane)
            cluster_api.start()
            flux.start()
            capacity = {"cpu": "8", "memory": "16Gi", "pods": "110"}
            platform = {"name": "platform", "annotations": FAKE_NODE, "labels": {"kubernetes.io/hostname": "platform"}}
            status = {"capacity": capacity, "allocatable": capacity}
            plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": platform, "status": status}, TEMPLATES)
            cluster = WorkCluster(plane.api, "prod")
            kept = Shape(taints=[{"key": "groups", "value": "only", "effect": "NoSchedule"}])
            for name in ("general", "spare"):
                cluster.machine_deployment(Group(name, replicas=1), kept)
            cluster.until_nodes(2)
            repos = [GitRepo(tmp_path / "served" / f"{name}.git") for name in ("nodegroup-reconciler", "policies")]
            found = Site(flux, cluster, host.url, repos[0], repos[1], tmp_path)
            _release(found)
            try:
                yield found
            finally:
                print(flux.diagnosis())
                flux.stop()
                cluster_api.stop()
    except NotAvailableError as error:
        not_run("testbed", str(error))


def _release(site: Site) -> None:
    """The repository of the product as a user has it: the shipped files with the address of the policies, and the tag."""
    directory = site.product.root
    shutil.copytree(SHIPPED, directory / "examples" / "deploy")
    source = directory / "examples" / "deploy" / "base" / "policy-source.yaml"
    source.write_text(source.read_text().replace("https://git.example.org/platform", site.url))
    site.product.commit({})
    (tag,) = (item["spec"]["ref"]["tag"] for item in site.files("source.yaml") if item["metadata"]["name"] == CONTROLLER)
    site.product.git("tag", tag)


def test_from_an_empty_cluster_with_policy_from_git(site: Site) -> None:
    """The loop is Ready before there is a policy, follows a commit, and stays Ready when one is refused. Deleting the
    Kustomization takes Deployment and rights away; definitions, namespace, targets and nodes stay as they were. The loop is
    started anew after each commit, since it looks at a repository once a minute."""
    flux, before = site.flux, (site.sizes(), site.nodes())
    # The repository has no policy yet, and Flux does not look at it in this form.
    site.policies.commit({"README.md": "policies"})
    flux.apply(*site.files("source.yaml"), *site.files("policy-from-git.yaml"))
    flux.until_applied(CONTROLLER, site.product.git("rev-parse", "HEAD"))
    with site.loop() as process:
        process.until_page("/readyz", lambda status, text: (status, "waiting for the first policy" in text) == (200, True))
    good = site.commit({"general": (1, 5), "spare": (2, 5)})
    with site.loop() as process:
        plan = process.plan(lambda plan: plan["policyRevision"] == good)
        assert {line["name"]: line["desired"] for line in plan["groups"]} == {"general": 1, "spare": 2}
        assert process.page("/readyz")[0] == 200
    assert site.sizes() == before[0], "it observes"

    site.commit({"general": (9, 5), "spare": (2, 5)})
    with site.loop() as process:
        process.until_page("/metrics", lambda _, text: "\nreconciler_policy_stalled 1" in text)
        assert process.plan(bool)["policyRevision"] == good
        assert process.page("/readyz")[0] == 200
        flux.reconcile(CONTROLLER)
        item = flux.until(CONTROLLER, lambda item: "lastHandledReconcileAt" in item["status"], "being applied again")
        flux.until_applied(CONTROLLER, item["status"]["lastAppliedRevision"])

    flux.delete(CONTROLLER)
    _controller_is_gone(site)
    assert (site.sizes(), site.nodes()) == before
    assert list(site.cluster.api.items(_GROUPS)) == []


def _seen(item: Object) -> bool:
    """A Kustomization is Ready as it is declared now."""
    return ready(item) == "True" and bool(item["status"]["observedGeneration"] == item["metadata"]["generation"])


def _controller_is_gone(site: Site) -> None:
    """What the Kustomization installed is gone, but for what must survive."""
    for path in (_DEPLOYMENT, "/api/v1/namespaces/reconciler/serviceaccounts/reconciler"):
        with pytest.raises(ApiError, match="404"):
            site.cluster.api.get(path)
    names = {item["metadata"]["name"] for item in site.cluster.api.items(DEFINITIONS)}
    assert {"nodegroups.reconciler.dev", "nodegrouppolicies.reconciler.dev"} <= names
    assert site.cluster.api.get("/api/v1/namespaces/reconciler")["status"]["phase"] == "Active"


def test_from_an_empty_cluster_with_policy_as_custom_resources(site: Site) -> None:
    """Flux applies controller and policy and waits for what the loop writes into their status. A commit that the server refuses
    and one that the loop refuses make the Kustomization not Ready. With Enforce a group gets its node. Deleting both
    Kustomizations leaves every NodeGroup, the policy, every target and every node as it was."""
    flux = site.flux
    good = site.commit({"general": (1, 5), "spare": (2, 5)})
    flux.apply(*site.files("source.yaml"), *site.files("policy-as-custom-resources.yaml"))
    flux.until_applied(CONTROLLER, site.product.git("rev-parse", "HEAD"))
    with site.loop():
        flux.until_applied(POLICIES, good)
        held = {item["metadata"]["name"]: conditions(item)["Ready"] for item in site.cluster.api.items(_GROUPS)}
        assert held == {"general": ("True", "AsDesired"), "spare": ("True", "Observed")}
        before = site.sizes(), site.nodes(), site.groups()
        assert [replicas for _, replicas in before[0].values()] == [1, 1]

        # The server refuses it by the definition's own rule, and nothing of the commit is applied.
        refused = site.commit({"general": (9, 5), "spare": (3, 5)})
        flux.fetch("policies")
        told = flux.until_refused(POLICIES, refused)
        assert told.startswith("ReconciliationFailed: NodeGroup/reconciler/general dry-run failed"), told
        assert "min is above max" in told, told
        assert site.groups() == before[2]

        # The server takes it, and the loop refuses it: there is no such tier.
        wrong, tier = "{min: 9, max: 5}", "{min: 1, max: 6}\n  tier: sport"
        text = (site.policies.root / "clusters/prod/policy.yaml").read_text().replace(wrong, tier)
        refused = site.policies.commit({"clusters/prod/policy.yaml": text})
        flux.fetch("policies")
        told = flux.until_refused(POLICIES, refused)
        assert told.startswith("HealthCheckFailed: health check failed after "), told
        assert told.endswith("failed early due to stalled resources: [NodeGroup/reconciler/general status: 'Failed']"), told
        (item,) = (one for one in site.cluster.api.items(_GROUPS) if one["metadata"]["name"] == "general")
        assert conditions(item)["Stalled"] == ("True", "UnknownTier")
        (why,) = (one["message"] for one in item["status"]["conditions"] if one["type"] == "Stalled")
        assert "sport" in why, "Flux does not repeat it: a person reads it in the object"

        good = site.commit({"general": (1, 5), "spare": (2, 5)})
        flux.fetch("policies")
        flux.until_applied(POLICIES, good)
        assert (site.sizes(), site.nodes(), site.groups()) == before

        # As the page says: other rights and another mode.
        path = {"spec": {"path": "./examples/deploy/overlays/enforce-custom-resources"}}
        flux.api.merge(kustomization(CONTROLLER), path, "kubectl")
        flux.until(CONTROLLER, _seen, "the rights to act being applied")
        good = site.commit({"general": (1, 5), "spare": (2, 5)}, mode="Enforce")
        flux.fetch("policies")
        flux.until_applied(POLICIES, good)
        held = {item["metadata"]["name"]: conditions(item)["Ready"] for item in site.cluster.api.items(_GROUPS)}
        assert held == dict.fromkeys(("general", "spare"), ("True", "AsDesired"))
        site.cluster.until_nodes(3)
        before = site.sizes(), site.nodes(), site.groups()
        assert sorted(replicas for _, replicas in before[0].values()) == [1, 2]

        flux.delete(POLICIES)
        assert site.groups() == before[2]
    flux.delete(CONTROLLER)
    _controller_is_gone(site)
    assert (site.sizes(), site.nodes(), site.groups()) == before


def test_a_target_that_declares_a_size_is_held_until_it_is_handed_over(site: Site, tmp_path: Path) -> None:
    """With `clusters.yaml` Flux keeps the size that the cluster has through each commit, but owns the field, so that the group is
    held. Once another manager has applied the size, Flux lets go with the next change after git leaves it out, and the loop
    sizes the group."""
    flux, cluster = site.flux, site.cluster
    target = cluster.api.get(f"{cluster.path('machinedeployments')}/general")
    metadata = {"name": "general", "namespace": cluster.namespace}
    named = {"apiVersion": target["apiVersion"], "kind": target["kind"], "metadata": metadata}
    sized = named | {"spec": target["spec"]}
    unsized = named | {"spec": {key: value for key, value in target["spec"].items() if key != "replicas"}}
    assert sized["spec"]["replicas"] == 1
    repo = GitRepo(site.product.root.parent / "clusters.git")
    source = {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository"}
    source |= {"metadata": {"name": "clusters", "namespace": "flux-system"}}
    source |= {"spec": {"interval": "1m", "url": f"{site.url}/clusters.git", "ref": {"branch": "main"}}}
    policy = tmp_path / "policy.yaml"
    policy.write_text(policy_text("prod", cluster.namespace, {"general": (3, 5)}))

    def applied(item: Object) -> None:
        commit = repo.commit({"prod/general.yaml": yaml.safe_dump(item)})
        flux.fetch("clusters")
        flux.until_applied("clusters", commit)

    def owner() -> tuple[int, str]:
        words = ("--namespace=default", "--read-only", "--period=1")
        with Reconciler(flux.plane.kubeconfig, policy, *words) as process:
            (line,) = process.plan(bool)["groups"]
        return cluster.api.read(target)["spec"]["replicas"], line["owner"]["by"] if line["held"] else ""

    def noted(item: Object, note: str) -> Object:
        return item | {"metadata": metadata | {"annotations": {"example.org/note": note}}}

    flux.apply(source, *site.files("clusters.yaml"))
    applied(sized)
    assert owner() == (1, "kustomize-controller")
    cluster.api.scale(target, 2)
    applied(noted(sized, "a"))
    assert owner() == (2, "kustomize-controller")

    cluster.api.apply(named | {"spec": {"replicas": 2}}, "testbed")
    applied(noted(unsized, "a"))
    assert owner() == (2, "kustomize-controller"), "it compares without the size, and applies nothing"
    applied(noted(unsized, "b"))
    assert owner() == (2, "")
    with Reconciler(flux.plane.kubeconfig, policy, "--namespace=default", "--period=1"):
        cluster.until(target, lambda item: item["spec"]["replicas"] == 3, "the group being sized")
        applied(noted(unsized, "c"))
        assert cluster.api.read(target)["spec"]["replicas"] == 3
    assert owner() == (3, "")
