"""The loops of many clusters: who runs each, and what is wrong; those with a problem first."""

from collections.abc import Iterable, Sequence

import msgspec

from reconciler.rendering import document as tree
from reconciler.rendering.document import Foreign
from reconciler.rendering.json_text import json_text
from reconciler.rendering.wording import count

FLEET_STATUS_VERSION = "1.0"


class ClusterStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One cluster and policy. `holder` runs the loop (empty: nobody does). `here`: the instance that tells this runs it. `plan`
    and `planAt` are the last plan that it reported. `problem` says why nothing is decided, or what a person should know."""

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

    @property
    def rank(self) -> int:
        """0: nobody decides or something is wrong; 1: pods wait or groups are held; 2: nothing needs anybody."""
        if self.problem or not self.holder:
            return 0
        return 1 if self.pending or self.held else 2


class FleetStatusDocument(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All clusters by name. `summary` counts them; `problem` says why the fleet is not seen now."""

    format_version: str = FLEET_STATUS_VERSION
    summary: str
    namespace: str
    now: str
    instances: tuple[str, ...] = ()
    problem: str = ""
    clusters: tuple[ClusterStatus, ...] = ()


def fleet_status(
    clusters: Iterable[ClusterStatus], *, namespace: str, now: str, instances: Sequence[str], problem: str = ""
) -> FleetStatusDocument:
    """The document, whose summary counts the clusters."""
    known = tuple(sorted(clusters, key=lambda one: (one.cluster, one.policy)))
    return FleetStatusDocument(
        summary=_summary(known, len(instances)), namespace=namespace, now=now, instances=tuple(sorted(instances)),
        problem=problem, clusters=known,
    )  # fmt: skip


def by_rank(document: FleetStatusDocument) -> list[ClusterStatus]:
    """Those with a problem first."""
    return sorted(document.clusters, key=lambda one: (one.rank, one.cluster, one.policy))


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
        blocks=(tree.Table(columns=columns, rows=rows),),
    )  # fmt: skip


def fleet_status_json(document: FleetStatusDocument) -> str:
    """Two spaces of indentation, keys in declared order; ends with a newline."""
    return json_text(document)


def state_words(one: ClusterStatus) -> str:
    """What is wrong, else the last plan and what waits."""
    if one.problem:
        return one.problem
    if not one.holder:
        return "nobody runs the loop now"
    waits = [count(one.pending, "pending pod")] if one.pending else []
    waits += [f"{count(one.held, 'group')} held"] if one.held else []
    return "; ".join([one.plan or "no plan yet", *waits])


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
