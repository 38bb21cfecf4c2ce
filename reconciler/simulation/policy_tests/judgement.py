"""What was found in a run, held against what a policy test expects of it."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import msgspec

from reconciler.cluster.world import World
from reconciler.plan.plan import GroupLine, Plan
from reconciler.plan.policy_tests import CaseResult, Judged, Verdict, verdict_of
from reconciler.policy.policy_test import ALL_NAMESPACES, Expectation, ExpectedConsequences, ExpectedGroup, PolicyTestText
from reconciler.policy.reading.typed_text import NumberRange
from reconciler.simulation.settled import Rest
from reconciler.values.duration import duration_text
from reconciler.values.money import price_text
from reconciler.values.plural import count_text

_NAMES_SHOWN = 5
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9./-]*")
_NO_TEXT = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
_WRITTEN_IN_TODAY = "there is no policy to compare with: write given.today, or name one with --today"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a run. For a snapshot, `plan` has its settled column, and `node_of` has the nodes of the evicted pods. For a
    scenario, `plan` is the last plan, and `nodes_of` has the number of nodes at the end by group name. `longest_wait_seconds` is
    None if a pod never got a node. `unmet` are the scenario's own expectations that do not hold. `pending` and `evicted` are pods
    as `namespace/name`. A pod that moved twice counts twice. `consequences` are (code, sentence), or None if there is nothing to
    compare."""

    plan: Plan
    pending: tuple[str, ...]
    evicted: tuple[str, ...]
    node_of: Mapping[str, str] = {}
    consequences: tuple[tuple[str, str], ...] | None = None
    nodes_of: Mapping[str, int] = {}
    longest_wait_seconds: int | None = 0
    cost: str | None = None
    unpriced: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()


def seen_at_rest(world: World, rest: Rest, consequences: tuple[tuple[str, str], ...] | None) -> Seen:
    """Of a snapshot: the plan and the way to the steady state."""
    wanted = set(rest.impact.evicted_settled)
    pods = world.pods
    bound = [row for row in range(len(pods)) if pods.node[row] >= 0] if wanted else []
    node_of = {key: world.nodes[pods.node[row]].name for row, key in zip(bound, pods.keys(bound), strict=True) if key in wanted}
    return Seen(
        plan=rest.plan,
        pending=rest.impact.waiting,
        evicted=rest.impact.evicted_settled,
        node_of=node_of,
        consequences=consequences,
        unpriced=rest.plan.cost.unpriced_groups,
    )


def seen_now(plan: Plan) -> Seen:
    """Of a snapshot, if nothing is asked of the steady state."""
    return Seen(plan=plan, pending=(), evicted=())


def asks_steady_state(expect: Expectation) -> bool:
    """Whether an expectation is about more than the plan of this instant."""
    later = expect.pending_pods, expect.max_price_per_hour, *(group.settled for group in expect.groups)
    return bool(expect.evictions) or any(value is not None for value in later)


def asks_consequences(expect: Expectation) -> bool:
    """Whether an expectation is about a change of the policy."""
    return expect.consequences != ExpectedConsequences()


def judge(text: PolicyTestText, index: int, seen: Seen) -> CaseResult:
    """Every expectation of the test at `index`, in the order of the format."""
    case, path = text.value.spec.tests[index], f"$.spec.tests[{index}]"
    judged = tuple(_judged(text, f"{path}.expect", case.expect, seen))
    return CaseResult(
        suite=text.value.metadata.name,
        name=case.name,
        file=text.source.path,
        place=str(text.place(f"{path}.name")),
        verdict=verdict_of(judged),
        judged=judged,
    )


def _judged(text: PolicyTestText, path: str, expect: Expectation, seen: Seen) -> Iterator[Judged]:
    lines = {line.name: line for line in seen.plan.groups}
    for position, group in enumerate(expect.groups):
        yield from _group(text, f"{path}.groups[{position}]", group, lines, seen)
    if expect.held_groups is not None:
        yield _held(text, f"{path}.heldGroups", expect.held_groups, lines)
    if expect.pending_pods is not None:
        yield _pending(text, f"{path}.pendingPods", expect.pending_pods, seen)
    for position, evictions in enumerate(expect.evictions):
        yield _evictions(text, f"{path}.evictions[{position}].max", evictions.namespace, evictions.max, seen)
    if expect.max_price_per_hour is not None:
        yield _price(text, f"{path}.maxPricePerHour", expect.max_price_per_hour.micros, seen)
    for present, codes in ((True, expect.consequences.present), (False, expect.consequences.absent)):
        for position, code in enumerate(codes):
            at = f"{path}.consequences.{'present' if present else 'absent'}[{position}]"
            yield _consequence(text, at, code, seen, present=present)
    if expect.max_pending_time is not None:
        yield _wait(text, f"{path}.maxPendingTime", expect.max_pending_time.seconds, seen)
    if expect.max_cost is not None:
        yield _cost(text, f"{path}.maxCost", expect.max_cost.micros, seen)
    for sentence in seen.unmet:
        message = f"the scenario's own expectation does not hold: {sentence}"
        yield _result(text, path, "ScenarioExpectation", "expectation of the scenario", sentence, message, holds=False)


def _result(
    text: PolicyTestText, path: str, code: str, expected: str, actual: str, message: str, *, holds: bool, about: str = "",
    writes: str | None = None,
) -> Judged:  # fmt: skip
    verdict = Verdict.PASSED if holds else Verdict.FAILED
    return Judged(
        code=code, place=str(text.place(path)), path=path, verdict=verdict, expected=expected, actual=actual, message=message,
        about=about,        writes=None if holds else writes,
    )  # fmt: skip


def _group(
    text: PolicyTestText, path: str, expected: ExpectedGroup, lines: Mapping[str, GroupLine], seen: Seen
) -> Iterator[Judged]:
    name = expected.name
    line = lines.get(name)
    if line is None:
        near = difflib.get_close_matches(name, lines, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(lines) or 'none'}"
        message = f"the policy has no group {name} in this cluster, {hint}"
        yield _result(text, f"{path}.name", "GroupExists", f"group {name}", "no such group", message, holds=False)
        return
    if expected.desired is not None:
        yield _size(text, f"{path}.desired", "DesiredSize", name, "in this plan", expected.desired, line.desired)
    if expected.settled is not None:
        settled = line.desired if line.settled is None else line.settled
        yield _size(text, f"{path}.settled", "SettledSize", name, "in steady state", expected.settled, settled)
    if expected.nodes is not None:
        yield _size(text, f"{path}.nodes", "NodesAtEnd", name, "at the end", expected.nodes, seen.nodes_of.get(name, 0))
    if expected.reasons:
        there = tuple(dict.fromkeys(reason.code for reason in line.reasons))
        missing = [code for code in expected.reasons if code not in there]
        message = f"the plan says {', '.join(there) or 'nothing'} about {name}"
        if missing:
            message += f", not {', '.join(missing)}"
        words = (f"{name}: {', '.join(expected.reasons)}", ", ".join(there) or "none", message)
        yield _result(
            text, f"{path}.reasons", "GroupReasons", *words, holds=not missing, about=f"group {name}", writes=_listed(there)
        )


def _size(text: PolicyTestText, path: str, code: str, name: str, when: str, expected: NumberRange, actual: int) -> Judged:
    message = f"{name} has {count_text(actual, 'node')} {when}, expected: {expected}"
    return _result(
        text, path, code, f"{name} {expected} {when}", str(actual), message,
        holds=expected.holds(actual), about=f"group {name}", writes=str(actual),
    )  # fmt: skip


def _held(text: PolicyTestText, path: str, expected: Sequence[str], lines: Mapping[str, GroupLine]) -> Judged:
    held = sorted(name for name, line in lines.items() if line.held)
    differing = sorted(set(held) ^ set(expected))
    message = f"held: {', '.join(held) or 'no group'}, expected: {', '.join(sorted(expected)) or 'none'}"
    about = next((f"group {name}" for name in differing if name in lines), "")
    return _result(
        text, path, "HeldGroups", ", ".join(sorted(expected)) or "no group held", ", ".join(held) or "no group held", message,
        holds=not differing, about=about, writes=_listed(held),
    )  # fmt: skip


def _pending(text: PolicyTestText, path: str, expected: NumberRange, seen: Seen) -> Judged:
    there = len(seen.pending)
    message = f"{count_text(there, 'pod')} without a node at the end, expected: {expected}{_shown(seen.pending)}"
    about = f"pod {seen.pending[0]}" if seen.pending else ""
    return _result(
        text, path, "PendingPods", f"{expected} pending", str(there), message, holds=expected.holds(there), about=about,
        writes=str(there),
    )  # fmt: skip


def _evictions(text: PolicyTestText, path: str, namespace: str, most: int, seen: Seen) -> Judged:
    moved = [pod for pod in seen.evicted if namespace in (ALL_NAMESPACES, pod.partition("/")[0])]
    where = "all namespaces" if namespace == ALL_NAMESPACES else f"namespace {namespace}"
    message = f"{count_text(len(moved), 'eviction')} in {where}, expected: at most {most}{_shown(moved)}"
    about = next((f"node {seen.node_of[pod]}" for pod in moved if pod in seen.node_of), "")
    return _result(
        text, path, "Evictions", f"at most {most} in {where}", str(len(moved)), message, holds=len(moved) <= most, about=about,
        writes=str(len(moved)),
    )  # fmt: skip


def _price(text: PolicyTestText, path: str, most_micros: int, seen: Seen) -> Judged:
    bill = seen.plan.cost
    most = price_text(most_micros)
    known = [price for price in (bill.desired_per_hour, bill.settled_per_hour) if price is not None]
    if seen.unpriced or not known:
        return _unpriced(text, path, "PricePerHour", f"at most {most} an hour", seen.unpriced)
    highest = max(known, key=Decimal)
    return _result(
        text, path, "PricePerHour", f"at most {most} an hour", highest,
        f"the nodes cost {highest} {bill.currency} an hour, expected: at most {most}", holds=Decimal(highest) <= Decimal(most),
        writes=f'"{highest}"',
    )  # fmt: skip


def _cost(text: PolicyTestText, path: str, most_micros: int, seen: Seen) -> Judged:
    most = price_text(most_micros)
    if seen.unpriced or seen.cost is None:
        return _unpriced(text, path, "RunCost", f"at most {most}", seen.unpriced)
    message = f"the run costs {seen.cost} {seen.plan.cost.currency}, expected: at most {most}"
    holds = Decimal(seen.cost) <= Decimal(most)
    return _result(text, path, "RunCost", f"at most {most}", seen.cost, message, holds=holds, writes=f'"{seen.cost}"')


def _unpriced(text: PolicyTestText, path: str, code: str, expected: str, unpriced: Sequence[str]) -> Judged:
    who = f"{', '.join(unpriced)} {'has' if len(unpriced) == 1 else 'have'} no price" if unpriced else "no group has a price"
    message = f"the cost is unknown, because {who}: write pricePerHour"
    about = f"group {unpriced[0]}" if unpriced and code == "PricePerHour" else ""
    return _result(text, path, code, expected, "unknown", message, holds=False, about=about)


def _consequence(text: PolicyTestText, path: str, code: str, seen: Seen, *, present: bool) -> Judged:
    expected = f"{code} {'present' if present else 'absent'}"
    if seen.consequences is None:
        return Judged(
            code="Consequence", place=str(text.place(path)), path=path, verdict=Verdict.SKIPPED, expected=expected,
            actual="not compared", message=_WRITTEN_IN_TODAY,
        )  # fmt: skip
    sentences = [sentence for known, sentence in seen.consequences if known == code]
    others = ", ".join(dict.fromkeys(known for known, _ in seen.consequences)) or "none"
    message = f"{code}: {sentences[0]}" if sentences else f"the change does not cause {code}. It causes {others}"
    return _result(
        text, path, "Consequence", expected, "present" if sentences else "absent", message, holds=bool(sentences) is present
    )  # fmt: skip


def _wait(text: PolicyTestText, path: str, most_seconds: int, seen: Seen) -> Judged:
    most, longest = duration_text(most_seconds), seen.longest_wait_seconds
    if longest is None:
        message = f"a pod never got a node, expected: at most {most} of waiting{_shown(seen.pending)}"
        about = f"pod {seen.pending[0]}" if seen.pending else ""
        return _result(text, path, "PendingTime", f"at most {most}", "never placed", message, holds=False, about=about)
    actual = duration_text(longest)
    message = f"the longest that a pod waits is {actual}, expected: at most {most}"
    return _result(text, path, "PendingTime", f"at most {most}", actual, message, holds=longest <= most_seconds, writes=actual)


def _shown(pods: Sequence[str]) -> str:
    if not pods:
        return ""
    names = ", ".join(pods[:_NAMES_SHOWN])
    return f": {names}" + (f" and {len(pods) - _NAMES_SHOWN} more" if len(pods) > _NAMES_SHOWN else "")


def _listed(names: Sequence[str]) -> str:
    """Names as a YAML list on one line."""
    return f"[{', '.join(_scalar(name) for name in names)}]"


def _scalar(name: str) -> str:
    plain = _PLAIN_NAME.fullmatch(name) is not None and name.lower() not in _NO_TEXT
    return name if plain else msgspec.json.encode(name).decode()
