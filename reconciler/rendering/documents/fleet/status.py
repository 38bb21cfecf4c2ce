"""The loops of many clusters: who runs each, and what is wrong; those with a problem first."""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.rendering.documents import blocks as tree
from reconciler.rendering.documents.blocks import Foreign
from reconciler.rendering.words.wording import count

FLEET_STATUS_VERSION = "1.0"
_SHORT = 12


class ClusterStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One cluster and policy. `holder` runs the loop (empty: nobody does). `here`: the instance that tells this runs it. `plan`
    and `planAt` are the last plan that it reported. `problem` says why nothing is decided, or what a person should know. `wave`
    is its place in rollouts, and `revision` is the policy in force. `waiting` says why it does not take a newer one; `stopped`
    means that an earlier wave got worse with that. `notDecidedSince`: the last decision is too old (empty: it is not)."""

    cluster: str
    policy: str = ""
    holder: str = ""
    here: bool = False
    plan: str = ""
    plan_at: str = ""
    nodes: int | None = None
    pending: int | None = None
    held: int | None = None
    problem: str = ""
    wave: int | None = None
    revision: str = ""
    waiting: str = ""
    stopped: bool = False
    not_decided_since: str = ""

    @property
    def rank(self) -> int:
        """0: nobody decides or something is wrong; 1: pods or a policy wait, or groups are held; 2: nothing needs anybody."""
        if self.problem or self.stopped or not self.holder:
            return 0
        return 1 if self.pending or self.held or self.waiting else 2


class WaveStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The clusters of one wave (null: those after all waves). `revisions` are in force there. `waiting` of them wait for an
    earlier wave, and `why` is the reason of the first."""

    wave: int | None
    clusters: int
    revisions: tuple[str, ...]
    waiting: int = 0
    why: str = ""
    stopped: bool = False


class FleetStatusDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All clusters by name. `summary` counts them; `problem` says why the fleet is not seen now. `waves` are in the order in
    which they take a policy, none where no cluster has a wave."""

    format_version: str = FLEET_STATUS_VERSION
    summary: str
    namespace: str
    now: str
    instances: tuple[str, ...] = ()
    problem: str = ""
    clusters: tuple[ClusterStatus, ...] = ()
    waves: tuple[WaveStatus, ...] = ()


def fleet_status(
    clusters: Iterable[ClusterStatus], *, namespace: str, now: str, instances: Sequence[str], problem: str = ""
) -> FleetStatusDocument:
    """The document, whose summary counts the clusters."""
    known = tuple(sorted(clusters, key=lambda one: (one.cluster, one.policy)))
    return FleetStatusDocument(
        summary=_summary(known, len(instances)), namespace=namespace, now=now, instances=tuple(sorted(instances)),
        problem=problem, clusters=known, waves=_waves(known),
    )  # fmt: skip


def by_rank(document: FleetStatusDocument) -> list[ClusterStatus]:
    """Those that are not decided first, then those with another problem."""
    return sorted(document.clusters, key=lambda one: (one.rank, not one.not_decided_since, one.cluster, one.policy))


def fleet_status_document(document: FleetStatusDocument) -> tree.Document:
    """A line for each cluster."""
    columns = (
        tree.Column(heading="cluster", shrinks=True),
        tree.Column(heading="policy", shrinks=True),
        tree.Column(heading="run by", shrinks=True),
        tree.Column(heading="state", wraps=True),
    )
    rows = tuple(
        (Foreign(one.cluster), Foreign(one.policy or "-"), Foreign(one.holder or "nobody"), Foreign(state_words(one)))
        for one in by_rank(document)
    )
    facts = (("namespace", document.namespace), ("instances", str(len(document.instances))), ("now", document.now))
    problem = (" ", Foreign(f"{document.problem}.")) if document.problem else ()
    return tree.Document(
        title="The loops of the fleet", lead=(f"{document.summary}.", *problem), facts=facts,
        blocks=(tree.Table(columns=columns, rows=rows), *_wave_blocks(document.waves)),
    )  # fmt: skip


def state_words(one: ClusterStatus) -> str:
    """What is wrong, else the last plan and what waits."""
    if one.problem:
        return one.problem
    if not one.holder:
        return "nobody runs the loop now"
    waits = [count(one.pending, "pending pod")] if one.pending else []
    waits += [f"{count(one.held, 'group')} held"] if one.held else []
    waits += [f"a newer policy is not taken: {one.waiting}"] if one.waiting else []
    return ", ".join([one.plan or "no plan yet", *waits])


def wave_words(one: WaveStatus) -> str:
    """`3 clusters at 1a2b3c4d5e6f`, and what those wait for that do not take a newer policy."""
    at = f" at {', '.join(one.revisions)}" if one.revisions else ""
    waits = f". {one.waiting} {'waits' if one.waiting == 1 else 'wait'}: {one.why}" if one.waiting else ""
    return f"{count(one.clusters, 'cluster')}{at}{waits}"


def wave_title(one: WaveStatus) -> str:
    """`wave 0`, or what the others are."""
    return "after all waves" if one.wave is None else f"wave {one.wave}"


def _wave_blocks(waves: Sequence[WaveStatus]) -> tuple[tree.Table, ...]:
    if not waves:
        return ()
    columns = (tree.Column(heading="rollout", shrinks=True), tree.Column(heading="policy", wraps=True))
    return (tree.Table(columns=columns, rows=tuple((wave_title(one), Foreign(wave_words(one))) for one in waves)),)


def _waves(clusters: Sequence[ClusterStatus]) -> tuple[WaveStatus, ...]:
    rings: dict[int | None, list[ClusterStatus]] = {}
    for one in clusters:
        rings.setdefault(one.wave, []).append(one)
    if rings.keys() <= {None}:
        return ()
    found = []
    for wave in sorted(rings, key=lambda each: (each is None, each or 0)):
        ring = rings[wave]
        waiting = [one for one in ring if one.waiting]
        found.append(
            WaveStatus(
                wave=wave, clusters=len({one.cluster for one in ring}),
                revisions=tuple(sorted({one.revision[:_SHORT] for one in ring if one.revision})),
                waiting=len(waiting), why=waiting[0].waiting if waiting else "", stopped=any(one.stopped for one in waiting),
            )
        )  # fmt: skip
    return tuple(found)


def _summary(clusters: Sequence[ClusterStatus], instances: int) -> str:
    """`50 clusters, run by 3 instances: 1 has a problem, 2 have pending pods or held groups, 47 need nobody`. A cluster with
    several policies counts once, by the worst of them."""
    ranks: dict[str, int] = {}
    for one in clusters:
        ranks[one.cluster] = min(one.rank, ranks.get(one.cluster, one.rank))
    problems, waiting = (sum(each == rank for each in ranks.values()) for rank in (0, 1))
    fine = len(ranks) - problems - waiting
    parts = [f"{problems} {'has a problem' if problems == 1 else 'have problems'}"] if problems else []
    parts += [f"{waiting} {'has' if waiting == 1 else 'have'} pending pods or held groups"] if waiting else []
    parts += [f"{fine} {'needs' if fine == 1 else 'need'} nobody"] if fine else []
    head = f"{count(len(ranks), 'cluster')}, run by {count(instances, 'instance')}"
    return f"{head}: {', '.join(parts)}" if parts else head
