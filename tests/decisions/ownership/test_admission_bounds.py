"""What a policy lets our account do, as the API server is to hold it."""

from reconciler.cluster.target import OwnerEvidence
from reconciler.decisions.ownership.admission_bounds import AdmissionBounds, admission_bounds
from reconciler.policy.documents import DrainRules, Hold, Mode, PolicySet, Size, TargetSpec, Window
from tests.builders import NOW, ClusterBuilder, node_group, policy


def _of(rules: PolicySet, cluster: ClusterBuilder | None = None) -> AdmissionBounds:
    return admission_bounds((cluster or ClusterBuilder()).world(), rules, NOW)


def _ranges(bounds: AdmissionBounds) -> dict[str, object]:
    return {bound.target.name: "held" if bound.held else (bound.lowest, bound.highest) for bound in bounds.targets}


def test_a_range_is_that_of_the_policy_without_its_windows() -> None:
    """A window only narrows, and the API server knows no time."""
    always = Window(schedule="* * * * *", duration_seconds=3600, size=Size(min=5, max=6))
    assert _ranges(_of(policy(node_group("a", min=2, max=9, windows=(always,))))) == {"a": (2, 9)}


def test_a_group_that_is_held_or_observed_is_held() -> None:
    """With an end that has not come, and without one; a hold that has ended counts no more."""
    groups = (
        node_group("ended", max=3, hold=Hold(reason="x", until_seconds=NOW)),
        node_group("endless", max=3, hold=Hold(reason="x")),
        node_group("later", max=3, hold=Hold(reason="x", until_seconds=NOW + 1)),
        node_group("observed", max=3, mode=Mode.OBSERVE),
    )
    expected = {"ended": (0, 3), "endless": "held", "later": "held", "observed": "held"}
    assert _ranges(_of(policy(*groups))) == expected


def test_what_a_person_holds_by_annotation_keeps_its_range() -> None:
    """The annotation stands on the target itself, and goes again without a rendering."""
    cluster = ClusterBuilder()
    cluster.target("a", 1, evidence=OwnerEvidence(hold="incident"))
    assert _ranges(_of(policy(node_group("a", max=3)), cluster)) == {"a": (0, 3)}


def test_a_group_without_a_maximum_has_no_range() -> None:
    """Its size of today is nobody's word on how large it may be; held, it needs none."""
    held = node_group("held", max=None, hold=Hold(reason="x"))
    bounds = _of(policy(node_group("open", min=1, max=None), held))
    assert _ranges(bounds) == {"held": "held"}
    assert [group.name for group in bounds.unbounded] == ["open"]


def test_sizes_of_the_target_count_where_it_is_seen() -> None:
    """An annotation says what the policy leaves open."""
    cluster = ClusterBuilder()
    cluster.target("a", 2, min_size=1, max_size=7, size_origin="annotations")
    assert _ranges(_of(policy(node_group("a", min=None, max=None)), cluster)) == {"a": (1, 7)}


def test_claims_of_kubectl_are_named_as_the_server_records_them() -> None:
    """Whoever names kubectl means what its client-side apply declared."""
    assert _of(policy(adopt_from=("kubectl", "argocd-controller"))).adopt_from == (
        "argocd-controller", "kubectl", "kubectl-client-side-apply",
    )  # fmt: skip
    assert _of(policy(adopt_from=("argocd-controller",))).adopt_from == ("argocd-controller",)


def test_blocked_namespaces_are_those_of_the_drain_rules() -> None:
    """Sorted, as everything that is rendered."""
    assert _of(policy(drain=DrainRules(blocked_namespaces=("b", "a")))).blocked_namespaces == ("a", "b")


def test_only_targets_of_an_api_server_are_named() -> None:
    """An Auto Scaling group is in no namespace, and no admission policy sees it."""
    spec = TargetSpec(provider="aws", name="web", region="eu-central-1")
    assert _of(policy(node_group("web", target=spec))).targets == ()
