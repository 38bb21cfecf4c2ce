"""What a reviewer is told first of a policy change."""

import msgspec

from reconciler.plan.comparison import Impact, compare_plans
from reconciler.plan.plan import Plan
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.comparison import PolicyChange
from reconciler.policy.loosening import Loosened
from reconciler.rendering.differences import consequences, rest_words
from reconciler.rendering.markdown.preview import preview_markdown
from reconciler.rendering.text.preview import preview_text


def looser(path: str, before: str, after: str, *groups: str, certain: bool = True) -> Loosened:
    """One value that lets more happen."""
    return Loosened(path=path, before=before, after=after, certain=certain, groups=groups)


def told(plan: Plan, *values: Loosened, before: Plan | None = None) -> tuple[str, ...]:
    """The sentences about a change of policy; without `before` it changes no decision."""
    return consequences(preview(plan, *values, before=before))


def preview(plan: Plan, *values: Loosened, before: Plan | None = None) -> Preview:
    """The plan under two policies."""
    side = PreviewSide(source="x")
    return Preview(base=side, head=side, plan=plan, loosened=values, comparison=compare_plans(before or plan, plan))


MODE = looser("mode", "Observe", "Enforce")


def test_it_starts_writing(mixed_plan: Plan):
    """Observe -> Enforce comes first, with the number of actions that follow now and the summary of the plan."""
    first = told(mixed_plan, looser("size.max", "4", "5", "big"), MODE)[0]
    assert first == f"This starts writing: mode Observe -> Enforce. 2 actions now: {mixed_plan.summary}"
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    assert "No action follows now." in told(quiet, MODE)[0]
    one = looser("mode", "Observe", "Enforce", "big")
    assert told(quiet, one) == ("This starts writing to big: mode Observe -> Enforce. No action follows now.",)


def test_bold_above_everything_in_a_pull_request(mixed_plan: Plan):
    """In markdown the sentence is bold and stands before the sections; on a terminal it is marked."""
    mode = PolicyChange(kind="NodeGroupPolicy", name="prod", path="mode", before="Observe", after="Enforce")
    shown = msgspec.structs.replace(preview(mixed_plan, MODE), changes=(mode,))
    text = preview_markdown(shown)
    assert text.index("> **`This starts writing") < text.index("###")
    assert "\n! This starts writing: mode Observe -> Enforce." in preview_text(shown)


def test_loosened(mixed_plan: Plan):
    """What loosens and what may are two sentences; takeovers have their own."""
    assert told(
        mixed_plan,
        looser("size.max", "40", "60", "big", "small"),
        looser("limits[cluster].max.nodes", "9", "not set"),
        looser("windows[0 7 * * *].duration", "1h", "2h", "big", certain=False),
        looser("adoptFrom", "not set", "[kubectl]"),
    ) == (
        "This takes over replicas that others declare (adoptFrom [kubectl]): 1 group, spot-b.",
        "This loosens size.max 40 -> 60 (big, small), limits[cluster].max.nodes 9 -> not set.",
        "This may loosen windows[0 7 * * *].duration 1h -> 2h (big).",
    )


def test_groups_that_discovery_finds(mixed_plan: Plan):
    begins = msgspec.structs.replace(looser("mode", "Observe", "Enforce"), discovered=True)
    assert told(mixed_plan, begins)[0].startswith("This starts writing to what discovery finds: mode Observe -> Enforce.")
    value = msgspec.structs.replace(looser("size.max", "4", "5", "big"), discovered=True)
    assert told(mixed_plan, value) == ("This loosens size.max 4 -> 5 (big, what discovery finds).",)


def test_the_steady_state_is_held_against_that_without_the_change(mixed_plan: Plan):
    """The same steady state is no consequence, however far it is from now."""
    assert told(mixed_plan) == ()
    first, *others = mixed_plan.groups
    now = msgspec.structs.replace(first, settled=(first.settled or 0) + 3)
    before = msgspec.structs.replace(mixed_plan, groups=(now, *others))
    assert told(mixed_plan, before=before) == ("At rest 3 nodes fewer than without this change (13 -> 10).",)
    assert told(before, before=mixed_plan) == ("At rest 3 nodes more than without this change (10 -> 13).",)


def test_a_group_that_leaves_keeps_its_size(mixed_plan: Plan):
    """Its target is no longer sized: it stays at what it has now."""
    first = mixed_plan.groups[0]
    leaving = msgspec.structs.replace(first, name="leaving", current=4, desired=6, settled=6)
    before = msgspec.structs.replace(mixed_plan, groups=(leaving, *mixed_plan.groups))
    assert told(mixed_plan, before=before) == ("At rest 2 nodes fewer than without this change (16 -> 14).",)


def test_more_pods_without_a_node_and_more_evictions(mixed_plan: Plan):
    shown = msgspec.structs.replace(
        preview(mixed_plan),
        impact_before=Impact(waiting=("a/1",), evicted_settled=("a/1",)),
        impact_after=Impact(waiting=("a/1", "a/2"), evicted_settled=("a/1", "a/2", "a/3")),
    )
    assert consequences(shown) == (
        "1 more pod without a node at rest (1 -> 2).", "2 more evictions on the way to rest (1 -> 3)."
    )  # fmt: skip
    calmer = msgspec.structs.replace(shown, impact_before=shown.impact_after, impact_after=shown.impact_before)
    assert consequences(calmer) == ()


def test_rest(mixed_plan: Plan):
    """Sizes of 11 are desired and 10 come to rest, as the conftest has them; without settled sizes nothing is said, and nothing
    beside a summary of no action, which says it by itself."""
    assert rest_words(mixed_plan) == "At rest 1 node fewer (11 -> 10)."
    quiet = msgspec.structs.replace(mixed_plan, actions=())
    assert rest_words(quiet) == ""
    unknown = tuple(msgspec.structs.replace(group, settled=None) for group in mixed_plan.groups)
    assert rest_words(msgspec.structs.replace(mixed_plan, groups=unknown)) == ""
