"""No two places of the product say the same in six lines. What must is listed here, with the reason."""

from tests.repeated import LINES, product, repeated

_OPTIONS = "parameters of a command are the options that it shares with others, and click passes them by name"
_SIGNATURE = "the signature of a protocol and of what fulfils it"
_FIELDS = "fields of two structs whose bodies have nothing else in common"
_LOOP = "a call per step would cost what the loop saves"
LISTED = {
    ("cli/commands/apply.py", "cli/commands/explain.py"): _OPTIONS,
    ("cli/commands/doctor.py", "cli/commands/drain_report.py"): _OPTIONS,
    ("cli/commands/doctor.py", "cli/commands/plan.py"): _OPTIONS,
    ("cli/commands/drain_report.py", "cli/commands/plan.py"): _OPTIONS,
    ("cli/commands/simulate.py", "cli/commands/tune.py"): _OPTIONS,
    ("cli/inputs/remote_access.py", "cli/inputs/source_choice.py"): _FIELDS,
    (
        "cluster/pods/pod.py",
        "simulation/embedded/pod_object.py",
    ): "a row of a view and an object that changes",
    ("cluster/wire/pod.py", "cluster/wire/volume.py"): "two types of the API that name the same disks",
    ("cluster/workloads/capacity_buffer.py", "cluster/workloads/provisioning_request.py"): "metadata of two types, by name",
    ("cluster/world.py", "cluster/world.py"): _FIELDS,
    ("decisions/reasons/groups.py", "decisions/reasons/nodes.py"): _FIELDS,
    ("gitops/sources/bounded_tree.py", "gitops/sources/bounded_tree.py"): _SIGNATURE,
    ("gitops/sources/bounded_tree.py", "gitops/sources/fleet_tree.py"): _SIGNATURE,
    ("kube/connection/api.py", "kube/connection/transport.py"): _SIGNATURE,
    ("kube/watching/shared_targets.py", "kube/watching/target_streams.py"): "parameters of the streams of one view and of many",
    ("platforms/crusoe/writing/cancellation.py", "platforms/crusoe/writing/removal.py"): "parameters of two writers",
    ("scheduling/bindings.py", "scheduling/bindings.py"): _LOOP,
    ("scheduling/kernels/fillings.py", "scheduling/kernels/fillings.py"): _LOOP,
    ("scheduling/kernels/fillings.py", "scheduling/kernels/improvements.py"): _LOOP,
    ("scheduling/kernels/improvements.py", "scheduling/kernels/improvements.py"): _LOOP,
    ("scheduling/kernels/loops.py", "scheduling/kernels/loops.py"): _LOOP,
    ("scheduling/kernels/loops.py", "scheduling/kernels/passes.py"): _LOOP,
    ("scheduling/kernels/passes.py", "scheduling/kernels/passes.py"): _LOOP,
    (
        "scheduling/predicates/volume_restrictions.py",
        "scheduling/predicates/volume_zone.py",
    ): "two plugins of the scheduler begin alike, and each says it under its own name",
}


def test_nothing_is_said_twice() -> None:
    found = list(repeated(product()))
    pairs = {(one.removeprefix("reconciler/"), other.removeprefix("reconciler/")) for one, _, other, _ in found}
    new = [f"{one}:{line} = {other}:{at}" for one, line, other, at in found if _pair(one, other) not in LISTED]
    assert not new, f"{LINES} lines or more, twice: {', '.join(new)}"
    assert set(LISTED) <= pairs, "no longer repeated"


def test_a_run_is_found_once_wherever_it_begins() -> None:
    run = "".join(f"    step_{number}(value)\n" for number in range(8))
    texts = {"a.py": f"def a(value):\n{run}", "b.py": f"def b(value):\n    # said again\n\n{run}", "c.py": run[:90]}
    assert list(repeated(texts)) == [("a.py", 2, "b.py", 4)]


def _pair(one: str, other: str) -> tuple[str, str]:
    return one.removeprefix("reconciler/"), other.removeprefix("reconciler/")
