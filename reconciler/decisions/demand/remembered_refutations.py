"""Remembers a refuted template after its node is gone, because the demand that added the node is still there."""

from collections.abc import Mapping

from reconciler.decisions.demand.pod_counts import kind_of
from reconciler.decisions.draft import Draft, GroupDraft
from reconciler.decisions.memory import Refuted
from reconciler.decisions.reasons.pods import TemplateRefuted
from reconciler.decisions.situation.evidence import holds, made_of, remembers, target_of

MOST_REMEMBERED, _MOST_CHARACTERS = 100, 300
"""About 40 KiB of text."""


def _key(group: GroupDraft, draft: Draft, shape: int) -> str:
    return f"{group.group.target} {kind_of(draft.state.pod_shape(shape))}"


def remembered_before(draft: Draft, group: GroupDraft, shape: int) -> Refuted | None:
    """What is remembered of this demand, if it still holds."""
    entry = draft.memory.refuted.get(_key(group, draft, shape)) if draft.memory.refuted else None
    if entry is None or not holds(entry, made_of(draft.policy_digest, group.group.facts), draft.now_seconds):
        return None
    return entry


def remembered(draft: Draft) -> Mapping[str, Refuted]:
    """What to remember: what is seen now, and of what was seen before all that may still hold. The oldest give way."""
    before = draft.memory.refuted
    if not before and not draft.refuted:
        return before
    now = draft.now_seconds
    digests = {str(group.group.target): made_of(draft.policy_digest, group.group.facts) for group in draft.groups}
    entries = {key: entry for key, entry in before.items() if remembers(entry, digests.get(target_of(key), ""), now)}
    for (position, shape), seen in draft.refuted.items():
        group = draft.groups[position]
        key = _key(group, draft, shape)
        earlier = entries.pop(key, None)
        if seen is not None:
            why = seen.why[:_MOST_CHARACTERS]
            template = digests[str(group.group.target)]
            times = _times(earlier, group, seen)
            entries[key] = Refuted(node=seen.node, why=why, template=template, seen_seconds=now, times=times)
    newest = sorted(entries.items(), key=lambda item: (-item[1].seen_seconds, item[0]))[:MOST_REMEMBERED]
    return dict(sorted(newest))


def _times(earlier: Refuted | None, group: GroupDraft, seen: TemplateRefuted) -> int:
    """How many nodes have contradicted the template. One counts once, however many turns see it; all that are there count."""
    there = 2 if len(group.group.made_of_template) > 1 else 1
    if earlier is None:
        return there
    return max(earlier.times + (earlier.node != seen.node), there)
