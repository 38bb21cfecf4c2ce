"""Results of policy tests as lines of text, as TAP, as JUnit XML and as JSON.

SOURCE: TAP version 14 (test points, `# SKIP`, a YAML block behind a failed point). JUnit XML as the Jenkins plugin reads it:
`testsuites`, `testsuite`, `testcase` with `failure` or `skipped`.
"""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, takewhile
from xml.sax.saxutils import escape, quoteattr

import msgspec

from reconciler.plan.policy_tests import CaseResult, Coverage, EqualResults, Judged, PolicyTestRun, Verdict, folded
from reconciler.rendering.documents.blocks import names_listed, plain_sentence
from reconciler.rendering.printers.lines import Style, Tone
from reconciler.rendering.words.plain import plain
from reconciler.rendering.words.wording import count

_TONES = {Verdict.PASSED: Tone.GOOD, Verdict.FAILED: Tone.DANGER, Verdict.SKIPPED: Tone.HELD}
_COUNTED = (Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED)
_CLUSTERS_SHOWN = 4
_YAML_ESCAPES = str.maketrans({"\\": "\\\\", "#": "\\#"})


def test_line(result: CaseResult, number: int, total: int, width: int, style: Style) -> str:
    """One test: its file, its name, the verdict, how far the run has come."""
    name = plain(f"{result.file}::{result.name}")
    share = f"[{100 * number // max(1, total):3d}%]"
    verdict = result.verdict.value.upper()
    gap = " " * max(1, width - len(name) - 1 - len(verdict) - len(share))
    return f"{name} {style.paint(verdict, _TONES[result.verdict])}{gap}{share}"


def fleet_lines(results: Sequence[CaseResult], style: Style) -> Iterator[str]:
    """One line for each test: `t.yaml::nothing is held PASSED in 48 clusters, FAILED in 2 clusters (eu, us)`."""
    tests: dict[tuple[str, str, str], list[CaseResult]] = {}
    for one in results:
        tests.setdefault(one.identity, []).append(one)
    for (file, _, name), same in tests.items():
        parts = []
        for verdict in _COUNTED:
            there = [one.cluster for one in same if one.verdict is verdict]
            words = style.paint(verdict.value.upper(), _TONES[verdict])
            if there and there != [""]:
                words += f" in {count(len(there), 'cluster')}"
                words += "" if verdict is Verdict.PASSED else f" ({_listed(there)})"
            parts += [words] if there else []
        yield f"{plain(f'{file}::{name}')} {', '.join(parts)}"


def _listed(clusters: Sequence[str]) -> str:
    return plain_sentence(names_listed(clusters, _CLUSTERS_SHOWN))


def fleet_counts(run: PolicyTestRun) -> str:
    """`50 clusters: 2 fail, 47 pass, 1 unreadable`. A cluster passes if no test fails there and one passes; empty without
    clusters."""
    verdicts: dict[str, set[Verdict]] = {}
    for one in run.results:
        if one.cluster:
            verdicts.setdefault(one.cluster, set()).add(one.verdict)
    failing = sum(Verdict.FAILED in there for there in verdicts.values())
    passing = sum(Verdict.PASSED in there and Verdict.FAILED not in there for there in verdicts.values())
    numbers = (
        (failing, "fails", "fail"), (passing, "passes", "pass"),
        (len(verdicts) - failing - passing, "skipped", "skipped"), (len(run.unread_clusters), "unreadable", "unreadable"),
    )  # fmt: skip
    parts = ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in numbers if number)
    return f"{count(len(verdicts) + len(run.unread_clusters), 'cluster')}: {parts}" if parts else ""


def closing_lines(run: PolicyTestRun, seconds: float, width: int, style: Style) -> Iterator[str]:
    """Failures with what was found and with the answer of `explain`, what no test touches, and the summary."""
    failed = [result for result in run.results if result.verdict is Verdict.FAILED]
    if failed:
        yield ""
        yield _ruler("FAILURES", "=", width)
    for lot in folded(failed):
        yield from _failure(lot, width, style)
    skipped = [result for result in run.results if result.verdict is Verdict.SKIPPED]
    if skipped:
        yield ""
    for lot in folded(skipped):
        why = next((one.message for one in lot.result.judged if one.verdict is Verdict.SKIPPED), "")
        yield from _wrapped(f"skipped: {_title(lot)}: {why}", width)
    left = list(coverage_lines(run.coverage))
    if left:
        yield ""
    for line in left:
        yield from _wrapped(line, width)
    yield ""
    tone = Tone.DANGER if run.failed else Tone.GOOD
    clusters = fleet_counts(run)
    yield style.paint(f"{f'{clusters}, ' if clusters else ''}{counts(run)} in {seconds:.1f} s", tone)


def counts(run: PolicyTestRun) -> str:
    """`7 passed, 1 failed`; what there is none of is left out, passed tests excepted."""
    parts = [
        f"{run.count(verdict)} {verdict.value.lower()}" for verdict in _COUNTED if run.count(verdict) or verdict is _COUNTED[0]
    ]
    return ", ".join([*parts, *([f"{len(run.not_run)} not run"] if run.not_run else [])])


def coverage_lines(left: Coverage) -> Iterator[str]:
    """What no test touches, in a sentence each."""
    if left.groups:
        yield f"no test names {'group' if len(left.groups) == 1 else 'groups'} {', '.join(left.groups)}"
    if left.rules:
        which = "this rule" if len(left.rules) == 1 else "any of these rules"
        yield f"without {which} the plans are the same: {', '.join(left.rules)}"
    elif left.rules is not None:
        yield "each rule of the policy changes a plan of the tests"


def _title(lot: EqualResults) -> str:
    """The name of a test, and the clusters that are meant."""
    return f"{lot.result.name}, in {_listed(lot.clusters)}" if lot.clusters else lot.result.name


def _failure(lot: EqualResults, width: int, style: Style) -> Iterator[str]:
    result = lot.result
    yield _ruler(plain(_title(lot)), "_", width)
    for one in result.failures:
        yield plain(f"{one.place}: {one.code}")
        yield from (style.paint(line, Tone.DANGER) for line in _wrapped(f"expected: {one.expected}", width, "E   "))
        yield from (style.paint(line, Tone.DANGER) for line in _wrapped(f"actual:   {one.actual}", width, "E   "))
        yield from _wrapped(one.message, width, "    ")
    for first, answer in _answers(result.explained):
        yield ""
        yield plain(f"    $ {first}")
        yield from (plain(f"    {line}".rstrip()) for line in takewhile(str.strip, answer))
        if any(not line.strip() for line in answer):
            yield "    …"


def _answers(explained: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each command with its answer, whose lines are indented."""
    starts = [at for at, line in enumerate(explained) if line and not line.startswith(" ")]
    for at, end in pairwise([*starts, len(explained)]):
        yield explained[at], [line.removeprefix("  ") for line in explained[at + 1 : end]]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    wrapper = textwrap.TextWrapper(max(20, width), indent, indent, break_on_hyphens=False, break_long_words=False)
    return wrapper.wrap(plain(text))


def _ruler(title: str, fill: str, width: int) -> str:
    return f" {title} ".center(max(width, len(title) + 8), fill)


def tap(run: PolicyTestRun) -> str:
    """TAP version 14."""
    lines = ["TAP version 14", f"1..{len(run.results)}"]
    for number, result in enumerate(run.results, 1):
        name = plain(f"{result.suite}: {_full_name(result)}").translate(_YAML_ESCAPES)
        point = f"{'not ok' if result.verdict is Verdict.FAILED else 'ok'} {number} - {name}"
        if result.verdict is Verdict.SKIPPED:
            point += f" # SKIP {plain(result.judged[0].message)}"
        lines.append(point)
        if result.failures:
            lines += ["  ---", *(f"  {line}" for one in result.failures for line in _tap_details(one)), "  ..."]
    lines += [f"Bail out! {plain(run.not_run[0])}"] if run.not_run else []
    return "\n".join(lines) + "\n"


def _full_name(result: CaseResult) -> str:
    """`nothing is held [eu]`: with the cluster, where there is one."""
    return f"{result.name} [{result.cluster}]" if result.cluster else result.name


def _tap_details(one: Judged) -> Iterator[str]:
    details = {"message": one.message, "code": one.code, "at": one.place, "expected": one.expected, "actual": one.actual}
    for number, (key, value) in enumerate(details.items()):
        yield f"{'- ' if not number else '  '}{key}: {_quoted(value)}"


def _quoted(text: str) -> str:
    return msgspec.json.encode(plain(text)).decode()


def junit(run: PolicyTestRun, seconds: float) -> str:
    """JUnit XML: one suite per document."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {_totals(run.results)} time={quoteattr(f'{seconds:.3f}')}>"]
    for (file, suite), group in groupby(run.results, key=lambda result: (result.file, result.suite)):
        results = list(group)
        lines.append(f"  <testsuite name={_attribute(suite)} {_totals(results)}>")
        for result in results:
            lines += _testcase(file, result)
        lines.append("  </testsuite>")
    if number := len(run.not_run):
        lines.append(f'  <testsuite name="not run" tests="{number}" failures="0" errors="{number}" skipped="0">')
        for why in run.not_run:
            error = f"<error message={_attribute(why)}/>"
            lines.append(f'    <testcase classname="not run" name={_attribute(why)}>{error}</testcase>')
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _testcase(file: str, result: CaseResult) -> list[str]:
    head = f"    <testcase classname={_attribute(file)} name={_attribute(_full_name(result))}"
    if result.verdict is Verdict.PASSED:
        return [f"{head}/>"]
    if result.verdict is Verdict.SKIPPED:
        return [f"{head}><skipped message={_attribute(result.judged[0].message)}/></testcase>"]
    lines = [f"{head}>"]
    for one in result.failures:
        details = f"{one.place}\nexpected: {one.expected}\nactual: {one.actual}"
        body = "\n".join(escape(plain(line)) for line in details.split("\n"))
        lines.append(f"      <failure type={_attribute(one.code)} message={_attribute(one.message)}>{body}</failure>")
    if result.explained:
        lines.append("      <system-out>" + "\n".join(escape(plain(line)) for line in result.explained) + "</system-out>")
    return [*lines, "    </testcase>"]


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _totals(results: Sequence[CaseResult]) -> str:
    failed, skipped = (sum(one.verdict is verdict for one in results) for verdict in (Verdict.FAILED, Verdict.SKIPPED))
    return f'tests="{len(results)}" failures="{failed}" errors="0" skipped="{skipped}"'
