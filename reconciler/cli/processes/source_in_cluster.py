"""The policy's source that lies in the management cluster, and what happens at any source as lines of a log."""

from typing import TYPE_CHECKING

from reconciler.cli.inputs.connections import ConnectionChoice
from reconciler.cli.inputs.source_choice import SourceChoice
from reconciler.cli.processes.cluster_source import ClusterSource
from reconciler.cli.processes.live_source import LiveSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.control.log import Log
    from reconciler.gitops.sources.standing import SourceEvent
    from reconciler.kube.connection.api import Api


def source_in_cluster(
    management: "Api",
    connection: ConnectionChoice,
    choice: SourceChoice,
    own: str,
    *,
    keep: bool,
    tell: "Callable[[SourceEvent], None]",
) -> LiveSource | ClusterSource:
    """An artifact of Flux, or custom resources: with targets of some namespaces, those of them and of `own`, the namespace in
    which this runs. `keep` and `tell` as for both."""
    if choice.flux_source is not None:
        return LiveSource(None, choice, keep=keep, tell=tell, api=management)
    namespaces = connection.target_namespaces
    if namespaces:
        namespaces = tuple(sorted({own, *namespaces}))
    return ClusterSource(management, namespaces, choice, own_namespace=own, keep=keep, tell=tell)


def say(journal: "Log", event: "SourceEvent") -> None:
    """One line, and one for each problem of a policy that was refused, with its place."""
    (journal.warning if event.type == "Warning" else journal.info)(event.reason, event.message)
    for problem in event.problems:
        hint = f"; {problem.hint}" if problem.hint else ""
        journal.warning(problem.code, f"{problem.place}: {problem.message}{hint}", place=str(problem.place))
