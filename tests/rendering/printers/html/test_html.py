"""Reports as HTML: one file, safe, bounded, the same bytes every time."""

import base64
import hashlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from reconciler.plan.comparison import compare_plans
from reconciler.plan.impact import Impact
from reconciler.plan.picture import Picture, PictureNode, PicturePod, Pictures
from reconciler.plan.plan import NodeState, Plan, PodOutcome
from reconciler.plan.preview import Preview, PreviewSide
from reconciler.policy.place import Place
from reconciler.policy.problems.problem import Problem
from reconciler.rendering.printers.html.element import MOST_CHARACTERS, escaped, path, tag
from reconciler.rendering.printers.html.plan import plan_html
from reconciler.rendering.printers.html.preview import preview_html, refused_html
from tests.rendering.hostile import hostile_pictures, hostile_plan

ROOT = Path(__file__).resolve().parents[4]
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&lt;"
LARGEST_BYTES = 4 << 20


class Elements(HTMLParser):
    """What a parser finds: tags with attributes, and the text outside of style and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("style", "script"):
            self.raw[self._inside] = self.raw.get(self._inside, "") + data
        else:
            self.text.append(data)

    def values(self, name: str) -> list[str]:
        """All values of one attribute."""
        return [str(attributes[name]) for _, attributes in self.tags if name in attributes]


@pytest.fixture
def pictures() -> Pictures:
    """One node now; at rest it is gone and another has joined, with a pod that was pending."""
    old = PictureNode(node="spot-b-x2", group="spot-b", resource="cpu", used_permille=300, pods=(PicturePod("shop/a-1", 300),))
    new = PictureNode(
        node="general-a-6", group="general-a", resource="cpu", used_permille=500, pods=(PicturePod("shop/b-1", 500),)
    )
    return Pictures(now=Picture(nodes=(old,), waiting=2), rest=Picture(nodes=(new,), waiting=1))


def test_everything_of_the_plan_is_there(mixed_plan: Plan, pictures: Pictures):
    """The summary, every group, action, reason, blocker and problem, the cost, the digest."""
    text = " ".join(Elements(plan_html(mixed_plan, pictures)).text)
    wanted = [mixed_plan.summary, mixed_plan.digest, "$3.702", "$5.796", "PodDisruptionBudget"]
    wanted += [line.name for line in mixed_plan.groups] + [line.node for line in mixed_plan.nodes]
    wanted += [action.reason.message for action in mixed_plan.actions if action.kind == "Resize"]
    wanted += [reason.message for pod in mixed_plan.pods if pod.outcome is PodOutcome.UNPLACEABLE for reason in pod.reasons]
    wanted += [blocker.message for line in mixed_plan.nodes for blocker in line.blockers]
    wanted += [problem.message for problem in mixed_plan.problems]
    assert [words for words in wanted if words not in text] == []


def test_what_comes_and_goes_is_marked(mixed_plan: Plan, pictures: Pictures):
    """The node that is gone at rest leaves, the other joins, and its pod is new there; said in words as well."""
    labels = Elements(plan_html(mixed_plan, pictures)).values("aria-label")
    assert "spot-b-x2: 1 pod, 30% of cpu requested, leaves" in labels
    assert "general-a-6: 1 pod, 50% of cpu requested, 1 of them new here, joins" in labels


def test_without_looking_ahead(mixed_plan: Plan, pictures: Pictures):
    """Only the picture of now, in which the node of a removal leaves."""
    elements = Elements(plan_html(mixed_plan, Pictures(now=pictures.now)))
    assert [value for value in elements.values("class") if value.startswith("picture ")] == ["picture sheet"]
    assert any(label.startswith("spot-b-x2:") and label.endswith("leaves") for label in elements.values("aria-label"))


def test_policy_names_the_hashes_of_style_and_script(mixed_plan: Plan, pictures: Pictures):
    """Nothing else may run or load: the hashes, computed here, are the only sources."""
    elements = Elements(plan_html(mixed_plan, pictures))
    policy = next(a["content"] for t, a in elements.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    sums = {name: base64.b64encode(hashlib.sha256(elements.raw[name].encode()).digest()).decode() for name in ("style", "script")}
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{sums['style']}'; script-src 'sha256-{sums['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_nothing_leads_outside(mixed_plan: Plan, pictures: Pictures):
    """Every link leads to an anchor that is there, once; no element names a source; no style or handler is in attributes."""
    elements = Elements(plan_html(mixed_plan, pictures))
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in elements.values("href")} <= set(ids)
    assert [
        name for _, attributes in elements.tags for name in attributes if name in ("src", "style") or name.startswith("on")
    ] == []


def test_texts_of_others_are_never_markup():
    """The same elements, in the same order, with harmless and with hostile names; the hostile text is all there."""
    harmless = Elements(plan_html(hostile_plan("name"), hostile_pictures("name")))
    hostile = Elements(plan_html(hostile_plan(HOSTILE), hostile_pictures(HOSTILE)))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in harmless.tags]
    assert [set(attributes) for _, attributes in hostile.tags] == [set(attributes) for _, attributes in harmless.tags]
    assert HOSTILE in "".join(hostile.text)
    assert hostile.raw == harmless.raw


def test_invisible_characters_are_visible():
    """A direction override and an escape cannot change what a reader sees."""
    assert escaped("a\u202eb\x1b[0m") == "a\\u202eb\\x1b[0m"


def test_a_drawing_is_never_cut():
    """A node of 250 pods: every block of it is drawn, and a path holds no text of anybody."""
    pods = tuple(PicturePod(f"shop/a-{number}", 4) for number in range(250))
    node = PictureNode(node="n", group="general-a", resource="cpu", used_permille=1_000, pods=pods)
    plan = Plan(now="2026-11-21T18:00:00Z", mode="Observe", summary="No changes.")
    drawn = [value for value in Elements(plan_html(plan, Pictures(now=Picture(nodes=(node,))))).values("d") if len(value) > 60]
    assert len(drawn) == 1
    assert len(drawn[0]) > MOST_CHARACTERS
    assert re.fullmatch(r"(M\d+ \d+h\d+v\d+h-\d+z)+", drawn[0])
    with pytest.raises(ValueError, match="commands and whole numbers"):
        path("p", 'M0 0"><script>')


def test_one_text_is_bounded():
    """A value of a megabyte is cut from its middle."""
    assert len(escaped("x" * 1_000_000)) == MOST_CHARACTERS
    assert "…" in escaped("x" * 1_000_000)


def test_attributes():
    """True writes a name, None and False nothing, underscores are hyphens, quotes are escaped."""
    made = tag("p", "a<b", None, 3, class_='x"y', hidden=True, id=None, open=False, data_n=0)
    assert made.markup == '<p class="x&quot;y" hidden data-n="0">a&lt;b3</p>'


def test_a_large_cluster_is_bounded(mixed_plan: Plan):
    """20,000 nodes, 1,000 groups and 30,000 kinds of pending pods: below 4 MiB, and it says how much was left out."""
    group, node = mixed_plan.groups[3], msgspec.structs.replace(mixed_plan.nodes[5], state=NodeState.IN_USE)
    groups = tuple(msgspec.structs.replace(group, name=f"group-{number:05}") for number in range(1_000))
    nodes = tuple(msgspec.structs.replace(node, node=f"node-{number:05}", group="group-00001") for number in range(20_000))
    pods = tuple(msgspec.structs.replace(mixed_plan.pods[0], pod=f"team-{number}/odd{number}") for number in range(30_000))
    plan = msgspec.structs.replace(mixed_plan, groups=groups, nodes=nodes, pods=pods, actions=mixed_plan.actions * 500)
    shown = tuple(PicturePod(f"shop/pod-{number:03}", 9) for number in range(110))
    drawn = Picture(
        nodes=tuple(
            PictureNode(node=line.node, group=line.group, resource="cpu", used_permille=990, pods=shown) for line in nodes
        )
    )
    html = plan_html(plan, Pictures(now=drawn, rest=drawn))
    assert len(html.encode()) < LARGEST_BYTES
    for words in (
        "19,600 nodes left out",
        "700 groups left out",
        "29,750 pods left out",
        "101 actions left out",
        "19,760 nodes more",
    ):
        assert words in html


@pytest.mark.parametrize("output", ["plan", "preview"])
def test_the_same_bytes(output: str):
    """Two processes with other hash seeds and another working directory print the same."""
    inputs = ["--cluster", ROOT / "examples" / "quickstart", "-o", "html"]
    policies = ROOT / "policies"
    sides = ["--policy", policies] if output == "plan" else ["--base-dir", policies, "--head-dir", policies]
    printed = []
    for seed, directory in (("1", ROOT), ("2", ROOT / "tests")):
        done = subprocess.run(
            [sys.executable, "-m", "reconciler", output, *sides, *inputs], cwd=directory, capture_output=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert printed[0].endswith(b"</html>\n")


@pytest.fixture
def preview(mixed_plan: Plan, pictures: Pictures) -> Preview:
    """general-a comes to rest at 4 instead of 6; two pods are evicted on the way instead of one."""
    groups = list(mixed_plan.groups)
    groups[1] = msgspec.structs.replace(groups[1], settled=4)
    after = msgspec.structs.replace(mixed_plan, groups=tuple(groups))
    return Preview(
        base=PreviewSide(source="main", revision="a" * 40), head=PreviewSide(source="change", revision="b" * 40), plan=after,
        comparison=compare_plans(mixed_plan, after),
        impact_before=Impact(evicted_settled=("shop/a-1",)), impact_after=Impact(evicted_settled=("shop/a-1", "shop/a-2")),
        untouched=("quiet",), pictures=msgspec.structs.replace(pictures, rest_before=pictures.now),
    )  # fmt: skip


def test_preview(preview: Preview):
    """The difference in words, both commits, three pictures, what two policies do to pods."""
    elements = Elements(preview_html(preview))
    text = "".join(elements.text)
    for words in (
        "general-a: steady state 6 → 4 ■■■■--",
        "main at aaaaaaaaaaaa",
        "change at bbbbbbbbbbbb",
        "1 group untouched",
        preview.digest,
    ):
        assert words in text
    assert [value for value in elements.values("class") if value.startswith("picture ")] == ["picture sheet"] * 3
    assert "1 becomes  → 2" in text
    assert "Caution: Evicted: shop/a-2." in text
    marked = preview_html(preview)
    assert '<b class="bad">2</b>' in marked, "one more eviction is danger"
    assert '<b class="moves">8</b>' in marked, "two nodes fewer are neither good nor bad"
    assert "1 more eviction, general-a 6 -> 4 nodes" in text


def test_preview_without_a_base(preview: Preview):
    """The plan alone, and why there is nothing to compare with."""
    text = "".join(Elements(preview_html(msgspec.structs.replace(preview, comparison=None, no_base="there is no policy."))).text)
    assert "Nothing to compare with: there is no policy. This is the plan of change alone." in text


def test_refused_head():
    """Every problem with its source line and caret, as text."""
    problem = Problem(place=Place("<b>.yaml", 3, 5), code="UnknownField", message="no <i>key</i>", source="    sizes: 1", width=5)
    html = refused_html((problem,), PreviewSide(source="main"), PreviewSide(source="<u>"))
    elements = Elements(html)
    assert "<b>.yaml:3:5: error: no <i>key</i> [UnknownField]\n 3 |     sizes: 1\n   |     ^^^^^\n" in "".join(elements.text)
    assert not {"b", "i", "u"} & {tag for tag, _ in elements.tags}
    assert re.search(r"1 error in the policy", html)
