"""Policy tests: what is given, and what to expect of the policy. They stand next to the policy, in files of their own.

The comment below shows every key of the format.
"""

# apiVersion: test.reconciler.dev/v1alpha1
# kind: PolicyTest
# metadata: {name: prod}
# spec:
#   policy: ..                              # file or directory, relative to this file; without it, the directory of this file
#   policyName: prod                        # where the files hold several
#   given: {cluster: ../../snapshot}        # for all tests; a key of a test's own `given` replaces it
#   tests:
#     - name: the shop grows
#       given:
#         cluster: ../../snapshot           # a snapshot, relative to this file; or, instead, a scenario
#         scenario: ../../scenarios/burst.yaml
#         clusters: {names: [eu, us]}       # or each of these clusters in `test --fleet`, {} for all; or those with labels:
#         #         {labels: {matchLabels: {ring: "1"}}}
#         now: "2026-11-21T18:00:00Z"       # the instant of the decision; without it, that of the snapshot
#         workloads: [{name: shop/extra, replicas: 3, cpu: 500m, memory: 1Gi}]    # pending pods on top, as in a scenario
#         nodes: [{group: general, count: 1}]                                     # empty Ready nodes on top
#         today: ../../main/policies        # the policy that consequences are compared with
#       expect:
#         groups:
#           - {name: general, desired: 3, settled: 2..4, reasons: [PendingPods]}  # of a scenario: nodes, at its end
#         heldGroups: [fixed]               # exactly these; [] for none
#         pendingPods: ..10                 # in steady state; of a scenario at its end
#         evictions: [{namespace: shop, max: 0}]      # on the way there; "*" for all namespaces
#         maxPricePerHour: "4.50"           # now and in steady state
#         consequences: {present: [NodesRemoved], absent: [PodsWithoutNode]}
#         maxPendingTime: 10m               # of a scenario: the longest that a pod waits
#         maxCost: "12.00"                  # of a scenario: of the whole run
#
# A number is exact (9) or a range (7..10, 7.., ..10). `policy`, `cluster`, `scenario` and `today` stay below the directory that
# the tests are run in.

import posixpath
from collections.abc import Iterable, Iterator
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from reconciler.policy.documents import TEST_KIND, TEST_VERSION, ClusterMatch
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.typed_text import (
    Amount,
    DocumentError,
    Metadata,
    NumberRange,
    Span,
    StrictDocument,
    TypedText,
    documents_of,
    read_typed,
)
from reconciler.policy.stated_workload import StatedWorkload
from reconciler.policy.values.label_selector import Selector
from reconciler.values.instant import InstantError, parse_instant

API_VERSION, KIND = TEST_VERSION, TEST_KIND
ALL_NAMESPACES = "*"
MOST_REPLICAS, MOST_NODES, MOST_TESTS = 10_000, 1_000, 1_000

T = TypeVar("T")


class GivenNodes(StrictDocument, frozen=True, kw_only=True):
    """Nodes that join a group before the decision, empty and Ready, as its template describes them."""

    group: str
    count: Annotated[int, Meta(ge=1, le=MOST_NODES)]


class GivenLabels(StrictDocument, frozen=True, kw_only=True):
    """Labels that a Cluster object must have."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)


class GivenClusters(StrictDocument, frozen=True, kw_only=True):
    """Clusters of a fleet: those with one of the `names` (`name` or `namespace/name`), or those with `labels`. Neither: all."""

    names: tuple[str, ...] = ()
    labels: GivenLabels | None = None

    @property
    def match(self) -> ClusterMatch:
        """The same as a policy document says it."""
        labels = None if self.labels is None else Selector(match_labels=tuple(sorted(self.labels.match_labels.items())))
        return ClusterMatch(names=self.names, labels=labels)


class Given(StrictDocument, frozen=True, kw_only=True):
    """What the decision is made for: a snapshot with what is added to it, a scenario, or clusters of a fleet. Paths are relative
    to the file. With `clusters`, each of them is decided for, from the snapshot that the run has of it."""

    cluster: str = ""
    scenario: str = ""
    clusters: GivenClusters | None = None
    now: str = ""
    workloads: tuple[StatedWorkload, ...] = ()
    nodes: tuple[GivenNodes, ...] = ()
    today: str = ""

    def on(self, before: "Given") -> "Given":
        """What this one says, else what `before` says. A cluster, a scenario and clusters replace each other."""
        other = before
        if self.cluster:
            other = msgspec.structs.replace(before, scenario="", clusters=None)
        elif self.clusters is not None:
            other = msgspec.structs.replace(before, scenario="", cluster="")
        elif self.scenario:
            other = msgspec.structs.replace(before, cluster="", clusters=None, now="", workloads=(), nodes=())
        return Given(**{name: getattr(self, name) or getattr(other, name) for name in Given.__struct_fields__})


class ExpectedGroup(StrictDocument, frozen=True, kw_only=True):
    """A group by name. Of a snapshot: its sizes in the plan, and codes of its reasons there. Of a scenario: its nodes at the
    end."""

    name: str
    desired: NumberRange | None = None
    settled: NumberRange | None = None
    nodes: NumberRange | None = None
    reasons: tuple[str, ...] = ()


class ExpectedEvictions(StrictDocument, frozen=True, kw_only=True):
    """How many pods of a namespace may be evicted until the steady state, or in the scenario."""

    namespace: str
    max: Annotated[int, Meta(ge=0, le=10**9)]


class ExpectedConsequences(StrictDocument, frozen=True, kw_only=True):
    """Codes of consequences, as a preview has them, that must be there or must not."""

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


class Expectation(StrictDocument, frozen=True, kw_only=True):
    """What must be true. Whatever is not written here is not judged."""

    groups: tuple[ExpectedGroup, ...] = ()
    held_groups: tuple[str, ...] | None = None
    pending_pods: NumberRange | None = None
    evictions: tuple[ExpectedEvictions, ...] = ()
    max_price_per_hour: Amount | None = None
    consequences: ExpectedConsequences = ExpectedConsequences()
    max_pending_time: Span | None = None
    max_cost: Amount | None = None


class Case(StrictDocument, frozen=True, kw_only=True):
    """One test."""

    name: str
    given: Given = Given()
    expect: Expectation


class PolicyTestSpec(StrictDocument, frozen=True, kw_only=True):
    """The tests of one policy; `given` is what all of them have in common."""

    policy: str = "."
    policy_name: str = ""
    given: Given = Given()
    tests: Annotated[tuple[Case, ...], Meta(min_length=1, max_length=MOST_TESTS)]


class PolicyTest(StrictDocument, frozen=True, kw_only=True):
    """One document of policy tests."""

    api_version: str
    kind: str
    metadata: Metadata
    spec: PolicyTestSpec


PolicyTestText = TypedText[PolicyTest]


def may_hold_tests(data: bytes) -> bool:
    """Whether a policy test may stand in a text. A quick look, so that other files are not parsed."""
    return API_VERSION.partition("/")[0].encode() in data


def read_policy_tests(path: str, data: bytes) -> tuple[PolicyTestText, ...]:
    """The PolicyTest documents of a file, in their order. The file may have documents of other API groups, too.

    Raises `DocumentError` with the first thing that is wrong.
    """
    source, documents = documents_of(path, data, API_VERSION)
    texts = tuple(read_typed(document, source, PolicyTest) for document in documents)
    for text in texts:
        if (error := next(_wrong(text), None)) is not None:
            raise error
    return texts


def repeated_names(texts: Iterable[PolicyTestText]) -> Iterator[Problem]:
    """A test with the suite and the name of another one, among documents that judge one policy: reports would show two as one."""
    seen: dict[tuple[str, str, str, str], Place] = {}
    for text in texts:
        test = text.value
        policy = posixpath.normpath(posixpath.join(posixpath.dirname(text.source.path), test.spec.policy))
        for index, case in enumerate(test.spec.tests):
            at = f"$.spec.tests[{index}].name"
            key = policy, test.spec.policy_name, test.metadata.name, case.name
            if (first := seen.setdefault(key, text.place(at))) != text.place(at):
                message = f"the name {case.name!r} of the suite {test.metadata.name!r} is taken by the test at {first}"
                yield from text.error(at, message, "write another one").problems


def _wrong(text: PolicyTestText) -> Iterator[DocumentError]:
    """What the types cannot say."""
    test = text.value
    if test.kind != KIND:
        yield text.error("$.kind", f"unknown kind {test.kind!r}", f"write kind: {KIND}")
    seen: dict[str, int] = {}
    yield from _wrong_given(text, "$.spec.given", test.spec.given)
    for index, case in enumerate(test.spec.tests):
        path = f"$.spec.tests[{index}]"
        if not case.name.strip():
            yield text.error(f"{path}.name", "the name is empty", "give the subject of the test in a few words")
        if (first := seen.setdefault(case.name, index)) != index:
            place = text.place(f"$.spec.tests[{first}].name")
            yield text.error(f"{path}.name", f"the name {case.name!r} is taken by the test at {place}", "write another one")
        yield from _wrong_given(text, f"{path}.given", case.given)
        given = case.given.on(test.spec.given)
        if not given.cluster and not given.scenario and given.clusters is None:
            hint = "write given.cluster (a snapshot), given.scenario or given.clusters, here or in spec.given"
            yield text.error(path, "nothing is given", hint)
        yield from _wrong_expectation(text, f"{path}.expect", case.expect, scenario=bool(given.scenario))


def _wrong_given(text: PolicyTestText, path: str, given: Given) -> Iterator[DocumentError]:
    if given.cluster and given.scenario:
        yield text.error(f"{path}.scenario", "a cluster and a scenario are given", "write one of them")
    if given.clusters is not None:
        if given.cluster or given.scenario:
            yield text.error(f"{path}.clusters", "clusters and something else are given", "write one of them")
        if given.clusters.names and given.clusters.labels is not None:
            yield text.error(f"{path}.clusters", "names and labels are given", "write one of them")
        if given.clusters.labels is not None and not given.clusters.labels.match_labels:
            yield text.error(f"{path}.clusters.labels", "no label is given", "write matchLabels, or clusters: {} for all")
    added = next((name for name in ("now", "workloads", "nodes", "today") if getattr(given, name)), "")
    if given.scenario and added:
        yield text.error(f"{path}.{added}", f"{added} goes with a cluster, not with a scenario", "write it into the scenario")
    if given.now:
        try:
            parse_instant(given.now)
        except InstantError as error:
            yield text.error(f"{path}.now", f"{error}", "write an instant such as 2026-11-21T18:00:00Z")
    if (pods := sum(max(0, workload.replicas) for workload in given.workloads)) > MOST_REPLICAS:
        yield text.error(f"{path}.workloads", f"{pods} pods cannot be added", f"write at most {MOST_REPLICAS} in all")
    for index, workload in enumerate(given.workloads):
        namespace, _, name = workload.name.partition("/")
        at = f"{path}.workloads[{index}]"
        if not namespace or not name or "/" in name:
            yield text.error(f"{at}.name", f"{workload.name!r} is not namespace/name", "write it like shop/web")
        if not 1 <= workload.replicas <= MOST_REPLICAS:
            hint = f"write 1 to {MOST_REPLICAS}"
            yield text.error(f"{at}.replicas", f"{workload.replicas} pods cannot be added", hint)
        if min(workload.cpu.milli, workload.memory.milli, workload.gpu) < 0 or workload.gpu > MOST_REPLICAS:
            yield text.error(at, "a request is out of range", "write amounts of zero or more")
        if abs(workload.priority) > 2_000_001_000:
            yield text.error(f"{at}.priority", "no pod has such a priority", "write -2000001000 to 2000001000")


_OF_A_SNAPSHOT = ("max_price_per_hour",)
_OF_A_SCENARIO = ("max_pending_time", "max_cost")
_OF_A_GROUP = ("desired", "settled", "nodes", "reasons")
_NAMES = {field.name: field.encode_name for field in msgspec.structs.fields(Expectation)}


def _wrong_expectation(text: PolicyTestText, path: str, expect: Expectation, *, scenario: bool) -> Iterator[DocumentError]:
    """What judges nothing, and what such a run cannot tell."""
    what = "a scenario" if scenario else "a snapshot"
    if expect == Expectation():
        yield text.error(path, "the test expects nothing", f"write one of {', '.join(_NAMES.values())}")
    for name in _OF_A_SNAPSHOT if scenario else _OF_A_SCENARIO:
        if getattr(expect, name) is not None:
            yield text.error(f"{path}.{_NAMES[name]}", f"{what} has no {_NAMES[name]}", "leave it out")
    if scenario and expect.consequences != ExpectedConsequences():
        yield text.error(f"{path}.consequences", "a scenario has no consequences", "give a cluster instead")
    for index, group in enumerate(expect.groups):
        at = f"{path}.groups[{index}]"
        written = [name for name in _OF_A_GROUP if getattr(group, name) not in (None, ())]
        known = ("nodes",) if scenario else ("desired", "settled", "reasons")
        if not written:
            yield text.error(at, f"nothing is expected of group {group.name!r}", f"write {', '.join(known)}")
        for name in written:
            if name not in known:
                yield text.error(f"{at}.{name}", f"{what} has no {name}", f"write {', '.join(known)}")
