"""Values change in the text of a policy, and nothing else does."""

import difflib

import pytest

from reconciler.policy.text_edits import Edit, EditError, Setting, edited, written

TEXT = """\
# Why this policy is as it is.
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroupPolicy
metadata: {name: prod}   # the only one
spec:
  expanders: [LeastCost, LeastWaste]  # money first
  tiers:
    # Cheap nodes first.
    - {name: spot, defaults: {headroom: {nodes: 1}}}
    # The others.
    - name: on-demand
      defaults:
        scaleDown: {unneededTime: "20m"}

  defaults:
    scaleDown: &down
      utilizationThresholdPercent: 50  # half

      # Long enough for a lunch.
      unneededTime: 10m
    windows:
      - name: night
        schedule: "0 22 * * *"
        duration: 8h
        scaleDown: {unneededTime: 1m}
---
apiVersion: reconciler.dev/v1alpha1
kind: NodeGroup
metadata: {name: general, namespace: reconciler}
spec:
  policyRef: {name: prod}
  size: {}
  template:
    labels: {a: b,
             c: d}
"""


def change(path: str, value: str | tuple[str, ...], kind: str = "NodeGroupPolicy", text: str = TEXT, **more: bool) -> list[str]:
    """The lines that differ."""
    name = "prod" if kind == "NodeGroupPolicy" else "general"
    after = edited({"p.yaml": text.encode()}, [Edit(Setting(kind, name, path), value, **more)])["p.yaml"].decode()
    found = difflib.ndiff(text.splitlines(), after.splitlines())
    return [line for line in found if line[0] in "+-"]


@pytest.mark.parametrize(
    ("kind", "path", "value", "lines"),
    [
        pytest.param(
            "NodeGroupPolicy", "spec.defaults.scaleDown.utilizationThresholdPercent", "60",
            ["-       utilizationThresholdPercent: 50  # half", "+       utilizationThresholdPercent: 60  # half"],
            id="a scalar, its comment stays",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.tiers[on-demand].defaults.scaleDown.unneededTime", "5m",
            ['-         scaleDown: {unneededTime: "20m"}', "+         scaleDown: {unneededTime: 5m}"], id="a scalar in quotes",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.tiers[spot].defaults.headroom.nodes", "0",
            ["-     - {name: spot, defaults: {headroom: {nodes: 1}}}", "+     - {name: spot, defaults: {headroom: {nodes: 0}}}"],
            id="in braces",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.tiers[spot].defaults.scaleDown.unneededTime", "5m",
            [
                "-     - {name: spot, defaults: {headroom: {nodes: 1}}}",
                "+     - {name: spot, defaults: {headroom: {nodes: 1}, scaleDown: {unneededTime: 5m}}}",
            ],
            id="missing in braces",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.defaults.scaleDown.mode", "Enabled", ["+       mode: Enabled"],
            id="missing in a block, below its parent",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.pace.delayAfterAdd", "5m", ["+   pace:", "+     delayAfterAdd: 5m"], id="without parents",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.defaults.windows[night].scaleDown.unneededTime", "2m",
            ["-         scaleDown: {unneededTime: 1m}", "+         scaleDown: {unneededTime: 2m}"], id="in an item",
        ),
        pytest.param(
            "NodeGroupPolicy", "spec.expanders", ("LeastWaste",),
            ["-   expanders: [LeastCost, LeastWaste]  # money first", "+   expanders: [LeastWaste]  # money first"], id="a list",
        ),
        pytest.param("NodeGroup", "spec.size.min", "2", ["-   size: {}", "+   size: {min: 2}"], id="empty braces"),
        pytest.param("NodeGroup", "spec.headroom.nodes", "2", ["+   headroom:", "+     nodes: 2"], id="below two lines"),
        pytest.param(
            "NodeGroup", "spec.template.labels.e", "f", ["-              c: d}", "+              c: d, e: f}"],
            id="in braces of two lines",
        ),
    ],
)  # fmt: skip
def test_one_value_changes(kind: str, path: str, value: str | tuple[str, ...], lines: list[str]) -> None:
    """The lines before and after, written by hand."""
    assert change(path, value, kind) == lines
    assert change(path, value, kind, TEXT.replace("\n", "\r\n")) == lines


def test_an_inserted_key_ends_its_mapping() -> None:
    """It follows the last value, before the list that comes next."""
    setting = Setting("NodeGroupPolicy", "prod", "spec.defaults.scaleDown.mode")
    after = edited({"p.yaml": TEXT.encode()}, [Edit(setting, "Enabled")])["p.yaml"].decode()
    assert "      unneededTime: 10m\n      mode: Enabled\n    windows:\n" in after


def test_items_change_places_with_their_comments() -> None:
    """The second tier comes first, and the comment above it does too."""
    setting = Setting("NodeGroupPolicy", "prod", "spec.tiers")
    after = edited({"p.yaml": TEXT.encode()}, [Edit(setting, ("on-demand", "spot"), reorders=True)])["p.yaml"].decode()
    first, second = after.index("# The others.\n    - name: on-demand"), after.index("# Cheap nodes first.\n    - {name: spot")
    assert first < second
    assert sorted(after.splitlines()) == sorted(TEXT.splitlines())
    assert written({"p.yaml": after.encode()}, setting) == ("on-demand", "spot")


def test_a_file_without_a_last_line_break_and_one_with_a_byte_order_mark() -> None:
    """Neither form is lost."""
    setting = Setting("NodeGroup", "general", "spec.mode")
    text = b"\xef\xbb\xbf" + TEXT.replace("labels: {a: b,\n             c: d}", "labels: {a: b}").rstrip("\n").encode()
    after = edited({"p.yaml": text}, [Edit(setting, "Observe")])["p.yaml"]
    assert after == text + b"\n  mode: Observe"


def test_a_block_list_gets_other_words() -> None:
    """Its lines are replaced."""
    text = TEXT.replace("[LeastCost, LeastWaste]  # money first", "\n    - LeastCost\n    - LeastWaste")
    assert change("spec.expanders", ("LeastWaste", "LeastNodes"), text=text) == ["-     - LeastCost", "+     - LeastNodes"]


@pytest.mark.parametrize(
    ("old", "new", "path", "why"),
    [
        ("unneededTime: 1m}", "unneededTime: *t}", "spec.defaults.scaleDown.unneededTime", "alias"),
        ("unneededTime: 1m}", "unneededTime: *t}", "spec.defaults.windows[night].scaleDown.unneededTime", "alias"),
        ("name: prod}", "name: other}", "spec.mode", "no document"),
        ("kind: NodeGroup\n", "kind: NodeGroupPolicy\n", "spec.tiers[none].share", "is not there"),
    ],
)
def test_what_only_a_person_can_change(old: str, new: str, path: str, why: str) -> None:
    """A value that counts twice, a document and an item that are not there."""
    text = TEXT.replace("unneededTime: 10m", "unneededTime: &t 10m").replace(old, new)
    with pytest.raises(EditError, match=why):
        edited({"p.yaml": text.encode()}, [Edit(Setting("NodeGroupPolicy", "prod", path), "5m")])


def test_an_anchor_that_nobody_repeats_stays() -> None:
    """Only the value behind it changes."""
    text = TEXT.replace("unneededTime: 10m", "unneededTime: &t 10m")
    assert change("spec.defaults.scaleDown.unneededTime", "5m", text=text) == [
        "-       unneededTime: &t 10m",
        "+       unneededTime: &t 5m",
    ]
