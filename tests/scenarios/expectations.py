"""A step of a decision scenario, played and compared with what it expects."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reconciler.cluster.world import World
from reconciler.decisions.decide import decide, settle
from reconciler.decisions.memory import Memory, Outcome
from reconciler.plan.plan import Action, GroupLine, NodeLine, Plan, PodLine
from reconciler.policy.documents import PolicySet
from reconciler.policy.values.quantity import QuantityError
from reconciler.values.duration import DurationError, parse_duration
from tests.builders import NOW
from tests.scenarios.documents import DecisionScenario, Given, ScenarioFileError, Step, Then, ThenAction, ThenLine
from tests.scenarios.translate import after, policy_of, world_of


class Play:
    """One scenario from its first step to its last: what is there, what is remembered, how often targets were written."""

    def __init__(self, name: str, scenario: DecisionScenario) -> None:
        self._name = name
        self._given = scenario.given
        self._steps = scenario.steps
        self._memory = Memory()
        self._generation = 1

    def differences(self) -> list[str]:
        """What is not as expected, step by step; empty when all is well. Raises `ScenarioFileError`, naming the file."""
        found: list[str] = []
        for number, step in enumerate(self._steps, start=1):
            self._given = after(self._given, step.given)
            try:
                found += [f"step {number} at {step.when.at}: {text}" for text in compare(step.then, self._plans(step))]
            except (ScenarioFileError, DurationError, QuantityError) as error:
                raise ScenarioFileError(f"{self._name}: step {number}: {error}") from error
        return found

    def _plans(self, step: Step) -> list[Plan]:
        when = step.when
        start, interval = NOW + parse_duration(when.at), parse_duration(when.every)
        rules, cluster = policy_of(self._given, start), _Cluster(self._given, start)
        instants = range(start, start + when.times * interval, interval)
        return [self._turn(cluster.world(self._generation), rules, now, when.actions) for now in instants]

    def _turn(self, world: World, rules: PolicySet, now: int, actions: str) -> Plan:
        plan, self._memory = decide(world, rules, self._memory, now)
        if actions == "Ignored" or not plan.actions:
            return plan
        outcomes = tuple(_outcome(action, now, self._generation + 1) for action in plan.actions)
        self._memory = settle(self._memory, outcomes)
        self._generation += 2 if actions == "Undone" else 1
        return plan


class _Cluster:
    """The cluster of one step: built once, only the generation moves."""

    def __init__(self, given: Given, start: int) -> None:
        self._world = world_of(given, start, 1)

    def world(self, generation: int) -> World:
        targets = tuple(msgspec.structs.replace(facts, generation=generation) for facts in self._world.targets)
        return msgspec.structs.replace(self._world, targets=targets)


def _outcome(action: Action, now: int, generation: int) -> Outcome:
    return Outcome(
        kind=action.kind.value,
        group=action.group,
        target=action.target,
        to=action.to,
        nodes=action.nodes,
        done=True,
        at_seconds=now,
        generation=generation,
    )


def compare(then: Then, plans: Sequence[Plan]) -> Iterator[str]:
    """The expectations that the plans do not meet; those on lines are about the last plan."""
    plan = plans[-1]
    counts = [len(one.actions) for one in plans]
    if then.actions_per_plan is not None and counts != then.actions_per_plan:
        yield f"actions a plan: {counts}, expected {then.actions_per_plan}"
    if then.actions_in_all is not None and sum(counts) != then.actions_in_all:
        yield f"{sum(counts)} actions in all, expected {then.actions_in_all}"
    if then.actions is not None and not _same_actions(then.actions, plan.actions):
        shown = [(a.kind.value, a.group, a.from_, a.to, a.nodes, a.reason.code) for a in plan.actions]
        yield f"actions are {shown}, expected {[_shown(action) for action in then.actions]}"
    outcomes = dict(Counter(line.outcome.value for line in plan.pods))
    if then.outcomes is not None and outcomes != then.outcomes:
        yield f"outcomes of pods are {outcomes}, expected {then.outcomes}"
    codes = [problem.code for problem in plan.problems]
    for code in then.problems:
        if code not in codes:
            yield f"problem {code} is missing among {codes}"
    yield from _missing(then.says, [problem.message for problem in plan.problems], "problems")
    yield from _lines(then.groups, {line.name: line for line in plan.groups}, "group")
    yield from _lines(then.pods, {line.pod: line for line in plan.pods}, "pod")
    yield from _lines(then.nodes, {line.node: line for line in plan.nodes}, "node")


def _same_actions(expected: Sequence[ThenAction], found: Sequence[Action]) -> bool:
    return len(expected) == len(found) and all(_same(want, action) for want, action in zip(expected, found, strict=True))


def _same(want: ThenAction, action: Action) -> bool:
    seen = {"kind": action.kind.value, "reason": action.reason.code, "nodes": list(action.nodes)}
    seen |= {"group": action.group, "from": action.from_, "to": action.to, "machines": list(action.machines)}
    return all(seen[name] == value for name, value in _shown(want).items())


def _shown(want: ThenAction) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(want).items() if value is not None}


def _lines(expected: Mapping[str, ThenLine], found: Mapping[str, GroupLine | PodLine | NodeLine], what: str) -> Iterator[str]:
    for name, want in expected.items():
        line = found.get(name)
        if line is None:
            yield f"{what} {name} is not in the plan, there are {sorted(found)}"
            continue
        for text in _line(want, line):
            yield f"{what} {name}: {text}"


def _line(want: ThenLine, line: GroupLine | PodLine | NodeLine) -> Iterator[str]:
    seen = _facts(line)
    for name in ThenLine.__struct_fields__:
        value = getattr(want, name)
        if name in ("reasons", "blockers", "says") or value is None:
            continue
        if name not in seen:
            raise ScenarioFileError(f"{name}: such a line has only {', '.join(sorted(seen))}, reasons, blockers, says")
        if seen[name] != value:
            yield f"{name} is {seen[name]!r}, expected {value!r}"
    codes, texts = _words(line)
    for code in (*want.reasons, *want.blockers):
        if code not in codes:
            yield f"{code} is missing among {codes}"
    yield from _missing(want.says, texts, "messages")


def _facts(line: GroupLine | PodLine | NodeLine) -> dict[str, object]:
    if isinstance(line, GroupLine):
        owner = line.owner
        sizes = {"desired": line.desired, "wanted": line.wanted, "held": line.held}
        return {**sizes, "owner": owner.state.value, "by": owner.by}
    if isinstance(line, PodLine):
        return {"outcome": line.outcome.value, "node": line.node, "group": line.group}
    return {"state": line.state.value, "removable": line.removable, "group": line.group}


def _words(line: GroupLine | PodLine | NodeLine) -> tuple[list[str], list[str]]:
    """Codes and messages."""
    if isinstance(line, NodeLine):
        return [blocker.code for blocker in line.blockers], [blocker.message for blocker in line.blockers]
    evidence = line.owner.evidence if isinstance(line, GroupLine) else ()
    return [reason.code for reason in line.reasons], [*(reason.message for reason in line.reasons), *evidence]


def _missing(pieces: Sequence[str], texts: Sequence[str], where: str) -> Iterator[str]:
    for piece in pieces:
        if not any(piece in text for text in texts):
            yield f"no {where} say {piece!r}: {list(texts)}"
