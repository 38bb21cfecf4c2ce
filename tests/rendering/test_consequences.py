"""What a reviewer is told first of a policy change."""

import msgspec

from reconciler.plan.comparison import compare_plans
from reconciler.plan.plan import Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.comparison import PolicyChange
from reconciler.rendering.differences import consequences, rest_words
from reconciler.rendering.markdown.preview import preview_markdown
from reconciler.rendering.text.preview import preview_text


def changed(path: str, before: str | None, after: str | None, kind: str = "NodeGroup", name: str = "big") -> PolicyChange:
    """One value that differs."""
    return PolicyChange(kind=kind, name=name, path=path, before=before, after=after)


def told(plan: Plan, *changes: PolicyChange) -> tuple[str, ...]:
    """The sentences about a change of policy that changes no decision."""
    return consequences(preview(plan, *changes))


def preview(plan: Plan, *changes: PolicyChange) -> Preview:
    """The plan under two policies, which decide the same."""
    side = PreviewSide(source="x")
    return Preview(base=side, head=side, plan=plan, changes=changes, comparison=compare_plans(plan, plan))


def test_it_starts_writing(mixed_plan: Plan):
    """Observe -> Enforce comes first, with the number of actions that follow now and the summary of the plan."""
    mode = changed("mode", "Observe", "Enforce", "NodeGroupPolicy", "prod")
    first = told(mixed_plan, changed("size.max", "4", "5"), mode)[0]
    assert first == f"This starts writing: mode Observe -> Enforce. 2 actions now: {mixed_plan.summary}"
    assert told(mixed_plan, changed("mode", "Enforce", "Observe", "NodeGroupPolicy", "prod")) == (rest_words(mixed_plan),)
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    assert "No action follows now." in told(quiet, mode)[0]


def test_bold_above_everything_in_a_pull_request(mixed_plan: Plan):
    """In markdown the sentence is bold and stands before the sections; on a terminal it is marked."""
    shown = preview(mixed_plan, changed("mode", "Observe", "Enforce", "NodeGroupPolicy", "prod"))
    text = preview_markdown(shown)
    assert text.index("> **`This starts writing") < text.index("###")
    assert "\n! This starts writing: mode Observe -> Enforce." in preview_text(shown)


def test_loosened(mixed_plan: Plan):
    """Wider bounds, larger budgets, lifted holds and new adoptions are told; what tightens is not."""
    loose = told(
        mixed_plan,
        changed("size.max", "40", "60"),
        changed("size.min", "4", "2"),
        changed("limits[cluster].max.nodes", "9", None, "NodeGroupPolicy", "prod"),
        changed("budgets[0].nodes", "5%", "100%", "NodeGroupPolicy", "prod"),
        changed("hold", "{reason: x}", None),
        changed("adoptFrom", None, "[kubectl]", "NodeGroupPolicy", "prod"),
    )
    assert loose[:-1] == (
        "This takes over replicas that others declare (adoptFrom [kubectl]): 1 group, spot-b.",
        "This lifts the hold of big: its replicas are decided again.",
        "This widens bounds: big size.max 40 -> 60, big size.min 4 -> 2, prod limits[cluster].max.nodes 9 -> none.",
        "This lets more nodes leave at a time: budgets[0].nodes 5% -> 100%.",
    )
    tight = told(
        mixed_plan,
        changed("size.max", "60", "40"),
        changed("size.min", "2", "4"),
        changed("budgets[0].nodes", "10", "5", "NodeGroupPolicy", "prod"),
        changed("hold", None, "{reason: x}"),
    )
    assert tight == (rest_words(mixed_plan),)


def test_rest(mixed_plan: Plan):
    """Sizes of 11 are desired and 10 come to rest, as the conftest has them; without settled sizes nothing is said."""
    assert rest_words(mixed_plan) == "At rest 1 node fewer (11 -> 10)."
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    assert rest_words(quiet) == "No action now; at rest 1 node fewer (11 -> 10)."
    unknown = tuple(msgspec.structs.replace(group, settled=None) for group in mixed_plan.groups)
    assert rest_words(msgspec.structs.replace(mixed_plan, groups=unknown)) == ""


def test_fewer_approvals_and_more_evictions_are_told(mixed_plan: Plan):
    """A higher ceiling or none, and namespaces that are blocked no more; what tightens is not."""
    above, blocked = "pace.requireApprovalAbove", "drain.blockedNamespaces"
    for path, before, after, said in (
        (above, "5", "50", "This lets more nodes leave without an approval: pace.requireApprovalAbove 5 -> 50."),
        (above, "5", None, "This lets more nodes leave without an approval: pace.requireApprovalAbove 5 -> none."),
        (blocked, "[a, b, c]", "[b]", "This lets pods be evicted in a, c."),
        (blocked, "[a]", None, "This lets pods be evicted in a."),
    ):
        assert told(mixed_plan, changed(path, before, after, "NodeGroupPolicy", "prod"))[0] == said
    for path, before, after in ((above, "5", "4"), (above, None, "5"), (blocked, "[a]", "[a, b]"), (blocked, None, "[a]")):
        assert told(mixed_plan, changed(path, before, after, "NodeGroupPolicy", "prod")) == (rest_words(mixed_plan),)
