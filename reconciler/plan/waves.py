"""Waves: clusters take a change of the policy tree ring by ring, and the first ring that got worse stops it.

SOURCE: the order is that of Argo CD's sync waves, the lowest number first. A wave begins once the one before is healthy.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from reconciler.cluster.values.object_parts import DECODING_ERRORS
from reconciler.plan.plan import Plan
from reconciler.plan.summary import NOWHERE
from reconciler.values.cluster_identity import WAVE_LABEL
from reconciler.values.decoding import decode
from reconciler.values.instant import UnixSeconds, instant_text
from reconciler.values.plural import count_text

ANNOTATION = "reconciler.dev/rollout"
"""On the Lease of a loop in a fleet: a `WaveRecord` as JSON. The loops of later waves read it."""
SOAK_SECONDS = 600
LONGEST_GAP_SECONDS = 120
"""Time between two decisions counts as watched up to this: a cluster that was out of sight proves nothing."""

_Count = Annotated[int, Meta(ge=0, le=1 << 31)]


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """How one cluster does. `unplaced` pods find no place, `failed` groups did not get the nodes that they requested, and `held`
    groups are held."""

    unplaced: _Count = 0
    failed: _Count = 0
    held: _Count = 0


class WaveRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which tree one loop decides by, and how its cluster does under it.

    `content` names the files (empty: unknown), `revision` is for people, and `digest` is that of the policy as this cluster has
    it. `seen` is the last decision (Unix seconds). Until then, decisions by this policy were watched for `watched_seconds`.
    `before` is the health at the end of the last policy that was proven. `proven`: this policy was watched for long enough, and
    nothing got worse. `waiting` says why a newer tree is not taken, and `stopped` that an earlier wave got worse with it.
    """

    content: str
    revision: str
    digest: str
    seen: UnixSeconds
    watched_seconds: UnixSeconds = 0
    now: Health = Health()
    before: Health = Health()
    proven: bool = False
    waiting: str = ""
    stopped: bool = False

    @property
    def worse(self) -> str:
        """What got worse under this policy, in words; empty: nothing did."""
        now, before = self.now, self.before
        counts = (
            (now.unplaced, before.unplaced, count_text(now.unplaced, "unplaced pod")),
            (now.failed, before.failed, f"{count_text(now.failed, 'group')} without the nodes that were requested"),
            (now.held, before.held, count_text(now.held, "held group")),
        )
        return ", ".join(f"{words} ({was} before)" for is_now, was, words in counts if is_now > was)


class Ring(msgspec.Struct, frozen=True, kw_only=True):
    """One loop of a fleet as others see it: its cluster, the wave of that, and what its Lease says (None: nothing yet)."""

    cluster: str
    wave: int | None
    record: WaveRecord | None = None


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Why a cluster does not take a tree now. `stopped`: an earlier wave got worse, so that waiting may not help."""

    why: str
    how: str
    stopped: bool = False


def health(plan: Plan, failed_groups: int) -> Health:
    """That of a cluster by its last plan; `failed_groups` are those that are in back-off after failed growth."""
    unplaced = sum(pod.outcome in NOWHERE for pod in plan.pods)
    return Health(unplaced=unplaced, failed=failed_groups, held=sum(line.held for line in plan.groups))


def decided(
    known: WaveRecord | None, *, content: str, revision: str, digest: str, found: Health, at_seconds: int, soak_seconds: int
) -> WaveRecord:
    """The record after a decision by a policy with this `digest`, read from files named `content`.

    What is compared with stays while a policy is not proven: an unrelated commit does not hide what the one before it broke. A
    cluster without a record is compared with its first plan, for which no growth can have failed.
    """
    if known is None:
        before, watched, proven = Health(unplaced=found.unplaced, held=found.held), 0, False
    elif known.digest != digest:
        before, watched, proven = known.now if known.proven else known.before, 0, False
    else:
        gap = min(max(at_seconds - known.seen, 0), LONGEST_GAP_SECONDS)
        before, watched, proven = known.before, min(known.watched_seconds + gap, soak_seconds), known.proven
    after = WaveRecord(
        content=content, revision=revision, digest=digest, seen=at_seconds, watched_seconds=watched, now=found, before=before,
        proven=proven,
    )  # fmt: skip
    soaked = watched >= soak_seconds and not after.worse
    return msgspec.structs.replace(after, proven=proven or soaked)


def closed(content: str, wave: int | None, others: Iterable[Ring], *, decides: bool, soak_seconds: int) -> Wait | None:
    """Why a cluster of this wave does not take the tree yet; None: it may.

    `others` are the loops of the fleet. `decides`: a policy is in force in this cluster, which can go on with it. One that is
    new takes what earlier waves have proven, whatever happened there later.
    """
    rings: dict[int, list[tuple[str, WaveRecord | None]]] = {}
    for one in others:
        if one.wave is not None and (wave is None or one.wave < wave):
            rings.setdefault(one.wave, []).append((one.cluster, one.record))
    for number, ring in sorted(rings.items()):
        how = (
            f"fix the policy in git, or take a cluster out of wave {number}. To go on without it, give the waiting Cluster the "
            f"label {WAVE_LABEL}: \"{number}\""
        )  # fmt: skip
        taken = [(cluster, record) for cluster, record in ring if record is not None and record.content == content]
        for cluster, record in taken:
            if record.worse and (decides or not record.proven):
                why = f"wave {number} stopped: since {cluster} took it, it has {record.worse}"
                return Wait(why=why, how=how, stopped=True)
        missing = [cluster for cluster, record in ring if record is None or record.content != content]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return Wait(why=f"it waits for wave {number}: {missing[0]}{more} did not take it yet", how=how)
        young = [(record.seen + soak_seconds - record.watched_seconds, cluster) for cluster, record in taken if not record.proven]
        if young:
            ready, cluster = max(young)
            until = instant_text(ready)
            return Wait(why=f"it waits for wave {number}: {cluster} is watched under it until {until} or later", how=how)
    return None


def wave_record(annotations: Mapping[str, str]) -> WaveRecord | None:
    """What a Lease says; None: nothing, or nothing that can be read."""
    try:
        return decode(annotations.get(ANNOTATION, "").encode(), WaveRecord)
    except (*DECODING_ERRORS, ValueError):
        return None


def record_problem(annotations: Mapping[str, str]) -> str:
    """What is wrong with the record on a Lease; empty: nothing, or there is none."""
    wrong = ANNOTATION in annotations and wave_record(annotations) is None
    return f"its annotation {ANNOTATION} cannot be read. Later waves wait" if wrong else ""


def waves_in_order(waves: Iterable[int | None]) -> str:
    """`0 (2 clusters), 1 (10 clusters), then 38 clusters`; empty where no cluster has a wave."""
    counts = Counter(waves)
    rest = counts.pop(None, 0)
    if not counts:
        return ""
    parts = [f"{wave} ({count_text(number, 'cluster')})" for wave, number in sorted(counts.items(), key=lambda one: one[0] or 0)]
    return ", ".join([*parts, *([f"then {count_text(rest, 'cluster')}"] if rest else [])])
