"""Runs policy tests: reads what each is given once, decides once for equal givens, and has the results judged and explained."""

import os
import posixpath
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context
from typing import Protocol, TypeVar

import msgspec

from reconciler.cli.outputs.failure import InputError
from reconciler.cluster.world import World, identity_of
from reconciler.control.simulated_run import SimulatedRun
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, full_decision
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.gitops.preview import compare
from reconciler.plan.plan import Plan
from reconciler.plan.policy_tests import CaseResult, Coverage, Judged, PolicyTestRun, Verdict
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import ClusterMatch, PolicySet
from reconciler.policy.fleet.cluster_checks import not_read
from reconciler.policy.fleet.clusters import counts_in
from reconciler.policy.policy_test import Case as Test
from reconciler.policy.policy_test import Given, PolicyTestText
from reconciler.policy.problems.problem import Problem
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.policy.tree import narrowed
from reconciler.rendering.documents.explanation.case import Case
from reconciler.rendering.documents.explanation.subjects import UnknownSubjectError
from reconciler.rendering.documents.preview.consequences.all import consequences
from reconciler.rendering.documents.preview.consequences.consequence import Code
from reconciler.rendering.printers.text.explanation.answer import explained_lines
from reconciler.simulation.embedded.journal import Happened
from reconciler.simulation.policy_tests.coverage import Decided, untouched_rules
from reconciler.simulation.policy_tests.given import given_world
from reconciler.simulation.policy_tests.judgement import Seen, asks_consequences, asks_steady_state, judge, seen_at_rest, seen_now
from reconciler.simulation.scenarios.scenario import most_objects, read_scenario
from reconciler.simulation.scenarios.start_world import start_world
from reconciler.simulation.settled import come_to_rest
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.instant import parse_instant
from reconciler.values.two_sentences import two_sentences

MOST_RUNS, MOST_TURNS = 200, 2_000
"""Of a review: different givens, and iterations of all scenarios, which take a minute or two on a small cluster."""
MOST_OBJECTS = 10_000
"""Of a review: nodes and pods that a scenario states, at its start and later."""
MOST_RUNS_EACH = 10
"""Of a review: different givens in each cluster of a fleet. The preview of a cluster takes about as long as two."""
MOST_ADDED, MOST_ADDED_EACH = 50_000, 10_000
"""Of a review: pods and nodes that all different givens add together, and those in each cluster of a fleet."""
T = TypeVar("T")
PolicyOf = Callable[[int, ClusterIdentity | None], PolicySet]
"""The policy at an instant (Unix time) in a cluster. Raises `InputError`."""
TodayOf = Callable[[int, ClusterIdentity | None, PolicySet], PolicySet | None]
"""The policy that another one is compared with, None if there is none. Raises `InputError`."""
_MOST_PROCESSES, _WORTH_PROCESSES = 4, 20
"""A process costs about as much as ten decisions on a small cluster."""


class GivenFiles(Protocol):
    """The files that tests name, by path below the directory in which they stay, with `/`. Every method raises `InputError`."""

    def snapshot(self, path: str) -> World:
        """The World of a snapshot."""

    def text(self, path: str) -> bytes:
        """A scenario."""

    def policy(self, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None) -> PolicySet:
        """The policy of a file or directory as it is in `cluster`; `name` where it holds several."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `policy` is used instead of what documents name, `today` where a test names none. `wanted` tells by `suite::name`
    which tests run. `review`: somebody else wrote the tests. Givens and scenarios are bounded then, and `today` counts always.
    `fleet`: tests may be given clusters, and discovery finds the targets of each cluster alone."""

    policy: PolicyOf | None = None
    today: TodayOf | None = None
    wanted: Callable[[str], bool] = lambda _: True
    examine_rules: bool = False
    explain_width: int = 0
    review: bool = False
    fleet: bool = False


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the tests, and problems of those that could not be run."""

    run: PolicyTestRun
    problems: tuple[Problem, ...] = ()


class _Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was found for one given. The rest is what `explain` needs; `options` are those with which it says the same."""

    seen: Seen
    world: World
    policy: PolicySet
    now_seconds: int
    plan: Plan
    memory: Memory
    options: str = ""
    of_snapshot: bool = True


class _Member(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster of a fleet by the name of its snapshot, and where that one is (empty: not on this disk)."""

    name: str
    world: World
    place: str


class _Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A test that runs. Tests with one `key` need one run. `member` is the cluster of a test that is given clusters."""

    text: PolicyTestText
    index: int
    key: bytes
    member: _Member | None = None

    @property
    def test(self) -> Test:
        """As it is written."""
        return self.text.value.spec.tests[self.index]

    @property
    def given(self) -> Given:
        """With what all tests of the document have in common."""
        return self.test.given.on(self.text.value.spec.given)


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a test: its result, or why it cannot be run; and the groups of the policy."""

    result: CaseResult | None = None
    problems: tuple[Problem, ...] = ()
    groups: tuple[str, ...] = ()


_PROCESS: "list[PolicyTestRunner]" = []
"""In a process of a pool: its runner."""


def _begin(runner: "PolicyTestRunner") -> None:
    _PROCESS[:] = [runner]


def _answers(key: bytes) -> list[_Answer]:
    """In a process of a pool, which has the documents from the one that began it: only keys and results are handed over."""
    return _PROCESS[0].answers(key)


class PolicyTestRunner:
    """Runs the tests of some documents, one after the other."""

    def __init__(self, files: GivenFiles, asked: Asked) -> None:
        self._files = files
        self._asked = asked
        self._worlds: dict[str, World] = {}
        self._policies: dict[tuple[str, str, ClusterIdentity | None], PolicySet] = {}
        self._outcomes: dict[bytes, _Outcome] = {}
        self._groups: set[str] = set()
        self._shared: dict[bytes, list[_Chosen]] = {}
        self._turns = self._runs = self._added = 0
        self._problems: list[Problem] = []
        self._not_run: list[str] = []
        self._unread: list[str] = []
        self._met: dict[tuple[int, int], set[str]] = {}

    def run(self, texts: Sequence[PolicyTestText]) -> Iterator[CaseResult]:
        """Test by test. Tests that cannot be run are left out; `done` has their problems. Those that are given clusters are left
        to `in_cluster` in a fleet, and skipped without one.

        Many different givens are decided in several processes, with the same results in the same order.
        """
        chosen = [one for one in self._wanted(texts) if not (self._asked.fleet and one.given.clusters is not None)]
        processes = min(os.cpu_count() or 1, _MOST_PROCESSES)
        shared = processes > 1 and not self._asked.examine_rules and not self._asked.review
        if not shared or len({one.key for one in chosen}) < _WORTH_PROCESSES:
            for one in chosen:
                yield from self._taken(self._answer(one))
            return
        for text in texts:
            self._preload(text)
        self._shared.clear()
        for one in chosen:
            self._shared.setdefault(one.key, []).append(one)
        with ProcessPoolExecutor(processes, get_context("fork"), _begin, (self,)) as pool:
            answers = {
                (id(one.text), one.index): (future, position)
                for key, tests in self._shared.items()
                for future in [pool.submit(_answers, key)]
                for position, one in enumerate(tests)
            }
            for one in chosen:
                future, position = answers[id(one.text), one.index]
                yield from self._taken(future.result()[position])

    def in_cluster(self, texts: Sequence[PolicyTestText], name: str, world: World | str, place: str = "") -> Iterator[CaseResult]:
        """The tests that are given clusters, in one of them. `world` is a sentence if its snapshot cannot be read; `place` is
        where it is on this disk. Nothing of the cluster is kept."""
        kept, runs, told = set(self._outcomes), (self._runs, self._added), len(self._not_run)
        self._runs = self._added = 0
        if isinstance(world, str):
            self._unread.append(name)
        identity = ClusterIdentity(name=name) if isinstance(world, str) else identity_of(world) or ClusterIdentity(name=name)
        for one in self._wanted(texts):
            if one.given.clusters is None:
                continue
            try:
                if not self._meets(one, identity):
                    continue
                if isinstance(world, str):
                    raise one.text.error(_of(one.text, one.index, "clusters"), f"{name}: {world}")
            except DocumentError as error:
                yield from self._taken(_Answer(problems=error.problems))
                continue
            member = _Member(name=name, world=world, place=place)
            key = one.key + name.encode()
            yield from self._taken(self._answer(msgspec.structs.replace(one, member=member, key=key)))
        self._runs, self._added = runs
        # What is wrong with a test is so in every cluster.
        before, new = self._not_run[:told], self._not_run[told:]
        self._not_run = [*before, *(one for one in dict.fromkeys(new) if one not in before)]
        for key in self._outcomes.keys() - kept:
            del self._outcomes[key]

    def _meets(self, one: "_Chosen", identity: ClusterIdentity) -> bool:
        """Whether a test is given this cluster. Raises `DocumentError` if nobody can say."""
        match = ClusterMatch() if one.given.clusters is None else one.given.clusters.match
        at = _of(one.text, one.index, "clusters")
        if (unread := not_read(match, identity)) is not None:
            key, message, hint = unread
            raise one.text.error(f"{at}.{key}", message, hint)
        if not counts_in(identity)(match):
            return False
        met = self._met.setdefault((id(one.text), one.index), set())
        met.update((identity.name, identity.title))
        return True

    def _check_all_met(self, texts: Sequence[PolicyTestText]) -> None:
        """A test whose clusters are not there is not run."""
        for one in self._wanted(texts):
            clusters, met = one.given.clusters, self._met.get((id(one.text), one.index), set())
            missing = [name for name in clusters.names if name not in met] if clusters is not None else []
            if clusters is not None and (missing or not met):
                what = f"there is no snapshot of {', '.join(missing)}" if missing else "no cluster of the fleet matches"
                error = one.text.error(_of(one.text, one.index, "clusters"), what)
                list(self._taken(_Answer(problems=error.problems)))

    def _wanted(self, texts: Sequence[PolicyTestText]) -> Iterator["_Chosen"]:
        for text in texts:
            for index, test in enumerate(text.value.spec.tests):
                if self._asked.wanted(f"{text.value.metadata.name}::{test.name}"):
                    yield _Chosen(text=text, index=index, key=_key(text, test))

    def done(self, texts: Sequence[PolicyTestText], results: Sequence[CaseResult]) -> Done:
        """Everything about a run that has come to its end. Coverage is that of the first policy."""
        if self._asked.fleet:
            self._check_all_met(texts)
        problems = tuple(dict.fromkeys(self._problems))
        named = {group.name for text in texts for test in text.value.spec.tests for group in test.expect.groups}
        decided = [
            Decided(world=one.world, policy=one.policy, now_seconds=one.now_seconds, plan=one.plan)
            for one in self._outcomes.values()
            if one.of_snapshot
        ]
        left = Coverage(groups=tuple(sorted(self._groups - named)))
        if self._asked.examine_rules and decided:
            same = [one for one in decided if one.policy is decided[0].policy]
            left = msgspec.structs.replace(left, rules=untouched_rules(same, DEFAULT_WORK_BUDGET))
        run = PolicyTestRun(
            results=tuple(results), coverage=left, not_run=tuple(self._not_run), unread_clusters=tuple(self._unread)
        )  # fmt: skip
        return Done(run=run, problems=problems)

    def answers(self, key: bytes) -> list[_Answer]:
        """What becomes of the tests that need one run, in their order."""
        return [self._answer(one) for one in self._shared[key]]

    def _taken(self, answer: "_Answer") -> Iterator[CaseResult]:
        self._groups.update(answer.groups)
        self._problems += answer.problems
        self._not_run += [f"{problem.place}: {two_sentences(problem.message, problem.hint)}" for problem in answer.problems[:1]]
        if answer.result is not None:
            yield answer.result

    def _answer(self, one: "_Chosen") -> "_Answer":
        """What becomes of one test. Never raises for what its file says."""
        if one.given.clusters is not None and one.member is None:
            return _Answer(result=_needs_fleet(one))
        try:
            result = self._result(one)
        except DocumentError as error:
            return _Answer(problems=error.problems)
        return _Answer(result=result, groups=tuple(line.name for line in self._outcomes[one.key].plan.groups))

    def _preload(self, text: PolicyTestText) -> None:
        """Read what tests name before there are several processes. The tests themselves report what is wrong with them."""
        for index, test in enumerate(text.value.spec.tests):
            given = test.given.on(text.value.spec.given)
            with suppress(DocumentError):
                if given.cluster:
                    world = self._world(text, _of(text, index, "cluster"), text.source.path, given.cluster)
                    self._policy(text, world, world.captured_seconds)

    def _result(self, one: "_Chosen") -> CaseResult:
        text, index, test = one.text, one.index, one.test
        known = [code.value for code in Code]
        for kind in ("present", "absent"):
            for position, code in enumerate(getattr(test.expect.consequences, kind)):
                if code not in known:
                    path = f"$.spec.tests[{index}].expect.consequences.{kind}[{position}]"
                    raise text.error(path, f"unknown consequence {code!r}", f"known: {', '.join(known)}")
        outcome = self._outcomes.get(one.key)
        if outcome is None:
            outcome = self._outcomes[one.key] = self._made(one)
        result = judge(text, index, outcome.seen)
        cluster = "" if one.member is None else one.member.name
        return msgspec.structs.replace(result, explained=tuple(self._explained(outcome, result)), cluster=cluster)

    def _made(self, one: "_Chosen") -> _Outcome:
        text, index, test, given = one.text, one.index, one.test, one.given
        self._runs += 1
        self._added += sum(added.replicas for added in given.workloads) + sum(added.count for added in given.nodes)
        alone, each = one.member is None, "" if one.member is None else " in each cluster"
        most, most_added = (MOST_RUNS, MOST_ADDED) if alone else (MOST_RUNS_EACH, MOST_ADDED_EACH)
        message = f"a preview decides for {most} different givens at most{each}" if self._runs > most else ""
        if self._added > most_added:
            message = f"a preview adds at most {most_added} pods and nodes for all different givens together{each}"
        if self._asked.review and message:
            raise text.error(f"$.spec.tests[{index}]", message, "run it with `reconciler test`")
        if given.scenario:
            return self._played(text, index, given)
        at = _of(text, index, "cluster" if one.member is None else "clusters")
        world = self._world(text, at, text.source.path, given.cluster) if one.member is None else one.member.world
        now = parse_instant(given.now) if given.now else world.captured_seconds
        if not now:
            raise text.error(at, "nothing in the snapshot says when it was taken", "write given.now")
        policy = self._policy(text, world, now)
        world = given_world(text, index, world, policy, now)
        made = full_decision(world, policy, Memory(), now, Work(DEFAULT_WORK_BUDGET), with_wanted=False)
        seen = seen_now(made.plan)
        if asks_steady_state(test.expect) or asks_consequences(test.expect):
            rest = come_to_rest(world, policy, made.memory, now, made.plan, DEFAULT_WORK_BUDGET, made)
            effects = self._consequences(text, index, given, world, policy, now) if asks_consequences(test.expect) else None
            seen = seen_at_rest(world, rest, effects)
        return _Outcome(
            seen=seen, world=world, policy=policy, now_seconds=now, plan=made.plan, memory=made.memory,
            options=self._options(one),
        )  # fmt: skip

    def _options(self, one: "_Chosen") -> str:
        """Of `explain`, where the snapshot alone is given."""
        text, given, member = one.text, one.given, one.member
        if given.workloads or given.nodes or self._asked.policy is not None or (member is not None and not member.place):
            return ""
        beside = posixpath.dirname(text.source.path)
        policy = posixpath.normpath(posixpath.join(beside, text.value.spec.policy))
        snapshot = posixpath.normpath(posixpath.join(beside, given.cluster)) if member is None else member.place
        named = [("--name", text.value.spec.policy_name), ("--now", given.now)]
        options = [("--policy", policy), ("--cluster", snapshot), *(pair for pair in named if pair[1])]
        return "".join(f" {key} {shlex.quote(value)}" for key, value in options)

    def _consequences(
        self, text: PolicyTestText, index: int, given: Given, world: World, policy: PolicySet, now_seconds: int
    ) -> tuple[tuple[str, str], ...] | None:
        cluster, earlier = identity_of(world), self._asked.today
        if given.today and not self._asked.review:
            today: PolicySet | None = self._read(
                text, _of(text, index, "today"), text.source.path, given.today, "", now_seconds, cluster
            )
        elif earlier is None:
            return None
        else:
            at = f"$.spec.tests[{index}].expect.consequences"
            today = _or_error(text, at, lambda: earlier(now_seconds, cluster, policy))
        if today is None:
            return None
        sides = (PreviewSide(source="today"), today), (PreviewSide(source="after"), policy)
        preview = compare(world, now_seconds, *sides, DEFAULT_WORK_BUDGET)
        return tuple((one.code.value, one.message) for one in consequences(preview))

    def _played(self, text: PolicyTestText, index: int, given: Given) -> _Outcome:
        at = _of(text, index, "scenario")
        place = _inside(text, at, text.source.path, given.scenario)
        scenario = read_scenario(place, _or_error(text, at, lambda: self._files.text(place)))
        spec = scenario.scenario.spec
        bounded = self._asked.review
        if bounded and most_objects(spec) > MOST_OBJECTS:
            raise text.error(at, "the scenario is too large for a preview", "run it with `reconciler test`")
        world = self._world(text, at, place, spec.start.cluster) if spec.start.cluster else start_world(spec.start)
        policy = self._policy(text, world, world.captured_seconds)
        switched = {
            event.policy: self._read(text, at, place, event.policy, "", world.captured_seconds, identity_of(world))
            for event in spec.events
            if event.policy is not None
        }
        if bounded and spec.until.seconds // spec.interval.seconds > 100 * MOST_TURNS:
            raise text.error(at, "the scenario is too long for a preview", "run it with `reconciler test`")
        run = SimulatedRun(scenario, world, policy, switched)
        for _ in run.turns():
            self._turns += 1
            if bounded and self._turns > MOST_TURNS:
                message = f"scenarios may take {MOST_TURNS} iterations in a preview"
                raise text.error(at, message, "run it with `reconciler test`")
        return _seen_at_end(run)

    def _policy(self, text: PolicyTestText, world: World, now_seconds: int) -> PolicySet:
        spec, cluster, meant = text.value.spec, identity_of(world), self._asked.policy
        if meant is not None:
            return self._here(_or_error(text, "$.spec.policy", lambda: meant(now_seconds, cluster)), cluster)
        return self._read(text, "$.spec.policy", text.source.path, spec.policy, spec.policy_name, now_seconds, cluster)

    def _read(
        self, text: PolicyTestText, at: str, beside: str, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None
    ) -> PolicySet:
        place = _inside(text, at, beside, path)
        key = place, name, cluster
        if key not in self._policies:
            made = _or_error(text, at, lambda: self._files.policy(place, name, now_seconds, cluster))
            # A tree without clusters is one policy, however many clusters the tests are about.
            here = self._here(made, cluster)
            self._policies[key] = next((one for one in self._policies.values() if one == here), here)
        return self._policies[key]

    def _here(self, policy: PolicySet, cluster: ClusterIdentity | None) -> PolicySet:
        """Of a fleet, a tree that names no clusters is not narrowed by reading it; what is narrowed stays as it is."""
        return policy if cluster is None or not self._asked.fleet else narrowed((policy,), cluster)[0]

    def _world(self, text: PolicyTestText, at: str, beside: str, path: str) -> World:
        place = _inside(text, at, beside, path)
        if place not in self._worlds:
            self._worlds[place] = _or_error(text, at, lambda: self._files.snapshot(place))
        return self._worlds[place]

    def _explained(self, outcome: _Outcome, result: CaseResult) -> Iterator[str]:
        subjects = dict.fromkeys(one.about for one in result.failures if one.about)
        if not subjects:
            return
        plan = outcome.plan
        if outcome.of_snapshot:
            # What held groups would do was left out, since only `explain` tells it.
            plan, _ = decide(outcome.world, outcome.policy, Memory(), outcome.now_seconds)
        case = Case.of(outcome.world, outcome.policy, plan, outcome.now_seconds, outcome.memory)
        for subject in subjects:
            what, _, name = subject.partition(" ")
            try:
                lines = explained_lines(case, what, name, self._asked.explain_width)
            except UnknownSubjectError:
                continue
            yield f"reconciler explain {subject}{outcome.options}"
            yield from (f"  {line}".rstrip() for line in lines)


def _needs_fleet(one: _Chosen) -> CaseResult:
    """Nothing is known of the clusters that the test is given."""
    path = _of(one.text, one.index, "clusters")
    why = Judged(
        code="Clusters", place=str(one.text.place(path)), path=path, verdict=Verdict.SKIPPED,
        expected="a snapshot for each cluster", actual="no fleet",
        message="it is given clusters: run it with --fleet --cluster DIR, a snapshot for each cluster in DIR",
    )  # fmt: skip
    return CaseResult(
        suite=one.text.value.metadata.name, name=one.test.name, file=one.text.source.path,
        place=str(one.text.place(f"$.spec.tests[{one.index}].name")), verdict=Verdict.SKIPPED, judged=(why,),
    )  # fmt: skip


def _key(text: PolicyTestText, test: Test) -> bytes:
    """Equal for tests that need the same run."""
    given = test.given.on(text.value.spec.given)
    depth = asks_steady_state(test.expect), asks_consequences(test.expect)
    inputs = text.source.path, text.value.spec.policy, text.value.spec.policy_name, depth, given
    return msgspec.json.encode(inputs, enc_hook=lambda value: value.milli)


def _of(text: PolicyTestText, index: int, key: str) -> str:
    """Where a key of what is given was written: in the test, or in what all have in common."""
    own = getattr(text.value.spec.tests[index].given, key)
    return f"$.spec.tests[{index}].given.{key}" if own else f"$.spec.given.{key}"


def _inside(text: PolicyTestText, at: str, beside: str, path: str) -> str:
    """A path next to a file, from the directory in which all stay. What leads out of it is refused."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(beside), path))
    if posixpath.isabs(path) or joined.split("/")[0] == ".." or "\x00" in path:
        hint = "name a file below it, or run the command in a directory above"
        raise text.error(at, f"{path!r} leads out of the directory of this run", hint)
    return joined


def _or_error(text: PolicyTestText, at: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except InputError as error:
        raise text.error(at, error.message) from None
    except OSError as error:
        # Such as a name that is too long to be one.
        raise text.error(at, f"cannot be read: {error.strerror or error}") from None


def _seen_at_end(run: SimulatedRun) -> _Outcome:
    """What a scenario came to, and one decision more at its end, which says what is held."""
    cluster, now = run.cluster, run.cluster.now_seconds
    world, policy = cluster.world(), run.current()
    plan, memory = decide(world, policy, run.store.load(), now)
    name_of = {group.target: group.name for group in effective_groups(world, policy, now)}
    nodes: dict[str, int] = dict.fromkeys(name_of.values(), 0)
    for node in cluster.objects.nodes.values():
        if node.target in name_of:
            nodes[name_of[node.target]] += 1
    summary = run.summary()
    seen = Seen(
        plan=plan,
        pending=tuple(sorted(pod.key for pod in cluster.objects.pending())),
        evicted=tuple(event.object for event in cluster.journal.events if event.kind is Happened.POD_EVICTED),
        nodes_of=nodes,
        longest_wait_seconds=None if summary.pods_never_placed else summary.wait_max_seconds,
        cost=summary.cost,
        unpriced=summary.unpriced,
        unmet=run.unmet(),
    )
    return _Outcome(seen=seen, world=world, policy=policy, now_seconds=now, plan=plan, memory=memory, of_snapshot=False)
