"""What saves work on ProvisioningRequests that get no room changes no answer. Plans and memories are the same, byte for byte,
where each request is judged in full, whatever was found before."""

import secrets
from array import array
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec
import pytest

from reconciler.decisions.decide import decide
from reconciler.decisions.demand.gangs import WITH_PLACE
from reconciler.decisions.demand.queue import Served
from reconciler.decisions.draft import Draft
from reconciler.decisions.growth import provisioning, scale_up
from reconciler.decisions.growth.cost import posed_problem, rearrange
from reconciler.decisions.growth.cost.mixes import Answer
from reconciler.decisions.growth.filling import Filling
from reconciler.decisions.growth.placeholders import Placeholders
from reconciler.plan.plan import NodeState
from reconciler.plan.summary import canonical_json
from tests.builders import NOW
from tests.decisions.drawn_requests import asked

CASES = 20


class _ToldAtOnce(Placeholders):
    """Says of each pod what becomes of it, as soon as it is known, and counts what it said."""

    names_others = True

    def take_on(self, shape: int, placements: Sequence[tuple[int, int]], serve: Callable[[int], Served]) -> None:
        for node, count in placements:
            self.take(shape, count, serve(node))

    @property
    def lost(self) -> list[Served]:
        entries = {id(lot.served): lot.served for lot in sorted(self.lots(), key=lambda lot: lot.pods[0])}
        return [served for served in entries.values() if served.outcome not in WITH_PLACE]

    @property
    def placed(self) -> int:
        return sum(len(lot.pods) for lot in self.lots() if lot.served.outcome in WITH_PLACE)


class _Nothing(dict[object, object]):
    def get(self, key: object, default: object = None) -> object:
        return default


class _Forgetful(provisioning._Tries):
    """Looks again at what is there for each request."""

    def got_room(self) -> None:
        super().got_room()
        self.short = _Nothing()  # type: ignore[assignment]

    @property
    def busy(self) -> "array[int]":
        draft = self._draft
        names, kept = ("cpu", "memory"), []
        staying = draft.staying_shapes()
        for row in draft.world.pods.running():
            index = draft.world.pods.node[row]
            if draft.world.pods.shape[row] not in staying and not draft.state.closed(index):
                kept.append(index)

        def free(node: int) -> int:
            offered, used = draft.state.shape_of(node).allocatable, draft.state.used(node)
            return sum((offered.get(name) - used.get(name)) * 1000 // max(1, offered.get(name)) for name in names)

        usable = [index for index in set(kept) if draft.states[index] in (NodeState.IN_USE, NodeState.UNMANAGED)]
        return array("i", sorted(usable, key=lambda node: (free(node), node)))


def _rejections_one_by_one(draft: Draft, shape: int, nodes: Sequence[int]) -> tuple[str, ...]:
    counts = Counter[tuple[str, ...]]()
    for node in nodes:
        names = tuple(one.plugin for one in draft.state.verdict(shape, node))
        counts.update([("leaving or not usable",)] if draft.state.closed(node) else [names] if names else [])
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(f"{count} {' and '.join(names)}" for names, count in ordered)


def judge_in_full(patch: pytest.MonkeyPatch) -> None:
    """From here on nothing that was found for one request or one choice serves for another."""
    search = rearrange._answer

    def anew(draft: Draft, posed: posed_problem.Posed, solve: posed_problem.Solver) -> Answer | None:
        draft.solved.clear()
        return search(draft, posed, solve)

    patch.setattr(provisioning, "Placeholders", _ToldAtOnce)
    patch.setattr(provisioning, "_Tries", _Forgetful)
    patch.setattr(provisioning, "rejections", _rejections_one_by_one)
    patch.setattr(scale_up, "rejections", _rejections_one_by_one)
    patch.setattr(rearrange, "_answer", anew)
    patch.setattr(Filling, "again", lambda *_: None)


def _decided(seed: int) -> tuple[bytes, bytes, Counter[str]]:
    world, rules, memory = asked(seed)
    plan, after = decide(world, rules, memory, NOW)
    said = Counter(line.reasons[0].code for line in plan.request_lines if line.reasons)
    return canonical_json(plan), msgspec.json.encode(after), said


def test_what_saves_work_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seeds are new with each run; the message names the one that differs."""
    said = Counter[str]()
    for seed in (secrets.randbelow(1 << 31) for _ in range(CASES)):
        cheap = _decided(seed)
        with monkeypatch.context() as patch:
            judge_in_full(patch)
            assert cheap == _decided(seed), f"seed {seed}"
        said += cheap[2]
    assert {"RequestShort", "RequestNoRoom"} <= said.keys()
