"""Two policies that were read, as one preview."""

from typing import TYPE_CHECKING

from reconciler.cli.outputs.failure import InputError
from reconciler.values.two_sentences import two_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reconciler.cli.inputs.preview_sides import Side
    from reconciler.cli.processes.policy_test_run import PolicyTestRunner
    from reconciler.cluster.world import World
    from reconciler.plan.policy_tests import CaseResult, PolicyTestRun
    from reconciler.plan.preview import Preview
    from reconciler.policy.documents import PolicySet
    from reconciler.policy.policy_test import PolicyTestText


def chosen(before: "Side", after: "Side", name: str | None) -> "PolicySet":
    """The head's policy that is meant. Raises `InputError`."""
    from reconciler.rendering.words.wording import MAIN

    names = [entry.policy.name for entry in after.sets]
    if not names and after.tree is not None and after.tree.for_many:
        if not before.sets:
            raise InputError(f"{after.where}: no NodeGroupPolicy applies in this cluster")
        lost = ", ".join(entry.policy.name for entry in before.sets)
        raise InputError(
            f"this cluster loses its policy: {MAIN} has {lost} for it, and no NodeGroupPolicy of {after.where} applies here. "
            "The loop would keep the last policy"
        )
    if not names:
        had = f" ({MAIN} has {', '.join(entry.policy.name for entry in before.sets)})" if before.sets else ""
        if unrendered := next((one for one in after.problems if one.code == "ManifestUnrendered"), None):
            raise InputError(f"{after.where}: no NodeGroupPolicy{had}. {two_sentences(unrendered.message, unrendered.hint)}")
        raise InputError(
            f"{after.where}: no NodeGroupPolicy in {after.files} policy files{had}. Write one (`kind: NodeGroupPolicy`), "
            "or say where they are with --path"
        )
    if name is None and len(names) == 1:
        return after.sets[0]
    if name is None:
        raise InputError(f"{after.where} holds several policies: choose one with --name ({', '.join(names)})")
    for entry in after.sets:
        if entry.policy.name == name:
            return entry
    raise InputError(f"--name {name}: {after.where} holds {', '.join(names)}")


def made_preview(
    world: "World",
    now_seconds: int,
    before: "Side",
    after: "Side",
    policy: "PolicySet",
    name: str | None,
    work_budget: int,
    *,
    pictured: bool,
    with_what_if: bool = True,
) -> "Preview":
    """Both decided on one cluster; the head alone where the base has no such policy."""
    import msgspec

    from reconciler.cli.inputs.cluster_files import capi_group
    from reconciler.decisions.ownership.dropped_replicas import drop_warnings
    from reconciler.gitops.preview import alone, compare
    from reconciler.policy.changes.hunks import hunks_of
    from reconciler.policy.manifests.dropped_sizes import dropped_sizes
    from reconciler.policy.manifests.size_changes import size_changes
    from reconciler.policy.problems.problem import new_problems
    from reconciler.rendering.words.wording import MAIN

    dropped = dropped_sizes(before.given, after.given, capi_group())
    dropping = tuple(drop_warnings(dropped, world))
    head = (after.side, policy)
    manifests = ({**before.given, **before.elsewhere}, before.sets), ({**after.given, **after.elsewhere}, after.sets)
    sizes = size_changes(*manifests, capi_group())
    earlier = earlier_set(before, after, policy)
    if earlier is not None:
        made = compare(
            world, now_seconds, (before.side, earlier), head, work_budget,
            (*new_problems(before.problems, after.problems), *dropping),
            pictured=pictured, with_what_if=with_what_if,
        )  # fmt: skip
        texts = [{} if side.read is None else side.read[0].files for side in (before, after)]
        return msgspec.structs.replace(made, sizes=sizes, hunks=hunks_of(made.changes, *texts))
    if before.errors:
        why = f"the policy of {MAIN} has {before.errors} {'error' if before.errors == 1 else 'errors'}."
    else:
        why = f"{MAIN} has no policy {policy.policy.name if before.sets or name else ''}".rstrip() + " yet."
    made = alone(
        world, now_seconds, before.side, head, work_budget,
        no_base=why, base_problems=before.problems if before.errors else (),
        warnings=(*after.problems, *dropping), pictured=pictured,
    )  # fmt: skip
    return msgspec.structs.replace(made, sizes=sizes)


def elsewhere(before: "Side", after: "Side") -> tuple[str, ...]:
    """The clusters of documents that differ and do not count in the cluster of the preview, by name or by labels."""
    ours, theirs = (frozenset() if side.tree is None else side.tree.elsewhere for side in (before, after))
    return tuple(sorted({name for name, _ in ours ^ theirs}))


def tested(preview: "Preview", before: "Side", after: "Side", policy: "PolicySet") -> "Preview":
    """With the policy tests of the head, run on the head's policy. Consequences are compared with the base's policy."""
    import msgspec

    from reconciler.cli.processes.policy_test_run import Asked, PolicyTestRunner

    texts = after.tests.about(policy)
    earlier = earlier_set(before, after, policy)
    # A policy that main alone has may be this one under another name.
    names = {one.policy.name for one in after.sets}
    same = [one for one in before.sets if one.policy.name not in names] if earlier is None else [earlier]
    known = tuple(text for one in same for text in before.tests.about(one))
    asked = Asked(policy=lambda *_: policy, today=lambda *_: earlier, review=True)
    run = tests_of_change(before, after, (known, texts), PolicyTestRunner(after.tests.files, asked), None, ("", ""))
    return preview if run is None else msgspec.structs.replace(preview, tests=run)


def tests_of_change(
    before: "Side", after: "Side", sides: "tuple[Sequence[PolicyTestText], Sequence[PolicyTestText]]",
    runner: "PolicyTestRunner", in_clusters: "Sequence[CaseResult] | None", names: tuple[str, str],
) -> "PolicyTestRun | None":  # fmt: skip
    """The policy tests of `sides`: those that judge the policy on main, and those that do in this PR, which run. None: there is
    nothing to tell. `in_clusters` are results in a fleet that the runner has already. `names` are those of the one policy that
    all clusters of it have, on both sides."""
    import msgspec

    from reconciler.cli.inputs.preview_tests import lost_tests
    from reconciler.plan.policy_tests import PolicyTestRun
    from reconciler.policy.policy_test import repeated_names

    if not (after.tests.texts or after.tests.problems or before.tests.texts):
        return None
    known, texts = sides
    run = runner.done(texts, [*runner.run(texts), *(in_clusters or ())]).run
    wrong = tuple(f"{problem.place}: {problem.message}" for problem in (*after.tests.problems, *repeated_names(texts)))
    lost = lost_tests(before.tests, after.tests, (known, texts), fleet=in_clusters is not None, names=names)
    none_left = bool(lost) and not after.tests.texts and not wrong
    changed = tuple(f"{one.suite}: {one.name}" for one in lost)
    run = msgspec.structs.replace(run, not_run=(*wrong, *run.not_run), changed=changed, lost=lost, all_removed=none_left)
    return None if run == PolicyTestRun(coverage=run.coverage) else run


def earlier_set(before: "Side", after: "Side", policy: "PolicySet") -> "PolicySet | None":
    """The base's policy that the head's one is compared with."""
    # One policy under another name is the same one renamed; of several, only the name tells.
    earlier = next((entry for entry in before.sets if entry.policy.name == policy.policy.name), None)
    if earlier is None and len(before.sets) == 1 and len(after.sets) == 1:
        return before.sets[0]
    return earlier
