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
from reconciler.decisions.decide import DEFAULT_WORK_BUDGET, decide, decide_ahead
from reconciler.decisions.groups.effective_groups import effective_groups
from reconciler.decisions.memory import Memory
from reconciler.decisions.work import Work
from reconciler.gitops.preview import compare
from reconciler.plan.plan import Plan
from reconciler.plan.policy_tests import CaseResult, Coverage, PolicyTestRun
from reconciler.plan.preview import PreviewSide
from reconciler.policy.documents import PolicySet
from reconciler.policy.policy_test import Case as Test
from reconciler.policy.policy_test import Given, PolicyTestText
from reconciler.policy.problems.findings import Problem
from reconciler.policy.reading.typed_text import DocumentError
from reconciler.rendering.consequences import Code, consequences
from reconciler.rendering.explanation.case import Case
from reconciler.rendering.explanation.question import UnknownSubjectError, explained_lines
from reconciler.simulation.embedded.agenda import Happened
from reconciler.simulation.policy_tests.coverage import Decided, untouched_rules
from reconciler.simulation.policy_tests.given import given_world
from reconciler.simulation.policy_tests.judgement import (
    Seen,
    asks_consequences,
    asks_steady_state,
    judge,
    seen_at_rest,
    seen_now,
)
from reconciler.simulation.scenarios.scenario import read_scenario
from reconciler.simulation.scenarios.scenario_play import start_world
from reconciler.simulation.settled import come_to_rest
from reconciler.values.cluster_identity import ClusterIdentity
from reconciler.values.instant import parse_instant

MOST_RUNS, MOST_TURNS = 200, 2_000
"""Of a review: different givens, and iterations of all scenarios, which take a minute or two on a small cluster."""
T = TypeVar("T")
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
    which tests run. `review`: somebody else wrote the tests. Givens and scenarios are bounded then, and `today` counts always."""

    policy: PolicySet | None = None
    today: PolicySet | None = None
    wanted: Callable[[str], bool] = lambda _: True
    examine_rules: bool = False
    explain_width: int = 0
    review: bool = False


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


class _Chosen(msgspec.Struct, frozen=True, kw_only=True):
    """A test that runs. Tests with one `key` need one run."""

    text: PolicyTestText
    index: int
    key: bytes


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
        self._turns = self._runs = 0
        self._problems: list[Problem] = []
        self._not_run: list[str] = []

    def run(self, texts: Sequence[PolicyTestText]) -> Iterator[CaseResult]:
        """Test by test. Tests that cannot be run are left out; `done` has their problems.

        Many different givens are decided in several processes, with the same results in the same order.
        """
        chosen = [
            _Chosen(text=text, index=index, key=_key(text, test))
            for text in texts
            for index, test in enumerate(text.value.spec.tests)
            if self._asked.wanted(f"{text.value.metadata.name}::{test.name}")
        ]
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

    def done(self, texts: Sequence[PolicyTestText], results: Sequence[CaseResult]) -> Done:
        """Everything about a run that has come to its end. Coverage is that of the first policy."""
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
        return Done(run=PolicyTestRun(results=tuple(results), coverage=left, not_run=tuple(self._not_run)), problems=problems)

    def answers(self, key: bytes) -> list[_Answer]:
        """What becomes of the tests that need one run, in their order."""
        return [self._answer(one) for one in self._shared[key]]

    def _taken(self, answer: "_Answer") -> Iterator[CaseResult]:
        self._groups.update(answer.groups)
        self._problems += answer.problems
        self._not_run += [f"{problem.place}: {problem.message}" for problem in answer.problems[:1]]
        if answer.result is not None:
            yield answer.result

    def _answer(self, one: "_Chosen") -> "_Answer":
        """What becomes of one test. Never raises for what its file says."""
        try:
            result = self._result(one.text, one.index, one.text.value.spec.tests[one.index], one.key)
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

    def _result(self, text: PolicyTestText, index: int, test: Test, key: bytes) -> CaseResult:
        known = [code.value for code in Code]
        for kind in ("present", "absent"):
            for position, code in enumerate(getattr(test.expect.consequences, kind)):
                if code not in known:
                    path = f"$.spec.tests[{index}].expect.consequences.{kind}[{position}]"
                    raise text.error(path, f"unknown consequence {code!r}", f"known: {', '.join(known)}")
        given = test.given.on(text.value.spec.given)
        outcome = self._outcomes.get(key)
        if outcome is None:
            outcome = self._outcomes[key] = self._made(text, index, given, test)
        result = judge(text, index, outcome.seen)
        return msgspec.structs.replace(result, explained=tuple(self._explained(outcome, result)))

    def _made(self, text: PolicyTestText, index: int, given: Given, test: Test) -> _Outcome:
        self._runs += 1
        if self._asked.review and self._runs > MOST_RUNS:
            message = f"a preview decides for {MOST_RUNS} different givens at most"
            raise text.error(f"$.spec.tests[{index}]", message, "run it with `reconciler test`")
        if given.scenario:
            return self._played(text, index, given)
        world = self._world(text, _of(text, index, "cluster"), text.source.path, given.cluster)
        now = parse_instant(given.now) if given.now else world.captured_seconds
        if not now:
            raise text.error(_of(text, index, "cluster"), "nothing in the snapshot says when it was taken", "write given.now")
        policy = self._policy(text, world, now)
        world = given_world(text, index, world, policy, now)
        made = decide_ahead(world, policy, Memory(), now, Work(DEFAULT_WORK_BUDGET), tells_wanted=False)
        seen = seen_now(made.plan)
        if asks_steady_state(test.expect) or asks_consequences(test.expect):
            rest = come_to_rest(world, policy, made.memory, now, made.plan, DEFAULT_WORK_BUDGET, made)
            effects = self._consequences(text, index, given, world, policy, now) if asks_consequences(test.expect) else None
            seen = seen_at_rest(world, rest, effects)
        return _Outcome(
            seen=seen, world=world, policy=policy, now_seconds=now, plan=made.plan, memory=made.memory,
            options=self._options(text, given),
        )  # fmt: skip

    def _options(self, text: PolicyTestText, given: Given) -> str:
        """Of `explain`, where the snapshot alone is given."""
        if given.workloads or given.nodes or self._asked.policy is not None:
            return ""
        beside = posixpath.dirname(text.source.path)
        paths = [posixpath.normpath(posixpath.join(beside, path)) for path in (text.value.spec.policy, given.cluster)]
        named = [("--name", text.value.spec.policy_name), ("--now", given.now)]
        options = [("--policy", paths[0]), ("--cluster", paths[1]), *(pair for pair in named if pair[1])]
        return "".join(f" {key} {shlex.quote(value)}" for key, value in options)

    def _consequences(
        self, text: PolicyTestText, index: int, given: Given, world: World, policy: PolicySet, now_seconds: int
    ) -> tuple[tuple[str, str], ...] | None:
        today = self._asked.today
        if given.today and not self._asked.review:
            today = self._read(
                text, _of(text, index, "today"), text.source.path, given.today, "", now_seconds, identity_of(world)
            )
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
        world = self._world(text, at, place, spec.start.cluster) if spec.start.cluster else start_world(spec.start)
        policy = self._policy(text, world, world.captured_seconds)
        switched = {
            event.policy: self._read(text, at, place, event.policy, "", world.captured_seconds, identity_of(world))
            for event in spec.events
            if event.policy is not None
        }
        bounded = self._asked.review
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
        if self._asked.policy is not None:
            return self._asked.policy
        spec = text.value.spec
        cluster = identity_of(world)
        return self._read(text, "$.spec.policy", text.source.path, spec.policy, spec.policy_name, now_seconds, cluster)

    def _read(
        self, text: PolicyTestText, at: str, beside: str, path: str, name: str, now_seconds: int, cluster: ClusterIdentity | None
    ) -> PolicySet:
        place = _inside(text, at, beside, path)
        key = place, name, cluster
        if key not in self._policies:
            made = _or_error(text, at, lambda: self._files.policy(place, name, now_seconds, cluster))
            # A tree without clusters is one policy, however many clusters the tests are about.
            self._policies[key] = next((one for one in self._policies.values() if one == made), made)
        return self._policies[key]

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
        raise text.error(at, f"{path!r} leads out of the directory of this run", "name a file below it, or use --root DIR")
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
