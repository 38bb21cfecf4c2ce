"""Our own account, with the program in other hands: amounts. The product renders the bounds, somebody else applies them."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner

from reconciler.cli.commands.bounds import command
from reconciler.cluster.target import OwnerEvidence, TargetFacts
from reconciler.cluster.targets.hold_mark import HOLD_END, read_hold
from reconciler.control.turn.turn_report import ActionResult, LoopReport, ResultState
from reconciler.decisions.ownership.owner import Terms, judge
from reconciler.kube.connection.token_review import may
from reconciler.kube.connection.transport import connect
from reconciler.plan.plan import OwnerState
from tests.deploy.attempt import OURS, Attempt, Guarded, Object, deleted, forced, json_patch, merge, replaced
from tests.deploy.installed import ACCOUNT, ACCOUNT_GROUPS, NAMESPACE, Installed
from tests.deploy.rendered import with_component
from tests.deploy.test_rights import CAPI, EVERYTHING, MAPI, NEVER, READ, SIZED, WORKLOAD
from tests.gitops.repositories import GitRepo
from tests.live.own_loop import OwnLoop
from tests.live.ownership import NO_NODES
from tests.policies import node_group
from tests.security.same_reading import claim_may_go, drawn_holds, drawn_owners, refusal
from tests.testbed.api import ApiError, collection, path_of
from tests.testbed.cluster_api import ClusterApi
from tests.testbed.cluster_documents import Group, machine_deployment, machine_template, namespace
from tests.testbed.control_plane import MASTERS, ControlPlane
from tests.testbed.work_cluster import NAME, WorkCluster
from tests.values import machine_deployment as reference

WHERE = "own-bounds"
RENEWAL = f"system:serviceaccount:{NAMESPACE}:reconciler-bounds"
GROUPS = {
    "ranged": "size: {min: 1, max: 5}",
    "held": 'size: {min: 1, max: 5}\n  hold: {reason: incident, until: "2099-01-01T00:00:00Z"}',
    "observed": "mode: Observe\n  size: {min: 1, max: 5}",
    "below": "size: {min: 4, max: 5}",
    "above": "size: {min: 0, max: 1}",
    "marked": "size: {min: 0, max: 9}",
}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
FOREIGN = "does not name the field manager whose claim is taken"


@pytest.fixture(scope="module")
def bounded(cluster_api: ClusterApi, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """The overlay `enforce` with the component `bounds`, which may read custom resources too; our service account is an
    administrator besides."""
    objects = with_component("enforce", ("bounds", "custom-resources"), tmp_path_factory.mktemp("bounds"))
    installed = Installed(cluster_api.plane, "enforce", objects)
    ours = installed.user(MASTERS)
    installed.wait_for_policies()
    yield Guarded(ours, installed.user(MASTERS, name="somebody"))
    installed.remove()


@pytest.fixture(scope="module")
def cluster(cluster_api: ClusterApi) -> Iterator[WorkCluster]:
    """A Cluster whose Machines become no nodes, and a target for each case."""
    made = WorkCluster(cluster_api.api, WHERE)
    made.api.create(machine_template(made.namespace, "g", NO_NODES))
    for name in (*GROUPS, "unnamed", "claimed"):
        made.api.apply(without_replicas(name), "kubectl")
    made.api.merge(made.api.read(without_replicas("below")), {"spec": {"replicas": 0}}, OURS)
    made.api.merge(made.api.read(without_replicas("above")), {"spec": {"replicas": 3}}, OURS)
    yield made
    made.delete()


def without_replicas(name: str) -> Object:
    """A MachineDeployment whose replicas nobody declares."""
    return machine_deployment(WHERE, NAME, Group(name), "g")


@pytest.fixture(scope="module")
def bounds(bounded: Guarded, cluster: WorkCluster, tmp_path_factory: pytest.TempPathFactory) -> Object:
    """The ConfigMap that the product renders from a policy in files, in force."""
    item: Object = yaml.safe_load(rendered(tmp_path_factory.mktemp("policy")))
    cluster.api.apply(item, "gitops")
    in_force(bounded, cluster)
    return item


def rendered(directory: Path) -> str:
    """What `reconciler bounds` prints."""
    (directory / "policy.yaml").write_text(policy_text())
    done = CliRunner().invoke(command, ["--policy", str(directory)], standalone_mode=False)
    assert done.return_value == 0, done.output
    return done.stdout


def policy_text(**changed: str) -> str:
    """The policy; `changed` groups say something else."""
    rules = "mode: Enforce\n  adoptFrom: [gitops-of-a-team]\n  drain: {blockedNamespaces: [own-bounds-blocked]}"
    documents = [f"kind: NodeGroupPolicy\nmetadata: {{name: prod}}\nspec:\n  {rules}\n"]
    for name, spec in {**GROUPS, **changed}.items():
        target = f"{{clusterAPI: {{kind: MachineDeployment, namespace: {WHERE}, name: {name}}}}}"
        documents.append(
            f"kind: NodeGroup\nmetadata: {{name: {name}, namespace: {NAMESPACE}}}\n"
            f"spec:\n  policyRef: {{name: prod}}\n  target: {target}\n  {spec}\n"
        )
    head = "apiVersion: reconciler.dev/v1alpha1\n"
    return "---\n".join(head + text for text in documents)


def in_force(bounded: Guarded, cluster: WorkCluster) -> None:
    """Return when the API server knows the ConfigMap: a size within its range passes."""

    def passes(_: object) -> bool:
        try:
            sized(cluster, "ranged", 5).by(bounded.ours)
        except ApiError as error:
            if "says nothing of this target" not in str(error):
                raise
            return False
        return True

    cluster.api.wait(cluster.path("machinedeployments"), passes, "the bounds being in force")


def sized(cluster: WorkCluster, name: str, replicas: int) -> Attempt:
    return merge(cluster.api.read(without_replicas(name)), {"spec": {"replicas": replicas}})


def pod(cluster: WorkCluster, where: str) -> Object:
    """A pod that never runs."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": where}}
    return cluster.api.apply(
        body | {"spec": {"containers": [{"name": "c", "image": "none"}], "schedulerName": "none"}}, "somebody"
    )


def evicted(item: Object) -> Attempt:
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": item["metadata"]}
    return Attempt("POST", f"{path_of(item)}/eviction", eviction)


def claim_taken(cluster: WorkCluster, name: str) -> Attempt:
    """The merge patch of an adoption: every claim on replicas goes, and nothing else."""
    item = cluster.api.read(without_replicas(name))
    entries = []
    for entry in item["metadata"]["managedFields"]:
        fields = dict(entry["fieldsV1"])
        if "f:spec" in fields:
            fields["f:spec"] = {key: value for key, value in fields["f:spec"].items() if key != "f:replicas"}
        entries.append({**entry, "fieldsV1": fields})
    return merge(item, {"metadata": {"managedFields": entries, "resourceVersion": item["metadata"]["resourceVersion"]}})


def test_without_bounds_nothing_is_resized_or_evicted(bounded: Guarded, cluster: WorkCluster) -> None:
    """The ConfigMap comes empty: whatever our account asks for is refused, and somebody else is not looked at."""
    bounded.refused(sized(cluster, "ranged", 3), "ConfigMap reconciler-bounds says nothing of this target")
    bounded.refused(
        evicted(pod(cluster, WHERE)), "ConfigMap reconciler-bounds does not say in which namespaces no pod is evicted"
    )


@pytest.mark.parametrize("way", [
    lambda item, replicas: merge(item, {"spec": {"replicas": replicas}}),
    lambda item, replicas: forced(item, {"spec": {"replicas": replicas}}),
    lambda item, replicas: json_patch(item, {"op": "add", "path": "/spec/replicas", "value": replicas}),
    lambda item, replicas: replaced({**item, "spec": {**item["spec"], "replicas": replicas}}),
], ids=["merge patch", "forced apply", "JSON patch", "update"])  # fmt: skip
def test_a_size_out_of_range_is_refused(bounded: Guarded, bounds: Object, cluster: WorkCluster, way) -> None:
    """Of 1 to 5: what the field takes at most, 6 and 0, by every way; both ends pass."""

    def attempt(replicas: int) -> Attempt:
        return way(cluster.api.read(without_replicas("ranged")), replicas)

    for replicas in (2**31 - 1, 6, 0):
        with pytest.raises(ApiError, match=rf"says 1-5 of this target, and the reconciler asks for {replicas}|more than 10000"):
            attempt(replicas).by(bounded.ours)
    bounded.refused(lambda: attempt(6), "ConfigMap reconciler-bounds says 1-5 of this target")
    for replicas in (1, 5):
        bounded.allowed(lambda replicas=replicas: attempt(replicas))


@pytest.mark.parametrize("name", ["held", "observed"])
@pytest.mark.parametrize("replicas", [0, 5, 9, 2**31 - 1])
def test_a_target_that_the_policy_holds_keeps_its_size(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, name: str, replicas: int
) -> None:
    """For an incident, with an end; or since the group only observes."""
    with pytest.raises(ApiError, match=r"says held of this target|more than 10000"):
        sized(cluster, name, replicas).by(bounded.ours)


def test_a_target_that_is_not_named_keeps_its_size(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """Nothing said of a target is no leave."""
    bounded.refused(lambda: sized(cluster, "unnamed", 2), "says nothing of this target")


@pytest.mark.parametrize(("name", "nearer", "further"), [("below", (1, 3, 4, 5), (6,)), ("above", (2, 1, 0), (4,))])
def test_out_of_its_range_a_target_only_comes_nearer(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, name: str, nearer: tuple[int, ...], further: tuple[int, ...]
) -> None:
    """0 of 4 to 5, 3 of 0 to 1: step by step back into it, and not further away or through it."""
    for replicas in nearer:
        bounded.allowed(lambda replicas=replicas: sized(cluster, name, replicas))
    for replicas in further:
        bounded.refused(lambda replicas=replicas: sized(cluster, name, replicas), "ConfigMap reconciler-bounds says")


def test_the_scale_subresource_stays_closed(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """Within the range as well."""
    item = cluster.api.read(without_replicas("ranged"))
    bounded.refused(merge(item, {"spec": {"replicas": 3}}, "/scale"), "the reconciler writes no objects of this kind")


@pytest.mark.parametrize(("name", "manager", "taken"), [
    ("applied", "argocd-controller", False), ("adoptable", "gitops-of-a-team", True),
])  # fmt: skip
def test_a_declared_claim_is_taken_where_the_policy_names_its_manager(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, name: str, manager: str, taken: bool
) -> None:
    """A team of adoptFrom may lose its claim, another applier may not."""
    cluster.api.apply(machine_deployment(WHERE, NAME, Group(name, replicas=0), "g"), manager)
    if taken:
        bounded.allowed(lambda: claim_taken(cluster, name))
    else:
        bounded.refused(lambda: claim_taken(cluster, name), FOREIGN)


@pytest.mark.parametrize(("manager", "taken"), [("cluster-autoscaler", False), ("kubectl-edit", True)])
def test_a_written_claim_is_taken_from_people_alone(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, manager: str, taken: bool
) -> None:
    """One write of somebody declares nothing; a program that writes again and again does."""
    cluster.api.apply(without_replicas("scaled"), "kubectl")
    item = cluster.api.read(without_replicas("scaled"))
    current = item["spec"]["replicas"]
    cluster.api.merge(item, {"spec": {"replicas": 1 - current}}, manager)
    if taken:
        bounded.allowed(lambda: claim_taken(cluster, "scaled"))
    else:
        bounded.refused(lambda: claim_taken(cluster, "scaled"), FOREIGN)


@pytest.mark.parametrize(("manifest", "taken"), [('{"spec":{"paused":false}}', True), ('{"spec":{"replicas":0}}', False)])
def test_the_default_of_an_apply_without_replicas_is_taken(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, manifest: str, taken: bool
) -> None:
    """The manifest declares nothing; one with replicas does."""
    cluster.api.apply(without_replicas("scaled"), "kubectl")
    item = cluster.api.read(without_replicas("scaled"))
    change = {"metadata": {"annotations": {LAST_APPLIED: manifest}}, "spec": {"replicas": 1 - item["spec"]["replicas"]}}
    cluster.api.merge(item, change, "kubectl-client-side-apply")
    try:
        if taken:
            bounded.allowed(lambda: claim_taken(cluster, "scaled"))
        else:
            bounded.refused(lambda: claim_taken(cluster, "scaled"), FOREIGN)
    finally:
        cluster.api.merge(item, {"metadata": {"annotations": {LAST_APPLIED: None}}}, "kubectl-client-side-apply")


def test_the_last_applied_manifest_stays_where_kubectl_is_not_named(
    bounded: Guarded, bounds: Object, cluster: WorkCluster
) -> None:
    """Its replicas are a declaration as well."""
    body = machine_deployment(WHERE, NAME, Group("client-side", replicas=0), "g")
    text = '{"spec":{"paused":false,"replicas":0}}'
    body["metadata"]["annotations"] = {LAST_APPLIED: text}
    item = cluster.api.call("POST", f"{collection(body)}?fieldManager=kubectl-create", body)
    without = {"metadata": {"annotations": {LAST_APPLIED: text.replace(',"replicas":0', "")}}}
    bounded.refused(merge(item, without), "does not name kubectl, whose last applied manifest is changed")


def test_pods_of_blocked_namespaces_are_not_evicted(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """Elsewhere they are."""
    cluster.api.apply(namespace("own-bounds-blocked"), "kubectl")
    bounded.refused(evicted(pod(cluster, "own-bounds-blocked")), "lets no pod of this namespace be evicted")
    bounded.allowed(evicted(pod(cluster, WHERE)))


def test_the_bounds_are_not_ours_to_write(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """Neither changed nor replaced nor taken away, though RBAC lets us write ConfigMaps there: what we keep has another name."""
    item = cluster.api.read(bounds)
    wider = {"data": {f"MachineDeployment_{WHERE}_ranged": "0-9999"}}
    why = "a state ConfigMap reconciler-state-*"
    bounded.refused(merge(item, wider), why)
    bounded.refused(replaced({**item, **wider}), why)
    bounded.refused(deleted(item), why)


def test_a_hold_means_the_same_to_both(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """A hold without an end, or with one that is none, holds for ever: the API server refuses, and the product does not ask."""
    seed = random.randrange(1 << 30)
    differ = []
    for text in drawn_holds(random.Random(seed)):
        marked = {"metadata": {"annotations": {"reconciler.dev/hold": text}}}
        cluster.api.merge(without_replicas("marked"), marked, "kubectl-edit")
        mark = read_hold(text)
        endless = mark is not None and mark.until_seconds is None
        said = refusal(merge(without_replicas("marked"), {"spec": {"replicas": 3}}), bounded)
        if endless != ("a person holds this target" in said):
            differ.append(text)
    assert not differ, f"seed {seed}"


def test_a_claim_is_taken_where_the_product_would_take_it(bounded: Guarded, bounds: Object, cluster: WorkCluster) -> None:
    """Exactly where the claim is adoptable by the same policy."""
    seed = random.randrange(1 << 30)
    terms = Terms(adopt_from=("gitops-of-a-team",), human_hold_seconds=0, now_seconds=1, first_seen_seconds=0)
    differ = []
    for owner in drawn_owners(random.Random(seed)):
        facts = TargetFacts(ref=reference("marked"), replicas=1, owner=OwnerEvidence(owners=(owner,)))
        adoptable = judge(facts, terms).ownership.state is OwnerState.ADOPTABLE
        if adoptable != claim_may_go(bounded, cluster.api, without_replicas("claimed"), owner):
            differ.append(owner)
    assert not differ, f"seed {seed}"


@pytest.mark.parametrize("manager", ["helper", "kubectl-edit", "ancient-changes", "gitops-of-a-team"])
def test_our_account_writes_under_our_name_alone(bounded: Guarded, bounds: Object, cluster: WorkCluster, manager: str) -> None:
    """Writes under many names would fold the claims of others into one that nobody owns."""
    cluster.api.apply(machine_deployment(WHERE, NAME, Group("folded", replicas=0), "g"), "gitops-of-a-team")
    marked = merge(cluster.api.read(without_replicas("folded")), {"metadata": {"annotations": {"reconciler.dev/reason": "x"}}})
    bounded.allowed(marked)
    bounded.refused(
        msgspec.structs.replace(marked, query=f"fieldManager={manager}"), "the reconciler writes as nodegroup-reconciler alone"
    )


@pytest.mark.parametrize("path", ["admission/targets.yaml", "chart/templates/admission-targets.yaml"])
def test_product_and_guard_have_one_pattern_of_holds(path: str) -> None:
    """Letter by letter."""
    assert f"; until {HOLD_END}$" in (Path(__file__).parents[2] / "examples" / "deploy" / path).read_text()


@pytest.fixture
def renewal(cluster_api: ClusterApi) -> Iterator[Callable[..., str]]:
    """One look of the process that renews them, as its account: given its source and how it ends, what it says. No request of it
    is refused by rights, or is about anything else."""
    plane = cluster_api.plane
    kubeconfig = str(plane.kubeconfig_of(RENEWAL, *ACCOUNT_GROUPS, "system:authenticated"))
    before = len(plane.audit(RENEWAL, mutating=False))

    def renewed(*source: str, code: int) -> str:
        words = ["--apply", "--once", *source, "--name", "prod", "--namespace", NAMESPACE, "--kubeconfig", kubeconfig]
        done = CliRunner().invoke(command, words, standalone_mode=False)
        assert (done.return_value, done.exception) == (code, None), done.output
        return done.stderr

    yield renewed
    requests = plane.audit(RENEWAL, mutating=False)[before:]
    assert [one for one in requests if one.code >= 400 and one.code not in (404, 409)] == []
    assert {(one.verb, one.resource) for one in requests if one.resource} <= {
        *(("list", kind) for kind in ("machinedeployments", "machinesets", "machinepools")),
        *((verb, kind) for verb in ("list", "watch") for kind in ("nodegrouppolicies", "nodegroups")),
        ("get", "configmaps"), ("patch", "configmaps"),
    }  # fmt: skip


def test_another_account_renews_them_as_the_policy_changes(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, renewal: Callable[..., str], tmp_path: Path
) -> None:
    """From git. What somebody else keeps is not taken; then a wider range arrives, and a bad commit changes nothing."""
    repo = GitRepo(tmp_path / "repo")
    source = ("--git", f"file://{repo.root}/.git", "--git-protocol", "file", "--git-cache", str(tmp_path / "cache"))
    repo.commit({"policy.yaml": policy_text(ranged="size: {min: 1, max: 7}")})
    bounded.refused(lambda: sized(cluster, "ranged", 7), "says 1-5 of this target")
    told = renewal(*source, code=1)
    assert '"BoundsNotRenewed"' in told
    assert 'conflict with \\"gitops\\"' in told
    cluster.api.apply({key: bounds[key] for key in ("apiVersion", "kind", "metadata")}, "gitops")
    assert "ranged: nothing in the cluster, 1-7 by the policy" in renewal(*source, code=0)
    cluster.api.wait(
        cluster.path("machinedeployments"), lambda _: passes(bounded, cluster, 7), "the renewed bounds being in force"
    )
    bounded.refused(lambda: sized(cluster, "ranged", 8), "says 1-7 of this target")
    repo.commit({"policy.yaml": policy_text(ranged="size: {min: 1, max: many}")})
    told = renewal(*source, code=0)
    assert "policy.yaml:" in told
    assert "size.max must be an integer" in told
    assert '"BoundsRenewed"' not in told
    bounded.refused(lambda: sized(cluster, "ranged", 8), "says 1-7 of this target")


def test_they_follow_custom_resources_as_well(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, renewal: Callable[..., str]
) -> None:
    """The same objects that the loop follows, and nothing is left of another source."""
    documents = list(yaml.safe_load_all(policy_text(ranged="size: {min: 2, max: 6}")))
    items = [item for item in documents if item["metadata"]["name"] in ("prod", "ranged")]
    for item in items:
        cluster.api.apply(item, "kubectl")
    cluster.api.apply({key: bounds[key] for key in ("apiVersion", "kind", "metadata")}, "gitops")
    renewal("--custom-resources", code=0)
    said = cluster.api.read(bounds)["data"]
    assert {key: text for key, text in said.items() if "_" in key} == {f"MachineDeployment_{WHERE}_ranged": "2-6"}
    for item in reversed(items):
        cluster.api.delete(item)


def test_whoever_renews_them_may_do_nothing_else(bounded: Guarded, cluster_api: ClusterApi) -> None:
    """Asked as that account: nothing that the loop or anybody may do, but for lists of targets, policies and this one object."""
    plane = cluster_api.plane
    api = connect(plane.kubeconfig_of(RENEWAL, *ACCOUNT_GROUPS, "system:authenticated"), environment={})
    listed = {("list", CAPI, kind, "") for kind in SIZED} | {("list", MAPI, "machinesets", "")}
    listed |= {(verb, "reconciler.dev", kind, "") for verb in READ for kind in WORKLOAD["reconciler.dev"]}
    asked = {right for right in EVERYTHING | NEVER if right[2] != "selfsubjectaccessreviews"}
    assert {right for right in asked if may(api, *right)} == {right for right in asked if (*right[:3], "") in listed}
    for name, allowed in (("reconciler-bounds", True), ("reconciler-policy-source", False), ("reconciler-state-prod", False)):
        assert [may(api, verb, "", "configmaps", NAMESPACE, name) for verb in ("get", "patch")] == [allowed, allowed]
    assert not any(may(api, verb, "", "configmaps", NAMESPACE, "reconciler-bounds") for verb in ("create", "update", "delete"))


def test_what_the_bounds_refuse_is_told_and_tried_again(
    bounded: Guarded, bounds: Object, cluster: WorkCluster, cluster_api: ClusterApi
) -> None:
    """The loop, whose policy is ahead of its bounds: the sentence of the API server, turn after turn, until they allow it."""
    wider = {"data": {f"MachineDeployment_{WHERE}_late": "0-3"}}

    def late(report: LoopReport) -> list[ActionResult]:
        return [one for one in report.results if one.action.group == "late"]

    cluster.api.apply(without_replicas("late"), "kubectl")
    group = node_group("late", namespace=WHERE, min=3, max=3)
    with OwnLoop(cluster_api.plane, WHERE, group, user=ACCOUNT) as loop:
        for _ in range(2):
            (refused,) = late(loop.until(late, "the write"))
            assert (refused.state, refused.code) == (ResultState.REFUSED, "Refused")
            assert refused.message == (
                f"MachineDeployment {WHERE}/late: admission policy reconciler-bounds-targets refuses it: ConfigMap "
                "reconciler-bounds says nothing of this target, and the reconciler asks for 3 replicas"
            )
        cluster.api.merge(bounds, wider, "somebody")
        done = loop.until(lambda report: any(one.state is ResultState.DONE for one in late(report)), "the write that is allowed")
        assert [one.action.to for one in late(done)] == [3]


def passes(bounded: Guarded, cluster: WorkCluster, replicas: int) -> bool:
    try:
        sized(cluster, "ranged", replicas).by(bounded.ours)
    except ApiError:
        return False
    return True


def test_the_server_finds_no_fault_in_the_expressions(bounded: Guarded, control_plane: ControlPlane) -> None:
    """The type check of the control plane has looked at both policies and warns of none."""
    policies = control_plane.api.wait(
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
        lambda items: all(one.get("status", {}).get("typeChecking") is not None for one in items),
        "the type check",
    )
    found = {one["metadata"]["name"]: one["status"]["typeChecking"].get("expressionWarnings", []) for one in policies}
    ours = {name: warnings for name, warnings in found.items() if name.startswith("reconciler-bounds-")}
    assert ours == {"reconciler-bounds-evictions": [], "reconciler-bounds-targets": []}
