"""Rows of pods that come, change and go, against rows of the same pods read once."""

import random
from typing import Any

import msgspec
import pytest

from reconciler.cluster.snapshots.pod_rows import PodRows
from reconciler.cluster.values.release import release_of
from reconciler.cluster.values.unreadable import UnreadableError
from reconciler.cluster.wire.pod import Pod
from reconciler.kube.watching import live_pods
from reconciler.kube.watching.live_pods import LivePods

RELEASE = release_of((1, 37, 0))
NODES = {f"n-{number}": number for number in range(6)}


def pod(name: str, form: int, node: str | None, *, nominated: str | None = None, phase: str = "Running") -> Pod:
    item: dict[str, Any] = {
        "metadata": {"name": name, "namespace": f"ns-{len(name) % 3}", "uid": f"u-{form}-{name}", "labels": {"form": str(form)}},
        "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": f"{form + 1}m"}}}]},
        "status": {"phase": phase, "nominatedNodeName": nominated},
    }
    item["spec"]["terminationGracePeriodSeconds"] = form % 7
    return msgspec.json.decode(msgspec.json.encode(item), type=Pod)


def key(item: Pod) -> tuple[str, str]:
    return item.metadata.namespace, item.metadata.name


@pytest.mark.parametrize("seed", range(8))
def test_equal_to_a_fresh_reading(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever came, changed and went, in whatever order: the table is that of the pods that are there, read afresh."""
    monkeypatch.setattr(live_pods, "_UNUSED_FORMS", 5)
    chance = random.Random(seed)
    live, there = LivePods(), {}
    for step in range(400):
        if there and chance.random() < 0.45:
            gone = chance.choice(sorted(there))
            del there[gone]
            live.discard(gone)
        else:
            nodes = [*NODES, None, "nowhere", "elsewhere"]
            name = "p" * chance.randint(1, 3) + str(chance.randint(0, 12))
            item = pod(name, step, chance.choice(nodes), nominated=chance.choice([None, "n-1", "nowhere"]))
            there[key(item)] = item
            live.add(item, 0)
        if step % 37 == 0:
            fresh = PodRows()
            for item in there.values():
                fresh.add(item, 0)
            assert live.table(NODES, {}, (), RELEASE) == fresh.table(NODES, {}, (), RELEASE)
    assert len(live) == len(there)


def test_forms_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand pods of as many forms, one at a time, leave no more than a few behind."""
    monkeypatch.setattr(live_pods, "_UNUSED_FORMS", 50)
    live = LivePods()
    for form in range(2000):
        item = pod(f"p-{form}", form, f"n-{form}")
        live.add(item, 0)
        live.discard(key(item))
    assert len(live._drafts) + len(live._traits) + len(live._draft_numbers) + len(live._node_names) < 500


def test_how_many_forms_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many more as were said, of both sorts: 102 with one pod and 50; then only that pod's are left."""
    monkeypatch.setattr(live_pods, "_UNUSED_FORMS", 50)
    live, counts = LivePods(), []
    for form in range(200):
        live.add(pod("p", form, "n-1"), 0)
        counts.append(len(live._drafts) + len(live._traits))
    assert max(counts) == 102
    assert counts[counts.index(102) + 1] == 2


def test_a_pod_that_cannot_be_read_keeps_its_old_row() -> None:
    """A change that cannot be understood leaves the row that was there."""
    live = LivePods()
    live.add(pod("p", 1, "n-1"), 0)
    with pytest.raises(UnreadableError):
        live.add(pod("p", 2, "n-2", phase="Exploded"), 0)
    table = live.table(NODES, {}, (), RELEASE).table
    assert (table.name, list(table.node)) == (["p"], [1])


def test_templates_leave_nothing_behind() -> None:
    """Shapes of DaemonSets are numbered for one table only."""
    live = LivePods()
    live.add(pod("p", 1, "n-1"), 0)
    drafts = live.drafts([0])
    with live.with_templates(drafts) as numbers:
        assert numbers == [1]
    with live.with_templates(drafts) as numbers:
        assert numbers == [1]
